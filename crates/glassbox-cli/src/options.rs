//! Options that several commands have, as they are written on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use glassbox::{Durability, LogKind};
use glassbox_workloads::tpcc::Scale;

/// What all measurements of TPC-C are told.
#[derive(Args)]
pub struct Common {
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Also write the results as JSON lines to this file; -: to standard output, and the report to standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Load a hundredth of each warehouse: for tests
    #[arg(long, hide = true)]
    pub small: bool,
}

impl Common {
    /// The sizes of so many warehouses.
    pub const fn scale(&self, warehouses: u16) -> Scale {
        if self.small { Scale::small(warehouses) } else { Scale::full(warehouses) }
    }
}

/// When an answer may be given.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DurabilityOption {
    /// When its log is on disk
    Sync,
    /// At once; a crash loses the last moments
    Async,
    /// At once, and nothing is kept
    None,
}

impl From<DurabilityOption> for Durability {
    fn from(option: DurabilityOption) -> Self {
        match option {
            DurabilityOption::Sync => Self::Sync,
            DurabilityOption::Async => Self::Async,
            DurabilityOption::None => Self::None,
        }
    }
}

impl DurabilityOption {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::None => "none",
        }
    }
}

/// What the log holds.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LogOption {
    /// The changes of rows
    Values,
    /// The calls of procedures
    Commands,
}

impl From<LogOption> for LogKind {
    fn from(option: LogOption) -> Self {
        match option {
            LogOption::Values => Self::Values,
            LogOption::Commands => Self::Commands,
        }
    }
}

impl LogOption {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Commands => "commands",
        }
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
