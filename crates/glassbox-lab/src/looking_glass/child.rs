//! The program that is counted: one system, loaded, warmed up, and run once for each workload.

use std::path::PathBuf;

use glassbox_workloads::tpcc::Scale;

use super::subject::{Batch, Subject};
use super::systems::System;
use super::work::{Work, Workload};
use crate::count::counting;

/// What is counted.
#[derive(Debug, Clone)]
pub struct Child {
    /// The system.
    pub system: System,
    /// Size of the data.
    pub scale: Scale,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions of each workload that are counted.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which a directory is made for a database that writes a log.
    pub dir: PathBuf,
}

/// Runs what is to be counted; under callgrind, or it does nothing useful.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child) -> anyhow::Result<()> {
    let in_all = child.warm_up + child.transactions * Workload::ALL.len();
    let mut subject = Subject::load(child.system, &child.scale, in_all, &child.dir)?;
    let mut work = Work::new(&child.scale, child.seed);
    subject.run_all(&Batch::new(work.draw(Workload::Mix, child.warm_up)))?;
    for workload in Workload::ALL {
        let batch = Batch::new(work.draw(workload, child.transactions));
        let mut result = Ok(());
        counting(&mut || result = subject.run_all(&batch));
        result?;
    }
    Ok(())
}
