//! The experiment's section of a report, and its tables for the terminal.

use super::figure1::row;
use super::jobs::{ratio, value};
use super::plan::HIGH;
use super::plot::Plot;
use super::systems::{TWIN, VLL};
use super::{
    checks, fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, in_flight, local_clocks,
    sensitivity, table1,
};
use crate::points::Points;
use crate::section::{Figure, Section, Table};

/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("deterministic", "all inputs are ordered in a log first, and each node executes them in its order"),
    (
        "hash, VLL",
        "two schedulers of the deterministic system: queues of requests in a hash table, and counters of requests \
         without queues (very lightweight locking)",
    ),
    (
        "nondeterministic, the twin",
        "the same transactions under two-phase locking, with two-phase commit if they are on several nodes",
    ),
    (
        "contention index, CI",
        "the probability that two transactions on a node need the same hot row: 1 over the number of hot rows",
    ),
    ("dependent transaction", "its keys depend on rows, and a reconnaissance finds them before it is ordered"),
    ("volatility", "how often an index entry changes, per second"),
];
/// The introduction of the section.
const LEAD: &str = "A deterministic database orders its inputs first and executes them in that order, so replicas \
                    need no agreement on results, and there are no deadlocks and no two-phase commit. The paper of \
                    2014 measured what that gains and what it costs. Here production's schedulers and waits-for graph \
                    run in virtual time, in a queueing model with constants derived from the paper's shares of time: \
                    everything on this page is simulated. The model's error, compared with production's code, has a \
                    section of its own.";

fn plots() -> Vec<Plot> {
    let mut plots = Vec::new();
    plots.extend(figure1::plots());
    plots.extend(figure3::plots());
    plots.push(figure4::PLOT);
    plots.extend(figure5::plots());
    plots.extend(figure6::plots());
    plots.extend([figure7::PLOT, figure8::PLOT]);
    plots.extend(fair::plots());
    plots.extend([sensitivity::PLOT, in_flight::PLOT, local_clocks::PLOT]);
    plots
}

/// The question of the section.
const QUESTION: &str = "What is it worth, and what does it cost, to order transactions before they are executed, so \
                        that there are no deadlocks and no two-phase commit?";

/// The answer.
fn answer(points: &Points) -> Option<String> {
    let over = |percent| ratio(points, figure1::LONG, (&row(VLL, HIGH), &row(TWIN, HIGH)), percent);
    let median = |row: &str| value(points, figure7::FIGURE, row, 50.0, figure7::LATENCY);
    let deterministic = median("deterministic, hash, single")?;
    let twin = median("nondeterministic, single")?;
    Some(format!(
        "{} In a model with the paper's shares of time, the deterministic system makes {:.2} times \
         the transactions of its nondeterministic twin if none is on two nodes, and {:.2} times if half of them are \
         (long ones, contention index 0.01); its median latency is {:.1} ms instead of {:.1}.",
        checks::outcomes_in_words(points)?,
        over(0.0)?,
        over(50.0)?,
        deterministic,
        twin,
    ))
}

/// The section of the numbers that were simulated.
pub fn section(points: &Points) -> Section {
    let mut figures = figure1::figures(points);
    figures.extend(figure2::figure(points));
    figures.extend(figure3::figures(points));
    figures.extend(figure4::figure(points));
    figures.extend(figure5::figures(points));
    figures.extend(figure6::figures(points));
    figures.extend(figure7::figure(points));
    figures.extend(figure8::figure(points));
    figures.extend(fair::figures(points));
    figures.extend(sensitivity::figure(points));
    figures.extend(in_flight::figure(points));
    figures.extend(local_clocks::figure(points));
    let table = |title: &str, caption: &str, table: Option<Table>| {
        table.map(|table| Figure::of_table(format!("{title} (simulated)"), caption, table))
    };
    let caption = "Each cell with the figure that shows it.";
    figures.extend(table("Table 1. Advantages and disadvantages", caption, table1::table(points)));
    let caption = "A number is by construction if it follows from inputs alone. A run that changes each input \
                   (--inputs) finds claims that follow from one.";
    figures.extend(table("The inputs", caption, checks::inputs_table(points)));
    let caption = "The bounds contain the paper's own number where it gives one.";
    figures.extend(table("The paper's claims", caption, checks::paper_table(points)));
    let caption = "The bounds are this project's.";
    figures.extend(table("Goals", caption, checks::goals_table(points)));
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Deterministic execution".to_owned(),
        question: QUESTION,
        is_supplement: false,
        answered_by: "Figure 1b.",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: checks::outcomes(points),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: "Differences from the paper, with the reasons".to_owned(),
        notes: checks::sentences(points),
        figures,
    }
}

/// All tables, for the terminal.
pub fn tables(points: &Points) -> Vec<Table> {
    let mut tables: Vec<Table> = plots().iter().filter_map(|plot| plot.table(points)).collect();
    tables.extend(figure2::table(points));
    tables.extend(table1::table(points));
    tables.extend(checks::inputs_table(points));
    tables.extend(checks::paper_table(points));
    tables.extend(checks::goals_table(points));
    tables
}
