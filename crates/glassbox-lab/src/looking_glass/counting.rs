//! Instructions: each system runs under callgrind, once for each workload.

use std::path::PathBuf;

use anyhow::Context;
use glassbox_workloads::tpcc::Scale;

use super::components::{CALLS, COMPONENTS};
use super::ladder::INSTRUCTIONS;
use super::systems::System;
use super::work::Workload;
use crate::Watch;
use crate::count::{self, Child, Counts, Job};
use crate::points::Points;

/// What is counted.
#[derive(Debug, Clone)]
pub struct Counting {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<System>,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions of each workload that are counted.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which directories are made.
    pub dir: PathBuf,
}

/// Functions of each system that are told, the most costly.
const MOST_FUNCTIONS: usize = 40;

/// Where the instructions by component are, of a workload.
pub(super) fn by_component(workload: Workload) -> String {
    format!("by component, {}", workload.name())
}

/// Where the instructions by call are, of a workload.
pub(super) fn by_call(workload: Workload) -> String {
    format!("by call, {}", workload.name())
}

/// Counts, as many systems at a time as there are cores, and adds to `points`. `command` makes the command line that
/// runs a child in this very program.
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
    points: &mut Points,
) -> anyhow::Result<()> {
    let names: Vec<_> = counting.systems.iter().map(ToString::to_string).collect();
    let all = count::each(&names, watch, &|at| count_one(counting, counting.systems[at], command))?;
    for (at, (name, counted)) in names.iter().zip(all).enumerate() {
        for (workload, counts) in Workload::ALL.into_iter().zip(counted) {
            put(points, name, at as f64, workload, &counts);
        }
    }
    Ok(())
}

fn count_one(
    counting: &Counting,
    system: System,
    command: &dyn Fn(&Child<System>) -> Vec<String>,
) -> anyhow::Result<Vec<Counts>> {
    let Counting { scale, warm_up, transactions, seed, .. } = *counting;
    let dir = tempfile::Builder::new().prefix("glassbox-counted-").tempdir_in(&counting.dir);
    let dir = dir.with_context(|| format!("cannot make a directory in {}", counting.dir.display()))?;
    let child = Child { system, scale, warm_up, transactions, seed, dir: dir.path().to_owned() };
    count::run(&Job {
        arguments: command(&child),
        dir: dir.path().to_owned(),
        parts: &COMPONENTS,
        calls: Some(&CALLS),
        transactions: vec![transactions; Workload::ALL.len()],
    })
}

fn put(points: &mut Points, row: &str, x: f64, workload: Workload, counts: &Counts) {
    let unit = "instructions/transaction";
    points.put(INSTRUCTIONS, row, x, workload.name(), counts.total, unit);
    for (figure, values) in [(by_component(workload), &counts.parts), (by_call(workload), &counts.calls)] {
        for (name, value) in values {
            points.put(&figure, row, x, name, *value, unit);
        }
    }
    let memory = format!("memory, {}", workload.name());
    points.put(&memory, row, x, "copying", counts.copying, unit);
    points.put(&memory, row, x, "allocating", counts.allocating, unit);
    for (name, value) in counts.functions.iter().take(MOST_FUNCTIONS) {
        points.put(&format!("by function, {}", workload.name()), row, x, name, *value, unit);
    }
}
