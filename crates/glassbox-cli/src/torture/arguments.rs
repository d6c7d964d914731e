//! The arguments of `glassbox torture`, and the configuration of its databases.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox::Config;

use glassbox_program::options::DurabilityOption;

use crate::options::{EngineOptions, LogOption};

/// Kill a working database again and again, and check what is left
#[derive(Args)]
pub struct TortureArguments {
    /// Number of kills
    #[arg(long, short, value_name = "N", default_value = "20")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub kills: u64,
    /// Directory of the database; kept afterwards [default: a temporary one, removed on success]
    #[arg(long, short, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// TortureWorkload of the process
    #[arg(long, value_enum, default_value = "bank")]
    pub workload: TortureWorkload,
    /// Contents of the log
    #[arg(long, value_enum, default_value = "values")]
    pub log: LogOption,
    /// The engine
    #[command(flatten)]
    pub engine: EngineOptions,
    /// Partitions of the database; the classic engine has none
    #[arg(long, short, value_name = "N", default_value = "4")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub partitions: usize,
    /// Client threads
    #[arg(long, short, value_name = "N", default_value = "4")]
    #[arg(value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    pub clients: usize,
    /// Maximum time between two kills, in seconds
    #[arg(long, value_name = "S", default_value = "0.5")]
    pub seconds_between: f64,
    /// When a transaction is answered: without sync there are violations, which shows that they are found
    #[arg(long, value_enum, default_value = "sync", hide = true)]
    pub durability: DurabilityOption,
    /// Seed of the delays and the workload
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// The workload of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TortureWorkload {
    /// Transfers between accounts, counted, with rows that come and go
    Bank,
    /// TPC-C's full mix, at a hundredth of its size
    Tpcc,
}

impl TortureArguments {
    /// Rejects invalid combinations.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check(self.log)
    }
}

impl TortureWorkload {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bank => "bank",
            Self::Tpcc => "tpcc",
        }
    }
}

/// Small segments, so that new ones start; a small buffer, so that it fills; automatic checkpoints.
pub fn config(partitions: usize, log: LogOption, durability: DurabilityOption) -> Config {
    Config::default()
        .with_partitions(partitions)
        .with_durability(durability.into())
        .with_log(log.into())
        .with_segment_bytes(1 << 20)
        .with_log_buffer_bytes(1 << 20)
        .with_checkpoint_log_bytes(8 << 20)
}
