//! Options that commands of several programs have, as they are written on the command line.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use glassbox::Durability;
use glassbox_workloads::tpcc::Scale;

/// Options of all measurements of TPC-C.
#[derive(Args)]
pub struct Common {
    /// Seed of the transactions' inputs
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Load a hundredth of each warehouse: for tests
    #[arg(long, hide = true)]
    pub small: bool,
}

impl Common {
    /// The sizes of `warehouses` warehouses.
    pub const fn scale(&self, warehouses: u16) -> Scale {
        if self.small { Scale::small(warehouses) } else { Scale::full(warehouses) }
    }
}

/// When a transaction is answered.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DurabilityOption {
    /// When its log is on disk
    Sync,
    /// Immediately; a crash loses the last transactions
    Async,
    /// Immediately; a crash keeps only the last checkpoint
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
    /// The name of the choice on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Async => "async",
            Self::None => "none",
        }
    }
}

/// Cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
