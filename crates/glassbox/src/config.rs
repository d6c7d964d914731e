//! How a database is opened: its settings, with defaults that suit most programs.
//!
//! A configuration is its default, changed by `with_…` methods, one for each setting. Its fields are public to be read;
//! a further one breaks no program. A number's unit stands at the end of its name. Opening a database checks the
//! settings: [`Error::Config`](crate::Error::Config) names the setting, its value, and what it can be.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::io::current_core;

/// When an answer may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// When its log is forced to disk: an answered transaction survives any crash.
    #[default]
    Sync,
    /// At once; the log is written and forced later. A crash loses at most the last answered transactions, in log
    /// order, never consistency.
    Async,
    /// At once, and no answer waits for a force: a crash may lose everything since the last checkpoint or flush. For
    /// measurements, and data that can be loaded again. [`Database::flush`](crate::Database::flush) and a clean
    /// [`Database::close`](crate::Database::close) keep every answered transaction, as with the other two; the
    /// partitioned engine writes no log then, so both write a checkpoint of all rows.
    None,
}

/// What the log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// The changes of rows. Replayed without the procedures' code.
    #[default]
    Values,
    /// The calls of procedures. Smaller and faster to write; replayed by running them again, so only by the versions
    /// that wrote it, and only if they are deterministic. Therefore calls are rehearsed: each in a debug build, the
    /// first three of each procedure in any other, run twice without effect before their real run, and are refused as
    /// [`Error::NotDeterministic`](crate::Error::NotDeterministic) if the two runs change rows differently. The classic
    /// engine, which logs changes of pages, refuses it.
    Commands,
}

/// Which engine runs the transactions. A database directory belongs to the engine that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Architecture {
    /// Main memory in partitions, without locks, latches or pages: the fastest, as long as the data fits in memory.
    #[default]
    Partitioned,
    /// Pages on disk behind a buffer pool, locks, latches and a log of page changes: the conventional design, for data
    /// larger than memory and for comparison.
    Classic,
}

/// Lock granularity of the classic engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// A lock for each row.
    #[default]
    Record,
    /// A lock for each page of rows.
    Page,
    /// The same, and a lock for each leaf of an index: exclusive for a transaction that inserts or deletes a key there,
    /// shared for one that looks for a key or scans. So Berkeley DB locks, as a baseline for comparison;
    /// serializability does not need it.
    PageAndLeaf,
}

/// The `with_…` methods of a configuration: each changes one field.
macro_rules! builder {
    ($config:ident: $($with:ident $field:ident: $type:ty,)*) => {
        impl $config {
            $(
                #[doc = concat!("The same with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $with(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}
pub(crate) use builder;

/// Settings of the classic engine.
///
/// ```
/// use glassbox::Config;
/// use glassbox::config::ClassicConfig;
///
/// let config = Config::classic(ClassicConfig::default().with_pool_bytes(64 << 20).with_sessions(8));
/// assert_eq!(config.classic.page_bytes, 8192);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClassicConfig {
    /// Size of a page in bytes, a power of two from 4,096 to 32,768. Used when a database is created; an existing one
    /// keeps its page size. Default: 8,192.
    pub page_bytes: usize,
    /// Memory for pages, in bytes, at most the machine's. The database may be much larger. A pool has at least twelve
    /// pages for each session, also where this is less. Default: 1 GiB.
    pub pool_bytes: usize,
    /// Lock granularity. Default: rows.
    pub granularity: Granularity,
    /// Lock granularity of these tables, by name, where it differs from `granularity`. Default: none.
    #[serde(default)]
    pub granularity_of: BTreeMap<String, Granularity>,
    /// Lock escalation: a transaction with more row locks than this on one table locks the table instead, if no other
    /// transaction has locks on it. 0: never. Default: 10,000.
    pub escalate_at: usize,
    /// The same for pages: a transaction with more row locks than this on one page locks the page instead. Each row
    /// lock then needs an intent on its page. 0, the default: never.
    #[serde(default)]
    pub escalate_page_at: usize,
    /// Whether transactions fetch the pages that they need before they take locks. Default: no.
    #[serde(default)]
    pub execution: ExecutionPolicy,
    /// The same for these procedures, by name, where it differs from `execution`. Default: none.
    #[serde(default)]
    pub execution_of: BTreeMap<String, ExecutionPolicy>,
    /// How a fetch stage finds and reads its pages. Default: in batches.
    #[serde(default)]
    pub fetch: FetchMethod,
    /// Whether executions under [`ExecutionPolicy::Conventional`] are counted and timed too, for
    /// [`Database::explain_execution`](crate::Database::explain_execution). Default: no.
    #[serde(default)]
    pub count_executions: bool,
    /// Maximum concurrent transactions, 1 to 1,024; further ones wait for a session. Default: 64.
    pub sessions: usize,
    /// Maximum prepared transactions, at most 1,024; see [`Database::prepare`](crate::Database::prepare). Default: 64.
    #[serde(default = "prepared_transactions")]
    pub prepared_transactions: usize,
    /// Lock timeout in milliseconds, after which the transaction is rolled back and restarted; 0: it never waits;
    /// `None`, the default: it waits until the lock is granted or a deadlock is detected.
    pub lock_timeout_ms: Option<u64>,
    /// Time between searches for deadlocks, in milliseconds; `None`, the default, or 0: whenever a transaction begins
    /// to wait for a lock. Only to compare with systems that search from time to time.
    #[serde(default)]
    pub detect_deadlocks_every_ms: Option<u64>,
    /// [`ConfigHooks::with_broken_locks`](crate::research::ConfigHooks::with_broken_locks).
    #[serde(skip)]
    pub(crate) broken_locks: bool,
    /// [`ConfigHooks::with_page_trace`](crate::research::ConfigHooks::with_page_trace).
    #[serde(skip)]
    pub(crate) trace_pages: bool,
}

fn prepared_transactions() -> usize {
    64
}

impl Default for ClassicConfig {
    fn default() -> Self {
        Self {
            page_bytes: 8 << 10,
            pool_bytes: 1 << 30,
            granularity: Granularity::default(),
            granularity_of: BTreeMap::new(),
            escalate_at: 10_000,
            escalate_page_at: 0,
            execution: ExecutionPolicy::default(),
            execution_of: BTreeMap::new(),
            fetch: FetchMethod::default(),
            count_executions: false,
            sessions: 64,
            prepared_transactions: prepared_transactions(),
            lock_timeout_ms: None,
            detect_deadlocks_every_ms: None,
            broken_locks: false,
            trace_pages: false,
        }
    }
}

builder! {
    ClassicConfig:
    with_page_bytes page_bytes: usize,
    with_pool_bytes pool_bytes: usize,
    with_granularity granularity: Granularity,
    with_granularity_of granularity_of: BTreeMap<String, Granularity>,
    with_escalate_at escalate_at: usize,
    with_escalate_page_at escalate_page_at: usize,
    with_execution execution: ExecutionPolicy,
    with_execution_of execution_of: BTreeMap<String, ExecutionPolicy>,
    with_fetch fetch: FetchMethod,
    with_count_executions count_executions: bool,
    with_sessions sessions: usize,
    with_prepared_transactions prepared_transactions: usize,
    with_lock_timeout_ms lock_timeout_ms: Option<u64>,
    with_detect_deadlocks_every_ms detect_deadlocks_every_ms: Option<u64>,
}

/// Whether transactions of the classic engine fetch the pages that they need, and pin them, before they take locks:
/// then no transaction waits for another one's disk (Charm, USENIX ATC 2001).
///
/// ```
/// use glassbox::Config;
/// use glassbox::config::{ClassicConfig, ExecutionPolicy};
///
/// let config = Config::classic(ClassicConfig::default().with_execution(ExecutionPolicy::TwoStage));
/// ```
///
/// A run that only fetches sees its own writes, but reads without locks. So rows of different moments may make a
/// procedure panic there, which is ignored (a panic hook is called). In a program whose profile has `panic = "abort"`
/// every procedure is executed conventionally, whatever the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ExecutionPolicy {
    /// A transaction reads pages when it needs them, also while it holds locks.
    #[default]
    Conventional,
    /// Each transaction runs twice: first without locks and changes, to fetch its pages (the paper's TSTE).
    TwoStage,
    /// A transaction runs conventionally until a page is missing; then it undoes its changes, releases its locks, pins
    /// the pages that it has touched, and goes on without locks to fetch the others (from the beginning, if it had
    /// changed rows); then it runs again; at most three times (OTSTE).
    Optimistic,
    /// One of the others for each procedure, by what its transactions cost or did before (HTSTE).
    Hybrid(HybridPolicy),
}

/// How a fetch stage finds and reads the pages that a transaction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FetchMethod {
    /// First those of the keys that the procedure declares, and of keys given together, as many at the same time as the
    /// disk can. The procedure runs in addition only if it does not declare all that it needs.
    #[default]
    Batches,
    /// The procedure runs, and each page is read when it is missing, as in the paper.
    OneByOne,
}

/// The rule of [`ExecutionPolicy::Hybrid`].
///
/// A procedure begins with two stages. Under [`ClassRule::Measured`] its class is the one whose executions cost least.
/// Under the paper's rules it becomes conventional when too many of its accesses read pages under locks although they
/// were fetched, and optimistic when few of its executions need two stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HybridPolicy {
    /// Maximum accesses that read a page under locks, in millionths of all; above it the procedure is executed
    /// conventionally. Without effect on [`ClassRule::Measured`]. Default: 10,000 (1 %).
    pub missed_ppm: u32,
    /// Maximum executions that need two stages, in millionths of all; above it the procedure is executed in two stages,
    /// below it optimistically. For [`ClassRule::Ratios`]. Default: 50,000 (5 %).
    pub two_stage_ppm: u32,
    /// For how long an execution counts. Default: its weight is halved after 1,000 more.
    pub memory: ClassMemory,
    /// The rule by which a class is chosen. Default: the lowest measured cost.
    pub rule: ClassRule,
    /// Whether an operate stage after a fetch stage, or after a conversion, is converted at a missing page too, at most
    /// three times, instead of reading it under locks. Default: yes; the paper's does not.
    pub converts_missed: bool,
}

impl HybridPolicy {
    /// The default, as a constant.
    pub const DEFAULT: Self = Self {
        missed_ppm: 10_000,
        two_stage_ppm: 50_000,
        memory: ClassMemory::HalfLife(1_000),
        rule: ClassRule::Measured,
        converts_missed: true,
    };
}

impl Default for HybridPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// For how long the hybrid policy remembers an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClassMemory {
    /// For ever, as in the paper: by its rules, a procedure that has become conventional stays so.
    Cumulative,
    /// Its weight is halved after this many more executions of the procedure; that of a probe of
    /// [`ClassRule::Measured`] after ten times as many. By the paper's rules, each 64th execution of a conventional
    /// procedure is in two stages, to see whether that has become better.
    HalfLife(u64),
}

/// The rule by which the hybrid policy chooses the class of a procedure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ClassRule {
    /// The class whose executions cost least, waits for locks that they cause included. A few executions of the other
    /// classes are probes, which may add 2 % to the cost of all (while little is known, 20 %).
    #[default]
    Measured,
    /// The paper's (Charm, §3.3): conventional above [`HybridPolicy::missed_ppm`]; else two stages above
    /// [`HybridPolicy::two_stage_ppm`]; else optimistic.
    Ratios,
    /// The same, but the formula for the time of an execution (Charm, §3.4) decides between two stages and optimistic
    /// execution, from the measured times of the stages.
    Cost,
}

/// Which thread runs a call that was [submitted](crate::Database::submit) to the partitioned engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Execution {
    /// The caller's, as long as only one thread submits calls; else as [`Execution::Core`].
    #[default]
    Auto,
    /// The caller's.
    Caller,
    /// A thread on the core of the call's partition: the caller's, if it is there; else the next one that submits a
    /// call there or waits for one. So the data of a partition stays in the caches of one core, and no call needs a
    /// thread switch.
    Core,
    /// A thread of the database, one for each partition, each on a core of its own if there are enough.
    Thread,
}

/// How a database is opened.
///
/// ```
/// use glassbox::{Config, Durability};
///
/// let config = Config::default().with_partitions(4).with_durability(Durability::Async);
/// assert_eq!(config.segment_bytes, 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Config {
    /// Which engine runs the transactions. Default: the partitioned one.
    #[serde(default)]
    pub architecture: Architecture,
    /// Settings of the classic engine, without effect on the other.
    #[serde(default)]
    pub classic: ClassicConfig,
    /// Number of partitions, 1 to 64. Default: one per core that this process may use. It may differ from one opening
    /// to the next: rows are redistributed. The classic engine has no partitions, and refuses numbers other than 1 and
    /// the default.
    pub partitions: usize,
    /// Which thread runs a submitted call. Default: [`Execution::Auto`]. The classic engine runs every call in its
    /// caller's thread.
    #[serde(default)]
    pub execution: Execution,
    /// Whether calls that one thread submits, and that need a common partition, run in the order in which it submitted
    /// them. Default: yes. Then those that follow a call on several partitions run after it in one thread, not on the
    /// cores of their partitions. If not, only those that need the same single partition run in order.
    #[serde(default = "yes")]
    pub in_order: bool,
    /// When an answer may be given. Default: when its log is on disk.
    pub durability: Durability,
    /// What the log holds. Default: values.
    pub log: LogKind,
    /// Whether a log of commands has a digest of each call's changes. Then a replay that makes other changes, because
    /// the code has changed or is not deterministic, fails and names the procedure; without, it changes rows silently.
    /// Digests cost a tenth of the throughput of short calls, as a log of values does. Default: yes.
    #[serde(default = "yes")]
    pub command_digests: bool,
    /// Maximum outstanding tickets of each thread that submits calls, at least 1; at the maximum,
    /// [`Database::submit`](crate::Database::submit) refuses the thread's calls. Default: 65,536.
    pub in_flight: usize,
    /// Size of a log segment's file in bytes: a multiple of 4,096 below 4 GiB. Default: 64 MiB.
    pub segment_bytes: u64,
    /// Memory for log records that are not yet written, in bytes: a power of two from 4,096 to half of the machine's
    /// memory. The record of one transaction's changes is at most a quarter of it, and fits a segment.
    /// Default: 32 MiB.
    pub log_buffer_bytes: usize,
    /// A checkpoint is made whenever the log since the last one has grown to this many bytes; 0: only on request.
    /// Default: 4 GiB.
    pub checkpoint_log_bytes: u64,
    /// Maximum bytes of a table's rows in one partition, and of each of its indexes there, rounded up to 2 MiB and at
    /// most the machine's memory. Address space of this size is reserved at once; memory is allocated as it fills.
    /// Default: the machine's memory. The classic engine has no such maximum, and refuses other values than the
    /// default.
    pub table_bytes: usize,
    /// [`ConfigHooks::with_log_threads`](crate::research::ConfigHooks::with_log_threads).
    #[serde(skip, default = "with_threads")]
    pub(crate) log_threads: bool,
    /// [`ConfigHooks::with_rehearsals`](crate::research::ConfigHooks::with_rehearsals).
    #[serde(skip, default = "yes")]
    pub(crate) rehearsals: bool,
    /// [`ConfigHooks::with_current_core`](crate::research::ConfigHooks::with_current_core).
    #[serde(skip)]
    pub(crate) current_core: CurrentCore,
}

/// Tells on which core a thread runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentCore(pub(crate) fn() -> u32);

impl Default for CurrentCore {
    fn default() -> Self {
        Self(current_core)
    }
}

impl PartialEq for CurrentCore {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

impl Eq for CurrentCore {}

fn with_threads() -> bool {
    true
}

fn yes() -> bool {
    true
}

/// Number of the machine's cores, read once because the query reads files.
static CORES: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

impl Default for Config {
    fn default() -> Self {
        Self {
            architecture: Architecture::default(),
            classic: ClassicConfig::default(),
            partitions: (*CORES).min(64),
            execution: Execution::default(),
            in_order: true,
            durability: Durability::default(),
            log: LogKind::default(),
            command_digests: true,
            in_flight: 65_536,
            segment_bytes: 64 << 20,
            log_buffer_bytes: 32 << 20,
            checkpoint_log_bytes: 4 << 30,
            table_bytes: usize::MAX,
            log_threads: true,
            rehearsals: true,
            current_core: CurrentCore::default(),
        }
    }
}

builder! {
    Config:
    with_architecture architecture: Architecture,
    with_classic classic: ClassicConfig,
    with_partitions partitions: usize,
    with_execution execution: Execution,
    with_in_order in_order: bool,
    with_durability durability: Durability,
    with_log log: LogKind,
    with_command_digests command_digests: bool,
    with_in_flight in_flight: usize,
    with_segment_bytes segment_bytes: u64,
    with_log_buffer_bytes log_buffer_bytes: usize,
    with_checkpoint_log_bytes checkpoint_log_bytes: u64,
    with_table_bytes table_bytes: usize,
}

impl Config {
    /// The default of the classic engine, with these settings of its own.
    pub fn classic(classic: ClassicConfig) -> Self {
        Self { architecture: Architecture::Classic, classic, ..Self::default() }
    }
}
