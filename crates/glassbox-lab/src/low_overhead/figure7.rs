//! Figure 7: transactions of two rounds.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 7 and section 5.4. Claim: blocking takes nearly twice as long for
//! a transaction on two partitions, speculation is only slightly better, locking relatively unaffected; speculation is
//! ahead of locking below 4 %.
//!
//! What differs here: nothing but what is said of [`Costs::in_two_rounds`]: the same work in two fragments.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Load};

use super::checks::{Check, check};
use super::draw::{self, Shown};
use super::figure4;
use super::lines::{BLOCKING, LOCKING, Line, SPECULATION, ahead_until, curve, rate};
use crate::points::Points;
use crate::report::Figure;

/// In results.
pub const FIGURE: &str = "Figure 7";
const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

/// What is simulated.
pub(super) fn lines() -> Vec<Line> {
    let load = Load { two_rounds: ALL, ..Load::default() };
    let line = |(row, scheme)| Line {
        change: |settings| settings.costs = settings.costs.in_two_rounds(),
        ..Line::new(FIGURE, row, scheme, load)
    };
    SCHEMES.map(line).to_vec()
}

/// Draws it.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let shown = SCHEMES.map(|(row, _)| Shown::scheme(FIGURE, row));
    let caption = "All transactions on two partitions first read everywhere, and then write.";
    draw::figure(points, "Figure 7. Two rounds", caption.to_owned(), &shown, Vec::new())
}

/// Its claims.
pub(super) fn checks(points: &Points) -> Vec<Option<Check>> {
    let at = |row: &str| curve(points, FIGURE, row);
    let whole = |row| Some((rate(points, FIGURE, row, 100)?, rate(points, figure4::FIGURE, row, 100)?));
    let longer = whole(BLOCKING).map(|(two, one)| one / two);
    let kept = whole(LOCKING).map(|(two, one)| 100.0 * two / one);
    let better = |percent| Some(rate(points, FIGURE, SPECULATION, percent)? / rate(points, FIGURE, BLOCKING, percent)?);
    vec![
        check(
            (FIGURE, "speculation ahead of locking up to"),
            "4 %",
            ahead_until(&at(SPECULATION), &at(LOCKING)),
            (2.5, 5.5),
            "%",
        ),
        check((FIGURE, "blocking longer at 100 % than with one round"), "nearly 2 times", longer, (1.6, 2.1), "times"),
        check((FIGURE, "speculation over blocking at 50 %"), "slightly better", better(50), (1.05, 1.8), "times"),
        check((FIGURE, "locking at 100 % of that with one round"), "relatively unaffected", kept, (65.0, 100.0), "%"),
    ]
}
