//! The schemes that the paper describes and does not measure.
//!
//! Paper: *Low Overhead Concurrency Control*, section 4.2.1, whose simple form of speculation lets no coordinator know
//! results that depend on undecided transactions (*local speculation*), and section 5.7, which expects optimistic
//! concurrency control to perform like locking, as sets of what was read and written cost what locks do. That cost is
//! an input here: without conflicts, the two are the same by construction.

use glassbox_cluster::SchemeKind;
use glassbox_sim::cluster::Load;

use super::draw::{self, CurveOf};
use super::series::{LOCAL, LOCKING, PERCENT, SPECULATION, Series, colour};
use crate::figures::{Colour, Stroke};
use crate::points::Points;
use crate::section::Figure;

/// Its name in results.
pub const FIGURE: &str = "Other schemes";
/// The name of OCC in series.
pub(super) const OPTIMISTIC: &str = "optimistic";
/// The probability of a conflict in percent.
const CONFLICTS: [u64; 2] = [0, 60];
const SCHEMES: [(&str, SchemeKind); 4] = [
    (SPECULATION, SchemeKind::Speculation),
    (LOCAL, SchemeKind::LocalSpeculation),
    (LOCKING, SchemeKind::Locking),
    (OPTIMISTIC, SchemeKind::Occ),
];

/// The name of a series.
pub(super) fn row(scheme: &str, conflicts: u64) -> String {
    format!("{scheme}, {conflicts} % conflicts")
}

/// The simulated series.
pub(super) fn series() -> Vec<Series> {
    let line = |conflicts: u64, (name, scheme)| {
        let load = Load { conflicts: conflicts * PERCENT, ..Load::default() };
        Series::new(FIGURE, row(name, conflicts), scheme, load)
    };
    CONFLICTS.into_iter().flat_map(|conflicts| SCHEMES.map(|scheme| line(conflicts, scheme))).collect()
}

/// The figure, if it was simulated.
pub(super) fn figure(points: &Points) -> Option<Figure> {
    let of = |conflicts: u64| {
        SCHEMES.map(|(name, _)| {
            let full = if name == OPTIMISTIC { Colour(0x76, 0x5c, 0x48) } else { colour(name) };
            (row(name, conflicts), full.paler(if conflicts == 0 { 0 } else { 50 }))
        })
    };
    let shown: Vec<_> = CONFLICTS.into_iter().flat_map(of).collect();
    let curves: Vec<_> = shown
        .iter()
        .map(|(row, colour)| CurveOf { figure: FIGURE, row, name: row, stroke: Stroke::Dotted, colour: *colour })
        .collect();
    let caption = "Local speculation keeps the results of transactions on two partitions until those before them are \
                   decided, so these wait for each other. Optimistic transactions keep sets of what they read and \
                   wrote, which is taken to cost what locks cost (the paper expects it); one that has met a \
                   later decision runs again, so with conflicts they fall below locking.";
    draw::figure(points, "Other schemes", caption.to_owned(), &curves, Vec::new())
}
