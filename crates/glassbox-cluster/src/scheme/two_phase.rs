//! Two-phase locking: the nondeterministic system to which deterministic execution is compared.
//!
//! *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*, VLDB 2014, sections 2 and 3:
//! transactions lock what they touch in any order, so they can be in a deadlock; participants vote, so that all commit
//! or none. Nothing is ordered beforehand: clients coordinate their own transactions. It is [locking](super::locking)
//! with locks always, and:
//!
//! - the locks of keys that a call declares are acquired one by one before it runs, in the order of keys. So it waits
//!   before it runs, and is not undone. Where the declaration is not complete, other locks follow as the run needs
//!   them;
//! - what becomes of a transaction that has to wait is a [rule](DeadlockRule). With [`DeadlockRule::Graph`], every wait
//!   is reported to coordinator 0, which searches the graph of all partitions, as in the paper's published code.
//!   [`WaitDie`](DeadlockRule::WaitDie) and [`NoWait`](DeadlockRule::NoWait) have no deadlocks: a transaction waits for
//!   younger ones only, or for none (Rosenkrantz, Stearns, Lewis, *System Level Concurrency Control*, TODS 1978).
//!   [`Sorted`](DeadlockRule::Sorted) has none either: all transactions acquire their locks in one order, of partitions
//!   first and then of spaces and keys.
//!
//! Under `Sorted` the coordinator visits the participants one after the other, so a participant that runs a first
//! fragment knows that the transaction has no lock at a later one. A lock out of order, of a key that was not declared
//! or of a later round, is not waited for. So each transaction waits for a key above all that it holds, which its
//! holder holds, and so on upwards: a cycle would have to come down again. Only a queue can come down, within one
//! partition, where a request waits for an earlier one that it conflicts with. Such a cycle is found there, as local
//! deadlocks are.
//!
//! A restarted transaction keeps the time of its call, which is its age: at last it is the oldest, and is not restarted
//! any more. Under `NoWait` no age counts, and pauses of random length keep two transactions from meeting for ever.

use std::collections::BTreeMap;

use glassbox::research::shard::{Call, KeyRequest, Watch};
use smallvec::SmallVec;

use super::lock_table::Owner;
use crate::participant::store::Store;
use crate::protocol::address::{Address, COORDINATOR};
use crate::protocol::configuration::DeadlockRule;
use crate::protocol::message::{Message, Wait, Waiter};
use crate::protocol::outbox::Outbox;

/// The collector of all waits; where a coordinator is elected, that one.
const COLLECTOR: Address = COORDINATOR;

/// Acquires the locks that a call declares, one by one in the order of keys; `false`: it has to wait for one.
///
/// A call whose declaration cannot be read fails when it runs.
pub(super) fn acquire_declared(watch: &mut dyn Watch, store: &Store, call: &Call) -> bool {
    let Ok(declared) = store.shard.declared(call) else { return true };
    let mut requests: SmallVec<[&KeyRequest; 16]> = declared.requests().iter().collect();
    if !declared.ranges().is_empty() {
        requests.sort_unstable_by_key(|it| (it.space, it.low.clone()));
    }
    // Ranges are locked in the mode for reading; what is written in them is locked key by key, when it is known.
    requests.into_iter().all(|it| match it.is_single() {
        true => watch.point(it.space, it.low.clone(), it.touch),
        false => watch.range(it.space, it.low.clone(), it.high.clone()),
    })
}

/// The rule for transactions that have to wait, and the waits that were reported.
#[derive(Debug)]
pub(super) struct TwoPhase {
    rule: DeadlockRule,
    reported: BTreeMap<Owner, Waiter>,
}

impl TwoPhase {
    pub(super) fn new(rule: DeadlockRule) -> Self {
        Self { rule, reported: BTreeMap::new() }
    }

    /// Whether local deadlocks are searched for.
    pub(super) fn has_deadlocks(&self) -> bool {
        !matches!(self.rule, DeadlockRule::WaitDie | DeadlockRule::NoWait)
    }

    /// Whether a transaction is restarted, instead of waiting for these. `is_in_order`: all its locks come before.
    pub(super) fn restarts(&self, waiter: Waiter, holders: &[Waiter], is_in_order: bool) -> bool {
        match self.rule {
            DeadlockRule::Graph | DeadlockRule::Timeout => false,
            DeadlockRule::WaitDie => holders.iter().any(|holder| *holder < waiter),
            DeadlockRule::NoWait => true,
            DeadlockRule::Sorted => !is_in_order,
        }
    }

    /// Reports a wait, if the rule needs that.
    pub(super) fn report_wait(&mut self, owner: Owner, waiter: Waiter, holders: Vec<Waiter>, out: &mut Outbox) {
        if self.rule == DeadlockRule::Graph && !holders.is_empty() {
            self.reported.insert(owner, waiter);
            out.send(COLLECTOR, Message::Waits(Box::new(Wait { waiter, holders })));
        }
    }

    /// Reports the end of a wait, if its beginning was reported.
    pub(super) fn end_wait(&mut self, owner: Owner, out: &mut Outbox) {
        if let Some(waiter) = self.reported.remove(&owner) {
            out.send(COLLECTOR, Message::Waits(Box::new(Wait { waiter, holders: Vec::new() })));
        }
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;

    use super::*;
    use crate::protocol::message::WaiterId;

    #[test]
    fn a_transaction_waits_for_younger_ones_or_for_none() {
        let of = |now_us, seed| {
            let id = WaiterId::Local { client: Address::Client(1), id: seed };
            Waiter { now: Timestamp::from_micros(now_us), seed, id }
        };
        let (old, me, young) = (of(1, 9), of(2, 5), of(2, 6));
        let restarts = |rule, holders: &[Waiter]| TwoPhase::new(rule).restarts(me, holders, true);
        assert!(!restarts(DeadlockRule::WaitDie, &[young]) && restarts(DeadlockRule::WaitDie, &[young, old]));
        assert!(restarts(DeadlockRule::NoWait, &[young]));
        assert!(!restarts(DeadlockRule::Graph, &[old]) && !restarts(DeadlockRule::Timeout, &[old]));
        assert!(!restarts(DeadlockRule::Sorted, &[old, young]), "in order");
        assert!(TwoPhase::new(DeadlockRule::Sorted).restarts(me, &[young], false));
    }

    #[test]
    fn only_what_was_reported_ends() {
        let id = WaiterId::Local { client: Address::Client(1), id: 1 };
        let waiter = Waiter { now: Timestamp::from_micros(1), seed: 1, id };
        for (rule, messages) in [(DeadlockRule::Graph, 2), (DeadlockRule::Timeout, 0)] {
            let (mut two_phase, mut out) = (TwoPhase::new(rule), Outbox::default());
            two_phase.report_wait(1, waiter, Vec::new(), &mut out);
            two_phase.report_wait(2, waiter, vec![waiter], &mut out);
            (1..4).for_each(|owner| two_phase.end_wait(owner, &mut out));
            (1..4).for_each(|owner| two_phase.end_wait(owner, &mut out));
            assert_eq!(out.actions.len(), messages, "{rule:?}");
        }
    }
}
