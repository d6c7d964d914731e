//! The answer of a call, in the memory of its caller.
//!
//! Outputs are large, and each move copies them. So the caller provides the memory and the run writes the output there;
//! a run that is repeated writes it again.

use std::any::Any;
use std::mem::needs_drop;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;
use crate::procedure::{Place, Procedure, Stop, Transaction};

/// Memory for an output, which a run may have filled or not.
pub(crate) trait OutputSlot<O>: Place<O> {
    /// Whether there is an output.
    fn is_filled(&self) -> bool;
    /// Drops an output.
    fn clear(&mut self);
}

impl<O> OutputSlot<O> for Option<O> {
    #[inline(always)]
    fn is_filled(&self) -> bool {
        self.is_some()
    }

    #[inline(always)]
    fn clear(&mut self) {
        if self.is_some() {
            discard(|| *self = None);
        }
    }
}

/// Drops the value of a run that does not count. It is the user's, and its drop may panic: no thread waits for that.
#[cold]
pub(crate) fn discard(drop: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(drop)) {
        // The drop of the panic's payload may panic, too.
        std::mem::forget(panic);
    }
}

/// The answer of a call as its caller gets it.
pub(crate) enum Answer<O> {
    /// There is none yet.
    Empty,
    Output(O),
    /// The transaction aborted.
    Failed(Error),
}

impl<O> Answer<O> {
    /// The answer of a call that was executed.
    #[inline(always)]
    pub(crate) fn into_result(self) -> Result<O, Error> {
        match self {
            Self::Output(output) => Ok(output),
            Self::Failed(error) => Err(error),
            Self::Empty => unanswered(),
        }
    }

    /// Drops the output, if there is one, in a thread that must outlive its panic.
    ///
    /// # Errors
    /// That panic.
    #[inline(always)]
    pub(crate) fn end(&mut self) -> Result<(), Box<dyn Any + Send>> {
        if needs_drop::<O>() && self.is_filled() {
            return catch_unwind(AssertUnwindSafe(|| *self = Self::Empty));
        }
        Ok(())
    }

    /// The answer with the result of `look` in the output's place. By reference: an output that is moved is copied.
    #[inline(always)]
    pub(crate) fn look<N>(&mut self, look: impl FnOnce(&O) -> N) -> Result<N, Error> {
        match self {
            Self::Output(output) => Ok(look(output)),
            Self::Failed(_) => match std::mem::replace(self, Self::Empty) {
                Self::Failed(error) => Err(error),
                _ => unanswered(),
            },
            Self::Empty => unanswered(),
        }
    }
}

#[cold]
fn unanswered() -> ! {
    unreachable!("a call that was executed has an answer")
}

impl<O> Place<O> for Answer<O> {
    /// An old output was dropped by `run_in`; a check here would move the output once more.
    #[inline(always)]
    fn put(&mut self, output: O) -> &mut O {
        std::mem::forget(std::mem::replace(self, Self::Output(output)));
        match self {
            Self::Output(output) => output,
            _ => unreachable!("it was put there just now"),
        }
    }
}

impl<O> OutputSlot<O> for Answer<O> {
    #[inline(always)]
    fn is_filled(&self) -> bool {
        matches!(self, Self::Output(_))
    }

    #[inline(always)]
    fn clear(&mut self) {
        if self.is_filled() {
            discard(|| *self = Self::Empty);
        }
    }
}

/// Runs the body of a procedure, which puts its output into the slot. The output of an earlier run is dropped first: an
/// output is moved seldom if nothing is dropped between.
///
/// # Panics
/// When the procedure ends well without an output.
#[inline(always)]
pub(crate) fn run_in<P: Procedure>(
    slot: &mut impl OutputSlot<P::Output>,
    procedure: &P,
    transaction: &mut impl Transaction,
) -> Result<(), Stop> {
    slot.clear();
    let returned = procedure.answer(transaction, slot);
    assert!(slot.is_filled() || returned.is_err(), "a procedure has ended well and given no answer");
    returned
}
