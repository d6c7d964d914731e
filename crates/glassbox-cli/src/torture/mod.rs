//! `glassbox torture`: does it keep its promises when it is killed?
//!
//! A test with a simulated disk stops at every write; this one is cruder and closer to life. A child process runs a
//! workload on a real directory and says through a pipe what it is going to send and what was acknowledged; the parent
//! kills it with SIGKILL at a random moment, and starts the next child on what is left. That one recovers, without the
//! directory having been closed properly in between, and checks before it goes on:
//!
//! - what was acknowledged is there, and nothing that was never sent is;
//! - every transaction is there wholly or not at all;
//! - indexes agree with their tables.
//!
//! One child in four is killed so soon that it dies while it recovers; it makes checkpoints all the time, so it dies in
//! those too. What SIGKILL cannot show is what a power failure does to bytes that were written but not forced.

mod bank;
mod child;
mod message;
mod parent;
mod tpcc;

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox::Config;

pub use child::ChildArguments;
pub use child::run as run_child;
pub use parent::run;

use crate::options::{DurabilityOption, EngineOptions, LogOption};

/// Kill a working database again and again, and check what is left
#[derive(Args)]
pub struct Arguments {
    /// How often to kill it
    #[arg(long, short, value_name = "N", default_value = "20")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    kills: u64,
    /// Directory of the database; kept afterwards [default: a temporary one, removed if all is well]
    #[arg(long, short, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// What it works on
    #[arg(long, value_enum, default_value = "bank")]
    workload: Workload,
    /// What the log holds
    #[arg(long, value_enum, default_value = "values")]
    log: LogOption,
    /// The engine
    #[command(flatten)]
    engine: EngineOptions,
    /// Partitions of the database
    #[arg(long, short, value_name = "N", default_value = "4")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    partitions: usize,
    /// Client threads
    #[arg(long, short, value_name = "N", default_value = "4")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    clients: usize,
    /// Longest time that it works between two kills
    #[arg(long, value_name = "S", default_value = "0.5")]
    seconds_between: f64,
    /// When an answer may be given: without sync, violations are to be found, which proves that they can be
    #[arg(long, value_enum, default_value = "sync", hide = true)]
    durability: DurabilityOption,
    /// Seed of the delays and the workload
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
}

/// What a child works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Workload {
    /// Transfers between accounts, counted, with rows that come and go
    Bank,
    /// TPC-C's full mix, a hundredth of its size
    Tpcc,
}

impl Arguments {
    /// Refuses what does not go together.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check(self.log)
    }
}

impl Workload {
    const fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Tpcc => "tpcc",
        }
    }
}

/// Small segments, so that they roll; a small buffer, so that it fills; checkpoints by themselves.
fn config(partitions: usize, log: LogOption, durability: DurabilityOption) -> Config {
    Config {
        partitions,
        durability: durability.into(),
        log: log.into(),
        segment_bytes: 1 << 20,
        log_buffer_bytes: 1 << 20,
        checkpoint_log_bytes: 8 << 20,
        ..Config::default()
    }
}
