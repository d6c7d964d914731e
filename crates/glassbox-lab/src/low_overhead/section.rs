//! The experiment's section of a report.

use super::{
    auto, checks, coordinators, figure4, figure5, figure6, figure7, figure8, figure9, figure10, table1, table2,
};
use crate::points::Points;
use crate::report::{Figure, Section, Table};

/// What the section says before its figures.
const LEAD: &str = "Partitions that each run one transaction at a time need no locks, until a transaction is on \
                    several of them and each has to wait for the others. What is to be done meanwhile: nothing \
                    (blocking), what comes next in the hope that all goes well (speculation), or what does not touch \
                    the same rows (locking)? The paper measured that in 2010. Here Glassbox's own partitions, \
                    coordinator and clients run in virtual time, where work and messages take the paper's times: \
                    everything on this page is simulated.";

/// Makes it of the numbers that there are.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    figures.extend(figure4::figure(points));
    figures.extend(figure5::figure(points));
    figures.extend(figure6::figure(points));
    figures.extend(figure7::figure(points));
    figures.extend(figure8::figure(points, "simulated"));
    figures.extend(figure9::figure(points, "simulated"));
    figures.extend(figure10::figures(points).into_iter().flatten());
    figures.extend(coordinators::figure(points));
    let table = |title: &str, caption: &str, table: Option<Table>| {
        let (title, caption) = (format!("{title} (simulated)"), caption.to_owned());
        table.map(|table| Figure { title, svg: String::new(), caption, table: Some(table) })
    };
    let caption = "Few and many: 5 and 30 % of transactions on two partitions, none and 10 % aborts, none and 60 % \
                   conflicts. A scheme within 2 % of the best is as good. To the right: transactions a second.";
    figures.extend(table("Table 1. The best scheme for each situation", caption, table1::table(points)));
    let caption = "Measured from outside, by throughput and by how much partitions are at work.";
    figures.extend(table("Table 2. The constants", caption, table2::table(points)));
    figures.extend(auto::grid_figure(points));
    figures.extend(auto::shifting_figure(points));
    let claims = checks::table(points);
    let caption = "A run whose number is outside of what is asserted fails.";
    figures.extend(table("The claims", caption, (!claims.rows.is_empty()).then_some(claims)));
    Section {
        id: "low-overhead".to_owned(),
        title: "Low overhead concurrency control".to_owned(),
        lead: LEAD.to_owned(),
        facts: Vec::new(),
        notes_title: "What differs from the paper, and why".to_owned(),
        notes: checks::sentences(points),
        figures,
    }
}
