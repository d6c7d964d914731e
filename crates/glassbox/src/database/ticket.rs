//! A ticket: the outcome of a transaction that ran, or will, and may not be durable yet.
//!
//! Outstanding tickets are counted and bounded for each thread. One counter of all would be written twice for each
//! transaction by every thread, so that its cache line moves from core to core each time; and under one bound for all,
//! threads that retry at once would take the places of those that wait. A ticket that goes to another thread is counted
//! where it was submitted.

use std::sync::atomic::{AtomicUsize, Ordering};

use thread_local::ThreadLocal;

use crate::database::inner::Inner;
use crate::error::Error;
use crate::executed::StoredAnswer;
use crate::log::Lsn;
use crate::partitioned::{HandedCall, Submission};
use crate::prefetch::Padded;

/// The outcome of a submitted procedure. Dropping it does not undo the transaction.
#[must_use = "the outcome is not known to be durable before `wait`"]
pub struct Ticket<'a, O> {
    state: TicketState<'a, O>,
    database: &'a Inner,
    place: TicketPlace<'a>,
}

enum TicketState<'a, O> {
    Ran { kept: StoredAnswer<O>, lsn: Lsn },
    Handed(HandedCall<'a, O>),
}

impl<'a, O> Ticket<'a, O> {
    #[inline]
    pub(crate) fn new(database: &'a Inner, place: TicketPlace<'a>, submitted: Submission<'a, O>) -> Self {
        let state = match submitted {
            Submission::Ran(kept, lsn) => TicketState::Ran { kept, lsn },
            Submission::Handed(call) => TicketState::Handed(call),
        };
        Self { state, database, place }
    }

    /// A ticket for the result of `change` on the output; called at once, unless the transaction aborted. Waits until
    /// the transaction has run, if another thread runs it; [`Database::submit_with`](crate::Database::submit_with) does
    /// not.
    #[inline]
    pub fn map<N>(self, change: impl FnOnce(O) -> N) -> Ticket<'a, N> {
        let state = match self.state {
            TicketState::Ran { kept, lsn } => TicketState::Ran { kept: kept.map(change), lsn },
            TicketState::Handed(call) if self.database.is_own() => {
                let (kept, lsn) = call.answer();
                TicketState::Ran { kept: kept.map(change), lsn }
            }
            TicketState::Handed(_) => {
                TicketState::Ran { kept: StoredAnswer::new(Err(self.database.forked())), lsn: Lsn::NONE }
            }
        };
        Ticket { state, database: self.database, place: self.place }
    }

    /// Whether [`Ticket::wait`] would return at once.
    pub fn is_ready(&self) -> bool {
        match &self.state {
            _ if !self.database.is_own() => true,
            TicketState::Ran { lsn, .. } => self.database.is_told(*lsn),
            TicketState::Handed(call) => call.ran_at().is_some_and(|lsn| self.database.is_told(lsn)),
        }
    }

    /// Waits for the outcome as [`Database::call`](crate::Database::call) does: with the default durability, until it
    /// is durable.
    ///
    /// # Errors
    /// As for `call`.
    #[inline(always)]
    pub fn wait(self) -> Result<O, Error> {
        let (kept, lsn) = match self.state {
            TicketState::Ran { kept, lsn } => (kept, lsn),
            TicketState::Handed(call) if self.database.is_own() => call.answer(),
            TicketState::Handed(_) => return Err(self.database.forked()),
        };
        self.database.wait(lsn)?;
        kept.into_result()
    }
}

impl<O> std::fmt::Debug for Ticket<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").finish_non_exhaustive()
    }
}

/// The counts of all threads that have submitted a call. A thread that ends leaves its count to a later one.
pub(crate) struct InFlight {
    counts: ThreadLocal<Padded<AtomicUsize>>,
    limit: usize,
}

/// One of the tickets that may be outstanding.
pub(crate) struct TicketPlace<'a>(&'a AtomicUsize);

impl Drop for TicketPlace<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl InFlight {
    pub(crate) fn new(limit: usize) -> Self {
        Self { counts: ThreadLocal::new(), limit }
    }

    /// A place for one more ticket of this thread.
    #[inline]
    pub(crate) fn take_place(&self) -> Result<TicketPlace<'_>, Error> {
        let Padded(count) = self.counts.get_or_default();
        let place = TicketPlace(count);
        if count.fetch_add(1, Ordering::Relaxed) >= self.limit {
            return Err(Error::TooManyInFlight { limit: self.limit });
        }
        Ok(place)
    }

    /// Outstanding tickets of all threads.
    pub(crate) fn outstanding(&self) -> usize {
        self.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).sum()
    }
}
