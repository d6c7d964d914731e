//! Options that several commands have, as they are written on the command line.

use clap::ValueEnum;
use glassbox::{Durability, LogKind};

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
