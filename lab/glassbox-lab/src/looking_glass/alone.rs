//! One stack by itself, transaction after transaction.

use std::path::Path;
use std::time::Instant;

use glassbox::research::stacks::StackName;
use glassbox_ladder::LadderDatabase;
use glassbox_workloads::tpcc::{Input, Kind, Scale};
use tempfile::TempDir;

use super::subject::{open, pool_bytes};
use crate::workload::{Workload, WorkloadInputs};

/// Inputs that are drawn together.
const DRAWN: usize = 256;

/// A loaded stack, and the inputs of its one client.
pub struct OneStack {
    database: Box<dyn LadderDatabase>,
    /// Removed after the database.
    _dir: TempDir,
    work: WorkloadInputs,
    workload: Workload,
    inputs: Vec<Input>,
    /// The next one.
    at: usize,
    /// For how many more transactions there is memory.
    left: usize,
}

impl OneStack {
    /// Memory that [`load`](Self::load) reserves, in bytes.
    pub fn memory_bytes(scale: &Scale, transactions: usize) -> usize {
        pool_bytes(scale, transactions)
    }

    /// Creates a database in a temporary directory in `dir`, with room for so many transactions, and loads it. If
    /// `forced`, each transaction waits for the disk, where the stack has a log there.
    ///
    /// # Errors
    /// When the directory cannot be written, or there is not enough memory.
    pub fn load(
        (stack, forced): (StackName, bool),
        (scale, workload): (&Scale, Workload),
        transactions: usize,
        seed: u64,
        dir: &Path,
    ) -> anyhow::Result<Self> {
        let (database, _dir) = open(stack, forced, 1, scale, transactions, dir)?;
        let (work, inputs) = (WorkloadInputs::new(scale, seed), Vec::new());
        Ok(Self { database, _dir, work, workload, inputs, at: 0, left: transactions })
    }

    /// Runs the next transaction. Returns its type and the nanoseconds until its answer; nothing if there is no memory
    /// for more.
    ///
    /// # Errors
    /// When the engine fails.
    pub fn run_next(&mut self) -> anyhow::Result<Option<(Kind, u64)>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.at == self.inputs.len() {
            (self.inputs, self.at) = (self.work.draw(self.workload, DRAWN), 0);
        }
        let input = &self.inputs[self.at..=self.at];
        (self.at, self.left) = (self.at + 1, self.left - 1);
        let begun = Instant::now();
        self.database.call_each(input)?;
        Ok(Some((input[0].kind(), begun.elapsed().as_nanos() as u64)))
    }

    /// The violations in the data: of trees, heap files, indexes.
    pub fn check(&self) -> Vec<String> {
        self.database.verify()
    }
}
