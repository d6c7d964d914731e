//! A transaction on held partitions: the implementation of [`Transaction`] for rows in main memory.
//!
//! Problem: a procedure runs in one process that has all partitions, or in one process of several that each have one.
//! Row by row the work is the same; only two things differ. A row may be *remote*, so that the run reads a copy which
//! another process sent; and where several runs are in progress, a *watch* must know each key before it is touched, to
//! lock it or to validate it later.
//!
//! Both are type parameters, so that a database in one process pays for neither: its rows are never remote
//! ([`NoRemoteRows`] has no values to describe one) and its keys are not watched ([`Unwatched`]). Nothing here waits or
//! locks: the run owns the data. A partition that is not held, or a remote row that was not sent, stops the run; it is
//! undone and runs again with what it lacked.
//!
//! The cost of a change beyond the change itself depends on flags that are the same for all of a transaction: keep
//! the old row (`undo`), write the difference to the log record (`values`).
//!
//! Rejected: a transaction of its own for a partition by itself, which wraps this one. It repeated every call, and had
//! to take batches apart that the inner transaction then put together again.

mod batches;
mod change;
mod find;
mod point;
mod remote;
mod scan;
pub(super) mod undo;
pub(super) mod watch;

pub(super) use change::Changes;
pub(super) use remote::{NoRemoteRows, RemoteRows};
use watch::{Touch, Unwatched, Watching};

use super::held::{Held, Hold};
use crate::failure::FOREIGN_RETRY;
use crate::io::Clock;
use crate::procedure::{Retry, Stop};
use crate::record::{Record, Timestamp};

/// A run of a transaction on the partitions that it holds.
pub(crate) struct PartitionedTransaction<'a, M = NoRemoteRows, W = Unwatched> {
    pub(super) held: Held<'a>,
    pub(super) changes: Changes<'a>,
    pub(super) remote: M,
    pub(super) watch: W,
    clock: &'a dyn Clock,
    pub(crate) now: Option<Timestamp>,
    pub(crate) seed: u64,
    random: u64,
}

/// What a transaction keeps in addition to its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Keep {
    /// Old rows, to be able to undo.
    pub(crate) undo: bool,
    /// Changes, for the value log.
    pub(crate) values: bool,
    /// The places of deleted rows, until the outcome of the run is decided.
    pub(crate) places: bool,
}

impl<'a> PartitionedTransaction<'a> {
    #[inline(always)]
    pub(super) fn new(hold: Hold<'a>, clock: &'a dyn Clock, keep: Keep) -> Self {
        Self::with(hold, clock, keep, NoRemoteRows, Unwatched)
    }
}

impl<'a, M: RemoteRows, W: Watching> PartitionedTransaction<'a, M, W> {
    #[inline(always)]
    pub(super) fn with(hold: Hold<'a>, clock: &'a dyn Clock, keep: Keep, remote: M, watch: W) -> Self {
        let Hold { mut held, scratch } = hold;
        let home = held.home();
        home.seed = home.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let seed = home.seed;
        let Keep { undo, values, places } = keep;
        let changes = Changes { scratch, undo, values, places, wrote: false, torn: None };
        Self { held, changes, remote, watch, clock, now: None, seed, random: seed }
    }

    /// Sets what was assigned to the transaction before this run.
    pub(crate) fn assign(&mut self, now: impl Into<Option<Timestamp>>, seed: u64) {
        (self.now, self.seed, self.random) = (now.into(), seed, seed);
    }

    /// The outcome of a run, given what the procedure returned: that means nothing if the run lacked something, or if
    /// rows and indexes or copies of a replicated table differ now.
    ///
    /// # Panics
    /// When the procedure returns a restart that this run did not ask for.
    #[inline(always)]
    pub(crate) fn outcome(&self, returned: Result<(), Stop>) -> Result<(), Stop> {
        if !self.held.missing().is_empty() {
            return Err(Stop::Retry(Retry { partitions: self.held.missing() }));
        }
        if self.remote.has_missing() || self.watch.has_refused() || self.changes.scratch.record.is_too_large() {
            return Err(watch::RESTART);
        }
        if let Some(torn) = self.changes.torn {
            return Err(torn.stop());
        }
        if let Err(Stop::Retry(_)) = returned {
            foreign_retry();
        }
        returned
    }

    /// The number of a table in the catalog.
    #[inline(always)]
    fn number<R: Record>(&mut self) -> u16 {
        self.held.home().table::<R>().number
    }

    /// Reports a primary key that is about to be touched.
    #[inline(always)]
    fn touch<R: Record>(&mut self, key: &R::Key, touch: Touch) -> Result<(), Stop> {
        if !W::WATCHES {
            return Ok(());
        }
        let number = self.number::<R>();
        self.watch.key::<R>(number, key, touch)
    }

    /// Whether the keys of secondary indexes at which a row is written are reported.
    #[inline(always)]
    fn watches_indexes<R: Record>() -> bool {
        W::WATCHES && R::INDEXES > 0
    }
}

#[cold]
fn foreign_retry() -> ! {
    // Without the hook: the place of this panic is not the procedure's.
    std::panic::resume_unwind(Box::new(FOREIGN_RETRY))
}
