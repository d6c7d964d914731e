//! The hidden command that `glassbox lab looking-glass` runs under valgrind: one system, whose instructions are
//! counted.

use std::path::PathBuf;

use clap::Args;
use glassbox_lab::looking_glass::{self, Child, System};
use glassbox_workloads::tpcc::Scale;

use crate::Verdict;

/// Run one system of `lab looking-glass` once, for valgrind
#[derive(Args)]
pub struct ChildArguments {
    #[arg(long)]
    system: System,
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

/// Runs it.
pub fn run_child(arguments: &ChildArguments) -> anyhow::Result<Verdict> {
    let ChildArguments { system, warehouses, small, warm_up, transactions, seed, ref dir } = *arguments;
    let scale = if small { Scale::small(warehouses) } else { Scale::full(warehouses) };
    looking_glass::run_child(&Child { system, scale, warm_up, transactions, seed, dir: dir.clone() })?;
    Ok(Verdict::Good)
}

/// The command line that runs it.
pub fn command(child: &Child) -> Vec<String> {
    let mut command: Vec<_> = ["lab", "count-looking-glass"].map(str::to_owned).to_vec();
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
