//! Locking: while a distributed transaction is active, every transaction locks the keys that it touches, and
//! transactions that do not conflict proceed.
//!
//! *Low Overhead Concurrency Control*, section 4.3. While none is active, a single-partition transaction runs to its
//! end before anything else happens, and needs neither locks nor undo. Strict two-phase locking is serializable in any
//! order of arrival, so clients coordinate their own transactions. A run that cannot get a lock is undone, keeps its
//! locks, and is run again when the lock is free: it never waits inside, and the thread proceeds with other
//! transactions.
//!
//! Local deadlocks are detected as cycles when a transaction begins to wait. The victim is the youngest
//! single-partition transaction of the cycle, if there is one. It is run again after another transaction of the cycle
//! has ended: earlier, it could get the same locks again, and the deadlock would repeat for ever. Distributed deadlocks
//! are detected by the coordinator's timeout. For the same reason a restarted transaction then queues behind the
//! transactions that waited for its locks ([`RestartBackoff`]).

use std::collections::{BTreeMap, VecDeque};

use glassbox::research::shard::{Call, Kept, Ran};

use super::lock_table::{LockTable, Owner};
use super::restart_backoff::RestartBackoff;
use super::two_phase::{TwoPhase, acquire_declared};
use crate::participant::store::Store;
use crate::participant::txn::{DistributedTxn, LocalTxn, Txn};
use crate::protocol::address::TxnId;
use crate::protocol::configuration::DeadlockRule;
use crate::protocol::message::{FragmentEnd, Waiter, WaiterId};
use crate::protocol::outbox::Outbox;

#[derive(Debug)]
pub(crate) struct Locking {
    locks: LockTable,
    /// Active distributed transactions.
    multis: BTreeMap<Owner, Box<DistributedTxn>>,
    /// Their owner numbers, by id.
    owners: BTreeMap<TxnId, Owner>,
    /// Waiting single-partition transactions.
    singles: BTreeMap<Owner, LocalTxn>,
    /// Transactions to run again: their locks may be free now.
    ready: VecDeque<Owner>,
    next: Owner,
    /// Coordinators whose next transactions queue behind those that are ready.
    backoff: RestartBackoff,
    /// Whether locks are taken although no distributed transaction is active.
    forced: bool,
    /// The rule of two-phase locking.
    two_phase: Option<TwoPhase>,
}

impl Locking {
    pub(crate) fn new(forced: bool, rule: Option<DeadlockRule>) -> Self {
        let (multis, owners, singles) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (locks, ready, backoff) = (LockTable::default(), VecDeque::new(), RestartBackoff::default());
        let two_phase = rule.map(TwoPhase::new);
        Self { locks, multis, owners, singles, ready, next: 0, backoff, forced, two_phase }
    }

    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match arrived {
            Txn::Local(single) if self.is_idle() && !self.forced => store.run_and_answer(&single, out),
            Txn::Local(single) => {
                let owner = self.number();
                self.run_single(store, owner, single, out);
            }
            Txn::Distributed(multi) => match self.owners.get(&multi.txn()) {
                Some(&owner) => {
                    let known = self.multis.get_mut(&owner).expect("it is under way");
                    known.fragment = multi.fragment;
                    self.run_multi(store, owner, out);
                }
                None => {
                    let owner = self.number();
                    let again = self.backoff.has_begun(&multi);
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
        let mut watch = self.locks.watch(owner);
        let has_declared = self.two_phase.is_none() || acquire_declared(&mut watch, store, &multi.fragment.call);
        let ran = has_declared && store.run_fragment(multi, Some(&mut watch), out);
        drop(watch);
        if !has_declared {
            store.undo_fragment(multi, out);
        }
        if ran {
            store.report(multi, None, out);
            if store.commits_at_once && matches!(multi.end, Some(FragmentEnd::Done(_))) {
                let txn = multi.txn();
                return self.decided(store, txn, true, out);
            }
        }
        // A run that will not commit needs no locks.
        if matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_))) {
            self.release(owner, out);
        }
        if !ran {
            self.refused(store, owner, out);
        }
    }

    fn run_single(&mut self, store: &mut Store, owner: Owner, single: LocalTxn, out: &mut Outbox) {
        let mut kept = Kept::default();
        let mut watch = self.locks.watch(owner);
        let has_declared = self.two_phase.is_none() || acquire_declared(&mut watch, store, &single.call);
        let ran = match has_declared {
            true => store.run_single(&single, Some(&mut kept), Some(&mut watch), out),
            false => Ran::Refused,
        };
        drop(watch);
        match ran {
            Ran::Refused => {
                self.singles.insert(owner, single);
                return self.refused(store, owner, out);
            }
            Ran::Done(_) => store.commit(kept),
            _ => {}
        }
        store.replicate(&single, &ran, false, out);
        store.answer(&single, ran, out);
        self.release(owner, out);
    }

    fn release(&mut self, owner: Owner, out: &mut Outbox) {
        self.ready.retain(|ready| *ready != owner);
        let free = self.locks.release(owner);
        if let Some(two_phase) = &mut self.two_phase {
            free.iter().chain([&owner]).for_each(|owner| two_phase.end_wait(*owner, out));
        }
        self.ready.extend(free);
    }

    /// Decides what becomes of a transaction that has to wait for a lock.
    fn refused(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        if self.two_phase.as_ref().is_some_and(|two_phase| self.restarts(two_phase, owner)) {
            let blockers = self.locks.blockers(owner).to_vec();
            return self.restart(store, owner, &blockers, out);
        }
        if self.two_phase.as_ref().is_none_or(TwoPhase::has_deadlocks) {
            self.resolve_deadlock(store, owner, out);
        }
        let Some(waiter) = self.waiter(owner) else { return };
        let holders = self.holders(owner);
        if let Some(two_phase) = &mut self.two_phase {
            two_phase.report_wait(owner, waiter, holders, out);
        }
    }

    /// Whether a transaction is restarted, instead of waiting.
    fn restarts(&self, two_phase: &TwoPhase, owner: Owner) -> bool {
        // Of a later round: participants after this one have locks.
        let is_first = self.multis.get(&owner).is_none_or(|multi| multi.fragment.round == 0);
        let is_in_order = is_first && self.locks.waits_in_order(owner);
        let waiter = self.waiter(owner).expect("it is under way");
        two_phase.restarts(waiter, &self.holders(owner), is_in_order)
    }

    /// The transactions for which one waits here.
    fn holders(&self, owner: Owner) -> Vec<Waiter> {
        self.locks.blockers(owner).iter().filter_map(|holder| self.waiter(*holder)).collect()
    }

    /// An active or waiting transaction, as others wait for it.
    fn waiter(&self, owner: Owner) -> Option<Waiter> {
        let of = |call: &Call, id: WaiterId| Waiter { now: call.now, seed: call.seed, id };
        match self.multis.get(&owner) {
            Some(multi) => Some(of(&multi.fragment.call, WaiterId::Distributed(multi.txn()))),
            None => self.singles.get(&owner).map(|LocalTxn { client, id, call }| {
                let id = WaiterId::Local { client: *client, id: *id };
                of(call, id)
            }),
        }
    }

    /// Breaks the cycles that an owner closed when it began to wait.
    fn resolve_deadlock(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        while let Some(cycle) = self.locks.deadlock(owner) {
            let singles = cycle.iter().filter(|owner| self.singles.contains_key(owner));
            // By age, with two-phase locking: a restarted one arrives as the last.
            let by_age = |owner: &&Owner| self.two_phase.as_ref().and_then(|_| self.waiter(**owner));
            let distributed = cycle.iter().max_by_key(|owner| (by_age(owner), **owner));
            let victim = *singles.max().or(distributed).expect("a cycle has an owner");
            self.restart(store, victim, &cycle, out);
        }
    }

    /// Takes all locks from a transaction, which is to begin again: a single-partition one when the others have ended.
    fn restart(&mut self, store: &mut Store, victim: Owner, others: &[Owner], out: &mut Outbox) {
        self.release(victim, out);
        match self.multis.get_mut(&victim) {
            Some(multi) => {
                store.undo_fragment(multi, out);
                multi.end = Some(FragmentEnd::Again);
                store.report(multi, None, out);
            }
            None => self.locks.back_off(victim, others),
        }
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(owner) = self.owners.remove(&txn) else { return };
        let multi = self.multis.remove(&owner).expect("it is under way");
        store.end(*multi, commit, out);
        self.release(owner, out);
        if !commit && !self.ready.is_empty() {
            self.backoff.note(txn);
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(owner) = self.ready.pop_front() else {
            self.backoff.forget();
            return false;
        };
        match self.singles.remove(&owner) {
            Some(single) => self.run_single(store, owner, single, out),
            None => self.run_multi(store, owner, out),
        }
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &DistributedTxn> {
        self.multis.values().map(Box::as_ref)
    }

    /// Whether locks are taken although no distributed transaction is active.
    pub(crate) fn is_forced(&self) -> bool {
        self.forced
    }

    pub(crate) fn is_idle(&self) -> bool {
        let idle = self.multis.is_empty() && self.singles.is_empty();
        debug_assert!(!idle || self.locks.is_empty(), "these locks have no owner");
        idle
    }
}
