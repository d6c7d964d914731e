//! Not in the paper: the engine chooses the scheme, over a grid of loads and under a shifting load.
//!
//! Paper: *Low Overhead Concurrency Control*, section 6: a model "would be useful in a query planner, for example".
//! Claim, of Glassbox: the [advisor](glassbox_cluster::auto) replaces the choice of a scheme; over the grid its
//! throughput is at least 0.95 of the best scheme's, and under a shifting load it is ahead of every scheme.

mod grid;
mod shifting;

pub(super) use grid::{claims as grid_claims, figure as grid_figure, series, table as grid_table};
pub(super) use shifting::{claims as shifting_claims, figure as shifting_figure, simulate};
