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
use crate::participant::arrived::{Arrived, Multi, Single};
use crate::participant::store::Store;
use crate::protocol::address::TxnId;
use crate::protocol::message::FragmentEnd;
use crate::protocol::outbox::Outbox;

#[derive(Debug)]
pub(crate) struct Locking {
    locks: LockTable,
    /// Transactions of several partitions that have begun and not ended.
    multis: BTreeMap<Owner, Box<Multi>>,
    /// The same by their numbers.
    owners: BTreeMap<TxnId, Owner>,
    /// Those on this partition alone that wait.
    singles: BTreeMap<Owner, Single>,
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
        let (multis, owners, singles) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (locks, ready, gave_up) = (LockTable::default(), VecDeque::new(), GaveUp::default());
        Self { locks, multis, owners, singles, ready, next: 0, gave_up, forced }
    }

    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) if self.is_idle() && !self.forced => store.run_and_answer(&single, out),
            Arrived::Single(single) => {
                let owner = self.number();
                self.run_single(store, owner, single, out);
            }
            Arrived::Multi(multi) => match self.owners.get(&multi.txn()) {
                Some(&owner) => {
                    let known = self.multis.get_mut(&owner).expect("it is under way");
                    known.fragment = multi.fragment;
                    self.run_multi(store, owner, out);
                }
                None => {
                    let owner = self.number();
                    let again = self.gave_up.has_begun(&multi);
                    self.owners.insert(multi.txn(), owner);
                    self.multis.insert(owner, Box::new(multi));
                    if again {
                        self.ready.push_back(owner);
                    } else {
                        self.run_multi(store, owner, out);
                    }
                }
            },
        }
    }

    fn number(&mut self) -> Owner {
        self.next += 1;
        self.next
    }

    fn run_multi(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        let multi = self.multis.get_mut(&owner).expect("it is under way");
        let ran = store.run_fragment(multi, Some(&mut self.locks.watch(owner)), out);
        if ran {
            store.report(multi, None, out);
        }
        // One that will not commit has nothing left to protect.
        if matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_))) {
            self.release(owner);
        }
        if !ran {
            self.resolve_deadlock(store, owner, out);
        }
    }

    fn run_single(&mut self, store: &mut Store, owner: Owner, single: Single, out: &mut Outbox) {
        let mut kept = Kept::default();
        let ran = store.run_single(&single, Some(&mut kept), Some(&mut self.locks.watch(owner)), out);
        match ran {
            Ran::Refused => {
                self.singles.insert(owner, single);
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
            let singles = circle.iter().filter(|owner| self.singles.contains_key(owner));
            let victim = *singles.max().or(circle.iter().max()).expect("a circle has someone in it");
            self.release(victim);
            match self.multis.get_mut(&victim) {
                Some(multi) => {
                    store.undo_fragment(multi, out);
                    multi.end = Some(FragmentEnd::Again);
                    store.report(multi, None, out);
                }
                None => self.locks.stand_back(victim, &circle),
            }
        }
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(owner) = self.owners.remove(&txn) else { return };
        let multi = self.multis.remove(&owner).expect("it is under way");
        store.end(*multi, commit, out);
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
        match self.singles.remove(&owner) {
            Some(single) => self.run_single(store, owner, single, out),
            None => self.run_multi(store, owner, out),
        }
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &Multi> {
        self.multis.values().map(Box::as_ref)
    }

    /// Whether locks are taken even when there is nobody to be kept off.
    pub(crate) fn is_forced(&self) -> bool {
        self.forced
    }

    pub(crate) fn is_idle(&self) -> bool {
        let idle = self.multis.is_empty() && self.singles.is_empty();
        debug_assert!(!idle || self.locks.is_empty(), "nobody holds these locks");
        idle
    }
}
