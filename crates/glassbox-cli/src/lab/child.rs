//! The hidden commands that experiments run under valgrind: one system, whose instructions are counted.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use glassbox_lab::count::Child;
use glassbox_workloads::tpcc::Scale;

/// Run one system of an experiment once, for valgrind
#[derive(Args)]
pub struct ChildArguments<S>
where
    S: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    #[arg(long)]
    system: S,
    #[arg(long)]
    warehouses: u16,
    #[arg(long)]
    small: bool,
    #[arg(long)]
    warm_up: usize,
    #[arg(long)]
    transactions: usize,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    dir: PathBuf,
}

impl<S> ChildArguments<S>
where
    S: FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    /// What is to be run.
    pub fn child(&self) -> Child<S> {
        let &Self { ref system, warehouses, small, warm_up, transactions, seed, ref dir } = self;
        let scale = if small { Scale::small(warehouses) } else { Scale::full(warehouses) };
        Child { system: system.clone(), scale, warm_up, transactions, seed, dir: dir.clone() }
    }
}

/// The command line that runs it, `experiment` being the name of the hidden command.
pub fn command<S: Display>(experiment: &str, child: &Child<S>) -> Vec<String> {
    let mut command: Vec<_> = ["lab", experiment].map(str::to_owned).to_vec();
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
