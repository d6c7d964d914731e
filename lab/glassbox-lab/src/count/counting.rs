//! Counts all systems of an experiment, each in a child.

use std::fmt::Display;
use std::path::PathBuf;

use anyhow::Context;
use glassbox_workloads::tpcc::Scale;

use super::child::Child;
use super::parts::{CallMap, PartMap};
use super::valgrind::{self, CountingJob, Counts};
use crate::measurement::Progress;

/// The systems and transactions that are counted. `S` is the experiment's type of systems.
#[derive(Debug, Clone)]
pub struct Counting<S> {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<S>,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Counted transactions, of each workload if there are several.
    pub transactions: usize,
    /// Seed of the inputs.
    pub seed: u64,
    /// The parent directory of the children's directories.
    pub dir: PathBuf,
}

/// How an experiment's instructions are divided.
#[derive(Debug, Clone, Copy)]
pub struct Regions<'a> {
    /// How often a child runs the region, once for each workload.
    pub runs: usize,
    /// The parts that instructions are divided into.
    pub parts: &'a PartMap,
    /// The calls that they are divided into as well, if any.
    pub calls: Option<&'a CallMap>,
}

impl<S: Copy + Display + Sync> Counting<S> {
    /// Counts all runs of the region of each system, as many systems at a time as there are cores. `command` makes the
    /// command line that runs a child in this program.
    ///
    /// # Errors
    /// When valgrind or a child fails, or its output cannot be parsed; and on an interrupt.
    ///
    /// # Panics
    /// When a counting thread does.
    pub fn count(
        &self,
        regions: Regions<'_>,
        command: &(dyn Fn(&Child<S>) -> Vec<String> + Sync),
        watch: &(dyn Progress + Sync),
    ) -> anyhow::Result<Vec<Vec<Counts>>> {
        let names: Vec<_> = self.systems.iter().map(ToString::to_string).collect();
        valgrind::each(&names, watch, &|at| self.count_one(self.systems[at], regions, command))
    }

    fn count_one(
        &self,
        system: S,
        regions: Regions<'_>,
        command: &dyn Fn(&Child<S>) -> Vec<String>,
    ) -> anyhow::Result<Vec<Counts>> {
        let &Self { scale, warm_up, transactions, seed, .. } = self;
        let dir = tempfile::Builder::new().prefix("glassbox-counted-").tempdir_in(&self.dir);
        let dir = dir.with_context(|| format!("cannot create a directory in {}", self.dir.display()))?;
        let child = Child { system, scale, warm_up, transactions, seed, dir: dir.path().to_owned() };
        let Regions { runs, parts, calls } = regions;
        valgrind::run(&CountingJob {
            arguments: command(&child),
            dir: dir.path().to_owned(),
            parts,
            calls,
            transactions: vec![transactions; runs],
        })
    }
}
