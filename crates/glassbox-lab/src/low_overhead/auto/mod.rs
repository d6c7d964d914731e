//! Not in the paper: the engine chooses the scheme, over a grid of loads and where the load shifts.
//!
//! Paper: *Low Overhead Concurrency Control*, section 6: a model "would be useful in a query planner, for example".
//! Claim, of Glassbox: with the [advisor](glassbox_cluster::auto) there is nothing to be chosen; over the grid what it
//! comes to is at least 0.95 of the best scheme's, and on a load that shifts it is ahead of every scheme.

mod grid;
mod shifting;

pub(super) use grid::{checks as grid_checks, figure as grid_figure, lines, table as grid_table};
pub(super) use shifting::{checks as shifting_checks, figure as shifting_figure, simulate};

use glassbox_cluster::SchemeKind;

use super::lines::{BLOCKING, LOCKING, SPECULATION};

/// The row of what is chosen.
pub(super) const AUTO: &str = "auto";
/// How often the advisor looks, in virtual time.
const ADVICE_US: u64 = 100_000;
/// What is begun with.
const FIRST: SchemeKind = SchemeKind::Blocking;
/// What is compared with.
const SCHEMES: [(&str, SchemeKind); 3] =
    [(BLOCKING, SchemeKind::Blocking), (SPECULATION, SchemeKind::Speculation), (LOCKING, SchemeKind::Locking)];
