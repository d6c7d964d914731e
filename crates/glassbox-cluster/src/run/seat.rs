//! A machine with which its own thread and those of clients take turns.
//!
//! Between threads a call that is sent wakes a thread, and its answer another. But a partition that has nothing to do
//! can be had by whoever wants something of it: a client takes its machine, has its procedure run, and gives it back,
//! as a caller of the embedded database takes a partition's token. The machine's own thread has it whenever there is
//! something to do, and never while it sleeps.
//!
//! What was sent before must have been heard before: so nobody takes a machine that has letters, in its inbox or in
//! hand, and what is held up on its way, to look like a network, is always sent.

use std::fmt;
use std::sync::Mutex;

use super::node::Node;
use crate::node::member::Member;

/// Then its own thread ends, too: nobody goes on with half of something.
const PANICKED: &str = "whoever had the machine panicked";

/// A machine that several threads can reach.
pub(super) struct Seat(Mutex<Node>);

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").finish_non_exhaustive()
    }
}

impl Seat {
    pub(super) fn new(node: Node) -> Self {
        Self(Mutex::new(node))
    }

    /// The machine, if nobody has it. After a panic nobody gets it any more.
    #[inline]
    pub(super) fn take_if_free<T>(&self, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        work(&mut *self.0.try_lock().ok()?)
    }

    /// What the machine has become; it does nothing more.
    pub(super) fn end(&self) -> Option<Member> {
        self.0.lock().expect(PANICKED).member.take()
    }
}

/// Whoever has a node, or takes turns with others.
pub trait Driven {
    /// Has it for as long as `work` takes.
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T;
}

impl Driven for Node {
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T {
        work(self)
    }
}

impl Driven for &Seat {
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T {
        work(&mut self.0.lock().expect(PANICKED))
    }
}
