//! The arguments of `glassbox tpcc`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox_workloads::tpcc::{Mix, Remote};

use crate::options::{Common, DurabilityOption, EngineOptions, LogOption, cores};

/// Run TPC-C, durably, and check its consistency conditions
///
/// Loads the database if the directory holds none, runs clients that call back to back, prints what was measured,
/// closes and opens the database again, and checks the conditions before and after.
#[derive(Args)]
pub struct Arguments {
    /// Warehouses [default: 2, or as many as the directory has]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub warehouses: Option<u16>,
    /// Partitions of the database [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    partitions: Option<usize>,
    /// Client threads [default: as many as partitions]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    clients: Option<usize>,
    /// Transactions that each client keeps in flight; 1: it waits for every answer
    #[arg(long, short, value_name = "N", default_value = "64",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    pub in_flight: usize,
    /// How long to run
    #[arg(long, short, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Which transactions
    #[arg(long, value_enum, default_value = "full")]
    pub mix: MixOption,
    /// Order lines and payments, in percent, that come from another warehouse [default: the specification's 1 and 15]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    remote: Option<f64>,
    /// When an answer may be given
    #[arg(long, value_enum, default_value = "sync")]
    pub durability: DurabilityOption,
    /// What the log holds
    #[arg(long, value_enum, default_value = "values")]
    pub log: LogOption,
    /// The engine
    #[command(flatten)]
    pub engine: EngineOptions,
    /// Directory of the database; kept afterwards
    #[arg(long, short, value_name = "DIR", default_value = "tpcc.db")]
    pub dir: PathBuf,
    /// Remove the database that is there and load a new one
    #[arg(long)]
    pub fresh: bool,
    /// After the run, tell the last waits for locks: who waited for whom, on what, how long
    #[arg(long)]
    pub explain_waits: bool,
    /// Record every page that is used, and tell beside the pages read how many a simulator of the replacement policy
    /// says; --architecture classic with one client only
    #[arg(long)]
    pub trace_pages: bool,
    /// Do not close and open the database again after the run
    #[arg(long)]
    pub no_reopen: bool,
    /// What all measurements of TPC-C have
    #[command(flatten)]
    pub common: Common,
}

/// Which transactions.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MixOption {
    /// The specification's five transactions
    Full,
    /// Half New-Order, half Payment, as in OLTP Through the Looking Glass
    LookingGlass,
    /// New-Order alone
    NewOrder,
}

impl MixOption {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::LookingGlass => "looking-glass",
            Self::NewOrder => "new-order",
        }
    }

    /// The workload's.
    pub const fn mix(self) -> Mix {
        match self {
            Self::Full => Mix::Full,
            Self::LookingGlass => Mix::LookingGlass,
            Self::NewOrder => Mix::NewOrderOnly,
        }
    }
}

impl Arguments {
    /// Partitions to open the database with.
    pub fn partitions(&self) -> usize {
        self.partitions.unwrap_or_else(|| cores().min(64))
    }

    /// Client threads.
    pub fn clients(&self) -> usize {
        self.clients.unwrap_or_else(|| if self.trace_pages { 1 } else { self.partitions() })
    }

    /// Refuses what does not go together.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check(self.log)?;
        if self.engine.is_classic() && self.partitions.is_some() {
            return Err("--partitions cannot be with --architecture classic, which has none: use --clients".to_owned());
        }
        if self.trace_pages && !self.engine.is_classic() {
            return Err("--trace-pages needs --architecture classic: the partitioned engine has no pages".to_owned());
        }
        if self.trace_pages && self.clients() != 1 {
            return Err("--trace-pages follows one client: use --clients 1".to_owned());
        }
        Ok(())
    }

    /// How often another warehouse takes part.
    pub fn remote(&self) -> Remote {
        self.remote.map_or(Remote::SPECIFICATION, |percent| Remote { order_lines: percent, payments: percent })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("give a number of seconds from 0.1 to 86400, such as 10".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("give a percentage from 0 to 100, such as 10".to_owned()),
    }
}
