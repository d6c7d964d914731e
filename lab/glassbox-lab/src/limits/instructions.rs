//! Instructions per transaction of each system, by parts of the program, counted by [`count`](crate::count).

use anyhow::Context;
use glassbox_workloads::tpcc::{self, Inputs, Settings};

use super::engine::Engine;
use super::parts::PARTS;
use super::systems::System;
use crate::count::{Child, Counting, Counts, Regions, counting};
use crate::measurement::Progress;
use crate::workload::InputBatch;
use glassbox_kernels::shared;

/// The instructions of a system, per transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted {
    /// The system.
    pub system: System,
    /// Transactions that were counted.
    pub transactions: usize,
    /// All instructions.
    pub total: f64,
    /// By part, the same parts in the same order for all systems; they sum to the total.
    pub parts: Vec<(&'static str, f64)>,
    /// By function of the source, the most expensive first: its file and name. Unowned functions that it calls are
    /// included.
    pub functions: Vec<(String, f64)>,
    /// Those in `memcpy` and similar functions, which are included in the parts that called them.
    pub copying: f64,
    /// Those in the allocator, which are included in the parts that called it.
    pub allocating: f64,
}

/// Address space is limited to 32 GiB under valgrind, less than the default reserves.
const TABLE_BYTES: usize = 1 << 30;

/// Runs the transactions that are counted; useful under callgrind only.
///
/// # Errors
/// When the engine fails.
pub fn run_child(child: &Child<System>) -> anyhow::Result<()> {
    let mut inputs = Inputs::new(&Settings::looking_glass(&child.scale, child.seed), 0);
    let mut draw = |count: usize| (0..count).map(|_| inputs.next()).collect::<Vec<_>>();
    let (before, counted) = (draw(child.warm_up), draw(child.transactions));
    if let System::Kernel { hash, prefetch } = child.system {
        let most = child.warm_up + child.transactions;
        let mut kernel = shared::load(hash, prefetch, &child.scale, tpcc::LOAD_SEED, most)?;
        kernel.run(&InputBatch::new(before).kernel);
        let counted = InputBatch::new(counted);
        counting(&mut || kernel.run(&counted.kernel));
    } else {
        let engine = Engine::load(child.system, &child.scale, tpcc::LOAD_SEED, &child.dir, TABLE_BYTES, None)?;
        let mut client = engine.client();
        client.run(&before)?;
        let mut result = Ok(());
        counting(&mut || result = client.run(&counted));
        result?;
        client.finish()?;
    }
    Ok(())
}

/// Counts: see [`Counting::count`].
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn count(
    counting: &Counting<System>,
    command: &(dyn Fn(&Child<System>) -> Vec<String> + Sync),
    watch: &(dyn Progress + Sync),
) -> anyhow::Result<Vec<Counted>> {
    let regions = Regions { runs: 1, parts: &PARTS, calls: None };
    let all = counting.count(regions, command, watch)?;
    let counted = |(&system, counts): (&System, Vec<Counts>)| {
        let Counts { total, parts, functions, copying, allocating, .. } =
            counts.into_iter().next().context("the child did not run its region")?;
        let transactions = counting.transactions;
        Ok(Counted { system, transactions, total, parts, functions, copying, allocating })
    };
    counting.systems.iter().zip(all).map(counted).collect()
}
