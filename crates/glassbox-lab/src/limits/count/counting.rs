//! Counting one system after the other.

use std::path::PathBuf;

use anyhow::Context;
use glassbox_workloads::tpcc::Scale;

use super::{Counted, parts};
use crate::Watch;
use crate::count::{self, Child, Counts, Job};
use crate::limits::systems::System;

/// What is counted.
#[derive(Debug, Clone)]
pub struct Counting {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<System>,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions that are counted.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which directories are made.
    pub dir: PathBuf,
}

/// Counts, as many systems at a time as there are cores. `command` makes the command line that runs a child in this
/// very program.
///
/// # Errors
/// When valgrind or the child fails, or what it wrote is not understood.
///
/// # Panics
/// When a counting thread does.
pub fn count(
    counting: &Counting,
    command: &(dyn Fn(&Child<System>) -> Vec<String> + Sync),
    watch: &(dyn Watch + Sync),
) -> anyhow::Result<Vec<Counted>> {
    let names: Vec<_> = counting.systems.iter().map(ToString::to_string).collect();
    count::each(&names, watch, &|at| count_one(counting, counting.systems[at], command))
}

fn count_one(
    counting: &Counting,
    system: System,
    command: &dyn Fn(&Child<System>) -> Vec<String>,
) -> anyhow::Result<Counted> {
    let Counting { scale, warm_up, transactions, seed, .. } = *counting;
    let dir = tempfile::Builder::new().prefix("glassbox-counted-").tempdir_in(&counting.dir);
    let dir = dir.with_context(|| format!("cannot make a directory in {}", counting.dir.display()))?;
    let child = Child { system, scale, warm_up, transactions, seed, dir: dir.path().to_owned() };
    let job = Job {
        arguments: command(&child),
        dir: dir.path().to_owned(),
        parts: &parts::PARTS,
        calls: None,
        transactions: vec![transactions],
    };
    let counts = count::run(&job)?;
    let Counts { total, parts, functions, copying, allocating, .. } =
        counts.into_iter().next().context("the child did not run its region")?;
    Ok(Counted { system, transactions, total, parts, functions, copying, allocating })
}
