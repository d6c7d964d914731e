//! Figure 6: aborts.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 6 and section 5.3. Claim: blocking and locking are unaffected
//! (they gain a little, since an aborted transaction is cheaper); speculation falls, is ahead of locking up to 5 %
//! aborts if one ignores the coordinator's limit, and nearly as slow as blocking at 10 %.
//!
//! The difference here: the paper does not give the cost of undoing a run. Here it is the cost of keeping undo
//! information, 9 µs, and an abort costs 20 µs.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::Load;

use super::draw::{self, CurveOf};
use super::figure4;
use super::series::{BLOCKING, LOCKING, PERCENT, SPECULATION, Series, ahead_until, curve, rate, ratios};
use crate::claim::{Claim, claim};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Figure 6";
const BLOCKING_10: &str = "blocking, 10 % aborts";
const LOCKING_10: &str = "locking, 10 % aborts";
/// The probability of an abort in percent, the name of the series, and its colour.
const ABORTS: [(u64, &str, Colour); 3] = [
    (3, "speculation, 3 % aborts", Colour(0x5a, 0xae, 0x61)),
    (5, "speculation, 5 % aborts", Colour(0x8c, 0xb3, 0x3c)),
    (10, "speculation, 10 % aborts", Colour(0xc7, 0xa8, 0x2b)),
];

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |row: &str, scheme, aborts: u64| {
        Series::new(FIGURE, row, scheme, Load { aborts: aborts * PERCENT, ..Load::default() })
    };
    let mut lines: Vec<_> = ABORTS.iter().map(|&(aborts, row, _)| line(row, SchemeKind::Speculation, aborts)).collect();
    lines.push(line(BLOCKING_10, SchemeKind::Blocking, 10));
    lines.push(line(LOCKING_10, SchemeKind::Locking, 10));
    lines
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let mut shown = vec![CurveOf { name: "speculation, no aborts", ..CurveOf::scheme(figure4::FIGURE, SPECULATION) }];
    let speculation = |&(_, row, colour): &(u64, &'static str, Colour)| CurveOf {
        figure: FIGURE,
        row,
        name: row,
        stroke: Stroke::Dotted,
        colour,
    };
    shown.extend(ABORTS.iter().map(speculation));
    shown.extend([CurveOf::scheme(FIGURE, BLOCKING_10), CurveOf::scheme(FIGURE, LOCKING_10)]);
    let caption = "One partition aborts at the start of its run, the other learns of it by two-phase commit. Aborted \
                   transactions are included in the throughput, as their clients have an answer.";
    draw::figure(points, "Figure 6. Aborts", caption.to_owned(), &shown, Vec::new())
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at = |row: &str| curve(points, FIGURE, row);
    let until = |aborts: usize| ahead_until(&at(ABORTS[aborts].1), &at(LOCKING_10));
    let half = |row| rate(points, FIGURE, row, 50);
    let loss = |aborts: usize| Some(100.0 * half(ABORTS[aborts].1)? / rate(points, figure4::FIGURE, SPECULATION, 50)?);
    let gain = |row, free: &str| {
        let ratios = ratios(&at(row), &curve(points, figure4::FIGURE, free));
        let gains = ratios.iter().map(|point| 100.0 * (point.1 - 1.0));
        (!ratios.is_empty()).then(|| gains.sum::<f64>() / ratios.len() as f64)
    };
    let near_blocking = || Some(half(ABORTS[2].1)? / half(BLOCKING_10)?);
    vec![
        claim(
            (FIGURE, "speculation with 5 % aborts ahead of locking up to"),
            "at all shares, except for the coordinator's limit",
            until(1),
            (50.0, 100.0),
            "%",
        )
        .map(|it| it.not_reproduced((15.0, 50.0), FIVE)),
        claim((FIGURE, "speculation with 10 % aborts ahead of locking up to"), "not ahead", until(2), (0.0, 2.0), "%")
            .map(|it| it.not_reproduced((2.0, 25.0), TEN)),
        claim((FIGURE, "speculation with 5 % aborts at 50 %, of that without"), "less", loss(1), (70.0, 92.0), "%"),
        claim(
            (FIGURE, "speculation with 10 % aborts at 50 %, of that without"),
            "much less",
            loss(2),
            (30.0, 55.0),
            "%",
        )
        .map(|it| it.not_reproduced((55.0, 82.0), TEN)),
        claim(
            (FIGURE, "speculation with 10 % aborts at 50 %, of blocking"),
            "near 1",
            near_blocking(),
            (0.9, 1.25),
            "times",
        )
        .map(|it| it.not_reproduced((1.25, 2.5), TEN)),
        claim(
            (FIGURE, "blocking gains by 10 % aborts, on average"),
            "a little",
            gain(BLOCKING_10, BLOCKING),
            (-1.0, 6.0),
            "%",
        ),
        claim(
            (FIGURE, "locking gains by 10 % aborts, on average"),
            "a little",
            gain(LOCKING_10, LOCKING),
            (0.0, 8.0),
            "%",
        ),
    ]
}

const FIVE: &str = "The comparison includes the coordinator's limit, and the series of locking is the one with 10 % \
                    aborts, which is slightly faster. Repeated runs saturate the partitions first; repeated results \
                    saturate the coordinator sooner.";
const TEN: &str = "An abort undoes the transactions that a partition ran until it received the decision: here about \
                   two, because the decision arrives after 156 µs. With 9 µs to undo one, each repeated transaction \
                   costs 82 µs. With 50 µs to undo one, speculation would be 1.5 times blocking at 10 % aborts; but at \
                   5 % it would be ahead of locking up to about 14 % only. No single cost satisfies both of the \
                   paper's facts.";
