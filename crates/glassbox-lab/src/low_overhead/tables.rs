//! The tables, for the terminal.

use super::draw::{Axis, SHARES};
use super::lines::{LOCAL, curve};
use super::{auto, checks, figure4, figure5, figure6, figure7, figure8, figure9, figure10, table1, table2};
use crate::format;
use crate::points::Points;
use crate::report::Table;

/// Every figure's throughput, a table for each.
pub fn throughput(points: &Points) -> Vec<Table> {
    let of_shares = [figure4::FIGURE, figure5::FIGURE, figure6::FIGURE, figure7::FIGURE, figure10::FIGURE];
    let of_shares = of_shares.into_iter().filter_map(|figure| of_figure(points, figure, SHARES, "simulated"));
    of_shares.chain(tpcc(points, "simulated")).collect()
}

/// The same of TPC-C; `what` says where the numbers are from.
pub fn tpcc(points: &Points, what: &str) -> Vec<Table> {
    let figures = [(figure8::FIGURE, figure8::AXIS), (figure9::FIGURE, SHARES)];
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

/// Tables 1 and 2, those of what is chosen, and the claims.
pub fn others(points: &Points) -> Vec<Table> {
    let claims = checks::table(points);
    let claims = (!claims.rows.is_empty()).then_some(claims);
    let shifting = auto::shifting_figure(points).and_then(|figure| figure.table);
    [table1::table(points), table2::table(points), auto::grid_table(points), shifting, claims]
        .into_iter()
        .flatten()
        .collect()
}
