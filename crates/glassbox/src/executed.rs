//! The result of a transaction that an engine ran, and counters of results.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serde::Serialize;

use crate::error::Error;
use crate::log::Lsn;
use crate::procedure::{Abort, AbortReason};

/// A transaction's outcome, and the log position that must be durable before the outcome is returned to the caller.
pub(crate) struct Executed {
    pub(crate) outcome: Result<(), AbortReason>,
    pub(crate) lsn: Lsn,
}

/// An answer as stored until its submitter asks for it. Tickets are moved and kept by the thousand, so the error is
/// boxed: an [`Error`] has ten words.
pub(crate) enum StoredAnswer<O> {
    Output(O),
    /// As aborts usually are, so that one allocates nothing.
    Aborted {
        code: u32,
        message: &'static str,
    },
    Failed(Box<Error>),
}

impl<O> StoredAnswer<O> {
    #[cold]
    fn failed(error: Error) -> Self {
        match error {
            Error::Aborted(Abort { code, message: Cow::Borrowed(message) }) => Self::Aborted { code, message },
            other => Self::Failed(Box::new(other)),
        }
    }
}

impl<O> StoredAnswer<O> {
    #[inline(always)]
    pub(crate) fn new(answer: Result<O, Error>) -> Self {
        answer.map_or_else(Self::failed, Self::Output)
    }

    #[inline(always)]
    pub(crate) fn into_result(self) -> Result<O, Error> {
        match self {
            Self::Output(output) => Ok(output),
            Self::Aborted { code, message } => Err(Abort { code, message: Cow::Borrowed(message) }.into()),
            Self::Failed(error) => Err(*error),
        }
    }

    /// The same with the result of `change` on the output.
    #[inline(always)]
    pub(crate) fn map<N>(self, change: impl FnOnce(O) -> N) -> StoredAnswer<N> {
        match self {
            Self::Output(output) => StoredAnswer::Output(change(output)),
            Self::Aborted { code, message } => StoredAnswer::Aborted { code, message },
            Self::Failed(error) => StoredAnswer::Failed(error),
        }
    }
}

/// Counts of transactions since the database was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) rerun: u64,
    pub(crate) handed_over: u64,
    pub(crate) multi: u64,
    pub(crate) multi_ns: u64,
}

/// Counters written by one thread at a time and read by any thread, on cache lines of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct SharedCounters {
    pub(crate) committed: Count,
    pub(crate) aborted: Count,
    pub(crate) rerun: Count,
    /// Runs of calls that other threads left in the partition's inbox.
    pub(crate) handed_over: Count,
    /// Of the committed ones, transactions on several partitions; and for how long they were held together.
    pub(crate) multi: Count,
    pub(crate) multi_ns: Count,
    /// The transaction that runs.
    pub(crate) running: RunningCall,
}

/// The transaction that runs in a place, for a thread that waits for it in vain.
#[derive(Debug, Default)]
pub(crate) struct RunningCall(AtomicU32);

impl RunningCall {
    /// No transaction runs.
    pub(crate) const NOTHING: u32 = 0;
    /// A closure, or the engine's own work.
    pub(crate) const UNNAMED: u32 = u32::MAX;

    /// The code of the procedure with this number.
    #[inline(always)]
    pub(crate) const fn procedure(number: u16) -> u32 {
        number as u32 + 1
    }

    /// Notes the code of the transaction that runs from now on. The caller is the only writer.
    #[inline(always)]
    pub(crate) fn set(&self, code: u32) {
        self.0.store(code, Ordering::Relaxed);
    }

    /// Whether a transaction runs.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed) != Self::NOTHING
    }

    /// The number of the procedure that runs, if it is one.
    pub(crate) fn number(&self) -> Option<u16> {
        self.0.load(Ordering::Relaxed).checked_sub(1).and_then(|number| u16::try_from(number).ok())
    }
}

/// A counter with one writer at a time.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one. The caller is the only writer.
    #[inline(always)]
    pub(crate) fn add_one(&self) {
        self.add(1);
    }

    /// Adds an amount. The caller is the only writer.
    #[inline(always)]
    pub(crate) fn add(&self, amount: u64) {
        // No other thread writes, so this needs no atomic addition.
        self.0.store(self.0.load(Ordering::Relaxed) + amount, Ordering::Relaxed);
    }

    /// Raises it to an amount. The caller is the only writer.
    #[inline(always)]
    pub(crate) fn raise(&self, amount: u64) {
        if amount > self.get() {
            self.0.store(amount, Ordering::Relaxed);
        }
    }

    pub(crate) fn get(&self) -> u64 {
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
            handed_over: sum.handed_over + counters.handed_over.get(),
            multi: sum.multi + counters.multi.get(),
            multi_ns: sum.multi_ns + counters.multi_ns.get(),
        })
    }
}

/// Counts of one partition since the database was opened, and where its calls run. A transaction on several counts in
/// the lowest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PartitionStats {
    /// The number of the core whose threads run its calls; `None`: any.
    pub core: Option<u32>,
    /// Whether a thread holds it at this moment, to run a transaction.
    pub is_busy: bool,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions aborted by their procedure.
    pub aborted: u64,
    /// Of these, calls that were left to another thread.
    pub handed_over: u64,
}

impl PartitionStats {
    /// Differences of the counts since `before`; the rest as it is now.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            committed: self.committed - before.committed,
            aborted: self.aborted - before.aborted,
            handed_over: self.handed_over - before.handed_over,
            ..*self
        }
    }
}

/// A prepared transaction: it has run, and keeps its locks until it is committed or rolled back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PreparedTransaction {
    /// Its name.
    pub name: String,
    /// Its number, as reports of waits for locks name it.
    pub transaction: u64,
    /// Changes of pages that its rollback would undo.
    pub changes: u64,
    /// Its locks, without intents.
    pub locks: u64,
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
