//! The child: opens the database, checks it, and works until it is killed.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use glassbox::Database;
use glassbox_workloads::tpcc::random::Random;

use super::arguments::{TortureWorkload, config};
use super::message::{Message, split};
use super::{bank, tpcc};
use glassbox_program::exit::Verdict;
use glassbox_program::options::DurabilityOption;

use crate::options::{EngineOptions, LogOption};

/// The parent's arguments.
#[derive(Args)]
pub struct TortureChildArguments {
    #[arg(long)]
    dir: PathBuf,
    #[arg(long, value_enum)]
    workload: TortureWorkload,
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
    /// The minimum of each count.
    #[arg(long)]
    min: String,
    /// The maximum of each count.
    #[arg(long)]
    max: String,
    /// Check, and exit.
    #[arg(long)]
    check_only: bool,
}

/// Checks the database, and works on it.
pub fn run(arguments: &TortureChildArguments) -> anyhow::Result<Verdict> {
    let catalog = match arguments.workload {
        TortureWorkload::Bank => bank::catalog(),
        TortureWorkload::Tpcc => glassbox_workloads::tpcc::catalog(),
    };
    let config = config(arguments.partitions, arguments.log, arguments.durability);
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

/// Works until the process is killed. A client that ends has failed, and then the process exits.
fn work(arguments: &TortureChildArguments, db: &Database, counts: &[u64]) -> ! {
    std::thread::scope(|scope| {
        let client = |client: usize| match arguments.workload {
            TortureWorkload::Bank => bank::run_client(db, client, counts[client]),
            TortureWorkload::Tpcc => tpcc::run_client(db, client, arguments.seed),
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

fn check(arguments: &TortureChildArguments, db: &Database) -> anyhow::Result<Result<Vec<u64>, String>> {
    let counts = match arguments.workload {
        TortureWorkload::Bank => bank::check(db, arguments.clients)?,
        TortureWorkload::Tpcc => tpcc::check(db)?,
    };
    let counts = match counts {
        Ok(counts) => counts,
        violation => return Ok(violation),
    };
    let bounds = (split(&arguments.min), split(&arguments.max));
    let (Some(min), Some(max)) = bounds else { anyhow::bail!("invalid bounds") };
    for (client, (count, (min, max))) in counts.iter().zip(min.into_iter().zip(max)).enumerate() {
        if *count < min {
            return Ok(Err(format!("{min} transactions of client {client} were acknowledged, but {count} are there")));
        }
        if *count > max {
            return Ok(Err(format!("{max} transactions of client {client} were sent, but {count} are there")));
        }
    }
    let wrong = db.verify();
    Ok(if wrong.is_empty() { Ok(counts) } else { Err(wrong.join("; ")) })
}

/// Writes checkpoints at random moments.
fn checkpoints(db: &Database, seed: u64) -> anyhow::Result<()> {
    let mut random = Random::of_part(seed, [0xc4ec, 0, 0]);
    loop {
        std::thread::sleep(Duration::from_millis(random.uniform(0, 150)));
        db.checkpoint()?;
    }
}
