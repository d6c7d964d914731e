//! Statistics of a database: counts of its work, and its use of memory and disk.

use std::fmt;

use serde::Serialize;

use crate::classic;
pub use crate::classic::ExecutionClass;
use crate::config::Execution;
pub use crate::database::execution::{MeasuredCosts, PredictedTimes, ProcedureExecution};
pub use crate::database::explain::{LockHolder, LockWait, LockWaitEnd, ReadInTheWay};
use crate::database::inner::Inner;
pub use crate::database::sessions::{SessionActivity, SessionState};
pub use crate::executed::{PartitionStats, PreparedTransaction, TableUsage};

/// Counts since the database was opened, and memory now.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Transactions that committed, ad-hoc ones included. Dry runs are not counted, nor their restarts.
    pub committed: u64,
    /// Transactions aborted by their procedure.
    pub aborted: u64,
    /// Restarts: of runs that needed a partition that was not held, and, in the classic engine, of deadlock victims and
    /// after lock timeouts.
    pub rerun: u64,
    /// Of these, runs whose declaration claimed to be complete: a mistake in `declare`, slow but not incorrect.
    pub misdeclared: u64,
    /// Which thread runs submitted calls now: never [`Execution::Auto`], which chooses one of the others.
    pub execution: Execution,
    /// Submitted calls that were left to another thread, which was or came to the partition's core.
    pub handed_over: u64,
    /// Of the committed ones, transactions on several partitions.
    pub multi_partition: u64,
    /// How long several partitions were held together, nanoseconds: for transactions on them, and for checkpoints,
    /// loads and checks. Meanwhile no other transaction runs there.
    pub multi_partition_ns: u64,
    /// Counts of each partition; empty in the classic engine.
    pub partitions: Vec<PartitionStats>,
    /// Tickets of all threads outstanding now.
    pub in_flight: usize,
    /// Forces of the log.
    pub log_forces: u64,
    /// Bytes of log records written.
    pub log_bytes: u64,
    /// Appends that had to wait because the log's buffer was full.
    pub log_full: u64,
    /// Automatic checkpoints that failed.
    pub failed_checkpoints: u64,
    /// Space of each table, in the catalog's order; empty in what [`Database::counts`](crate::Database::counts) gives.
    pub tables: Vec<TableUsage>,
    /// Statistics of the classic engine alone.
    pub classic: Option<ClassicStats>,
}

/// Counts of the classic engine's components since the database was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClassicStats {
    /// Size of a page, bytes.
    pub page_bytes: u64,
    /// Pages that fit in memory.
    pub pool_pages: u64,
    /// Page fixes: each reads the page if it is not in memory, pins and latches it. Fixes of one page by several
    /// sessions at the same moment may be counted once.
    pub fixes: u64,
    /// Of these, fixes of pages that were in memory.
    pub hits: u64,
    /// Pages read from disk.
    pub pages_read: u64,
    /// Pages written to disk, each to two places.
    pub pages_written: u64,
    /// Batches of written pages, with two forces each.
    pub page_batches: u64,
    /// Pages evicted from memory.
    pub evictions: u64,
    /// Fixes that found no clean page to evict, and wrote dirty pages themselves.
    pub dirty_victims: u64,
    /// Fixes that waited for a latch.
    pub latch_waits: u64,
    /// Requests for locks that had to wait.
    pub lock_waits: u64,
    /// Of these, requests of deadlock victims.
    pub deadlocks: u64,
    /// Of these, requests that reached the lock timeout.
    pub lock_timeouts: u64,
    /// Total time of lock waits, nanoseconds.
    pub lock_waited_ns: u64,
    /// Of this, time in which another transaction that was in the way, directly or through others, read the disk,
    /// nanoseconds.
    pub lock_waited_for_disk_ns: u64,
    /// Lock escalations: row locks replaced by a lock on their table or their page.
    pub escalations: u64,
}

/// Reads and writes of a simulated buffer pool.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulatedPages {
    /// Fixes of pages that were not in the pool.
    pub missed: u64,
    /// Pages written.
    pub written: u64,
}

impl ClassicStats {
    fn collect(engine: &classic::Engine) -> Self {
        let (pool, locks, (page_bytes, pool_pages)) = (engine.pool_stats(), engine.lock_counters(), engine.pool_size());
        Self {
            page_bytes: page_bytes as u64,
            pool_pages: pool_pages as u64,
            fixes: pool.fixes,
            hits: pool.hits,
            pages_read: pool.reads,
            pages_written: pool.writes,
            page_batches: pool.batches,
            evictions: pool.evictions,
            dirty_victims: pool.dirty_victims,
            latch_waits: pool.latch_waits,
            lock_waits: locks.waits,
            deadlocks: locks.deadlocks,
            lock_timeouts: locks.timeouts,
            lock_waited_ns: locks.waited_ns,
            lock_waited_for_disk_ns: locks.disk_ns,
            escalations: locks.escalations,
        }
    }

    /// Differences of the counts since `before`; sizes as they are now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            page_bytes: self.page_bytes,
            pool_pages: self.pool_pages,
            fixes: self.fixes - before.fixes,
            // Fixes and misses are not read at the same moment.
            hits: self.hits.saturating_sub(before.hits),
            pages_read: self.pages_read - before.pages_read,
            pages_written: self.pages_written - before.pages_written,
            page_batches: self.page_batches - before.page_batches,
            evictions: self.evictions - before.evictions,
            dirty_victims: self.dirty_victims - before.dirty_victims,
            latch_waits: self.latch_waits - before.latch_waits,
            lock_waits: self.lock_waits - before.lock_waits,
            deadlocks: self.deadlocks - before.deadlocks,
            lock_timeouts: self.lock_timeouts - before.lock_timeouts,
            lock_waited_ns: self.lock_waited_ns - before.lock_waited_ns,
            lock_waited_for_disk_ns: self.lock_waited_for_disk_ns - before.lock_waited_for_disk_ns,
            escalations: self.escalations - before.escalations,
        }
    }
}

/// Result of recovery when a database is opened.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recovery {
    /// Whether the database was created.
    pub created: bool,
    /// Rows read from the checkpoint.
    pub checkpoint_rows: u64,
    /// Time to read the checkpoint, seconds.
    pub checkpoint_s: f64,
    /// Log records replayed.
    pub log_records: u64,
    /// Log bytes replayed.
    pub log_bytes: u64,
    /// Time to replay the log, seconds.
    pub log_s: f64,
    /// In the classic engine: page changes that redo applied.
    pub redone: u64,
    /// In the classic engine: loser transactions that undo rolled back.
    pub rolled_back: u64,
    /// In the classic engine: prepared transactions, which wait for [`Database::commit_prepared`] or
    /// [`Database::roll_back_prepared`].
    ///
    /// [`Database::commit_prepared`]: crate::Database::commit_prepared
    /// [`Database::roll_back_prepared`]: crate::Database::roll_back_prepared
    pub prepared: u64,
}

impl Stats {
    pub(crate) fn collect(inner: &Inner, with_tables: bool) -> Self {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        let counters = inner.engine.counters();
        let log = inner.engine.log().map(crate::log::Log::stats).unwrap_or_default();
        Self {
            committed: counters.committed,
            aborted: counters.aborted,
            rerun: counters.rerun,
            execution: inner.engine.execution(),
            handed_over: counters.handed_over,
            multi_partition: counters.multi,
            multi_partition_ns: counters.multi_ns,
            partitions: inner.engine.partition_stats(),
            misdeclared: inner.engine.misdeclared(),
            in_flight: inner.in_flight.outstanding(),
            log_forces: log.forces,
            log_bytes: log.bytes,
            log_full: log.full,
            failed_checkpoints: load(&inner.failed_checkpoints),
            tables: if with_tables { inner.engine.usage(&inner.catalog) } else { Vec::new() },
            // Counts of locks are read under a lock.
            classic: inner.engine.as_classic().filter(|_| inner.is_own()).map(ClassicStats::collect),
        }
    }

    /// Space of all tables and indexes, bytes: memory, or pages on disk.
    pub fn memory_bytes(&self) -> u64 {
        let of_table =
            |table: &TableUsage| table.row_bytes + table.index_bytes.iter().map(|(_, bytes)| bytes).sum::<u64>();
        self.tables.iter().map(of_table).sum()
    }
}

/// How opening a database would change its rows: [`Database::plan`](crate::Database::plan).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaPlan {
    /// The version of the stored schema; `None`: there is no database yet.
    pub stored_version: Option<u32>,
    /// The version of the catalog.
    pub version: u32,
    /// The tables that change.
    pub tables: Vec<TablePlan>,
    /// About how many bytes of rows and keys are written, in addition to what opening writes anyway.
    pub bytes_written: u64,
}

/// How opening a database would change a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TablePlan {
    /// The name in the catalog.
    pub table: String,
    /// The changes, in words.
    pub steps: Vec<String>,
    /// The indexes that are built.
    pub indexes_built: Vec<String>,
    /// Rows that are converted.
    pub rows: u64,
}

impl fmt::Display for SchemaPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stored_version {
            None => return write!(f, "a new database of version {}", self.version),
            Some(stored) if stored == self.version => write!(f, "version {stored}")?,
            Some(stored) => write!(f, "from version {stored} to version {}", self.version)?,
        }
        if self.tables.is_empty() {
            return f.write_str(": no table changes");
        }
        write!(f, ", about {} bytes to write", self.bytes_written)?;
        for TablePlan { table, steps, rows, .. } in &self.tables {
            write!(f, "\ntable `{table}`, {rows} rows to convert")?;
            steps.iter().try_for_each(|step| write!(f, "\n    {step}"))?;
        }
        Ok(())
    }
}
