//! The experiment's section of a report.

use super::ladder::{BARE, Component, FULL, INSTRUCTIONS, KERNEL, Measure, THROUGHPUT};
use super::timing::checked_stacks;
use super::{attribution, btrees, claims, explain, page_sizes, schema, shares, switches, tables, taxes, throughput};
use crate::claim;
use crate::points::Points;
use crate::section::{Figure, Section};
use crate::workload::Workload;
use glassbox_workloads::format::one_digit;

/// The question of the section.
const QUESTION: &str =
    "What does each component of a conventional engine cost a transaction, and what is left without all of them?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("stack", "the engine with some components left out when it was compiled"),
    ("full", "the stack with all components, as Shore has them"),
    ("bare", "the stack without any of them"),
    ("kernel", "hand-written code for the two transactions, on bare data"),
];
/// The introduction of the section.
const LEAD: &str = "The components of a conventional engine (pages on disk, a buffer pool, locks, latches, a \
                    write-ahead log) are removed one after the other, and the cost of each is the difference. The \
                    paper did this to Shore in 2008; here it is done to Glassbox's classic engine, with the paper's \
                    numbers next to ours. Without pages, its records are those of Glassbox's main-memory engine. \
                    Shares can be compared, absolute numbers are eighteen years apart.";

/// The answer in three sentences, if everything was counted and timed.
fn answer(points: &Points) -> Option<String> {
    let workload = Workload::NewOrder.name();
    let shares = Measure::Instructions.shares(points, workload)?;
    let all = Measure::Instructions.of(points, FULL, workload)?;
    let useful = 100.0 * Measure::Instructions.of(points, KERNEL, workload)? / all;
    let parts = std::iter::zip(Component::ALL, shares).take(5);
    let parts = parts.map(|(component, share)| format!("{} {} %", component.name(), one_digit(share)));
    let (largest, left) = taxes::largest(points)?;
    let rate = |stack: &str| points.value(THROUGHPUT, stack, Workload::Mix.name());
    Some(format!(
        "{} A New-Order on a conventional engine spends its instructions on {}; {} % are useful work. No component \
         makes the difference alone: of those that can be left out by themselves, {largest} is the most expensive, and \
         without it {} % remain. Without all of them, the engine makes {} times as many transactions.",
        claims::outcomes(points)?,
        parts.collect::<Vec<_>>().join(", "),
        one_digit(useful),
        one_digit(left),
        one_digit(rate(BARE)? / rate(FULL)?),
    ))
}

/// The section of the numbers that were measured.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    figures.extend(shares::figure1(points));
    figures.extend(throughput::four_steps(points));
    figures.extend(shares::figure5(points).into_iter().flatten());
    figures.extend(shares::figure6(points));
    figures.extend(switches::figure7(points));
    figures.extend(switches::figure8(points));
    figures.extend(taxes::figure(points));
    figures.extend(taxes::orders_figure(points));
    figures.extend(page_sizes::figure(points));
    figures.extend(btrees::figure(points));
    figures.push(taxes::optimizations(points));
    figures.extend(schema::figure(points));
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
    if let Some(of_paper) = claims::table(points) {
        let caption = "A share is reproduced within five points, a multiple within a factor of one and a half, an \
                       order or a count if it is the same.";
        figures.push(table("The claims", caption, of_paper));
    }
    let goals = tables::goals_table(points);
    if !goals.rows.is_empty() {
        figures.push(table("Goals", "With the same of the paper's Shore.", goals));
    }
    let notes = [Workload::NewOrder, Workload::Payment].into_iter();
    let mut notes: Vec<_> = notes.flat_map(|workload| explain::sentences(points, workload)).collect();
    let (_, incomplete) = checked_stacks(points);
    if !incomplete.is_empty() {
        notes.push(format!(
            "Not all transactions were run, so that rows could not be compared, by: {}.",
            incomplete.join(", ")
        ));
    }
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
        question: QUESTION,
        is_supplement: false,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: claim::counted(&claims::claims(points)),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: "Differences from the paper of more than five points, with the reasons".to_owned(),
        notes,
        figures,
    }
}
