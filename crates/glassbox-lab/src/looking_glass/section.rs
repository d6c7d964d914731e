//! The experiment's section of a report.

use super::work::Workload;
use super::{explain, figure1, figure5, figure6, figure7, figure8, methods, tables, throughput};
use crate::points::Points;
use crate::report::{Figure, Section};

/// What the section says before its figures.
const LEAD: &str = "A conventional engine (pages on disk, a buffer pool, locks, latches, a write-ahead log) loses one \
                    component after the other, and what each one cost is the difference. The paper did this to Shore \
                    in 2008; here it is done to Glassbox's classic engine, with the paper's numbers beside ours. \
                    When its pages are gone, its records are those of Glassbox's engine in memory. Shares can be \
                    compared, absolute numbers are eighteen years apart.";

/// Makes it of the numbers that there are.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    figures.extend(throughput::four_steps(points));
    figures.extend(figure1::figure(points));
    figures.extend(figure5::figures(points).into_iter().flatten());
    figures.extend(figure6::figure(points));
    figures.extend(figure7::figure(points));
    figures.extend(figure8::figure(points));
    figures.extend(methods::figure(points));
    figures.extend(throughput::all_stacks(points));
    let table = |title: &str, caption: &str, table| Figure {
        title: title.to_owned(),
        svg: String::new(),
        caption: caption.to_owned(),
        table: Some(table),
    };
    figures.push(table("All stacks", "Instructions and throughput of a transaction.", tables::ladder(points)));
    if points.has(super::ladder::INSTRUCTIONS) {
        let caption = "By the innermost inlined function that lies in a file of the component.";
        let inlined = tables::inlined(points, Workload::NewOrder);
        figures.push(table("Instructions of a New-Order, by the component whose code they are", caption, inlined));
    }
    let caption = "Figure 4 of the paper lists a New-Order's and a Payment's calls.";
    figures.push(table("Calls of a transaction", caption, tables::accesses(points)));
    let goals = tables::goals_table(points);
    if !goals.rows.is_empty() {
        figures.push(table("Goals", "Beside them, the same of the paper's Shore.", goals));
    }
    let notes = [Workload::NewOrder, Workload::Payment].into_iter();
    let mut notes: Vec<_> = notes.flat_map(|workload| explain::sentences(points, workload)).collect();
    if !points.has(super::ladder::INSTRUCTIONS) {
        notes.push(
            "Instructions were not counted, so there are times only: install valgrind (Debian: apt install valgrind) \
             and run it again."
                .to_owned(),
        );
    }
    Section {
        id: "looking-glass".to_owned(),
        title: "OLTP through the Looking Glass".to_owned(),
        lead: LEAD.to_owned(),
        facts: Vec::new(),
        notes_title: "What differs from the paper by more than five points, and why".to_owned(),
        notes,
        figures,
    }
}
