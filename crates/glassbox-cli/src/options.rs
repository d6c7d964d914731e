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
    /// Memory for pages in MiB; --architecture classic only [default: 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pool_mib: Option<u64>,
    /// Size of a page in KiB, when the database is made; --architecture classic only [default: 8]
    #[arg(long, value_name = "KIB", value_parser = PossibleValuesParser::new(["4", "8", "16", "32"]).map(kib))]
    page_kib: Option<usize>,
    /// What a lock is of; --architecture classic only [default: record]
    #[arg(long, value_enum)]
    locks: Option<LocksOption>,
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
        let granularity = match self.locks() {
            LocksOption::Record => Granularity::Record,
            LocksOption::Page => Granularity::Page,
        };
        let ClassicConfig { page_bytes, pool_bytes, .. } = config.classic;
        let classic = ClassicConfig {
            page_bytes: self.page_kib.map_or(page_bytes, |kib| kib << 10),
            pool_bytes: self.pool_mib.map_or(pool_bytes, |mib| (mib << 20) as usize),
            granularity,
            ..config.classic
        };
        Config { architecture, classic, ..config }
    }

    /// Whether it is the classic engine.
    pub fn is_classic(&self) -> bool {
        self.architecture == ArchitectureOption::Classic
    }

    /// What a lock is of.
    pub fn locks(&self) -> LocksOption {
        self.locks.unwrap_or(LocksOption::Record)
    }

    /// The size of a page in KiB, if somebody asked for one.
    pub const fn page_kib(&self) -> Option<usize> {
        self.page_kib
    }

    /// Refuses options that mean nothing for the engine that was chosen.
    pub fn check(&self, log: LogOption) -> Result<(), String> {
        if self.is_classic() {
            return match log {
                LogOption::Values => Ok(()),
                LogOption::Commands => Err("--log commands cannot be with --architecture classic, which logs changes \
                                            of pages: leave it out"
                    .to_owned()),
            };
        }
        let given = [
            ("--pool-mib", self.pool_mib.is_some()),
            ("--page-kib", self.page_kib.is_some()),
            ("--locks", self.locks.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                Err(format!("{name} needs --architecture classic: the partitioned engine has no such part"))
            }
        }
    }

    /// The same again, for another process.
    pub fn arguments(&self) -> Vec<String> {
        let values = [
            ("--architecture", Some(self.architecture.name().to_owned())),
            ("--pool-mib", self.pool_mib.map(|mib| mib.to_string())),
            ("--page-kib", self.page_kib.map(|kib| kib.to_string())),
            ("--locks", self.locks.map(|locks| locks.name().to_owned())),
        ];
        let given = values.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        given.flatten().collect()
    }
}

/// When an answer may be given.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum DurabilityOption {
    /// When its log is on disk
    Sync,
    /// At once; a crash loses the last moments
    Async,
    /// At once; a crash keeps only the last checkpoint
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

fn kib(text: String) -> usize {
    text.parse().expect("one of the possible values")
}
