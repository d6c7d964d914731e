//! Options of the engine and its log, as they are written on the command line.

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use glassbox::config::{ClassRule, ClassicConfig, Execution, ExecutionPolicy, Granularity, HybridPolicy};
use glassbox::{Architecture, Config, LogKind};

/// The engine and its options.
#[derive(Args)]
pub struct EngineOptions {
    /// Engine that runs the transactions
    #[arg(long, value_enum, default_value = "partitioned")]
    pub architecture: ArchitectureOption,
    /// Memory for pages in MiB; --architecture classic only [default: 1024]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    pool_mib: Option<u64>,
    /// Size of a page in KiB of a new database; --architecture classic only [default: 8]
    #[arg(long, value_name = "KIB", value_parser = PossibleValuesParser::new(["4", "8", "16", "32"]).map(kib))]
    page_kib: Option<usize>,
    /// Lock granularity; --architecture classic only [default: record]
    #[arg(long, value_enum)]
    locks: Option<LocksOption>,
    /// Row locks of a transaction on one table above which it locks the table instead; 0: never; --architecture classic
    /// only [default: 10000]
    #[arg(long, value_name = "N")]
    escalate_at: Option<usize>,
    /// Row locks of a transaction on one page above which it locks the page instead; 0: never; --architecture classic
    /// only [default: 0]
    #[arg(long, value_name = "N")]
    escalate_page_at: Option<usize>,
    /// Thread that runs a transaction (partitioned), or whether a transaction fetches its pages before it takes locks
    /// (classic) [default: auto, and conventional]
    #[arg(long, value_enum)]
    execution: Option<ExecutionOption>,
    /// Execution of one procedure, where it differs from --execution, such as new_order=two-stage; may be repeated;
    /// --architecture classic only
    #[arg(long, value_name = "PROCEDURE=EXECUTION", value_parser = execution_of)]
    execution_of: Vec<(String, ExecutionOption)>,
    /// Rule by which hybrid execution chooses conventional, two-stage or optimistic for a procedure; --architecture
    /// classic only [default: measured]
    #[arg(long, value_enum)]
    class_rule: Option<ClassRuleOption>,
    /// Milliseconds between searches for deadlocks; 0: whenever a transaction begins to wait; --architecture classic
    /// only [default: 0]
    #[arg(long, value_name = "MS")]
    detect_deadlocks_every_ms: Option<u64>,
}

/// The rule of hybrid execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClassRuleOption {
    /// The lowest measured cost, by a few executions of each, with the waits for locks that they cause
    Measured,
    /// The paper's: the share of accesses that miss what was fetched, and of executions that need the disk
    Ratios,
    /// The paper's, but two-stage or optimistic by its formula, from the measured times of fetches and conversions
    Cost,
}

impl ClassRuleOption {
    /// The name on the command line.
    const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Ratios => "ratios",
            Self::Cost => "cost",
        }
    }

    const fn rule(self) -> ClassRule {
        match self {
            Self::Measured => ClassRule::Measured,
            Self::Ratios => ClassRule::Ratios,
            Self::Cost => ClassRule::Cost,
        }
    }
}

/// A procedure and its execution, as an argument.
fn execution_of(text: &str) -> Result<(String, ExecutionOption), String> {
    let names = "conventional, two-stage, optimistic or hybrid";
    let (procedure, execution) =
        text.split_once('=').ok_or_else(|| format!("use PROCEDURE=EXECUTION, with {names}"))?;
    let known =
        ExecutionOption::from_str(execution, false).ok().filter(|it| it.classic(ClassRule::default()).is_some());
    let execution = known.ok_or_else(|| format!("`{execution}` is no execution of a procedure: use {names}"))?;
    Ok((procedure.to_owned(), execution))
}

/// How transactions are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExecutionOption {
    /// Partitioned: by the client that submits it, if it is alone, else as with core
    Auto,
    /// Partitioned: by the client that submits it
    Caller,
    /// Partitioned: by a client on the core of the partition
    Core,
    /// Partitioned: by a thread of the database for each partition
    Thread,
    /// Classic: pages are read when they are needed
    Conventional,
    /// Classic: a first run without locks fetches the pages
    TwoStage,
    /// Classic: conventionally until a page is missing; then all pages are fetched without locks
    Optimistic,
    /// Classic: one of these for each procedure, by --class-rule
    Hybrid,
}

impl ExecutionOption {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Caller => "caller",
            Self::Core => "core",
            Self::Thread => "thread",
            Self::Conventional => "conventional",
            Self::TwoStage => "two-stage",
            Self::Optimistic => "optimistic",
            Self::Hybrid => "hybrid",
        }
    }

    /// On the partitioned engine.
    const fn partitioned(self) -> Option<Execution> {
        match self {
            Self::Auto => Some(Execution::Auto),
            Self::Caller => Some(Execution::Caller),
            Self::Core => Some(Execution::Core),
            Self::Thread => Some(Execution::Thread),
            Self::Conventional | Self::TwoStage | Self::Optimistic | Self::Hybrid => None,
        }
    }

    /// On the classic engine.
    fn classic(self, rule: ClassRule) -> Option<ExecutionPolicy> {
        match self {
            Self::Auto | Self::Caller | Self::Core | Self::Thread => None,
            Self::Conventional => Some(ExecutionPolicy::Conventional),
            Self::TwoStage => Some(ExecutionPolicy::TwoStage),
            Self::Optimistic => Some(ExecutionPolicy::Optimistic),
            Self::Hybrid => Some(ExecutionPolicy::Hybrid(HybridPolicy { rule, ..HybridPolicy::default() })),
        }
    }
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArchitectureOption {
    /// Main memory in partitions
    Partitioned,
    /// Pages on disk, a buffer pool, locks and latches
    Classic,
}

/// Lock granularity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LocksOption {
    /// Each row
    Record,
    /// The page that a row is on
    Page,
    /// The page that a row is on, and the leaves of indexes that lead to it, as in Berkeley DB
    PageAndLeaf,
}

impl ArchitectureOption {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partitioned => "partitioned",
            Self::Classic => "classic",
        }
    }
}

impl LocksOption {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Page => "page",
            Self::PageAndLeaf => "page-and-leaf",
        }
    }
}

impl EngineOptions {
    /// Sets the options in a configuration.
    pub fn apply(&self, config: Config) -> Config {
        let architecture = match self.architecture {
            ArchitectureOption::Partitioned => Architecture::Partitioned,
            ArchitectureOption::Classic => Architecture::Classic,
        };
        let granularity = match self.locks() {
            LocksOption::Record => Granularity::Record,
            LocksOption::Page => Granularity::Page,
            LocksOption::PageAndLeaf => Granularity::PageAndLeaf,
        };
        let ClassicConfig { page_bytes, pool_bytes, .. } = config.classic;
        let (escalate_at, escalate_page_at) = self.escalation();
        let classic = config
            .classic
            .clone()
            .with_page_bytes(self.page_kib.map_or(page_bytes, |kib| kib << 10))
            .with_pool_bytes(self.pool_mib.map_or(pool_bytes, |mib| (mib << 20) as usize))
            .with_granularity(granularity)
            .with_escalate_at(escalate_at)
            .with_escalate_page_at(escalate_page_at)
            .with_execution(self.execution().classic(self.rule()).unwrap_or_default())
            .with_execution_of(self.policies())
            .with_detect_deadlocks_every_ms(self.detect_deadlocks_every_ms);
        let partitions = if self.is_classic() { Config::default().partitions } else { config.partitions };
        let execution = self.execution().partitioned().unwrap_or_default();
        let config = config.with_architecture(architecture).with_classic(classic).with_partitions(partitions);
        config.with_execution(execution)
    }

    /// How transactions are executed.
    pub fn execution(&self) -> ExecutionOption {
        let default = if self.is_classic() { ExecutionOption::Conventional } else { ExecutionOption::Auto };
        self.execution.unwrap_or(default)
    }

    fn rule(&self) -> ClassRule {
        self.class_rule.map_or_else(ClassRule::default, ClassRuleOption::rule)
    }

    /// The executions of single procedures.
    fn policies(&self) -> BTreeMap<String, ExecutionPolicy> {
        let policy =
            |(name, execution): &(String, ExecutionOption)| Some((name.clone(), execution.classic(self.rule())?));
        self.execution_of.iter().filter_map(policy).collect()
    }

    /// Whether the classic engine is chosen.
    pub fn is_classic(&self) -> bool {
        self.architecture == ArchitectureOption::Classic
    }

    /// Lock granularity.
    pub fn locks(&self) -> LocksOption {
        self.locks.unwrap_or(LocksOption::Record)
    }

    /// Row locks of a transaction on one table, and on one page, at which it locks the whole; 0: never.
    pub fn escalation(&self) -> (usize, usize) {
        let default = ClassicConfig::default();
        let of_pages = self.escalate_page_at.unwrap_or(default.escalate_page_at);
        (self.escalate_at.unwrap_or(default.escalate_at), of_pages)
    }

    /// The size of a page in KiB, if it was given.
    pub const fn page_kib(&self) -> Option<usize> {
        self.page_kib
    }

    /// Rejects options that have no meaning for the chosen engine.
    pub fn check(&self, log: LogOption) -> Result<(), String> {
        let execution = self.execution();
        let (fits, other) = match self.architecture {
            ArchitectureOption::Partitioned => (execution.partitioned().is_some(), ArchitectureOption::Classic),
            ArchitectureOption::Classic => (execution.classic(self.rule()).is_some(), ArchitectureOption::Partitioned),
        };
        if !fits {
            let (execution, other) = (execution.name(), other.name());
            return Err(format!(
                "--execution {execution} needs --architecture {other}: use one of the other executions"
            ));
        }
        let mut names: Vec<&str> = self.execution_of.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--execution-of {} is given twice: remove one of them", pair[0]));
        }
        let mut executions = self.execution_of.iter().map(|(_, execution)| *execution).chain([execution]);
        if self.is_classic() && self.class_rule.is_some() && !executions.any(|it| it == ExecutionOption::Hybrid) {
            return Err(
                "--class-rule needs --execution hybrid, or a procedure's with --execution-of: no other execution \
                        chooses classes"
                    .to_owned(),
            );
        }
        if self.is_classic() {
            return match log {
                LogOption::Values => Ok(()),
                LogOption::Commands => {
                    Err("--log commands cannot be combined with --architecture classic, which logs \
                                            changes of pages: remove one of them"
                        .to_owned())
                }
            };
        }
        let given = [
            ("--pool-mib", self.pool_mib.is_some()),
            ("--page-kib", self.page_kib.is_some()),
            ("--locks", self.locks.is_some()),
            ("--escalate-at", self.escalate_at.is_some()),
            ("--escalate-page-at", self.escalate_page_at.is_some()),
            ("--execution-of", !self.execution_of.is_empty()),
            ("--class-rule", self.class_rule.is_some()),
            ("--detect-deadlocks-every-ms", self.detect_deadlocks_every_ms.is_some()),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((name, _)) => {
                Err(format!("{name} needs --architecture classic: the partitioned engine has no such part"))
            }
        }
    }

    /// The same options as arguments, for another process.
    pub fn arguments(&self) -> Vec<String> {
        let values = [
            ("--architecture", Some(self.architecture.name().to_owned())),
            ("--pool-mib", self.pool_mib.map(|mib| mib.to_string())),
            ("--page-kib", self.page_kib.map(|kib| kib.to_string())),
            ("--locks", self.locks.map(|locks| locks.name().to_owned())),
            ("--escalate-at", self.escalate_at.map(|count| count.to_string())),
            ("--escalate-page-at", self.escalate_page_at.map(|count| count.to_string())),
            ("--execution", self.execution.map(|execution| execution.name().to_owned())),
            ("--class-rule", self.class_rule.map(|rule| rule.name().to_owned())),
            ("--detect-deadlocks-every-ms", self.detect_deadlocks_every_ms.map(|ms| ms.to_string())),
        ];
        let of = |(name, execution): &(String, ExecutionOption)| format!("{name}={}", execution.name());
        let of_procedures = self.execution_of.iter().map(|it| ("--execution-of", Some(of(it))));
        let given = values.into_iter().chain(of_procedures);
        given.filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten().collect()
    }
}

/// The contents of the log.
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
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Commands => "commands",
        }
    }
}

fn kib(text: String) -> usize {
    text.parse().expect("one of the possible values")
}
