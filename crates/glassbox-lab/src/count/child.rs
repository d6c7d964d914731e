//! What the child of a measurement is to do.

use std::path::PathBuf;

use glassbox_workloads::tpcc::Scale;

/// One system, and the transactions that are counted. `S`: what the experiment calls a system.
#[derive(Debug, Clone)]
pub struct Child<S> {
    /// The system.
    pub system: S,
    /// Size of the data.
    pub scale: Scale,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions that are counted, of each workload if there are several.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which a directory is made for a database that keeps something.
    pub dir: PathBuf,
}
