//! A node that its own thread and clients' threads use in turns.
//!
//! Between threads, sending a call wakes one thread and its answer another. But an idle partition can be used by a
//! client's thread directly: the client locks the node, has its procedure run, and unlocks it, as a caller of the
//! embedded database takes a partition's token. The node's own thread holds the lock whenever there is something to do,
//! and never while it sleeps.
//!
//! Messages that were sent before must be handled before. So a client leaves alone a node with unhandled events, and
//! always sends its calls when messages are delayed to simulate a network.

use std::fmt;
use std::sync::Mutex;

use super::node::Node;
use crate::node::member::Member;

/// The node's own thread ends too: a half-done change must not be continued.
const PANICKED: &str = "a thread panicked while it used the node";

/// A node that several threads can reach.
pub(super) struct SharedNode(Mutex<Node>);

impl fmt::Debug for SharedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedNode").finish_non_exhaustive()
    }
}

impl SharedNode {
    pub(super) fn new(node: Node) -> Self {
        Self(Mutex::new(node))
    }

    /// Runs `work` on the node if no thread holds it. After a panic it stays locked.
    #[inline]
    pub(super) fn take_if_free<T>(&self, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        work(&mut *self.0.try_lock().ok()?)
    }

    /// Ends the node; its member.
    pub(super) fn end(&self) -> Option<Member> {
        self.0.lock().expect(PANICKED).member.take()
    }
}

/// Exclusive access to a node.
pub trait Driven {
    /// Runs `work` on the node.
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T;
}

impl Driven for Node {
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T {
        work(self)
    }
}

impl Driven for &SharedNode {
    fn with<T>(&mut self, work: impl FnOnce(&mut Node) -> T) -> T {
        work(&mut self.0.lock().expect(PANICKED))
    }
}
