//! Counting one system after the other, each in a child.

use std::fmt::Display;
use std::path::PathBuf;

use anyhow::Context;
use glassbox_workloads::tpcc::Scale;

use super::valgrind::{self, Job};
use super::{Calls, Child, Counts, Parts};
use crate::Watch;

/// What is counted. `S`: what the experiment calls a system.
#[derive(Debug, Clone)]
pub struct Counting<S> {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<S>,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions that are counted, of each workload if there are several.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which directories are made.
    pub dir: PathBuf,
}

/// How an experiment counts.
#[derive(Debug, Clone, Copy)]
pub struct Regions<'a> {
    /// How often a child runs the region, once for each workload.
    pub runs: usize,
    /// The parts that instructions are divided into.
    pub parts: &'a Parts,
    /// The calls that they are divided into as well, if any.
    pub calls: Option<&'a Calls>,
}

impl<S: Copy + Display + Sync> Counting<S> {
    /// Counts, as many systems at a time as there are cores: of each, all runs of the region. `command` makes the
    /// command line that runs a child in this very program.
    ///
    /// # Errors
    /// When valgrind or a child fails, or what it wrote is not understood; and when it is interrupted.
    ///
    /// # Panics
    /// When a counting thread does.
    pub fn count(
        &self,
        regions: Regions<'_>,
        command: &(dyn Fn(&Child<S>) -> Vec<String> + Sync),
        watch: &(dyn Watch + Sync),
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
        let dir = dir.with_context(|| format!("cannot make a directory in {}", self.dir.display()))?;
        let child = Child { system, scale, warm_up, transactions, seed, dir: dir.path().to_owned() };
        let Regions { runs, parts, calls } = regions;
        valgrind::run(&Job {
            arguments: command(&child),
            dir: dir.path().to_owned(),
            parts,
            calls,
            transactions: vec![transactions; runs],
        })
    }
}
