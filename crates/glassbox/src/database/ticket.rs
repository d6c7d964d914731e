//! A ticket: the outcome of a transaction that ran and may not be durable yet.

use std::borrow::Cow;

use crate::database::inner::TicketPlace;
use crate::error::Error;
use crate::log::Lsn;
use crate::procedure::Abort;

/// The outcome of a submitted procedure. Dropping it does not undo the transaction.
#[must_use = "the outcome is not known to be durable before `wait`"]
pub struct Ticket<'a, O> {
    place: TicketPlace<'a>,
    kept: StoredAnswer<O>,
    lsn: Lsn,
}

/// An answer as stored in a ticket. Tickets are moved and kept by the thousand, so the error is boxed: an [`Error`] has
/// ten words.
enum StoredAnswer<O> {
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

impl<'a, O> Ticket<'a, O> {
    #[inline]
    pub(crate) fn new(place: TicketPlace<'a>, lsn: Lsn, answer: Result<O, Error>) -> Self {
        Self { place, kept: answer.map_or_else(StoredAnswer::failed, StoredAnswer::Output), lsn }
    }

    /// A ticket for the result of `change` on the output; called at once, unless the transaction aborted.
    #[inline]
    pub fn map<N>(self, change: impl FnOnce(O) -> N) -> Ticket<'a, N> {
        let kept = match self.kept {
            StoredAnswer::Output(output) => StoredAnswer::Output(change(output)),
            StoredAnswer::Aborted { code, message } => StoredAnswer::Aborted { code, message },
            StoredAnswer::Failed(error) => StoredAnswer::Failed(error),
        };
        Ticket { place: self.place, kept, lsn: self.lsn }
    }

    /// Whether [`Ticket::wait`] would return at once.
    pub fn is_ready(&self) -> bool {
        self.place.0.is_told(self.lsn)
    }

    /// Waits for the outcome as [`Database::call`](crate::Database::call) does: with the default durability, until it
    /// is durable.
    ///
    /// # Errors
    /// As for `call`.
    #[inline(always)]
    pub fn wait(self) -> Result<O, Error> {
        self.place.0.wait(self.lsn)?;
        match self.kept {
            StoredAnswer::Output(output) => Ok(output),
            StoredAnswer::Aborted { code, message } => Err(Abort { code, message: Cow::Borrowed(message) }.into()),
            StoredAnswer::Failed(error) => Err(*error),
        }
    }
}

impl<O> std::fmt::Debug for Ticket<'_, O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("lsn", &self.lsn).finish_non_exhaustive()
    }
}
