//! The hidden commands that experiments run under valgrind: one system, whose instructions are counted.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use glassbox_lab::count::Child;
use glassbox_workloads::tpcc::Scale;

/// Run one system of an experiment once, for valgrind
#[derive(Args)]
pub struct CountArguments<S>
where
    S: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    /// The system to count
    #[arg(long)]
    system: S,
    /// Warehouses of the data
    #[arg(long)]
    warehouses: u16,
    /// Load a hundredth of each warehouse
    #[arg(long)]
    small: bool,
    /// Transactions before those that are counted
    #[arg(long)]
    warm_up: usize,
    /// Counted transactions of each workload
    #[arg(long)]
    transactions: usize,
    /// Seed of the inputs
    #[arg(long)]
    seed: u64,
    /// Parent directory of temporary databases
    #[arg(long)]
    dir: PathBuf,
}

impl<S> CountArguments<S>
where
    S: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    /// The system to run.
    pub fn child(&self) -> Child<S> {
        let &Self { ref system, warehouses, small, warm_up, transactions, seed, ref dir } = self;
        let scale = if small { Scale::small(warehouses) } else { Scale::full(warehouses) };
        Child { system: system.clone(), scale, warm_up, transactions, seed, dir: dir.clone() }
    }
}

/// The command line of a child; `experiment` is the name of the hidden command.
pub fn command<S: Display>(experiment: &str, child: &Child<S>) -> Vec<String> {
    let mut command = vec![experiment.to_owned()];
    let mut option = |name: &str, value: String| command.push(format!("--{name}={value}"));
    option("system", child.system.to_string());
    option("warehouses", child.scale.warehouses.to_string());
    option("warm-up", child.warm_up.to_string());
    option("transactions", child.transactions.to_string());
    option("seed", child.seed.to_string());
    option("dir", child.dir.display().to_string());
    if child.scale != Scale::full(child.scale.warehouses) {
        command.push("--small".to_owned());
    }
    command
}
