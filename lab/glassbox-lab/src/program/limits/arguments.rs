//! The arguments of `glassbox-lab limits`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use glassbox_lab::count::Counting;
use glassbox_lab::limits::ThroughputPlan;
use glassbox_lab::limits::systems::{BASE, System};
use glassbox_workloads::tpcc::Scale;

use crate::program::shared::MeasureOption;
use glassbox_program::options::Common;

/// Compare the engine with hand-written kernels that do nothing but the work
///
/// Runs the Looking Glass mix (half New-Order, half Payment) on the same data with the same inputs: four kernels
/// without transactions; the engine without a log; and the engine with each kind of log, asynchronous (async) or
/// synchronous (sync) with 1 to 4096 transactions in flight. One client thread and one partition.
#[derive(Args)]
pub struct LimitsArguments {
    /// Measure less: one warehouse, few and short rounds; under a minute
    #[arg(long)]
    pub quick: bool,
    /// The measures
    #[command(flatten)]
    pub measures: MeasureOption,
    /// Warehouses [default: 5, or 1 if --quick]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    warehouses: Option<u16>,
    /// Rounds, in addition to one that warms up [default: 15, or 3 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Transactions of a round [default: 30000, or 10000 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(100..=10_000_000))]
    transactions: Option<usize>,
    /// Transactions whose instructions are counted [default: 20000, or 2000 if --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=1_000_000))]
    counted: Option<usize>,
    /// Also print the N most expensive functions of each system
    #[arg(long, value_name = "N", default_value = "0")]
    pub functions: usize,
    /// Systems to measure, as the table names them; the kernel tree-prefetch is always measured [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    systems: Vec<System>,
    /// Parent directory of temporary databases
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Measure all measurements of TPC-C have
    #[command(flatten)]
    pub common: Common,
}

impl LimitsArguments {
    /// Size of the data.
    pub fn scale(&self) -> Scale {
        self.common.scale(self.warehouses.unwrap_or(if self.quick { 1 } else { 5 }))
    }

    /// The chosen systems of `all`, by default those that `few` accepts if --quick; and the kernel that others are
    /// compared with.
    fn chosen(&self, all: Vec<System>, few: impl Fn(&System) -> bool) -> Vec<System> {
        let asked = |system: &System| match self.systems.is_empty() {
            true => !self.quick || few(system),
            false => self.systems.contains(system),
        };
        all.into_iter().filter(|system| asked(system) || *system == BASE).collect()
    }

    /// The measurement of throughput.
    pub fn plan(&self) -> ThroughputPlan {
        let (transactions, rounds, max_ms) = if self.quick { (10_000, 3, 100) } else { (30_000, 15, 1_000) };
        ThroughputPlan {
            scale: self.scale(),
            systems: self.chosen(System::all(), |system| !matches!(system, System::Sync(_, 16 | 256))),
            transactions: self.transactions.unwrap_or(transactions),
            rounds: self.rounds.unwrap_or(rounds),
            max_time: Duration::from_millis(max_ms),
            dir: self.dir.clone(),
            seed: self.common.seed,
        }
    }

    /// The measurement of instructions.
    pub fn counting(&self) -> Counting<System> {
        Counting {
            scale: self.scale(),
            systems: self.chosen(System::counted(), |system| matches!(system, System::None | System::Async(_))),
            // More than the maximum in flight, so that all counted transactions wait for a ticket.
            warm_up: 5_000,
            transactions: self.counted.unwrap_or(if self.quick { 2_000 } else { 20_000 }),
            seed: self.common.seed,
            dir: self.dir.clone(),
        }
    }
}
