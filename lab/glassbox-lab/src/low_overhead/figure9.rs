//! Figure 9: New-Order alone, and more and more orders on two partitions.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 9 and section 5.6. Claim: blocking and speculation are very
//! similar to Figure 4. Locking is efficient while it need not lock, and degrades very rapidly: it acquires more locks,
//! many of which conflict, there are local and distributed deadlocks, and with 10 % on two partitions 34 % of the time
//! is spent on locks.
//!
//! Differences here: those of Figure 8. The paper assumes that every order with an item from another warehouse is on
//! two partitions, 9.5 % of them with the specification's 1 % of lines; with six warehouses on two partitions only
//! three of the five others are on the other one. So the axis is the actual share of orders on two partitions, and the
//! probability of a remote line is chosen for it.

use super::draw::{self, CurveOf, FigureFrame, SHARES};
use super::figure4;
use super::model::Model;
use super::series::{BLOCKING, LOCKING, RETRIES, SPECULATION, rate, value};
use super::tpcc::{FIGURE_9 as FIGURE, LOCKS, SCHEMES, SEVERAL, mean};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

/// Draws it; `what` is the origin of the numbers.
pub(crate) fn figure(points: &Points, what: &str) -> Option<Figure> {
    let shown = SCHEMES.map(|(row, _)| CurveOf::scheme(FIGURE, row));
    let caption = "New-Order alone, six warehouses; the share depends on how many items come from other warehouses.";
    let frame = FigureFrame { title: "Figure 9. TPC-C, New-Order alone", what, caption, axis: SHARES };
    draw::framed(points, &frame, &shown, Vec::new())
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let of_none = |figure, row| Some(100.0 * rate(points, figure, row, 10)? / rate(points, figure, row, 0)?);
    let of_micro = |row| Some(of_none(FIGURE, row)? / of_none(figure4::FIGURE, row)?);
    let at = |row, metric| value(points, FIGURE, row, 10, metric);
    let lead = |figure| Some(rate(points, figure, SPECULATION, 10)? / rate(points, figure, BLOCKING, 10)?);
    let similar = lead(FIGURE).zip(lead(figure4::FIGURE)).map(|(here, micro)| here / micro);
    let limit = Model::of_the_paper().coordinator_limit(1.0);
    let limited = rate(points, FIGURE, SPECULATION, 100).map(|it| 100.0 * it / limit);
    let several = mean(points, FIGURE, 10, SEVERAL);
    vec![
        claim((FIGURE, "on two partitions at a nominal 10 %"), "10 %", several, (9.0, 11.0), "%")
            .map(|it| it.by_construction(&["the share of remote warehouses"])),
        claim(
            (FIGURE, "speculation over blocking at 10 %, over that of Figure 4"),
            "very similar",
            similar,
            (0.9, 1.4),
            "times",
        ),
        claim(
            (FIGURE, "speculation of the coordinator's limit at 100 %"),
            "its limit, too",
            limited,
            (90.0, 101.0),
            "%",
        )
        .map(|it| it.by_construction(&["the coordinator's time"])),
        claim(
            (FIGURE, "locking at 10 % of none, over that of Figure 4"),
            "degrades very rapidly",
            of_micro(LOCKING),
            (0.5, 0.85),
            "times",
        ),
        claim((FIGURE, "time on locks at 10 %"), "34 %", at(LOCKING, LOCKS), (32.0, 36.0), "%").map(|it| {
            it.not_reproduced(
                (25.0, 32.0),
                "The costs are chosen for 34 % if all runs acquire locks; at 10 % some do not.",
            )
        }),
        claim(
            (FIGURE, "locking restarted because of deadlocks at 10 %"),
            "local and distributed ones",
            at(LOCKING, RETRIES),
            (10.0, 1e3),
            "per second",
        ),
    ]
}
