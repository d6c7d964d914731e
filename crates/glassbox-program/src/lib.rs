//! Common parts of the programs `glassbox`, `glassbox-cluster` and `glassbox-lab`: exit status, options, results, and
//! the start of a sibling program.

pub mod exit;
pub mod latencies;
pub mod options;
pub mod results;
pub mod sibling;

/// The commit that the program was built from.
pub const COMMIT: &str = env!("GLASSBOX_COMMIT");

/// The line by which `glassbox tpcc --await-start` says that it is ready to run.
pub const READY: &str = "ready";
