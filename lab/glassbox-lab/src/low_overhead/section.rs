//! The experiment's section of a report, and its tables for the terminal.

use super::draw::{Axis, SHARES};
use super::series::{BLOCKING, LOCAL, LOCKING, SPECULATION, curve, rate};
use super::tpcc::{FIGURE_8, FIGURE_9};
use super::{
    auto, checks, coordinators, depth, figure4, figure5, figure6, figure7, figure8, figure9, figure10, other_schemes,
    overlap, table1, table2, ticks,
};
use crate::claim;
use crate::points::Points;
use crate::section::{Figure, Section, Table};
use glassbox_workloads::format;

/// The question of the section.
const QUESTION: &str =
    "What can a partition that runs one transaction at a time do while a transaction on several of them waits?";
/// The terms of the section.
const TERMS: &[(&str, &str)] = &[
    ("blocking", "a partition waits for the outcome of a transaction on several partitions"),
    ("speculation", "a partition runs the next transactions meanwhile, and undoes them if that one aborts"),
    ("local speculation", "the same, for transactions on one partition only"),
    ("locking", "transactions lock rows while one on several partitions is active"),
];
/// The introduction of the section.
const LEAD: &str = "Partitions that each run one transaction at a time need no locks, until a transaction is on \
                    several of them and each has to wait for the others. Meanwhile a partition can do nothing \
                    (blocking), run the next transactions and undo them if the first aborts (speculation), or run \
                    those that do not conflict (locking). The paper measured that in 2010. Here Glassbox's own \
                    partitions, coordinator and clients run in virtual time, with the paper's costs of work and \
                    messages: everything on this page is simulated.";

/// The answer in three sentences, if everything was simulated.
fn answer(points: &Points) -> Option<String> {
    let at = |row, share| rate(points, figure4::FIGURE, row, share);
    let [speculation, locking, blocking] = [SPECULATION, LOCKING, BLOCKING].map(|row| at(row, 10).map(format::number));
    let (late_speculation, late_locking) = (at(SPECULATION, 100)?, at(LOCKING, 100)?);
    Some(format!(
        "{} With 10 % of transactions on two partitions, two partitions make {} transactions a second under \
         speculation, {} under locking and {} under blocking; with 100 %, where one coordinator is the limit of \
         speculation, locking makes {:.1} times as many.",
        checks::outcomes(points)?,
        speculation?,
        locking?,
        blocking?,
        late_locking / late_speculation,
    ))
}

/// The section of the numbers that were simulated.
pub fn section(points: &Points) -> Section {
    let mut figures = Vec::new();
    figures.extend(figure4::figure(points));
    figures.extend(figure5::figure(points));
    figures.extend(figure6::figure(points));
    figures.extend(depth::figure(points));
    figures.extend(other_schemes::figure(points));
    figures.extend(figure7::figure(points));
    figures.extend(figure8::figure(points, "simulated"));
    figures.extend(figure9::figure(points, "simulated"));
    figures.extend(figure10::figures(points).into_iter().flatten());
    figures.extend(coordinators::figure(points));
    figures.extend(ticks::figure(points));
    figures.extend(overlap::figure(points));
    let table = |title: &str, caption: &str, table: Option<Table>| {
        table.map(|table| Figure::of_table(format!("{title} (simulated)"), caption, table))
    };
    let caption = "Few and many: 5 and 30 % of transactions on two partitions, none and 10 % aborts, none and 60 % \
                   conflicts. A scheme within 2 % of the best is equally good. To the right: transactions per second.";
    figures.extend(table("Table 1. The best scheme for each situation", caption, table1::table(points)));
    let caption = "Measured by throughput and by the utilization of partitions.";
    figures.extend(table("Table 2. The constants", caption, table2::table(points)));
    figures.extend(auto::grid_figure(points));
    figures.extend(auto::shifting_figure(points));
    let caption = "Asserted are the bounds within which a claim is reproduced; they contain the paper's own number. A \
                   run fails if a result is outside of them and no reason is known.";
    figures.extend(table("The claims", caption, checks::table(points)));
    Section {
        id: "low-overhead".to_owned(),
        title: "Low overhead concurrency control".to_owned(),
        question: QUESTION,
        is_supplement: false,
        answered_by: "",
        terms: TERMS,
        lead: answer(points).unwrap_or_else(|| LEAD.to_owned()),
        outcomes: claim::counted(&checks::claims(points)),
        facts: vec![("method".to_owned(), LEAD.to_owned())],
        notes_title: "Differences from the paper, with the reasons".to_owned(),
        notes: checks::sentences(points),
        figures,
    }
}

/// Every figure's throughput, a table for each.
pub fn throughput_tables(points: &Points) -> Vec<Table> {
    let of_shares = [
        figure4::FIGURE,
        figure5::FIGURE,
        figure6::FIGURE,
        depth::FIGURE,
        other_schemes::FIGURE,
        figure7::FIGURE,
        figure10::FIGURE,
        ticks::FIGURE,
        overlap::FIGURE,
    ];
    let of_shares = of_shares.into_iter().filter_map(|figure| of_figure(points, figure, SHARES, "simulated"));
    of_shares.chain(tpcc_tables(points, "simulated")).collect()
}

/// The same of TPC-C; `what` is the origin of the numbers.
pub fn tpcc_tables(points: &Points, what: &str) -> Vec<Table> {
    let figures = [(FIGURE_8, figure8::AXIS), (FIGURE_9, SHARES)];
    figures.into_iter().filter_map(|(figure, axis)| of_figure(points, figure, axis, what)).collect()
}

fn of_figure(points: &Points, figure: &str, axis: Axis, what: &str) -> Option<Table> {
    let mut rows: Vec<&str> = Vec::new();
    for point in points.0.iter().filter(|point| point.figure == figure) {
        if !rows.contains(&&*point.row) {
            rows.push(&point.row);
        }
    }
    let curves: Vec<_> = rows.iter().map(|row| curve(points, figure, row)).collect();
    let longest = curves.iter().max_by_key(|curve| curve.len())?;
    let cell = |curve: &Vec<(f64, f64)>, share: f64| {
        let point = curve.iter().find(|point| point.0 == share);
        point.map_or_else(String::new, |point| format::number(point.1))
    };
    let row = |&(share, _): &(f64, f64)| {
        let cells = curves.iter().map(|curve| cell(curve, share));
        std::iter::once(format!("{share}{}", axis.mark)).chain(cells).collect()
    };
    let names = rows.iter().map(|row| row.replace(LOCAL, "local").replace(", ", "\n"));
    Some(Table {
        header: std::iter::once(format!("{figure}, {what}\n{}", axis.column)).chain(names).collect(),
        rows: longest.iter().map(row).collect(),
    })
}

/// Tables 1 and 2, those of the advisor, and the claims.
pub fn other_tables(points: &Points) -> Vec<Table> {
    let shifting = auto::shifting_figure(points).and_then(|figure| figure.table);
    [table1::table(points), table2::table(points), auto::grid_table(points), shifting, checks::table(points)]
        .into_iter()
        .flatten()
        .collect()
}
