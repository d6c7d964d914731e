//! The arguments of `glassbox-lab looking-glass`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use glassbox_lab::count::Counting;
use glassbox_lab::looking_glass::{LadderPlan, LadderSystem};
use glassbox_workloads::tpcc::Scale;

use crate::program::report::DIRECTORY;
use crate::program::shared::MeasureOption;

/// Remove the components of a conventional engine one by one, and measure the cost of each
///
/// The experiment of "OLTP Through the Looking Glass" (SIGMOD 2008) on the classic engine: its stacks from the full one
/// to bare access methods, and a hand-written kernel; and the full stack without one component each. New-Order, Payment
/// and both mixed; throughput, and instructions if valgrind is installed. Writes a page and its numbers to the
/// directory of results.
#[derive(Args)]
pub struct LookingGlassArguments {
    /// Measure less: a hundredth of each warehouse, few transactions; under a minute
    #[arg(long)]
    pub quick: bool,
    /// The measures
    #[command(flatten)]
    pub measures: MeasureOption,
    /// Warehouses
    #[arg(long, short, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=100))]
    warehouses: u16,
    /// Transactions of each stack and workload, in all rounds together [default: 40000, or 1000 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=10_000_000))]
    transactions: Option<usize>,
    /// Rounds, in addition to one that warms up [default: 8, or 3 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Transactions of each stack and workload whose instructions are counted [default: 40000, or 300 if --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=1_000_000))]
    counted: Option<usize>,
    /// Parent directory of temporary databases
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Directory of the page and the results: looking-glass.html, looking-glass.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

impl LookingGlassArguments {
    /// Size of the data.
    pub const fn scale(&self) -> Scale {
        if self.quick { Scale::small(self.warehouses) } else { Scale::full(self.warehouses) }
    }

    /// The measurement of the ladder's throughput.
    pub fn plan(&self) -> LadderPlan {
        self.plan_of(LadderSystem::ladder())
    }

    /// The same of the stacks with one component left out.
    pub fn plan_left_out(&self) -> LadderPlan {
        self.plan_of(LadderSystem::one_left_out())
    }

    fn plan_of(&self, systems: Vec<LadderSystem>) -> LadderPlan {
        LadderPlan {
            scale: self.scale(),
            systems,
            transactions: self.transactions.unwrap_or(if self.quick { 1_000 } else { 40_000 }),
            rounds: self.rounds.unwrap_or(if self.quick { 3 } else { 8 }),
            max_time: Duration::from_secs(if self.quick { 1 } else { 6 }),
            dir: self.dir.clone(),
            seed: self.seed,
        }
    }

    /// The measurement of instructions.
    pub fn counting(&self) -> Counting<LadderSystem> {
        Counting {
            scale: self.scale(),
            systems: LadderSystem::all().into_iter().filter(|system| system.is_counted()).collect(),
            warm_up: if self.quick { 300 } else { 5_000 },
            transactions: self.counted.unwrap_or(if self.quick { 300 } else { 40_000 }),
            seed: self.seed,
            dir: self.dir.clone(),
        }
    }
}
