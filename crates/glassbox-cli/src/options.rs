//! Options that several commands have, as they are written on the command line.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use glassbox::{Architecture, ClassicConfig, Config, Durability, Granularity, LogKind};
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

/// Which engine runs the transactions.
#[derive(Args)]
pub struct EngineOptions {
    /// Which engine
    #[arg(long, value_enum, default_value = "partitioned")]
    pub architecture: ArchitectureOption,
    /// Memory for pages in MiB; --architecture classic only
    #[arg(long, value_name = "MIB", default_value = "1024", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pool_mib: u64,
    /// Size of a page in KiB, when the database is made; --architecture classic only
    #[arg(long, value_name = "KIB", default_value = "8",
          value_parser = PossibleValuesParser::new(["4", "8", "16", "32"]).map(|text| text.parse::<usize>().unwrap_or(8)))]
    page_kib: usize,
    /// What a lock is of; --architecture classic only
    #[arg(long, value_enum, default_value = "record")]
    locks: LocksOption,
}

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArchitectureOption {
    /// Main memory in partitions
    Partitioned,
    /// Pages on disk, a buffer pool, locks and latches
    Classic,
}

/// What a lock is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LocksOption {
    /// Each row
    Record,
    /// The page that a row is on
    Page,
}

impl ArchitectureOption {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partitioned => "partitioned",
            Self::Classic => "classic",
        }
    }
}

impl LocksOption {
    /// As it is written on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Page => "page",
        }
    }
}

impl EngineOptions {
    /// Sets what was chosen.
    pub fn apply(&self, config: Config) -> Config {
        let architecture = match self.architecture {
            ArchitectureOption::Partitioned => Architecture::Partitioned,
            ArchitectureOption::Classic => Architecture::Classic,
        };
        let granularity = match self.locks {
            LocksOption::Record => Granularity::Record,
            LocksOption::Page => Granularity::Page,
        };
        let pool_bytes = (self.pool_mib << 20) as usize;
        let classic = ClassicConfig { page_bytes: self.page_kib << 10, pool_bytes, granularity, ..config.classic };
        Config { architecture, classic, ..config }
    }

    /// The same again, for another process.
    pub fn arguments(&self) -> Vec<String> {
        let values = [
            ("--architecture", self.architecture.name().to_owned()),
            ("--pool-mib", self.pool_mib.to_string()),
            ("--page-kib", self.page_kib.to_string()),
            ("--locks", self.locks.name().to_owned()),
        ];
        values.into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
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
