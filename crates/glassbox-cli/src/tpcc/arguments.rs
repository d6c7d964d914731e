//! The arguments of `glassbox tpcc`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueEnum};
use glassbox::io::DiskModel;
use glassbox::research::stacks::StackName;
use glassbox_workloads::tpcc::{Home, Mix, Remote};

use glassbox_program::options::{Common, DurabilityOption, cores};

use crate::options::{EngineOptions, LogOption};

/// Options that stacks do not have.
const NOT_OF_STACKS: [&str; 25] = [
    "partitions",
    "clients",
    "in_flight",
    "remote",
    "home",
    "in_order",
    "log",
    "architecture",
    "pool_mib",
    "page_kib",
    "locks",
    "escalate_at",
    "escalate_page_at",
    "execution",
    "execution_of",
    "class_rule",
    "detect_deadlocks_every_ms",
    "dir",
    "fresh",
    "explain_waits",
    "trace_pages",
    "explain_execution",
    "disk",
    "no_reopen",
    "await_start",
];

/// Run TPC-C, durably, and check its consistency conditions
///
/// Loads the database if the directory has none, runs clients without pauses, prints the results, closes and reopens
/// the database, and checks the conditions before and after.
#[derive(Args)]
pub struct TpccArguments {
    /// Warehouses [default: 2, or as many as the directory has]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub warehouses: Option<u16>,
    /// Partitions of the database [default: one per core]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=64))]
    partitions: Option<usize>,
    /// Client threads [default: as many as partitions]
    #[arg(long, short, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    clients: Option<usize>,
    /// Transactions in flight of each client; 1: it waits for every answer
    #[arg(long, short, value_name = "N", default_value = "64",
          value_parser = RangedU64ValueParser::<usize>::new().range(1..=65_536))]
    pub in_flight: usize,
    /// Duration of the run, in seconds
    #[arg(long, short, value_name = "S", default_value = "10", value_parser = seconds, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Mix of transactions [default: full, or looking-glass with --stack]
    #[arg(long, value_enum)]
    mix: Option<MixOption>,
    /// Order lines and payments, in percent, that come from another warehouse [default: the specification's 1 and 15]
    #[arg(long, value_name = "PERCENT", value_parser = percent, allow_negative_numbers = true)]
    remote: Option<f64>,
    /// Warehouses in which the transactions of a client begin
    #[arg(long, value_enum, default_value = "any")]
    pub home: HomeOption,
    /// Run the transactions of a client in the order in which it submits them, which TPC-C does not ask for
    #[arg(long)]
    pub in_order: bool,
    /// When a transaction is answered
    #[arg(long, value_enum, default_value = "sync")]
    pub durability: DurabilityOption,
    /// Contents of the log
    #[arg(long, value_enum, default_value = "values")]
    pub log: LogOption,
    /// The engine
    #[command(flatten)]
    pub engine: EngineOptions,
    /// Run on a stack of the Looking Glass, the classic engine from which components were left out: one client, one
    /// transaction at a time, New-Order and Payment in its home warehouse, on a new database that is removed afterwards
    #[arg(long, value_name = "NAME", conflicts_with_all = NOT_OF_STACKS)]
    pub stack: Option<StackName>,
    /// Directory of the database; kept afterwards
    #[arg(long, short, value_name = "DIR", default_value = "tpcc.db")]
    pub dir: PathBuf,
    /// Remove the existing database and load a new one
    #[arg(long)]
    pub fresh: bool,
    /// After the run, print the last waits for locks: the waiting transaction, the holder, the lock, the duration
    #[arg(long)]
    pub explain_waits: bool,
    /// Record every page access, and compare the pages read with a simulator of the replacement policy; --architecture
    /// classic with one client only
    #[arg(long)]
    pub trace_pages: bool,
    /// After the run, print how each procedure was executed; --architecture classic only
    #[arg(long)]
    pub explain_execution: bool,
    /// Read pages as slowly as this disk; --architecture classic only
    #[arg(long, value_enum, default_value = "here")]
    pub disk: DiskOption,
    /// Do not close and reopen the database after the run
    #[arg(long)]
    pub no_reopen: bool,
    /// Load, print a line that says `ready`, and run when a line can be read: so that several processes run at the same
    /// time
    #[arg(long, hide = true)]
    pub await_start: bool,
    /// Do not check the consistency conditions: for experiments that check in another round
    #[arg(long, hide = true, requires = "no_reopen")]
    pub no_check: bool,
    /// Options of all measurements of TPC-C
    #[command(flatten)]
    pub common: Common,
}

/// Where the transactions of a client begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HomeOption {
    /// In any warehouse
    Any,
    /// In the warehouses of one partition, the first client's in those of the first partition
    Own,
}

impl HomeOption {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Own => "own",
        }
    }
}

/// The disk that pages are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DiskOption {
    /// This machine's
    Here,
    /// A local drive of flash memory: 100 µs
    Nvme,
    /// A volume in a cloud: 1 ms, and at times more
    Cloud,
    /// Two disks of 2001: 10.5 ms, more or less by up to 40 %
    #[value(name = "2001")]
    DisksOf2001,
}

impl DiskOption {
    /// Its model; none of the machine's own.
    pub const fn model(self) -> Option<DiskModel> {
        match self {
            Self::Here => None,
            Self::Nvme => Some(DiskModel::NVME),
            Self::Cloud => Some(DiskModel::CLOUD),
            Self::DisksOf2001 => Some(DiskModel::DISKS_OF_2001),
        }
    }

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        self.model().map_or("here", |model| model.name)
    }
}

/// A mix of transactions.
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
    /// Its name on the command line.
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

impl TpccArguments {
    /// The mix of transactions.
    pub fn mix(&self) -> MixOption {
        self.mix.unwrap_or(if self.stack.is_some() { MixOption::LookingGlass } else { MixOption::Full })
    }

    /// Partitions to open the database with.
    pub fn partitions(&self) -> usize {
        self.partitions.unwrap_or_else(|| cores().min(64))
    }

    /// Client threads.
    pub fn clients(&self) -> usize {
        self.clients.unwrap_or_else(|| if self.trace_pages { 1 } else { self.partitions() })
    }

    /// Where the transactions of a client begin. The classic engine has no partitions: with it, each client has
    /// warehouses of its own.
    pub fn home(&self, client: usize) -> Home {
        let parts = if self.engine.is_classic() { self.clients() } else { self.partitions() };
        match self.home {
            HomeOption::Any => Home::Any,
            HomeOption::Own => Home::OfPartition((client % parts) as u16, parts as u16),
        }
    }

    /// Rejects clients without a warehouse of their own.
    pub fn check_home(&self, warehouses: u16) -> Result<(), String> {
        let parts = if self.engine.is_classic() { self.clients() } else { self.partitions() };
        if self.home == HomeOption::Own && usize::from(warehouses) < parts {
            let what = if self.engine.is_classic() { "client" } else { "partition" };
            return Err(format!(
                "--home own needs a warehouse for each {what}, and there are {warehouses} for {parts}: use --{what}s \
                 {warehouses}, or load more with --fresh --warehouses {parts}"
            ));
        }
        Ok(())
    }

    /// Rejects invalid combinations.
    pub fn check(&self) -> Result<(), String> {
        self.engine.check(self.log)?;
        if self.stack.is_some() && matches!(self.mix(), MixOption::Full) {
            return Err(
                "--mix full cannot be combined with --stack: stacks run New-Order and Payment only; use --mix \
                        looking-glass or new-order"
                    .to_owned(),
            );
        }
        if self.engine.is_classic() && self.partitions.is_some() {
            return Err(
                "--partitions cannot be combined with --architecture classic, which has none: use --clients".to_owned()
            );
        }
        if self.disk != DiskOption::Here && !self.engine.is_classic() {
            return Err("--disk needs --architecture classic: the partitioned engine reads no disk".to_owned());
        }
        if self.trace_pages && !self.engine.is_classic() {
            return Err("--trace-pages needs --architecture classic: the partitioned engine has no pages".to_owned());
        }
        if self.trace_pages && self.clients() != 1 {
            return Err("--trace-pages follows one client: use --clients 1".to_owned());
        }
        Ok(())
    }

    /// The command line of the laboratory that runs this stack.
    pub fn stack_arguments(&self, stack: StackName) -> Vec<String> {
        let mut arguments = ["stack", stack.name()].map(str::to_owned).to_vec();
        let mut option = |name: &str, value: String| arguments.push(format!("--{name}={value}"));
        option("mix", self.mix().name().to_owned());
        option("seconds", self.seconds.to_string());
        option("durability", self.durability.name().to_owned());
        option("seed", self.common.seed.to_string());
        if let Some(warehouses) = self.warehouses {
            option("warehouses", warehouses.to_string());
        }
        if let Some(json) = &self.common.json {
            option("json", json.display().to_string());
        }
        if self.common.small {
            arguments.push("--small".to_owned());
        }
        arguments
    }

    /// The shares of remote warehouses.
    pub fn remote(&self) -> Remote {
        self.remote.map_or(Remote::SPECIFICATION, |percent| Remote { order_lines: percent, payments: percent })
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("use a number of seconds from 0.1 to 86400, such as 10".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("use a percentage from 0 to 100, such as 10".to_owned()),
    }
}
