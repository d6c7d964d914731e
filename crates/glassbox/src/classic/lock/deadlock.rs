//! Deadlocks: cycles of owners that wait for each other, and the choice of the victim.
//!
//! Problem: transactions that wait for each other in a cycle wait for ever. The naive ways are a timeout, which also
//! aborts slow transactions, and a periodic search of the whole table, which stops all owners. Here, an owner that is
//! about to wait checks whether its wait closes a cycle. So a deadlock is resolved at the moment in which it arises,
//! and an owner that does not wait pays nothing.
//!
//! The *waits-for graph*: from an owner whose request waits to each owner that blocks it (`LockPartition::blockers`):
//! holders of incompatible modes, and, as requests do not overtake, all earlier waiters of the same queue. A request is
//! granted only when none of these is left. So owners on a cycle are never granted, and without a cycle some owner can
//! continue.
//!
//! *Order.* A request enters a queue while its thread holds the detector's latch, and searches for a cycle through its
//! owner before the latch is released. The search reads the queues one after the other, holding the latch of one
//! partition at a time; grants and releases continue meanwhile, as they do not need the detector.
//!
//! *Every cycle is found.* An edge from A to B is created (1) when A begins to wait, (2) when B begins to wait for a
//! conversion and so precedes A, which waits in the same queue, or (3) when B is granted a stronger mode than it held
//! while A waits; that is a conversion, as no other request overtakes a waiting one. Consider the last created edge of
//! a cycle. If by (1) or (2), A or B searches next, before it releases the latch; all other edges exist, and none can
//! vanish, as none of the owners continues. If by (3), B was just granted and did not wait, so the edge out of B was
//! created later, in contradiction to the choice. And if there is no cycle, some owner continues: an owner without
//! edges has been granted, because every event that ends an edge then grants all requests that can be granted
//! (`LockPartition::settle`). The exception is a granted conversion; it ends no edge, because a stronger mode is
//! compatible with nothing that is incompatible with a weaker one (see `mode`).
//!
//! *Every cycle that is found exists.* Suppose the search read the edges from A1 to A2, A2 to A3, ..., An to A1, one
//! after the other. When Ai's edges were read, Ai waited. It waited already when the search acquired the detector's
//! latch, as no wait begins without it; and without that latch a wait ends only by a grant. Suppose some Ai was granted
//! before the whole cycle was read, and consider the first. Its edges had been read by then, or it would not have been
//! waiting; so the edge to the next owner of the cycle had vanished in between, for which that owner must have released
//! a lock or been granted one. But it had waited all the time up to then. So none was granted, and all edges existed at
//! the same time.
//!
//! *From time to time*, as an option: each owner that waits searches after every period, and not when its wait begins.
//! A cycle stays until one of its owners searches, and then all its edges exist; so it is found.
//!
//! *The victim* is the owner on the cycle that has done the least work, by its own report; of several, the one with the
//! highest number. Its request leaves the queue, and its thread wakes with the outcome. The others on the cycle still
//! wait for its locks, and get them, as the victim releases all. An owner can close several cycles at once, so the
//! search repeats until there is none.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::owner::LockWaiter;
use crate::classic::ids::TxnId;

/// The state of all owners, behind one latch.
#[derive(Default)]
pub(super) struct Detector {
    pub(super) owners: Vec<Registered>,
    // Memory of the search, reused: the owner from which each owner was first reached, and the reached owners in order.
    pub(super) reached_from: Vec<u32>,
    pub(super) reached: Vec<u32>,
}

pub(super) struct Registered {
    pub(super) waiter: Arc<LockWaiter>,
    /// The place of its latest wait; the request may have ended, or belong to another owner by now.
    pub(super) hash: u64,
    pub(super) request: u32,
}

impl Detector {
    /// The owner `number` is in a queue now.
    pub(super) fn waits_at(&mut self, number: u32, hash: u64, request: u32) {
        let owner = &mut self.owners[number as usize];
        (owner.hash, owner.request) = (hash, request);
    }

    /// The transaction of an owner.
    pub(super) fn txn(&self, number: u32) -> TxnId {
        self.owners[number as usize].waiter.txn()
    }

    /// The owners on a path that was found from `start`, from `last` back.
    pub(super) fn path(&self, start: u32, last: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(last), move |at| (*at != start).then(|| self.reached_from[*at as usize]))
    }

    /// The victim of a cycle that ends with `last` and was reached from `start`.
    pub(super) fn victim(&self, start: u32, last: u32) -> u32 {
        let work = |at: u32| self.owners[at as usize].waiter.work.load(Ordering::Relaxed);
        self.path(start, last).min_by_key(|at| (work(*at), Reverse(*at))).expect("a cycle has members")
    }
}
