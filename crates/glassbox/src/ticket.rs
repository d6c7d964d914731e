//! A ticket: the outcome of a transaction that ran, not to be told before it is durable.

use crate::error::Error;
use crate::inner::Place;
use crate::log::Lsn;

/// The outcome of a submitted procedure. Dropping it does not undo anything.
#[must_use = "the outcome is not known to be durable before `wait`"]
pub struct Ticket<'a, O> {
    place: Place<'a>,
    answer: Result<O, Error>,
    lsn: Lsn,
}

impl<'a, O> Ticket<'a, O> {
    #[inline]
    pub(crate) fn new(place: Place<'a>, lsn: Lsn, answer: Result<O, Error>) -> Self {
        Self { place, answer, lsn }
    }

    /// A ticket for what `change` makes of the output; called at once, unless the transaction aborted.
    #[inline]
    pub fn map<N>(self, change: impl FnOnce(O) -> N) -> Ticket<'a, N> {
        Ticket { place: self.place, answer: self.answer.map(change), lsn: self.lsn }
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
        self.answer
    }
}

impl<O> std::fmt::Debug for Ticket<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("lsn", &self.lsn).finish_non_exhaustive()
    }
}
