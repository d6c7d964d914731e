//! The experiment's section of a report.

use super::ladder::INSTRUCTIONS;
use super::{attribution, explain, shares, switches, tables, throughput};
use crate::points::Points;
use crate::section::{Figure, Section};
use crate::workload::Workload;

/// The introduction of the section.
const LEAD: &str = "The components of a conventional engine (pages on disk, a buffer pool, locks, latches, a \
                    write-ahead log) are removed one after the other, and the cost of each is the difference. The \
                    paper did this to Shore in 2008; here it is done to Glassbox's classic engine, with the paper's \
                    numbers next to ours. Without pages, its records are those of Glassbox's main-memory engine. \
                    Shares can be compared, absolute numbers are eighteen years apart.";

/// The section of the numbers that were measured.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    figures.extend(throughput::four_steps(points));
    figures.extend(shares::figure1(points));
    figures.extend(shares::figure5(points).into_iter().flatten());
    figures.extend(shares::figure6(points));
    figures.extend(switches::figure7(points));
    figures.extend(switches::figure8(points));
    figures.extend(attribution::figure(points));
    figures.extend(throughput::all_stacks(points));
    let table = |title: &str, caption: &str, table| Figure::of_table(title, caption, table);
    figures.push(table("All stacks", "Instructions and throughput of a transaction.", tables::ladder(points)));
    if points.has(INSTRUCTIONS) {
        let caption = "By the innermost inlined function in a file of the component.";
        let inlined = tables::inlined(points, Workload::NewOrder);
        figures.push(table("Instructions of a New-Order, by the component of their code", caption, inlined));
    }
    let caption = "Figure 4 of the paper lists a New-Order's and a Payment's calls.";
    figures.push(table("Calls of a transaction", caption, tables::accesses(points)));
    let goals = tables::goals_table(points);
    if !goals.rows.is_empty() {
        figures.push(table("Goals", "With the same of the paper's Shore.", goals));
    }
    let notes = [Workload::NewOrder, Workload::Payment].into_iter();
    let mut notes: Vec<_> = notes.flat_map(|workload| explain::sentences(points, workload)).collect();
    if !points.has(INSTRUCTIONS) {
        notes.push(
            "Instructions were not counted, only times: install valgrind (Debian: apt install valgrind) and run it \
             again."
                .to_owned(),
        );
    }
    Section {
        id: "looking-glass".to_owned(),
        title: "OLTP through the Looking Glass".to_owned(),
        lead: LEAD.to_owned(),
        facts: Vec::new(),
        notes_title: "Differences from the paper of more than five points, with the reasons".to_owned(),
        notes,
        figures,
    }
}
