//! The arguments of `glassbox lab looking-glass`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox_lab::count::Counting;
use glassbox_lab::looking_glass::{Plan, System};
use glassbox_workloads::tpcc::Scale;

use super::super::report::DIRECTORY;

/// Take a conventional engine apart, component by component, and measure what each of them cost
///
/// The experiment of "OLTP Through the Looking Glass" (SIGMOD 2008) on the classic engine: its stacks from everything
/// to nothing but the access methods, and a hand-written kernel. New-Order, Payment and both mixed; throughput, and
/// instructions if valgrind is installed. Leaves a page to look at and its numbers in the directory of results.
#[derive(Args)]
pub struct Arguments {
    /// Measure less: a hundredth of each warehouse, few transactions; under a minute
    #[arg(long)]
    pub quick: bool,
    /// Measure one of the two only
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<What>,
    /// Warehouses
    #[arg(long, short, value_name = "N", default_value = "5", value_parser = clap::value_parser!(u16).range(1..=100))]
    warehouses: u16,
    /// Transactions of each stack and workload, in all rounds together [default: 40000, or 1000 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=10_000_000))]
    transactions: Option<usize>,
    /// Rounds, besides one to warm up [default: 8, or 3 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Transactions of each stack and workload whose instructions are counted [default: 40000, or 300 if --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(10..=1_000_000))]
    counted: Option<usize>,
    /// Where databases that write a log are put while they are measured
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Where the page and the results are left: looking-glass.html, looking-glass.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, and the report to standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
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

    /// Whether this alone is.
    pub fn measures_only(&self, what: What) -> bool {
        self.only == Some(what)
    }

    /// Size of the data.
    pub const fn scale(&self) -> Scale {
        if self.quick { Scale::small(self.warehouses) } else { Scale::full(self.warehouses) }
    }

    /// The measurement of throughput.
    pub fn plan(&self) -> Plan {
        Plan {
            scale: self.scale(),
            systems: System::ladder(),
            transactions: self.transactions.unwrap_or(if self.quick { 1_000 } else { 40_000 }),
            rounds: self.rounds.unwrap_or(if self.quick { 3 } else { 8 }),
            most: Duration::from_secs(if self.quick { 1 } else { 6 }),
            dir: self.dir.clone(),
            seed: self.seed,
        }
    }

    /// The measurement of instructions.
    pub fn counting(&self) -> Counting<System> {
        Counting {
            scale: self.scale(),
            systems: System::ladder().into_iter().filter(|system| system.is_counted()).collect(),
            warm_up: if self.quick { 300 } else { 5_000 },
            transactions: self.counted.unwrap_or(if self.quick { 300 } else { 40_000 }),
            seed: self.seed,
            dir: self.dir.clone(),
        }
    }
}
