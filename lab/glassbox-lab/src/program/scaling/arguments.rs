//! The arguments of `glassbox-lab scaling`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;
use glassbox_lab::count::Counting;
use glassbox_lab::scaling::{CountedRun, ScaledSystem, ScalingPlan, numbers_of_cores};
use glassbox_workloads::tpcc::Scale;

use crate::program::report::DIRECTORY;
use crate::program::shared::{MeasureOption, seconds};
use glassbox_program::options::cores;

/// Measure how the engines grow with cores
///
/// TPC-C on 1, 2, 4, ... and all cores, with each engine and durability: as one database whose clients call into any
/// warehouse, as one whose clients keep to their own, and as a process with a database for each core, which share
/// nothing but the machine. Says where the cores' time goes, and counts instructions by part of the program if valgrind
/// is installed. Writes a page and its numbers to the directory of results. Fails if a run does, as when a consistency
/// condition is violated; never because of a measurement.
#[derive(Args)]
pub struct ScalingArguments {
    /// Measure less: one round of a hundredth of each warehouse; about a minute on two cores
    #[arg(long)]
    pub quick: bool,
    /// The measures
    #[command(flatten)]
    pub measures: MeasureOption,
    /// Measure only these systems: no-log, commands, values, classic-behind, classic
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    systems: Vec<ScaledSystem>,
    /// Numbers of cores [default: the powers of two, and all]
    #[arg(long, value_name = "N", value_delimiter = ',',
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    cores: Vec<usize>,
    /// Warehouses for each core
    #[arg(long, short, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=100))]
    warehouses: u16,
    /// Transactions in flight of each client
    #[arg(long, short, value_name = "N", default_value = "256",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    in_flight: usize,
    /// Seconds of each run [default: 3, or 0.3 if --quick]
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// Rounds [default: 9, or 1 if --quick]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    rounds: Option<usize>,
    /// Transactions of each system whose instructions are counted [default: 20000, or 2000 if --quick]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1_000..=1_000_000))]
    counted: Option<usize>,
    /// Parent directory of temporary databases
    #[arg(long, short, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
    /// Directory of the page and the results: scaling.html, scaling.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    pub results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    pub seed: u64,
}

impl ScalingArguments {
    /// The systems, in the order of the tables.
    fn systems(&self) -> Vec<ScaledSystem> {
        let chosen = |system: &ScaledSystem| self.systems.is_empty() || self.systems.contains(system);
        ScaledSystem::ALL.into_iter().filter(chosen).collect()
    }

    /// The numbers of cores, ascending.
    fn numbers_of_cores(&self) -> Vec<usize> {
        let mut numbers = if self.cores.is_empty() { numbers_of_cores(cores().min(64)) } else { self.cores.clone() };
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The measurement of throughput.
    pub fn plan(&self) -> ScalingPlan {
        ScalingPlan {
            systems: self.systems(),
            cores: self.numbers_of_cores(),
            warehouses: self.warehouses,
            small: self.quick,
            in_flight: self.in_flight,
            seconds: self.seconds.unwrap_or(if self.quick { 0.3 } else { 3.0 }),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 9 }),
            dir: self.dir.clone(),
            seed: self.seed,
        }
    }

    /// The measurement of instructions: on the fewest and on the most cores.
    pub fn counting(&self) -> Counting<CountedRun> {
        let numbers = self.numbers_of_cores();
        let mut ends = vec![numbers[0], numbers[numbers.len() - 1]];
        ends.dedup();
        let counted = self.systems().into_iter().filter(|system| system.is_counted());
        let runs = counted.flat_map(|system| ends.iter().map(move |&cores| CountedRun { system, cores }));
        Counting {
            scale: Scale::small(self.warehouses),
            systems: runs.collect(),
            warm_up: if self.quick { 1_000 } else { 10_000 },
            transactions: self.counted.unwrap_or(if self.quick { 2_000 } else { 20_000 }),
            seed: self.seed,
            dir: self.dir.clone(),
        }
    }
}
