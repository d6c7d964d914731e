//! How deep to speculate, where aborts are likely.
//!
//! Paper: *Low Overhead Concurrency Control*, section 5.3, which measures up to 10 % aborts and concludes that "it may
//! be better to limit the amount of speculation". It has no such limit; here it is the scheme *limited speculation*,
//! under which a run waits if the aborts so far say that it will more probably be wasted than not.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::Load;

use super::draw::{self, CurveOf};
use super::series::{BLOCKING, PERCENT, SPECULATION, Series};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Depth of speculation";
/// The probability of an abort in percent.
const ABORTS: [u64; 3] = [10, 30, 60];
const SCHEMES: [(&str, SchemeKind); 3] = [
    (BLOCKING, SchemeKind::Blocking),
    (SPECULATION, SchemeKind::Speculation),
    ("limited speculation", SchemeKind::LimitedSpeculation),
];

fn rows() -> impl Iterator<Item = (String, SchemeKind, u64)> {
    let of = |aborts: u64| SCHEMES.map(|(name, scheme)| (format!("{name}, {aborts} % aborts"), scheme, aborts));
    ABORTS.into_iter().flat_map(of)
}

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line =
        |(row, scheme, aborts)| Series::new(FIGURE, row, scheme, Load { aborts: aborts * PERCENT, ..Load::default() });
    rows().map(line).collect()
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let rows: Vec<_> = rows().collect();
    let colour = |scheme, aborts: u64| {
        let full = match scheme {
            SchemeKind::Blocking => Colour(0x4e, 0x79, 0xa7),
            SchemeKind::Speculation => Colour(0x2f, 0x8f, 0x4e),
            _ => Colour(0xe1, 0x57, 0x59),
        };
        // The more aborts, the paler.
        full.paler(aborts)
    };
    let shown = |(row, scheme, aborts): &(String, SchemeKind, u64)| (row.clone(), colour(*scheme, *aborts));
    let shown: Vec<_> = rows.iter().map(shown).collect();
    let curves: Vec<_> = shown
        .iter()
        .map(|(row, colour)| CurveOf { figure: FIGURE, row, name: row, stroke: Stroke::Dotted, colour: *colour })
        .collect();
    let caption = "The paper suggests to limit speculation where aborts are likely. Limited speculation lets a run \
                   wait if it depends on so many undecided transactions that it will more probably be undone than \
                   not: on at most six with 10 % aborts, on one from 30 % on. That saves work of the coordinator, so \
                   it brings most where all transactions are on two partitions.";
    draw::figure(points, "Depth of speculation", caption.to_owned(), &curves, Vec::new())
}
