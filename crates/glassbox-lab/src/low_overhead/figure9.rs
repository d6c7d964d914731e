//! Figure 9: New-Order alone, and more and more orders on two partitions.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 9 and section 5.6. Claim: blocking and speculation are very
//! similar to Figure 4. Locking is efficient while it need not lock, and degrades very rapidly: it takes more locks,
//! many of which conflict, there are local and distributed deadlocks, and with a tenth of all on two partitions 34 % of
//! the time is spent on locks.
//!
//! What differs here: what is said of Figure 8. The paper takes every order with an item from another warehouse to be
//! on two partitions, 9.5 % of them by the specification's 1 % of lines; with six warehouses on two partitions only
//! three of the five others are on the other one. So the axis is what really is on two partitions, and the chance of a
//! line is chosen for it.

use glassbox_workloads::tpcc::Remote;

use super::checks::{Check, check};
use super::draw::{self, Frame, SHARES, Shown};
use super::figure4;
use super::lines::{BLOCKING, LOCKING, RETRIES, SPECULATION, rate, value};
use super::model::Model;
use super::tpcc::{LOCKS, SCHEMES, SEVERAL, mean};
use crate::points::Points;
use crate::report::Figure;

/// In results.
pub const FIGURE: &str = "Figure 9";
/// As in the paper.
pub(super) const WAREHOUSES: u16 = 6;
/// How many of the other warehouses are on the other partition.
const ON_THE_OTHER: f64 = 3.0 / 5.0;

/// The share of orders on two partitions where this share of lines is supplied by another warehouse: an order has 5 to
/// 15 lines.
fn share_of(lines: f64) -> f64 {
    1.0 - (5..=15).map(|count| (1.0 - lines * ON_THE_OTHER).powi(count)).sum::<f64>() / 11.0
}

/// How many lines have to be supplied by another warehouse for a share of orders on two partitions.
pub(super) fn remote(share: f64) -> Remote {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(low, high);
        if share_of(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    Remote { order_lines: 100.0 * low, payments: 0.0 }
}

/// Draws it; `what` says where the numbers are from.
pub(crate) fn figure(points: &Points, what: &str) -> Option<Figure> {
    let shown = SCHEMES.map(|(row, _)| Shown::scheme(FIGURE, row));
    let caption = "New-Order alone, six warehouses; the share is varied by how many items come from other warehouses.";
    let frame = Frame { title: "Figure 9. TPC-C, New-Order alone", what, caption, axis: SHARES };
    draw::framed(points, &frame, &shown, Vec::new())
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let of_none = |figure, row| Some(100.0 * rate(points, figure, row, 10)? / rate(points, figure, row, 0)?);
    let of_micro = |row| Some(of_none(FIGURE, row)? / of_none(figure4::FIGURE, row)?);
    let at = |row, metric| value(points, FIGURE, row, 10, metric);
    let lead = |figure| Some(rate(points, figure, SPECULATION, 10)? / rate(points, figure, BLOCKING, 10)?);
    let similar = lead(FIGURE).zip(lead(figure4::FIGURE)).map(|(here, micro)| here / micro);
    let limit = Model::of_the_paper().coordinator_limit(1.0);
    let limited = rate(points, FIGURE, SPECULATION, 100).map(|it| 100.0 * it / limit);
    let several = mean(points, FIGURE, 10, SEVERAL);
    vec![
        check((FIGURE, "on two partitions where 10 % are meant"), "10 %", several, (9.0, 11.0), "%"),
        check(
            (FIGURE, "speculation over blocking at 10 %, over that of Figure 4"),
            "very similar",
            similar,
            (0.9, 1.4),
            "times",
        ),
        check(
            (FIGURE, "speculation of what the coordinator lets through at 100 %"),
            "as in Figure 4",
            limited,
            (90.0, 101.0),
            "%",
        ),
        check(
            (FIGURE, "locking at 10 % of none, over that of Figure 4"),
            "degrades very rapidly",
            of_micro(LOCKING),
            (0.5, 0.85),
            "times",
        ),
        check((FIGURE, "time on locks at 10 %"), "34 %", at(LOCKING, LOCKS), (25.0, 33.0), "%").map(|it| {
            it.because("The costs are such that it is 34 % when all that is run locks; at 10 % some is not.")
        }),
        check(
            (FIGURE, "locking begun anew because of deadlocks at 10 %"),
            "local and distributed ones",
            at(LOCKING, RETRIES),
            (10.0, 1e3),
            "a second",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_of_a_line_is_what_gives_the_share() {
        assert_eq!(remote(0.0).order_lines, 0.0);
        for share in [0.1, 0.5, 0.9] {
            assert!((share_of(remote(share).order_lines / 100.0) - share).abs() < 1e-9);
        }
        // If all others were on the other partition: the paper's 9.5 % of 1 %.
        assert!((share_of(0.01 / ON_THE_OTHER) - 0.095).abs() < 0.001);
    }
}
