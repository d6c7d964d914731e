//! What a database did and uses, for people and for programs.

use serde::Serialize;

use crate::classic;
pub use crate::executed::TableUsage;
pub use crate::explain::{LockHolder, LockWait, LockWaitEnd};
use crate::inner::Inner;

/// Counts since the database was opened, and memory now.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Transactions that committed, ad-hoc ones and dry runs included.
    pub committed: u64,
    /// Transactions that their procedure aborted.
    pub aborted: u64,
    /// Runs that were repeated because they needed a partition that was not held, or, in the classic engine, because
    /// they were given up to end a deadlock or had waited too long.
    pub rerun: u64,
    /// Of these, those whose declaration said that it was complete: a mistake in `declare`, slow but not wrong.
    pub misdeclared: u64,
    /// Tickets outstanding now.
    pub in_flight: usize,
    /// Forces of the log.
    pub log_forces: u64,
    /// Bytes of log records written.
    pub log_bytes: u64,
    /// Appends that had to wait because the log's buffer was full.
    pub log_full: u64,
    /// Checkpoints that the database began by itself and could not finish.
    pub failed_checkpoints: u64,
    /// Space of each table, in the catalog's order; empty in what [`Database::counts`](crate::Database::counts) gives.
    pub tables: Vec<TableUsage>,
    /// What only the classic engine has.
    pub classic: Option<ClassicStats>,
}

/// What the parts of the classic engine did since the database was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClassicStats {
    /// Size of a page, bytes.
    pub page_bytes: u64,
    /// Pages that fit in memory.
    pub pool_pages: u64,
    /// Pages fixed: brought to memory if need be, kept there and latched. Not all may be counted where several sessions
    /// fix the same one in the same moment.
    pub fixes: u64,
    /// Of these, pages that were in memory.
    pub hits: u64,
    /// Pages read from disk.
    pub pages_read: u64,
    /// Pages written to disk, each to two places.
    pub pages_written: u64,
    /// Batches they were written in, with two forces each.
    pub page_batches: u64,
    /// Pages that left memory for others.
    pub evictions: u64,
    /// Fixes that found no clean page to take the place of, and wrote pages themselves.
    pub dirty_victims: u64,
    /// Fixes that waited for a latch.
    pub latch_waits: u64,
    /// Requests for locks that had to wait.
    pub lock_waits: u64,
    /// Of these, given up to end a deadlock.
    pub deadlocks: u64,
    /// Of these, given up because they took too long.
    pub lock_timeouts: u64,
    /// Time for which all waits for locks together lasted, nanoseconds.
    pub lock_waited_ns: u64,
    /// Locks of many rows that were replaced by one of their table.
    pub escalations: u64,
}

/// Pages that a simulated pool had to bring, and wrote.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SimulatedPages {
    /// Fixed, but not in memory.
    pub missed: u64,
    /// Written.
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
            escalations: locks.escalations,
        }
    }

    /// What was counted since `before`; sizes are as they are.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            page_bytes: self.page_bytes,
            pool_pages: self.pool_pages,
            fixes: self.fixes - before.fixes,
            // Fixes and misses are not read at one moment.
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
            escalations: self.escalations - before.escalations,
        }
    }
}

/// What opening a database found and did.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Recovery {
    /// Whether the database was made new.
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
    /// In the classic engine: changes of pages that were done again.
    pub redone: u64,
    /// In the classic engine: transactions that had not ended, and were taken back.
    pub taken_back: u64,
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
            misdeclared: inner.engine.misdeclared(),
            in_flight: inner.in_flight.load(std::sync::atomic::Ordering::Relaxed),
            log_forces: log.forces,
            log_bytes: log.bytes,
            log_full: log.full,
            failed_checkpoints: load(&inner.failed_checkpoints),
            tables: if with_tables { inner.engine.usage(&inner.catalog) } else { Vec::new() },
            classic: inner.engine.as_classic().map(ClassicStats::collect),
        }
    }

    /// Space of all tables and indexes, bytes: memory, or pages on disk.
    pub fn memory_bytes(&self) -> u64 {
        let of_table =
            |table: &TableUsage| table.row_bytes + table.index_bytes.iter().map(|(_, bytes)| bytes).sum::<u64>();
        self.tables.iter().map(of_table).sum()
    }
}
