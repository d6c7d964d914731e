//! The microbenchmark on this machine: partitions, coordinator and clients as threads of one process, with injected
//! round trips; and the simulator's prediction of it.
//!
//! All clients, usually 40, share one thread (`Clients`); each calls again when it receives its answer. Forty threads
//! on a few cores would measure the system's scheduler. So two partitions have four threads, which share the cores of a
//! machine with two; a prediction assumes as many processors as there are. The same is measured with all machines on
//! one thread, which never waits for a core.
//!
//! Under `Auto` an advisor changes the scheme while the load runs. Measurements of the schemes are interleaved, and
//! ratios are formed within a round.

mod auto;
pub(crate) mod drive;
mod plan;
mod predict;
mod processes;
pub mod tables;

pub use auto::{AutoPlan, measure as measure_auto, table as auto_table};
pub(crate) use drive::run_counted;
pub use drive::{CLIENTS, Threading, Trial, TrialResult, run};
pub use plan::{ClusterPlan, EXPERIMENT, PREDICTED, SCHEMES, figure, measure, sweeps};
pub use predict::{predict, predict_tpcc};
pub use processes::{Rows, RunningProcesses, Start};
