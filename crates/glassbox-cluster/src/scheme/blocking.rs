//! Blocking: one transaction at a time. While a distributed transaction is active, all others wait.
//!
//! *Low Overhead Concurrency Control*, section 4.1, Figure 2. The difference: the queue is processed one transaction at
//! a time ([`Blocking::proceed`]), so that messages that arrive meanwhile are received.

use std::collections::VecDeque;

use crate::participant::store::Store;
use crate::participant::txn::{DistributedTxn, Txn};
use crate::protocol::address::TxnId;
use crate::protocol::outbox::Outbox;

#[derive(Debug, Default)]
pub(crate) struct Blocking {
    active: Option<DistributedTxn>,
    queue: VecDeque<Txn>,
}

impl Blocking {
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match (&mut self.active, arrived) {
            (None, arrived) if self.queue.is_empty() => self.execute(store, arrived, out),
            (Some(active), Txn::Distributed(next)) if active.txn() == next.txn() => {
                active.fragment = next.fragment;
                run(store, active, out);
            }
            (_, arrived) => self.queue.push_back(arrived),
        }
    }

    fn execute(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match arrived {
            Txn::Local(single) => store.run_and_answer(&single, out),
            Txn::Distributed(multi) => run(store, self.active.insert(multi), out),
        }
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        match self.active.take() {
            Some(active) if active.txn() == txn => store.end(active, commit, out),
            other => {
                self.active = other;
                // It was aborted because of another participant's vote, before it began here.
                self.queue.retain(|arrived| !arrived.is(txn));
            }
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(arrived) = self.queue.pop_front_if(|_| self.active.is_none()) else { return false };
        self.execute(store, arrived, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &DistributedTxn> {
        self.active.iter().chain(self.queue.iter().filter_map(Txn::multi))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_none() && self.queue.is_empty()
    }
}

fn run(store: &mut Store, multi: &mut DistributedTxn, out: &mut Outbox) {
    store.run_fragment(multi, None, out);
    store.report(multi, None, out);
}
