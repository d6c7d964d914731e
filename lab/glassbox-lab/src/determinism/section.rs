//! The experiment's section of a report, and its tables for the terminal.

use super::plot::Plot;
use super::{
    checks, fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, local_clocks, sensitivity,
    table1,
};
use crate::points::Points;
use crate::section::{Figure, Section, Table};

/// The introduction of the section.
const LEAD: &str = "A deterministic database orders its inputs first and executes them in that order, so replicas \
                    need no agreement on results, and there are no deadlocks and no two-phase commit. The paper of \
                    2014 measured what that gains and what it costs. Here production's schedulers and waits-for graph \
                    run in virtual time, in a queueing model with constants derived from the paper's shares of time: \
                    everything on this page is simulated.";

fn plots() -> Vec<Plot> {
    let mut plots = Vec::new();
    plots.extend(figure1::plots());
    plots.extend(figure3::plots());
    plots.push(figure4::PLOT);
    plots.extend(figure5::plots());
    plots.extend(figure6::plots());
    plots.extend([figure7::PLOT, figure8::PLOT]);
    plots.extend(fair::plots());
    plots.extend([sensitivity::PLOT, local_clocks::PLOT]);
    plots
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
    figures.extend(local_clocks::figure(points));
    let table = |title: &str, caption: &str, table: Option<Table>| {
        table.map(|table| Figure::of_table(format!("{title} (simulated)"), caption, table))
    };
    let caption = "Each cell with the figure that shows it.";
    figures.extend(table("Table 1. Advantages and disadvantages", caption, table1::table(points)));
    let caption = "The bounds contain the paper's own number where it gives one.";
    figures.extend(table("The paper's claims", caption, checks::paper_table(points)));
    let caption = "The bounds are this project's.";
    figures.extend(table("Goals", caption, checks::goals_table(points)));
    Section {
        id: super::EXPERIMENT.to_owned(),
        title: "Deterministic execution".to_owned(),
        lead: LEAD.to_owned(),
        outcomes: checks::outcomes(points),
        facts: Vec::new(),
        notes_title: "Not reproduced or not met, with the reasons".to_owned(),
        notes: checks::sentences(points),
        figures,
    }
}

/// All tables, for the terminal.
pub fn tables(points: &Points) -> Vec<Table> {
    let mut tables: Vec<Table> = plots().iter().filter_map(|plot| plot.table(points)).collect();
    tables.extend(figure2::table(points));
    tables.extend(table1::table(points));
    tables.extend(checks::paper_table(points));
    tables.extend(checks::goals_table(points));
    tables
}
