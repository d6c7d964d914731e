//! What a database did and uses, for people and for programs.

use serde::Serialize;

use crate::executed::TableUsage;
use crate::inner::Inner;

/// Counts since the database was opened, and memory now.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Transactions that committed, ad-hoc ones and dry runs included.
    pub committed: u64,
    /// Transactions that their procedure aborted.
    pub aborted: u64,
    /// Runs that were repeated because they needed a partition that was not held.
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
    /// Memory of each table, in the catalog's order.
    pub tables: Vec<TableUsage>,
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
}

impl Stats {
    pub(crate) fn collect(inner: &Inner) -> Self {
        let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        let (counters, tables) = inner.engine.usage(&inner.catalog);
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
            tables,
        }
    }

    /// Memory of all tables and indexes, bytes.
    pub fn memory_bytes(&self) -> u64 {
        let of_table =
            |table: &TableUsage| table.row_bytes + table.index_bytes.iter().map(|(_, bytes)| bytes).sum::<u64>();
        self.tables.iter().map(of_table).sum()
    }
}
