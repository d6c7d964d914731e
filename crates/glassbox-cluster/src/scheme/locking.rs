//! Locking: while a transaction of several partitions is under way, every transaction locks the keys that it touches,
//! and what does not conflict goes on.
//!
//! *Low Overhead Concurrency Control*, section 4.3. While there is none, a transaction on this partition alone runs to
//! its end before anything else happens, and needs neither locks nor undo. Strict two-phase locking is serializable in
//! any order of arrival, so clients coordinate their own transactions. A run whose lock is not free is taken back and
//! run again when it is, and keeps its locks: it never waits inside (the thread goes on with others).
//!
//! Deadlocks among the transactions here are found as circles when one begins to wait. The victim is one on this
//! partition alone if the circle has any, the youngest of those: it is simply run again, after one of the others in the
//! circle has ended (sooner, it could take back the very locks that it gave up, and so on for ever). Deadlocks across
//! partitions are noticed by whoever coordinates, because they take too long; whoever is tried again then has to let
//! those go first who waited for its locks, for the same reason.

use std::collections::{BTreeMap, VecDeque};

use glassbox::shard::{Kept, Ran};

use super::gave_up::GaveUp;
use super::lock_table::{LockTable, Owner};
use crate::address::TxnId;
use crate::arrived::{Arrived, Multi, Single};
use crate::message::FragmentEnd;
use crate::outbox::Outbox;
use crate::store::Store;

#[derive(Debug)]
pub(crate) struct Locking {
    locks: LockTable,
    /// All that have begun and not ended; those on this partition alone are here only while they wait.
    active: BTreeMap<Owner, Arrived>,
    /// To be run (again): their locks may be free now.
    ready: VecDeque<Owner>,
    next: Owner,
    /// What they begin next stands behind those who are ready.
    gave_up: GaveUp,
    /// Whether locks are taken even when there is nobody to be kept off.
    forced: bool,
}

impl Locking {
    pub(crate) fn new(forced: bool) -> Self {
        let (locks, active, ready) = (LockTable::default(), BTreeMap::new(), VecDeque::new());
        Self { locks, active, ready, next: 0, gave_up: GaveUp::default(), forced }
    }

    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) if self.active.is_empty() && !self.forced => store.run_and_answer(&single, out),
            Arrived::Multi(next) if self.owner(next.txn()).is_some() => {
                let owner = self.owner(next.txn()).expect("asked a moment ago");
                if let Some(Arrived::Multi(multi)) = self.active.get_mut(&owner) {
                    multi.fragment = next.fragment;
                }
                self.run(store, owner, out);
            }
            arrived => {
                let owner = self.next;
                self.next += 1;
                let again = self.gave_up.has_begun(&arrived);
                self.active.insert(owner, arrived);
                if again {
                    self.ready.push_back(owner);
                } else {
                    self.run(store, owner, out);
                }
            }
        }
    }

    fn owner(&self, txn: TxnId) -> Option<Owner> {
        self.active.iter().find(|(_, arrived)| arrived.is(txn)).map(|(&owner, _)| owner)
    }

    /// Runs one that is active.
    fn run(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        match self.active.remove(&owner).expect("it is active") {
            Arrived::Single(single) => self.run_single(store, owner, single, out),
            Arrived::Multi(mut multi) => {
                let ran = store.run_fragment(&mut multi, Some(&mut self.locks.watch(owner)), out);
                if ran {
                    store.report(&multi, None, out);
                }
                // One that will not commit has nothing left to protect.
                let lost = matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)));
                self.active.insert(owner, Arrived::Multi(multi));
                if lost {
                    self.release(owner);
                }
                if !ran {
                    self.resolve_deadlock(store, owner, out);
                }
            }
        }
    }

    fn run_single(&mut self, store: &mut Store, owner: Owner, single: Single, out: &mut Outbox) {
        let mut kept = Kept::default();
        let ran = store.run_single(&single, Some(&mut kept), Some(&mut self.locks.watch(owner)), out);
        match ran {
            Ran::Refused => {
                self.active.insert(owner, Arrived::Single(single));
                return self.resolve_deadlock(store, owner, out);
            }
            Ran::Done(_) => store.commit(kept),
            _ => {}
        }
        store.replicate(&single, &ran, false, out);
        store.answer(&single, ran, out);
        self.release(owner);
    }

    fn release(&mut self, owner: Owner) {
        self.ready.retain(|ready| *ready != owner);
        self.ready.extend(self.locks.release(owner));
    }

    /// Breaks the circles that an owner closed when it began to wait.
    fn resolve_deadlock(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        while let Some(circle) = self.locks.deadlock(owner) {
            let is_single = |owner: &&Owner| matches!(self.active.get(owner), Some(Arrived::Single(_)));
            let victim = circle.iter().filter(is_single).max().or(circle.iter().max());
            let victim = *victim.expect("a circle has someone in it");
            self.release(victim);
            match self.active.get_mut(&victim) {
                Some(Arrived::Multi(multi)) => {
                    store.undo_fragment(multi, out);
                    multi.end = Some(FragmentEnd::Again);
                    store.report(multi, None, out);
                }
                _ => self.locks.stand_back(victim, &circle),
            }
        }
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(owner) = self.owner(txn) else { return };
        let Some(Arrived::Multi(multi)) = self.active.remove(&owner) else { unreachable!("found there") };
        store.end(multi, commit, out);
        self.release(owner);
        if !commit && !self.ready.is_empty() {
            self.gave_up.note(txn);
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(owner) = self.ready.pop_front() else {
            self.gave_up.forget();
            return false;
        };
        self.run(store, owner, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &Multi> {
        self.active.values().filter_map(Arrived::multi)
    }

    /// Whether locks are taken even when there is nobody to be kept off.
    pub(crate) fn is_forced(&self) -> bool {
        self.forced
    }

    pub(crate) fn is_idle(&self) -> bool {
        debug_assert!(!self.active.is_empty() || self.locks.is_empty(), "nobody holds these locks");
        self.active.is_empty()
    }
}
