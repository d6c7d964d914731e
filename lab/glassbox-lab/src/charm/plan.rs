//! The cells of the experiment: what is run, and where its numbers belong.

use std::path::PathBuf;
use std::time::Duration;

use glassbox::config::{ClassRule, ExecutionPolicy, FetchMethod, Granularity, HybridPolicy};
use glassbox::io::DiskModel;
use glassbox_workloads::tpcc::Scale;

use super::policy::{CountedPolicy, Policy};
use super::pools::{PoolTarget, SHARES};
use super::run::{Execution, RunSettings, WarmUp};
use crate::count::Counting;

/// How many times as fast as the paper's the modelled disks and processor are.
pub(super) const FASTER: u64 = 5;
/// The paper's computation of a transaction, nanoseconds: half of what its processor needed for the two stages of one,
/// of which it made 375 a second at most (Table 7).
const COMPUTATION_NS: u64 = 1_330_000;
/// The second row of Table 7, as a multiple of the computation: 3 ms more. The paper says 30 ms, with which four
/// sessions could not make as many transactions as it reports.
pub(super) const IDLE: f64 = 3.25;
/// The pool that corresponds to the paper's usual memory. With four sessions and that much computation, two-phase
/// locking made 141 transactions a second (Table 7); most need the same page. So each waited 5.8 ms for the disk while
/// it held locks, as here with this number of reads, which take 12 ms.
const USUAL: PoolTarget = PoolTarget::Reads(0.48);
/// The paper's disks.
const DISKS: DiskModel = DiskModel::DISKS_OF_2001.faster("2001, five times as fast", FASTER);

/// Warehouses, where nothing else is said.
pub(super) const WAREHOUSES: u16 = 5;
/// A tenth of a warehouse. In a hundredth, the orders of one run would be as many as there were.
pub(super) const TENTH: Scale = Scale { warehouses: 1, items: 10_000, customers: 300, orders: 300 };

/// The measurement.
#[derive(Debug, Clone)]
pub struct CharmPlan {
    /// Whether less is measured: warehouses of a tenth of their size, fewer cells, shorter runs.
    pub is_quick: bool,
    /// Measured seconds of each run.
    pub seconds: f64,
    /// Rounds over all cells.
    pub rounds: usize,
    /// The part that is measured; `None`: both.
    pub part: Option<CharmPart>,
    /// Parent directory of temporary databases.
    pub dir: PathBuf,
    /// Seed of inputs and disks.
    pub seed: u64,
}

impl CharmPlan {
    /// The database.
    pub fn scale(&self, warehouses: u16) -> Scale {
        if self.is_quick { Scale { warehouses, ..TENTH } } else { Scale::full(warehouses) }
    }

    /// The instructions that are counted.
    pub fn counting(&self) -> Counting<CountedPolicy> {
        Counting {
            scale: Scale::small(1),
            systems: CountedPolicy::ALL.to_vec(),
            warm_up: 3_000,
            transactions: if self.is_quick { 2_000 } else { 10_000 },
            seed: self.seed,
            dir: self.dir.clone(),
        }
    }

    pub(super) fn length(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }

    /// The warm-up of each run. Customers are accessed least often of what transactions access repeatedly: four times
    /// as many transactions as there are pages of customers leave few pages that are missing for the first time.
    pub(super) fn warm_up(&self) -> WarmUp {
        if self.is_quick {
            WarmUp { transactions: 4_000, finding: Duration::from_millis(400) }
        } else {
            WarmUp { transactions: 60_000, finding: Duration::from_secs(5) }
        }
    }

    /// How often the size of a pool is tried again for each share of the New-Orders that is to need the disk.
    pub(super) fn refinements(&self) -> usize {
        if self.is_quick { 0 } else { 3 }
    }
}

/// A part of the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CharmPart {
    /// With the paper's disks and processor.
    Paper,
    /// With today's.
    Here,
    /// The paper's cells with and without locks of leaves.
    Leaves,
}

/// A cell.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    pub figure: &'static str,
    pub row: String,
    pub x: f64,
    pub warehouses: u16,
    /// The number by which its pool is chosen.
    pub pool: PoolTarget,
    /// With the size of the pool still to be filled in.
    pub run: RunSettings,
}

/// The row of classes that are found by what executions did.
pub(super) const FOUND: &str = "HTSTE, classes found";
/// The same, with batches.
pub(super) const BATCHES: &str = "HTSTE, classes found, batches";

/// The figures, in results.
pub(super) const SESSIONS: &str = "sessions";
pub(super) const DETECTION: &str = "detection";
pub(super) const POOLS: &str = "pools";
pub(super) const MISSED: &str = "missed";
pub(super) const COMPUTATION: &str = "computation";
pub(super) const PINNED: &str = "pinned";
/// The cells of [`SESSIONS`] with locks of leaves of indexes.
pub(super) const LEAVES: &str = "leaf locks";
/// The sessions of that comparison.
const LEAF_SESSIONS: [usize; 3] = [2, 4, 8];
pub(super) const HERE: [(&str, Granularity); 2] =
    [("here, page locks", Granularity::Page), ("here, record locks", Granularity::Record)];
pub(super) const LATENCY: &str = "latency";
pub(super) const SHARE: &str = "share";
pub(super) const FETCH: &str = "fetch";

/// With the paper's constants.
fn of_2001(policy: Policy, sessions: usize, computation: f64) -> RunSettings {
    RunSettings {
        execution: if policy == Policy::Hybrid { Execution::Fixed } else { Execution::Policy(policy.policy()) },
        fetch: FetchMethod::OneByOne,
        granularity: Granularity::Page,
        disk: Some(DISKS),
        hot_first: true,
        computation_ns: (computation * (COMPUTATION_NS / FASTER) as f64) as u64,
        ..RunSettings::plain(0, sessions)
    }
}

/// The paper's OTSTE: after its fetch stage it reads a page that is missing again, under locks.
fn optimistic_of_paper() -> ExecutionPolicy {
    const ALWAYS: u32 = 1_000_000;
    let (rule, converts_missed) = (ClassRule::Ratios, false);
    ExecutionPolicy::Hybrid(HybridPolicy {
        missed_ppm: ALWAYS,
        two_stage_ppm: ALWAYS,
        rule,
        converts_missed,
        ..HybridPolicy::DEFAULT
    })
}

fn of_today(policy: Policy, sessions: usize, granularity: Granularity, disk: DiskModel) -> RunSettings {
    RunSettings {
        execution: Execution::Policy(policy.policy()),
        granularity,
        disk: Some(disk),
        ..RunSettings::plain(0, sessions)
    }
}

impl CharmPlan {
    /// All cells.
    pub(super) fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        if self.part != Some(CharmPart::Here) {
            cells.extend(self.cells_of_2001());
        }
        if matches!(self.part, None | Some(CharmPart::Here)) {
            cells.extend(self.cells_of_today());
        }
        if self.part == Some(CharmPart::Leaves) {
            // With the same cells without locks of leaves.
            let compared: Vec<_> =
                cells.iter().filter(|it| it.figure == LEAVES).map(|it| (it.row.clone(), it.x)).collect();
            let is_compared = |cell: &Cell| compared.contains(&(cell.row.clone(), cell.x));
            cells.retain(|cell| cell.figure == LEAVES || cell.figure == SESSIONS && is_compared(cell));
        }
        cells
    }

    fn cells_of_2001(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut add = |figure, row: &str, x: f64, (warehouses, pool): (u16, PoolTarget), run| {
            cells.push(Cell { figure, row: row.to_owned(), x, warehouses, pool, run });
        };
        let usual = (5, USUAL);
        let numbers: &[usize] = if self.is_quick { &[1, 2, 4, 8] } else { &[1, 2, 3, 4, 6, 8, 10, 12] };
        for &sessions in numbers {
            let x = sessions as f64;
            for policy in [Policy::TwoPhaseLocking, Policy::Hybrid] {
                add(SESSIONS, policy.name(), x, usual, of_2001(policy, sessions, 1.0));
            }
            // By the paper's rule; and as in the paper, a page that was missed is read.
            let found = HybridPolicy { rule: ClassRule::Ratios, converts_missed: false, ..HybridPolicy::default() };
            let execution = Execution::Policy(ExecutionPolicy::Hybrid(found));
            let found = RunSettings { execution, ..of_2001(Policy::Hybrid, sessions, 1.0) };
            add(SESSIONS, FOUND, x, usual, found);
            add(SESSIONS, BATCHES, x, usual, RunSettings { fetch: FetchMethod::Batches, ..found });
            if sessions > 1 {
                // The paper's time would be 100 ms.
                let detect_every_ms = Some(100 / FASTER);
                let run = RunSettings { detect_every_ms, ..of_2001(Policy::TwoPhaseLocking, sessions, 1.0) };
                add(DETECTION, Policy::TwoPhaseLocking.name(), x, usual, run);
            }
        }
        for sessions in LEAF_SESSIONS {
            for policy in [Policy::TwoPhaseLocking, Policy::Hybrid] {
                let granularity = Granularity::PageAndLeaf;
                let run = RunSettings { granularity, ..of_2001(policy, sessions, 1.0) };
                add(LEAVES, policy.name(), sessions as f64, usual, run);
            }
        }
        for share in SHARES {
            for policy in [Policy::TwoPhaseLocking, Policy::Hybrid] {
                add(POOLS, policy.name(), share, (5, PoolTarget::Share(share)), of_2001(policy, 4, 1.0));
            }
        }
        for sessions in if self.is_quick { 2..=5 } else { 2..=6 } {
            for (warehouses, row) in [(1, "1 warehouse"), (5, "5 warehouses")] {
                let execution = Execution::Policy(optimistic_of_paper());
                let run = RunSettings { execution, ..of_2001(Policy::Optimistic, sessions, 1.0) };
                add(MISSED, row, sessions as f64, (warehouses, USUAL), run);
            }
        }
        for computation in [0.5, 1.0, 2.0, IDLE, 4.0, 8.0] {
            for policy in Policy::ALL {
                add(COMPUTATION, policy.name(), computation, usual, of_2001(policy, 4, computation));
            }
        }
        for (warehouses, row) in [(1, "1 warehouse"), (5, "5 warehouses")] {
            add(PINNED, row, f64::from(warehouses), (warehouses, USUAL), of_2001(Policy::TwoStage, 4, 0.0));
        }
        cells
    }

    fn cells_of_today(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        let mut add = |figure, row: &str, x: f64, share: f64, run| {
            let pool = PoolTarget::Share(share);
            cells.push(Cell { figure, row: row.to_owned(), x, warehouses: 5, pool, run });
        };
        let numbers: &[usize] = if self.is_quick { &[4, 16] } else { &[1, 4, 16, 64] };
        for (figure, granularity) in HERE {
            for &sessions in numbers {
                for policy in Policy::HERE {
                    let run = of_today(policy, sessions, granularity, DiskModel::CLOUD);
                    add(figure, policy.name(), sessions as f64, SHARES[0], run);
                }
            }
        }
        let latencies: &[u64] = if self.is_quick { &[100, 1_000] } else { &[50, 100, 300, 1_000, 3_000, 10_000] };
        for &us in latencies {
            let disk = DiskModel::fixed("a fixed latency", 64, us * 1_000);
            for policy in [Policy::TwoPhaseLocking, Policy::Hybrid] {
                let run = of_today(policy, 16, Granularity::Page, disk);
                add(LATENCY, policy.name(), us as f64, SHARES[0], run);
            }
        }
        for share in SHARES {
            for policy in Policy::HERE {
                let run = of_today(policy, 16, Granularity::Page, DiskModel::CLOUD);
                add(SHARE, policy.name(), share, share, run);
            }
            for (fetch, row) in [(FetchMethod::Batches, "batches"), (FetchMethod::OneByOne, "one by one")] {
                let run = RunSettings { fetch, ..of_today(Policy::TwoStage, 1, Granularity::Page, DiskModel::CLOUD) };
                add(FETCH, row, share, share, run);
            }
        }
        cells
    }
}
