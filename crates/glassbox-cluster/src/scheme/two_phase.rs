//! Two-phase locking: the nondeterministic system to which deterministic execution is compared.
//!
//! *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*, VLDB 2014, sections 2 and 3:
//! transactions lock what they touch in any order, so they can be in a deadlock; participants vote, so that all commit
//! or none. Nothing is ordered beforehand: clients coordinate their own transactions. It is [`Locking`] with locks
//! always, and:
//!
//! - the locks of keys that a call declares are acquired one by one before it runs, in the order of keys. So it waits
//!   before it runs, and is not undone. Where the declaration is not complete, other locks follow as the run needs
//!   them;
//! - what becomes of a transaction that has to wait is a [rule](DeadlockRule). With [`DeadlockRule::Graph`], every wait
//!   is reported to coordinator 0, which searches the graph of all partitions, as in the paper's published code.
//!   [`WaitDie`](DeadlockRule::WaitDie) and [`NoWait`](DeadlockRule::NoWait) have no deadlocks: a transaction waits for
//!   younger ones only, or for none (Rosenkrantz, Stearns, Lewis, *System Level Concurrency Control*, TODS 1978).
//!
//! A restarted transaction keeps the time of its call, which is its age: at last it is the oldest, and is not restarted
//! any more. Under `NoWait` no age counts, and pauses of random length keep two transactions from meeting for ever.

use glassbox::research::shard::{Call, Watch};

use super::lock_table::Owner;
use super::locking::Locking;
use crate::participant::store::Store;
use crate::participant::txn::LocalTxn;
use crate::protocol::address::Address;
use crate::protocol::configuration::DeadlockRule;
use crate::protocol::message::{Message, Wait, Waiter, WaiterId};
use crate::protocol::outbox::Outbox;

/// The collector of all waits.
const COLLECTOR: Address = Address::Coordinator(0);

/// Acquires the locks that a call declares, one by one; `false`: it has to wait for one.
///
/// A call whose declaration cannot be read fails when it runs.
pub(super) fn acquire_declared(watch: &mut dyn Watch, store: &Store, call: &Call) -> bool {
    let Ok(declared) = store.shard.declared(call) else { return true };
    let singles = declared.singles().iter();
    // Ranges are locked in the mode for reading; what is written in them is locked key by key, when it is known.
    singles.into_iter().all(|it| watch.point(it.space, it.low.clone(), it.touch))
        && declared.ranges().iter().all(|it| watch.range(it.space, it.low.clone(), it.high.clone()))
}

impl Locking {
    /// Decides what becomes of a transaction that has to wait for a lock.
    pub(super) fn refused(&mut self, store: &mut Store, owner: Owner, out: &mut Outbox) {
        match self.rule {
            None | Some(DeadlockRule::Timeout) => self.resolve_deadlock(store, owner, out),
            Some(DeadlockRule::Graph) => {
                self.resolve_deadlock(store, owner, out);
                self.report_wait(owner, out);
            }
            Some(DeadlockRule::WaitDie) => {
                let me = self.waiter(owner);
                let blockers = self.locks.blockers(owner).to_vec();
                if blockers.iter().any(|blocker| self.waiter(*blocker) < me) {
                    self.restart(store, owner, &blockers, out);
                }
            }
            Some(DeadlockRule::NoWait) => {
                let blockers = self.locks.blockers(owner).to_vec();
                self.restart(store, owner, &blockers, out);
            }
        }
    }

    /// An active or waiting transaction, as others wait for it.
    fn waiter(&self, owner: Owner) -> Option<Waiter> {
        let of = |call: &Call, id: WaiterId| Waiter { now: call.now, seed: call.seed, id };
        match self.multis.get(&owner) {
            Some(multi) => Some(of(&multi.fragment.call, WaiterId::Distributed(multi.txn()))),
            None => self.singles.get(&owner).map(|single| {
                let &LocalTxn { client, id, ref call } = single;
                of(call, WaiterId::Local { client, id })
            }),
        }
    }

    /// Reports a wait, unless it has ended by now.
    fn report_wait(&mut self, owner: Owner, out: &mut Outbox) {
        let holders: Vec<_> = self.locks.blockers(owner).iter().filter_map(|holder| self.waiter(*holder)).collect();
        if let (Some(waiter), false) = (self.waiter(owner), holders.is_empty()) {
            self.reported.insert(owner, waiter);
            out.send(COLLECTOR, Message::Waits(Box::new(Wait { waiter, holders })));
        }
    }

    /// Takes back the report of a wait, if there was one.
    pub(super) fn end_wait(&mut self, owner: Owner, out: &mut Outbox) {
        if let Some(waiter) = self.reported.remove(&owner) {
            out.send(COLLECTOR, Message::Waits(Box::new(Wait { waiter, holders: Vec::new() })));
        }
    }
}
