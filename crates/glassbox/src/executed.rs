//! The result of a transaction that an engine ran, and counters of results.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::log::Lsn;
use crate::procedure::AbortReason;

/// A transaction's outcome, and the log position that must be durable before the outcome is returned to the caller.
pub(crate) struct Executed {
    pub(crate) outcome: Result<(), AbortReason>,
    pub(crate) lsn: Lsn,
}

/// Counts of transactions since the database was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) rerun: u64,
}

/// Counters written by one thread at a time and read by any thread, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct SharedCounters {
    pub(crate) committed: Count,
    pub(crate) aborted: Count,
    pub(crate) rerun: Count,
}

/// A counter with one writer at a time.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one. The caller is the only writer.
    #[inline(always)]
    pub(crate) fn add_one(&self) {
        // No other thread writes, so this needs no atomic addition.
        self.0.store(self.0.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl SharedCounters {
    /// Runs that have ended.
    pub(crate) fn ended(&self) -> u64 {
        self.committed.get() + self.aborted.get() + self.rerun.get()
    }
}

impl Counters {
    /// The sum of the given counters.
    pub(crate) fn sum<'a>(all: impl IntoIterator<Item = &'a SharedCounters>) -> Self {
        all.into_iter().fold(Self::default(), |sum, counters| Self {
            committed: sum.committed + counters.committed.get(),
            aborted: sum.aborted + counters.aborted.get(),
            rerun: sum.rerun + counters.rerun.get(),
        })
    }
}

/// Space and rows of one table, over all partitions: in memory, or of its pages on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableUsage {
    /// The table's name.
    pub table: String,
    /// Rows; those of a replicated table count once.
    pub rows: u64,
    /// Space of the rows, bytes.
    pub row_bytes: u64,
    /// Space of each index, bytes: that of the primary key first, named as the table; the others as `table.index`.
    pub index_bytes: Vec<(String, u64)>,
}

impl TableUsage {
    /// Adds the space of the same table in another partition.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.row_bytes += other.row_bytes;
        if self.index_bytes.is_empty() {
            self.index_bytes.clone_from(&other.index_bytes);
            return;
        }
        for ((_, sum), (_, bytes)) in self.index_bytes.iter_mut().zip(&other.index_bytes) {
            *sum += bytes;
        }
    }
}
