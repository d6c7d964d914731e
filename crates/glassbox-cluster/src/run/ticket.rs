//! What a client has of a call that it does not wait for.

use std::fmt;
use std::marker::PhantomData;

use glassbox::{Error, Procedure};

/// What is made of the output of a call, which is there when it is called.
pub trait Then<P: Procedure, N>: FnOnce(&mut Option<P::Output>) -> N {}
impl<P: Procedure, N, F: FnOnce(&mut Option<P::Output>) -> N> Then<P, N> for F {}

/// A call that was submitted; to be given to [`Client::wait`](super::Client::wait).
#[must_use = "the outcome is known only to who waits for it"]
pub struct Ticket<P: Procedure, N = <P as Procedure>::Output, F = fn(&mut Option<<P as Procedure>::Output>) -> N> {
    home: u8,
    pub(super) flight: Flight<N, F>,
    procedure: PhantomData<fn() -> P>,
}

/// Where a call is.
pub(super) enum Flight<N, F> {
    /// Sent, by this number; what is wanted of its output.
    Sent(u64, F),
    /// It was run at once. Tickets stay small.
    Ended(Result<N, Box<Error>>),
}

impl<P: Procedure, N, F> fmt::Debug for Ticket<P, N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("home", &self.home).finish_non_exhaustive()
    }
}

impl<P: Procedure, N, F> Ticket<P, N, F> {
    #[inline]
    pub(super) fn new(home: u8, flight: Flight<N, F>) -> Self {
        Self { home, flight, procedure: PhantomData }
    }

    /// The partition whose output counts.
    pub fn home(&self) -> u8 {
        self.home
    }
}
