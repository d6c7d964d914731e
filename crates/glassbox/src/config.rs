//! How a database is opened: its settings, with defaults that suit most programs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

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
    /// that wrote it. The classic engine, which logs changes of pages, refuses it.
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
    /// A lock for each page of rows, as in Berkeley DB.
    Page,
}

/// Settings of the classic engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicConfig {
    /// Size of a page in bytes, a power of two from 4,096 to 32,768. Used when a database is created; an existing one
    /// keeps its page size.
    pub page_bytes: usize,
    /// Memory for pages, in bytes, at most the machine's. The database may be much larger. A pool has at least twelve
    /// pages for each session, also where this is less.
    pub pool_bytes: usize,
    /// Lock granularity.
    pub granularity: Granularity,
    /// Lock granularity of these tables, by name, where it differs from `granularity`.
    #[serde(default)]
    pub granularity_of: BTreeMap<String, Granularity>,
    /// Lock escalation: a transaction with more row locks than this on one table locks the table instead, if no other
    /// transaction has locks on it. 0: never.
    pub escalate_at: usize,
    /// Maximum concurrent transactions, 1 to 1,024; further ones wait for a session.
    pub sessions: usize,
    /// Lock timeout in milliseconds, after which the transaction is rolled back and restarted; 0: it never waits;
    /// `None`: it waits until the lock is granted or a deadlock is detected.
    pub lock_timeout_ms: Option<u64>,
    /// For tests of the checkers: reads ignore the locks of writers, so histories are not serializable.
    #[doc(hidden)]
    #[serde(default)]
    pub broken_locks: bool,
    /// For experiments: records every fix of a page while the database is open, as input for simulations of page
    /// replacement.
    #[doc(hidden)]
    #[serde(default)]
    pub trace_pages: bool,
}

impl Default for ClassicConfig {
    fn default() -> Self {
        Self {
            page_bytes: 8 << 10,
            pool_bytes: 1 << 30,
            granularity: Granularity::default(),
            granularity_of: BTreeMap::new(),
            escalate_at: 10_000,
            sessions: 64,
            lock_timeout_ms: None,
            broken_locks: false,
            trace_pages: false,
        }
    }
}

/// How a database is opened.
///
/// ```
/// use glassbox::{Config, Durability};
/// let config = Config { partitions: 4, durability: Durability::Async, ..Config::default() };
/// assert_eq!(config.segment_bytes, 64 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Which engine runs the transactions.
    #[serde(default)]
    pub architecture: Architecture,
    /// Settings of the classic engine alone.
    #[serde(default)]
    pub classic: ClassicConfig,
    /// Number of partitions, 1 to 64. Default: one per core that this process may use. It may differ from one opening
    /// to the next: rows are redistributed. The classic engine has no partitions, and refuses numbers other than 1 and
    /// the default.
    pub partitions: usize,
    /// When an answer may be given.
    pub durability: Durability,
    /// What the log holds.
    pub log: LogKind,
    /// Maximum outstanding tickets over all threads, at least 1; at the maximum,
    /// [`Database::submit`](crate::Database::submit) refuses calls.
    pub in_flight: usize,
    /// Size of a log segment's file in bytes: a multiple of 4,096 below 4 GiB.
    pub segment_bytes: u64,
    /// Memory for log records that are not yet written, in bytes: a power of two from 4,096 to half of the machine's
    /// memory. The record of one transaction's changes is at most a quarter of it, and fits a segment.
    pub log_buffer_bytes: usize,
    /// A checkpoint is made whenever the log since the last one has grown to this many bytes; 0: only on request.
    pub checkpoint_log_bytes: u64,
    /// Maximum bytes of a table's rows in one partition, and of each of its indexes there, rounded up to 2 MiB and at
    /// most the machine's memory. Address space of this size is reserved at once; memory is allocated as it fills.
    /// Default: the machine's memory. The classic engine has no such maximum, and refuses other values than the
    /// default.
    pub table_bytes: usize,
    /// For tests: without threads of its own the log writes only while a caller waits, so that runs repeat exactly.
    #[doc(hidden)]
    #[serde(default = "with_threads")]
    pub log_threads: bool,
}

fn with_threads() -> bool {
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
            durability: Durability::default(),
            log: LogKind::default(),
            in_flight: 65_536,
            segment_bytes: 64 << 20,
            log_buffer_bytes: 32 << 20,
            checkpoint_log_bytes: 4 << 30,
            table_bytes: usize::MAX,
            log_threads: true,
        }
    }
}
