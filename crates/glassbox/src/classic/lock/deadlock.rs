//! Deadlocks: cycles of owners that wait for each other, and the choice of the victim.
//!
//! Problem: of transactions that wait for each other in a circle none ever goes on. The naive ways are to give up after
//! some time, which ends those that are only slow, too, and to look at the whole table from time to time, which stops
//! all owners. Here, an owner that is about to wait checks whether that closes a cycle, so a deadlock is ended in the
//! moment in which it arises, and an owner that does not wait pays nothing.
//!
//! The *waits-for graph*: from an owner whose request waits to each owner in its way (`Partition::blockers`): holders
//! of what the request cannot go with, and, as newcomers do not pass, all who wait ahead in the same queue. A request
//! goes on only when all of these are gone; so owners on a cycle never go on, and if there is no cycle some owner can.
//!
//! *Order.* A request enters a queue while its thread holds the detector's latch, and looks for a cycle through its
//! owner before it lets go of it. It reads the queues one after the other, holding the latch of one partition at a
//! time; grants and releases go on meanwhile, as they need no detector.
//!
//! *Every cycle is found.* An edge from A to B comes about (1) when A begins to wait, (2) when B begins to wait for a
//! conversion and so stands before A, which waits in the same queue, or (3) when B is granted more than it held while A
//! waits; then by a conversion, as nothing else passes a request that waits. Take the edge of a cycle that came about
//! last. If by (1) or (2), A or B looks next, and before it lets go of the latch; all other edges are there, and none
//! can go, as none of the owners goes on. If by (3), B was just granted and did not wait, so the edge out of B came
//! about later, in contradiction to the choice. And if there is no cycle, some owner goes on: an owner without edges
//! has been granted, because what ends an edge looks who can be granted (`Partition::settle`). All but a granted
//! conversion does; that ends none, because a stronger mode goes with nothing that a weaker one does not go with (see
//! `mode`).
//!
//! *Every cycle that is found exists.* Say the reader saw the edges of A1 to A2, A2 to A3, ..., An to A1, one after the
//! other. When Ai's edges were seen, Ai waited; it waited already when the reader took the detector's latch, as no wait
//! begins without it. Nor is a wait ended without that latch, but by a grant. Suppose some Ai was granted before all of
//! the cycle was seen, and take the first. Its edges had been seen by then, or it would not have been waiting; so the
//! edge to the next owner of the cycle had gone in between, for which that one must have released something or been
//! granted. But it had waited all the time up to then. So none was granted, and the edges seen were there at the same
//! time.
//!
//! *The victim* is the one on the cycle that has done the least work, as it said itself; if several, the one of the
//! highest number. Its request leaves the queue, its thread wakes and is told. Others on the cycle then still wait for
//! its locks, and will get them, as it must release all. An owner can close several cycles at once, so it looks again
//! until there is none.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::held::HeldLocks;
use super::manager::LockManager;
use super::owner::{Owner, Signal, Waiter};
use super::sync::latch;
use super::table::NONE;
use crate::classic::ids::TxnId;

/// Owners beyond this would not fit the counts in the heads.
const MOST_OWNERS: usize = u16::MAX as usize;

/// The state of all owners, behind one latch.
#[derive(Default)]
pub(super) struct Detector {
    owners: Vec<Registered>,
    // Memory of the search, used again: from whom an owner was first reached, and those reached, in order.
    reached_from: Vec<u32>,
    reached: Vec<u32>,
}

struct Registered {
    waiter: Arc<Waiter>,
    /// Where its latest wait is or was; the request may be over, or another's by now.
    hash: u64,
    request: u32,
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

    /// Of a cycle that ends with `last` and was reached from `start`, the one that must give up.
    fn victim(&self, start: u32, last: u32) -> u32 {
        let before = |at: &u32| (*at != start).then(|| self.reached_from[*at as usize]);
        let cycle = std::iter::successors(Some(last), before);
        let work = |at: u32| self.owners[at as usize].waiter.work.load(Ordering::Relaxed);
        cycle.min_by_key(|at| (work(*at), Reverse(*at))).expect("a cycle has members")
    }
}

impl LockManager {
    /// A new owner, or rather its number: those of owners that were dropped are used again.
    pub(super) fn register(&self) -> Owner {
        let mut detector = latch(&self.detector);
        let free = detector.owners.iter_mut().position(|owner| Arc::get_mut(&mut owner.waiter).is_some());
        let number = free.unwrap_or(detector.owners.len());
        assert!(number < MOST_OWNERS, "more than {MOST_OWNERS} transactions at once");
        let waiter = Arc::<Waiter>::default();
        let registered = Registered { waiter: waiter.clone(), hash: 0, request: NONE };
        if number == detector.owners.len() {
            detector.owners.push(registered);
        } else {
            detector.owners[number] = registered;
        }
        Owner { number: number as u32, held: HeldLocks::new(), waiter }
    }

    /// Whether an owner is in a queue, and will stay there until another owner acts.
    #[cfg(test)]
    pub(crate) fn is_waiting(&self, number: u32) -> bool {
        latch(&self.detector).owners[number as usize].waiter.waits()
    }

    /// Ends all cycles through `start`, which has just begun to wait.
    pub(super) fn break_cycles(&self, detector: &mut Detector, start: u32) {
        while let Some(last) = self.find_cycle(detector, start) {
            let victim = detector.victim(start, last);
            let Registered { hash, request, .. } = detector.owners[victim as usize];
            let mut partition = self.partition(hash);
            assert!(partition.waits(request, victim), "who is on a cycle waits");
            partition.cancel(request, Signal::Deadlock);
            if victim == start {
                break;
            }
        }
    }

    /// Looks for a shortest cycle through `start`; gives the owner on it that waits for `start`.
    fn find_cycle(&self, detector: &mut Detector, start: u32) -> Option<u32> {
        let Detector { owners, reached_from, reached } = detector;
        reached_from.clear();
        reached_from.resize(owners.len(), NONE);
        reached.clear();
        reached.push(start);
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            let Registered { hash, request, .. } = owners[at as usize];
            if request == NONE {
                continue;
            }
            let partition = self.partition(hash);
            if !partition.waits(request, at) {
                continue;
            }
            let mut closed = false;
            partition.blockers(request, |blocker| {
                closed |= blocker.owner == start;
                let from = &mut reached_from[blocker.owner as usize];
                if *from == NONE && blocker.owner != start {
                    *from = at;
                    reached.push(blocker.owner);
                }
            });
            if closed {
                return Some(at);
            }
        }
        None
    }
}
