//! How a database is opened: what of it may be chosen, with defaults that are right for most.

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
    /// At once; the log is written and forced behind. A crash loses at most the last moments, in order, never
    /// consistency.
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

/// What a lock of the classic engine is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Each row.
    #[default]
    Record,
    /// The pages that rows are on, as in Berkeley DB.
    Page,
}

/// What of the classic engine may be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicConfig {
    /// Size of a page in bytes, a power of two from 4,096 to 32,768. Taken when a database is made; one that exists
    /// keeps its own.
    pub page_bytes: usize,
    /// Memory for pages, in bytes, at most the machine's. The database may be much larger. A pool has at least twelve
    /// pages for each session, also where this is less.
    pub pool_bytes: usize,
    /// What a lock is of.
    pub granularity: Granularity,
    /// What a lock is of in these tables, by their names, if it is something else.
    #[serde(default)]
    pub granularity_of: BTreeMap<String, Granularity>,
    /// A transaction with more locks than this on rows of one table locks the table instead, if nobody else has locks
    /// there. 0: never.
    pub escalate_at: usize,
    /// Transactions that may run at once, 1 to 1,024; more wait for their turn.
    pub sessions: usize,
    /// How long a transaction waits for a lock before it is run again, in milliseconds; 0: not at all; `None`: until it
    /// is granted, or found to be in a deadlock.
    pub lock_timeout_ms: Option<u64>,
    /// For tests that must fail: a row may be read while another transaction has it locked to write it.
    #[doc(hidden)]
    #[serde(default)]
    pub broken_locks: bool,
    /// For experiments: records every fix of a page, for as long as the database is open, so that a simulator can be
    /// asked what the replacement policy should have read.
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
    /// What concerns the classic engine alone.
    #[serde(default)]
    pub classic: ClassicConfig,
    /// Number of partitions, 1 to 64. Default: one per core that this process may use. It may differ from one opening
    /// to the next: rows are placed again. The classic engine has none, and refuses numbers other than 1 and the
    /// default.
    pub partitions: usize,
    /// When an answer may be given.
    pub durability: Durability,
    /// What the log holds.
    pub log: LogKind,
    /// Tickets that may be outstanding at once, over all threads, at least 1; beyond,
    /// [`Database::submit`](crate::Database::submit) refuses.
    pub in_flight: usize,
    /// Size of a log segment's file in bytes: a multiple of 4,096 below 4 GiB.
    pub segment_bytes: u64,
    /// Memory for log records that are not yet written, in bytes: a power of two from 4,096 to half of the machine's
    /// memory. A record, so what one transaction changes, is at most a quarter of it, and fits a segment.
    pub log_buffer_bytes: usize,
    /// A checkpoint is made whenever the log since the last one has grown to so many bytes; 0: only when asked for.
    pub checkpoint_log_bytes: u64,
    /// Most bytes that the rows of a table in a partition may take, and each of its indexes, rounded up to 2 MiB.
    /// Address space is reserved for so much at once, memory is taken as it fills; the machine's memory is the most.
    /// Default: no less. The classic engine has no such bound, and refuses anything but the default.
    pub table_bytes: usize,
    /// For tests: without threads of its own the log writes only while somebody waits, so that runs repeat exactly.
    #[doc(hidden)]
    #[serde(default = "with_threads")]
    pub log_threads: bool,
}

fn with_threads() -> bool {
    true
}

/// The machine's cores; finding out reads files.
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
