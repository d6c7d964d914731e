//! The arguments of `glassbox lab limits`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox_lab::count::Counting;
use glassbox_lab::limits::Plan;
use glassbox_lab::limits::systems::{BASE, System};
use glassbox_workloads::tpcc::Scale;

use crate::options::Common;

/// Compare the engine with hand-written kernels that do nothing but the work
///
/// Runs the Looking Glass mix (half New-Order, half Payment) on the same data with the same inputs: four kernels
/// without transactions, and the engine without a log, and with either log, not waiting for it (async) or waiting
/// (sync) with 1 to 4096 transactions in flight. One client thread and one partition.
#[derive(Args)]
pub struct Arguments {
    /// Measure less: one warehouse, few and short rounds; under a minute
    #[arg(long)]
    pub quick: bool,
    /// Measure one of the two only
    #[arg(long, value_enum, value_name = "WHAT")]
    pub only: Option<What>,
    /// Warehouses [default: 5, or 1 if --quick]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    warehouses: Option<u16>,
    /// Rounds, besides one to warm up [default: 15, or 3 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Transactions of a round [default: 30000, or 10000 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(100..=10_000_000))]
    transactions: Option<usize>,
    /// Transactions whose instructions are counted [default: 20000, or 2000 if --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=1_000_000))]
    counted: Option<usize>,
    /// Also tell the N functions of each system that cost most instructions
    #[arg(long, value_name = "N", default_value = "0")]
    pub functions: usize,
    /// Systems to measure, as the table names them; the kernel tree-prefetch is always measured [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    systems: Vec<System>,
    /// Where databases that keep something are put while they are measured
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// What all measurements of TPC-C have
    #[command(flatten)]
    pub common: Common,
}

/// One of the two measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Transactions per second
    Throughput,
    /// Instructions per transaction, which takes valgrind
    Instructions,
}

impl Arguments {
    /// Whether this is to be measured.
    pub fn measures(&self, what: What) -> bool {
        self.only.is_none_or(|only| only == what)
    }

    /// Size of the data.
    pub fn scale(&self) -> Scale {
        self.common.scale(self.warehouses.unwrap_or(if self.quick { 1 } else { 5 }))
    }

    /// Those of `all` that were asked for, or `few` of them if nothing was but to be quick; and the one that the others
    /// are divided by.
    fn chosen(&self, all: Vec<System>, few: impl Fn(&System) -> bool) -> Vec<System> {
        let asked = |system: &System| match self.systems.is_empty() {
            true => !self.quick || few(system),
            false => self.systems.contains(system),
        };
        all.into_iter().filter(|system| asked(system) || *system == BASE).collect()
    }

    /// The measurement of throughput.
    pub fn plan(&self) -> Plan {
        let (transactions, rounds, most_ms) = if self.quick { (10_000, 3, 100) } else { (30_000, 15, 1_000) };
        Plan {
            scale: self.scale(),
            systems: self.chosen(System::all(), |system| !matches!(system, System::Sync(_, 16 | 256))),
            transactions: self.transactions.unwrap_or(transactions),
            rounds: self.rounds.unwrap_or(rounds),
            most: Duration::from_millis(most_ms),
            dir: self.dir.clone(),
            seed: self.common.seed,
        }
    }

    /// The measurement of instructions.
    pub fn counting(&self) -> Counting<System> {
        Counting {
            scale: self.scale(),
            systems: self.chosen(System::counted(), |system| matches!(system, System::None | System::Async(_))),
            // More than are ever in flight, so that the first that is counted waits for a ticket as the last does.
            warm_up: 5_000,
            transactions: self.counted.unwrap_or(if self.quick { 2_000 } else { 20_000 }),
            seed: self.common.seed,
            dir: self.dir.clone(),
        }
    }
}
