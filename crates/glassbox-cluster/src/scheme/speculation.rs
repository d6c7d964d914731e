//! Speculation: once the last fragment of a distributed transaction has run here, later transactions run on its
//! changes, before it is decided. If it aborts, all of them are undone and run again.
//!
//! *Low Overhead Concurrency Control*, section 4.2, Figure 3. Invariants:
//!
//! - the transactions in `uncommitted` ran in this order, each on the changes of its predecessors, so they can be
//!   undone from the end only;
//! - the first of them is a distributed transaction, whose run depends on nothing undecided;
//! - all but the last have only their decisions missing here.
//!
//! With a limit, a transaction waits that would depend on more undecided ones than the observed aborts allow.
//!
//! The result of a speculative distributed transaction goes to the coordinator at once, with the id of the transaction
//! that it depends on. If the same coordinator decides that one, it knows when the result becomes valid. If another
//! coordinator decides it, the result is sent again once it is valid, or withdrawn if it is not: so one message more is
//! needed where the batches of coordinators meet. The result of a single-partition transaction waits here.

use std::collections::VecDeque;

use glassbox::research::shard::{Kept, Ran};

use super::depth_limit::DepthLimit;
use crate::participant::store::Store;
use crate::participant::txn::{DistributedTxn, LocalTxn, Txn};
use crate::protocol::address::{Address, TxnId};
use crate::protocol::outbox::Outbox;

#[derive(Debug)]
enum Uncommitted {
    /// Its result, and its undo buffer if it succeeded.
    Local(LocalTxn, Ran, Option<Kept>),
    Distributed(DistributedTxn, Reported),
}

/// What a coordinator knows of a transaction's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    /// A result that depends on this undecided transaction, or on none.
    Result(Option<TxnId>),
}

#[derive(Debug)]
pub(crate) struct Speculation {
    uncommitted: VecDeque<Uncommitted>,
    unexecuted: VecDeque<Txn>,
    /// Whether coordinators receive results that depend on undecided transactions.
    tells: bool,
    /// The number of undecided distributed transactions in `uncommitted`.
    undecided: usize,
    limit: Option<DepthLimit>,
}

impl Speculation {
    pub(crate) fn new(tells: bool, limit: Option<DepthLimit>) -> Self {
        Self { uncommitted: VecDeque::new(), unexecuted: VecDeque::new(), tells, undecided: 0, limit }
    }

    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        if let Txn::Distributed(next) = &arrived
            && let Some(at) = self.position(next.txn())
        {
            return self.continues(store, at, arrived, out);
        }
        if self.unexecuted.is_empty() && self.may_run() {
            self.execute(store, arrived, out);
        } else {
            self.unexecuted.push_back(arrived);
        }
    }

    fn position(&self, txn: TxnId) -> Option<usize> {
        self.uncommitted.iter().position(|it| matches!(it, Uncommitted::Distributed(multi, _) if multi.txn() == txn))
    }

    /// Whether the next transaction may run.
    fn may_run(&self) -> bool {
        debug_assert_eq!(
            self.undecided,
            self.uncommitted.iter().filter(|it| matches!(it, Uncommitted::Distributed(..))).count()
        );
        let tail_is_finished = match self.uncommitted.back() {
            Some(Uncommitted::Distributed(multi, _)) => multi.is_finished(),
            _ => true,
        };
        tail_is_finished && self.limit.as_ref().is_none_or(|limit| limit.allows(self.undecided))
    }

    /// A further fragment of an active transaction. The runs after it, if there are any, are undone.
    fn continues(&mut self, store: &mut Store, at: usize, arrived: Txn, out: &mut Outbox) {
        self.undo_after(store, at, None, out);
        let Some(Uncommitted::Distributed(mut multi, _)) = self.uncommitted.pop_back() else {
            unreachable!("found there")
        };
        self.undecided -= 1;
        let Txn::Distributed(next) = arrived else { unreachable!("only these continue") };
        multi.fragment = next.fragment;
        self.execute(store, Txn::Distributed(multi), out);
    }

    fn execute(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match arrived {
            Txn::Local(single) if self.uncommitted.is_empty() => store.run_and_answer(&single, out),
            Txn::Local(single) => {
                let mut kept = Kept::default();
                let ran = store.run_single(&single, Some(&mut kept), None, out);
                store.replicate(&single, &ran, true, out);
                let kept = matches!(ran, Ran::Done(_)).then_some(kept);
                self.uncommitted.push_back(Uncommitted::Local(single, ran, kept));
            }
            Txn::Distributed(mut multi) => {
                store.run_fragment(&mut multi, None, out);
                let after = self.last();
                let told = if after.is_none() || self.tells { Reported::Result(after) } else { Reported::Nothing };
                if told != Reported::Nothing {
                    store.report(&multi, after, out);
                }
                self.uncommitted.push_back(Uncommitted::Distributed(multi, told));
                self.undecided += 1;
            }
        }
    }

    /// The last distributed transaction, on which the next run depends.
    fn last(&self) -> Option<TxnId> {
        self.uncommitted.iter().rev().find_map(|it| match it {
            Uncommitted::Distributed(multi, _) => Some(multi.txn()),
            Uncommitted::Local(..) => None,
        })
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(at) = self.position(txn) else {
            self.unexecuted.retain(|arrived| !arrived.is(txn));
            return self.report_again(store, txn, out);
        };
        if !commit {
            self.undo_after(store, at, Some(txn.coordinator), out);
        }
        let Some(Uncommitted::Distributed(multi, _)) = self.uncommitted.remove(at) else { unreachable!("found there") };
        self.undecided -= 1;
        self.limit.iter_mut().for_each(|limit| limit.decided(commit));
        store.end(multi, commit, out);
        if at == 0 {
            self.certain(store, out);
        }
    }

    /// Aborts a transaction that a former primary ran, and of which nothing was replicated. The coordinator does not
    /// know that, and waits until the later transactions are run again.
    fn report_again(&mut self, store: &mut Store, aborted: TxnId, out: &mut Outbox) {
        let mut after = None;
        for it in &self.uncommitted {
            let Uncommitted::Distributed(multi, told) = it else { continue };
            let txn = multi.txn();
            if *told != Reported::Nothing && txn.coordinator == aborted.coordinator && txn.sequence > aborted.sequence {
                store.report(multi, after, out);
            }
            after = Some(txn);
        }
    }

    /// The first transaction depends on nothing undecided now.
    fn certain(&mut self, store: &mut Store, out: &mut Outbox) {
        while let Some(Uncommitted::Local(..)) = self.uncommitted.front() {
            let Some(Uncommitted::Local(single, ran, kept)) = self.uncommitted.pop_front() else { unreachable!() };
            if let Some(kept) = kept {
                store.commit(kept);
            }
            store.answer(&single, ran, out);
        }
        if let Some(Uncommitted::Distributed(multi, told)) = self.uncommitted.front_mut() {
            // Its own coordinator knows the outcome of the one before.
            let knows = matches!(told, Reported::Result(after)
                if after.is_none_or(|after| after.coordinator == multi.txn().coordinator));
            if !knows {
                store.report(multi, None, out);
            }
            *told = Reported::Result(None);
        }
    }

    /// Undoes everything after the transaction at `at`, last first, to be run again in the same order. Withdraws the
    /// results from all coordinators but the one that knows.
    fn undo_after(&mut self, store: &mut Store, at: usize, knows: Option<Address>, out: &mut Outbox) {
        // The first transaction of each coordinator.
        let mut withdrawn: Vec<TxnId> = Vec::new();
        while self.uncommitted.len() > at + 1 {
            let arrived = match self.uncommitted.pop_back().expect("there are some") {
                Uncommitted::Local(single, _, kept) => {
                    if let Some(kept) = kept {
                        store.undo(kept, out);
                    }
                    Txn::Local(single)
                }
                Uncommitted::Distributed(mut multi, told) => {
                    let txn = multi.txn();
                    if told != Reported::Nothing && knows != Some(txn.coordinator) {
                        withdrawn.retain(|later| later.coordinator != txn.coordinator);
                        withdrawn.push(txn);
                    }
                    self.undecided -= 1;
                    store.undo_fragment(&mut multi, out);
                    Txn::Distributed(DistributedTxn::new(multi.fragment))
                }
            };
            self.unexecuted.push_front(arrived);
        }
        withdrawn.into_iter().for_each(|txn| store.withdraw(txn, out));
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        if !self.may_run() {
            return false;
        }
        let Some(arrived) = self.unexecuted.pop_front() else { return false };
        self.execute(store, arrived, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &DistributedTxn> {
        let begun = self.uncommitted.iter().filter_map(|it| match it {
            Uncommitted::Distributed(multi, _) => Some(multi),
            Uncommitted::Local(..) => None,
        });
        begun.chain(self.unexecuted.iter().filter_map(Txn::multi))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.uncommitted.is_empty() && self.unexecuted.is_empty()
    }
}
