//! A ticket: the outcome of a transaction that ran, not to be told before it is durable.

use crate::error::Error;
use crate::executed::Executed;
use crate::inner::Place;
use crate::log::Lsn;
use crate::procedure::Abort;

/// The outcome of a submitted procedure. Dropping it does not undo anything.
#[must_use = "the outcome is not known to be durable before `wait`"]
pub struct Ticket<'a, O> {
    place: Place<'a>,
    outcome: Result<(), Abort>,
    /// Of a run that committed.
    output: Option<O>,
    lsn: Lsn,
}

impl<'a, O> Ticket<'a, O> {
    #[inline]
    pub(crate) fn new(place: Place<'a>, executed: Executed, output: Option<O>) -> Self {
        Self { place, outcome: executed.outcome, output, lsn: executed.lsn }
    }

    /// A ticket for what `change` makes of the output; called at once, unless the transaction aborted.
    #[inline]
    pub fn map<N>(self, change: impl FnOnce(O) -> N) -> Ticket<'a, N> {
        Ticket { place: self.place, outcome: self.outcome, output: self.output.map(change), lsn: self.lsn }
    }

    /// Whether [`Ticket::wait`] would return at once.
    pub fn is_ready(&self) -> bool {
        self.place.0.is_told(self.lsn)
    }

    /// Waits until the outcome may be told, as [`Database::call`](crate::Database::call) does.
    ///
    /// # Errors
    /// As for `call`.
    #[inline]
    pub fn wait(self) -> Result<O, Error> {
        self.place.0.wait(self.lsn)?;
        self.outcome?;
        Ok(self.output.expect("a run that commits has an output"))
    }
}

impl<O> std::fmt::Debug for Ticket<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("lsn", &self.lsn).finish_non_exhaustive()
    }
}
