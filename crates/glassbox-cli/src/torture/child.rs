//! The child: opens what is left, checks it, and works until it is killed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use glassbox::Database;
use glassbox_workloads::tpcc::random::Random;

use super::message::{Message, split};
use super::{Workload, bank, tpcc};
use crate::Verdict;
use crate::options::{DurabilityOption, EngineOptions, LogOption};

/// What the parent wants.
#[derive(Args)]
pub struct ChildArguments {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long, value_enum)]
    workload: Workload,
    #[arg(long, value_enum)]
    log: LogOption,
    #[arg(long, value_enum)]
    durability: DurabilityOption,
    #[command(flatten)]
    engine: EngineOptions,
    #[arg(long)]
    partitions: usize,
    #[arg(long)]
    clients: usize,
    #[arg(long)]
    seed: u64,
    /// For each count, what it must at least be.
    #[arg(long)]
    least: String,
    /// For each count, what it may at most be.
    #[arg(long)]
    most: String,
    /// Only check.
    #[arg(long)]
    check_only: bool,
}

/// Checks, and works.
pub fn run(arguments: &ChildArguments) -> anyhow::Result<Verdict> {
    let catalog = match arguments.workload {
        Workload::Bank => bank::catalog(),
        Workload::Tpcc => glassbox_workloads::tpcc::catalog(),
    };
    let config = super::config(arguments.partitions, arguments.log, arguments.durability);
    let config = arguments.engine.apply(config);
    let db = Database::open(&arguments.dir, config, catalog)?;
    let counts = match check(arguments, &db)? {
        Ok(counts) => counts,
        Err(violation) => {
            Message::Violation(violation).send()?;
            return Ok(Verdict::Bad);
        }
    };
    Message::Ready(counts.clone()).send()?;
    if arguments.check_only {
        db.close()?;
        return Ok(Verdict::Good);
    }
    work(arguments, &db, &counts)
}

/// Works until the process is killed. A client that ends has failed, and the process must not go on without it.
fn work(arguments: &ChildArguments, db: &Database, counts: &[u64]) -> ! {
    std::thread::scope(|scope| {
        let client = |client: usize| match arguments.workload {
            Workload::Bank => bank::run_client(db, client, counts[client]),
            Workload::Tpcc => tpcc::run_client(db, client, arguments.seed),
        };
        let mut threads: Vec<_> = (0..arguments.clients).map(|at| scope.spawn(move || client(at))).collect();
        threads.push(scope.spawn(|| checkpoints(db, arguments.seed)));
        loop {
            if let Some(at) = threads.iter().position(std::thread::ScopedJoinHandle::is_finished) {
                let failed = threads.swap_remove(at).join();
                let why = failed.map_or_else(|_| "it panicked".to_owned(), |result| format!("{result:?}"));
                let _ = Message::Violation(format!("a thread ended: {why}")).send();
                std::process::exit(1);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    })
}

fn check(arguments: &ChildArguments, db: &Database) -> anyhow::Result<Result<Vec<u64>, String>> {
    let counts = match arguments.workload {
        Workload::Bank => bank::check(db, arguments.clients)?,
        Workload::Tpcc => tpcc::check(db)?,
    };
    let counts = match counts {
        Ok(counts) => counts,
        violation => return Ok(violation),
    };
    let bounds = (split(&arguments.least), split(&arguments.most));
    let (Some(least), Some(most)) = bounds else { anyhow::bail!("the bounds are no numbers") };
    for (client, (count, (least, most))) in counts.iter().zip(least.into_iter().zip(most)).enumerate() {
        if *count < least {
            return Ok(Err(format!(
                "{least} transactions of client {client} were acknowledged, but {count} are there"
            )));
        }
        if *count > most {
            return Ok(Err(format!("{most} transactions of client {client} were sent, but {count} are there")));
        }
    }
    let wrong = db.verify();
    Ok(if wrong.is_empty() { Ok(counts) } else { Err(wrong.join("; ")) })
}

/// Makes checkpoints at random moments.
fn checkpoints(db: &Database, seed: u64) -> anyhow::Result<()> {
    let mut random = Random::of_part(seed, [0xc4ec, 0, 0]);
    loop {
        std::thread::sleep(Duration::from_millis(random.uniform(0, 150)));
        db.checkpoint()?;
    }
}
