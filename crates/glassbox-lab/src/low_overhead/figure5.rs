//! Figure 5: conflicts.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 5 and section 5.2. Claim: speculation and blocking do not care;
//! locking falls steeply, yet stays above blocking when many transactions are on two partitions, because each conflicts
//! on one of them only. Speculation is up to 2.5 times as fast as locking.
//!
//! What differs here: deadlocks cannot happen, as in the paper, and so nobody gives up waiting.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::Load;

use super::checks::{Check, check};
use super::draw::{self, Shown};
use super::figure4;
use super::lines::{BLOCKING, LOCKING, Line, PERCENT, SPECULATION, curve, rate, ratios};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::report::Figure;

/// In results.
pub const FIGURE: &str = "Figure 5";
/// The chance of a conflict in percent, the line's name, and its colour.
const CONFLICTS: [(u64, &str, Colour); 3] = [
    (20, "locking, 20 % conflicts", Colour(0xf2, 0xa5, 0x4a)),
    (60, "locking, 60 % conflicts", Colour(0xe6, 0x75, 0x4f)),
    (100, "locking, 100 % conflicts", Colour(0xb8, 0x2e, 0x3c)),
];
/// Nobody waits as long.
const NEVER_US: u64 = 3_600_000_000;

/// What is simulated.
pub(super) fn lines() -> Vec<Line> {
    let line = |row: &str, scheme, conflicts| {
        let load = Load { conflicts: conflicts * PERCENT, ..Load::default() };
        Line { change: |settings| settings.patience_us = NEVER_US, ..Line::new(FIGURE, row, scheme, load) }
    };
    let mut lines: Vec<_> =
        CONFLICTS.iter().map(|&(conflicts, row, _)| line(row, SchemeKind::Locking, conflicts)).collect();
    lines.push(line(SPECULATION, SchemeKind::Speculation, 100));
    lines.push(line(BLOCKING, SchemeKind::Blocking, 100));
    lines
}

/// Draws it.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let mut shown = vec![Shown::scheme(FIGURE, SPECULATION), Shown::scheme(FIGURE, BLOCKING)];
    shown.push(Shown { name: "locking, no conflicts", ..Shown::scheme(figure4::FIGURE, LOCKING) });
    let locking = |&(_, row, colour): &(u64, &'static str, Colour)| Shown {
        figure: FIGURE,
        row,
        name: row,
        stroke: Stroke::Dotted,
        colour,
    };
    shown.extend(CONFLICTS.iter().map(locking));
    let caption = "Two clients keep one row of each partition written nearly all the time; every other transaction \
                   writes one of the two with the chance that is named.";
    draw::figure(points, "Figure 5. Conflicts", caption.to_owned(), &shown, Vec::new())
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
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
        check((FIGURE, "speculation faster than locking by up to"), "2.5 times", times, (1.4, 2.6), "times")
            .map(|it| it.because(TIMES)),
        check(
            (FIGURE, "locking with 100 % conflicts over blocking at 100 %"),
            "ahead",
            over_blocking.map(|it| it.1),
            (1.1, 3.0),
            "times",
        ),
        check(
            (FIGURE, "speculation changes with conflicts by at most"),
            "not at all",
            apart(SPECULATION),
            (0.0, 8.0),
            "%",
        ),
        check((FIGURE, "blocking changes with conflicts by at most"), "not at all", apart(BLOCKING), (0.0, 8.0), "%"),
        check((FIGURE, "locking with 20 % conflicts at 50 %, of that without"), "less", of_free(0), (85.0, 99.5), "%"),
        check(
            (FIGURE, "locking with 100 % conflicts at 50 %, of that without"),
            "steeply less",
            of_free(2),
            (40.0, 75.0),
            "%",
        ),
    ]
}

const TIMES: &str = "A row that is fought for is held for a fragment, a round trip and the decision: 181 µs, while \
                     blocking holds everything for 211 µs. So two such rows let through nearly twice what blocking \
                     does, and waiting for a lock costs 20 µs here. What it cost the paper's prototype to suspend and \
                     resume is not said; if a run that has to wait cost 64 µs it would be about 1.8 times.";
