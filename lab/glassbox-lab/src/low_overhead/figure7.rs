//! Figure 7: transactions of two rounds.
//!
//! Paper: *Low Overhead Concurrency Control*, Figure 7 and section 5.4. Claim: blocking takes nearly twice as long for
//! a transaction on two partitions, speculation is only slightly better, locking relatively unaffected; speculation is
//! ahead of locking below 4 %.
//!
//! The difference here: the same work in two fragments has the costs of
//! [`Costs::in_two_rounds`](glassbox_sim::cluster::Costs::in_two_rounds).

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::{ALL, Load};

use super::draw::{self, CurveOf};
use super::figure4;
use super::series::{BLOCKING, LOCKING, SPECULATION, Series, ahead_until, curve, rate};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Figure 7";
const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let load = Load { two_rounds: ALL, ..Load::default() };
    let line = |(row, scheme)| Series {
        change: |settings| settings.costs = settings.costs.in_two_rounds(),
        ..Series::new(FIGURE, row, scheme, load)
    };
    SCHEMES.map(line).to_vec()
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let shown = SCHEMES.map(|(row, _)| CurveOf::scheme(FIGURE, row));
    let caption = "All transactions on two partitions first read on both, and then write.";
    draw::figure(points, "Figure 7. Two rounds", caption.to_owned(), &shown, Vec::new())
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at = |row: &str| curve(points, FIGURE, row);
    let whole = |row| Some((rate(points, FIGURE, row, 100)?, rate(points, figure4::FIGURE, row, 100)?));
    let longer = whole(BLOCKING).map(|(two, one)| one / two);
    let kept = whole(LOCKING).map(|(two, one)| 100.0 * two / one);
    let better = |percent| Some(rate(points, FIGURE, SPECULATION, percent)? / rate(points, FIGURE, BLOCKING, percent)?);
    vec![
        claim(
            (FIGURE, "speculation ahead of locking up to"),
            "4 %",
            ahead_until(&at(SPECULATION), &at(LOCKING)),
            (2.5, 5.5),
            "%",
        ),
        claim((FIGURE, "blocking longer at 100 % than with one round"), "nearly 2 times", longer, (1.6, 2.1), "times"),
        claim((FIGURE, "speculation over blocking at 50 %"), "slightly better", better(50), (1.0, 1.3), "times")
            .map(|it| it.not_reproduced((1.3, 1.8), STALLS)),
        claim((FIGURE, "locking at 100 % of that with one round"), "relatively unaffected", kept, (85.0, 105.0), "%")
            .map(|it| it.not_reproduced((65.0, 85.0), TWICE)),
    ]
}

const STALLS: &str = "Speculation fills the stall after the second round, blocking none; how long the paper's stalls \
                      were it does not say.";
const TWICE: &str = "Each partition handles twice the messages: those of the second round cost it as much as a quarter \
                     of the work of the first.";
