//! Figure 5: conflicts.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 5 and section 5.2. Claim: speculation and blocking are unaffected;
//! locking falls steeply, yet stays above blocking when many transactions are on two partitions, because each conflicts
//! on one of them only. Speculation is up to 2.5 times as fast as locking.
//!
//! As in the paper, deadlocks cannot happen, so there is no lock timeout here.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::Load;

use super::draw::{self, CurveOf};
use super::figure4;
use super::series::{BLOCKING, LOCKING, PERCENT, SPECULATION, Series, curve, rate, ratios};
use crate::claim::{Claim, claim};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Figure 5";
/// The probability of a conflict in percent, the name of the series, and its colour.
const CONFLICTS: [(u64, &str, Colour); 3] = [
    (20, "locking, 20 % conflicts", Colour(0xf2, 0xa5, 0x4a)),
    (60, "locking, 60 % conflicts", Colour(0xe6, 0x75, 0x4f)),
    (100, "locking, 100 % conflicts", Colour(0xb8, 0x2e, 0x3c)),
];
/// A lock timeout that is never reached.
const NEVER_US: u64 = 3_600_000_000;

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |row: &str, scheme, conflicts| {
        let load = Load { conflicts: conflicts * PERCENT, ..Load::default() };
        Series { change: |settings| settings.patience_us = NEVER_US, ..Series::new(FIGURE, row, scheme, load) }
    };
    let mut lines: Vec<_> =
        CONFLICTS.iter().map(|&(conflicts, row, _)| line(row, SchemeKind::Locking, conflicts)).collect();
    lines.push(line(SPECULATION, SchemeKind::Speculation, 100));
    lines.push(line(BLOCKING, SchemeKind::Blocking, 100));
    lines
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let mut shown = vec![CurveOf::scheme(FIGURE, SPECULATION), CurveOf::scheme(FIGURE, BLOCKING)];
    shown.push(CurveOf { name: "locking, no conflicts", ..CurveOf::scheme(figure4::FIGURE, LOCKING) });
    let locking = |&(_, row, colour): &(u64, &'static str, Colour)| CurveOf {
        figure: FIGURE,
        row,
        name: row,
        stroke: Stroke::Dotted,
        colour,
    };
    shown.extend(CONFLICTS.iter().map(locking));
    let caption = "Two clients write one row of each partition nearly all the time; every other transaction writes one \
                   of the two with the given probability.";
    draw::figure(points, "Figure 5. Conflicts", caption.to_owned(), &shown, Vec::new())
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at = |row: &str| curve(points, FIGURE, row);
    let times = ratios(&at(SPECULATION), &at(CONFLICTS[2].1)).into_iter().map(|point| point.1).reduce(f64::max);
    let over_blocking = ratios(&at(CONFLICTS[2].1), &at(BLOCKING)).into_iter().rfind(|point| point.0 == 100.0);
    let apart = |row| {
        let ratios = ratios(&at(row), &curve(points, figure4::FIGURE, row));
        ratios.into_iter().map(|point| 100.0 * (point.1 - 1.0).abs()).reduce(f64::max)
    };
    let of_free = |conflicts: usize| {
        let free = rate(points, figure4::FIGURE, LOCKING, 50)?;
        Some(100.0 * rate(points, FIGURE, CONFLICTS[conflicts].1, 50)? / free)
    };
    vec![
        claim((FIGURE, "speculation faster than locking by up to"), "2.5 times", times, (2.0, 3.0), "times")
            .map(|it| it.not_reproduced((1.4, 2.0), TIMES)),
        claim(
            (FIGURE, "locking with 100 % conflicts over blocking at 100 %"),
            "ahead",
            over_blocking.map(|it| it.1),
            (1.1, 3.0),
            "times",
        ),
        claim(
            (FIGURE, "speculation changes with conflicts by at most"),
            "not at all",
            apart(SPECULATION),
            (0.0, 8.0),
            "%",
        ),
        claim((FIGURE, "blocking changes with conflicts by at most"), "not at all", apart(BLOCKING), (0.0, 8.0), "%"),
        claim((FIGURE, "locking with 20 % conflicts at 50 %, of that without"), "less", of_free(0), (85.0, 99.5), "%"),
        claim(
            (FIGURE, "locking with 100 % conflicts at 50 %, of that without"),
            "steeply less",
            of_free(2),
            (40.0, 75.0),
            "%",
        ),
    ]
}

const TIMES: &str = "A contended row is locked for a fragment, a round trip and the decision: 181 µs, while blocking \
                     blocks the partition for 211 µs. So with two such rows locking has nearly twice the throughput of \
                     blocking, and waiting for a lock costs 20 µs here. The paper does not give the prototype's cost \
                     to suspend and resume; with 64 µs for a run that has to wait it would be about 1.8 times.";
