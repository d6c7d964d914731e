//! Blocking: one transaction at a time. While one of several partitions is under way, all others wait.
//!
//! *Low Overhead Concurrency Control*, section 4.1, Figure 2. What differs: the queue is worked off one by one
//! ([`Blocking::proceed`]), so that a message that arrives meanwhile is heard.

use std::collections::VecDeque;

use crate::participant::arrived::{Arrived, Multi};
use crate::participant::store::Store;
use crate::protocol::address::TxnId;
use crate::protocol::outbox::Outbox;

#[derive(Debug, Default)]
pub(crate) struct Blocking {
    active: Option<Multi>,
    queue: VecDeque<Arrived>,
}

impl Blocking {
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match (&mut self.active, arrived) {
            (None, arrived) if self.queue.is_empty() => self.execute(store, arrived, out),
            (Some(active), Arrived::Multi(next)) if active.txn() == next.txn() => {
                active.fragment = next.fragment;
                run(store, active, out);
            }
            (_, arrived) => self.queue.push_back(arrived),
        }
    }

    fn execute(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) => store.run_and_answer(&single, out),
            Arrived::Multi(multi) => run(store, self.active.insert(multi), out),
        }
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        match self.active.take() {
            Some(active) if active.txn() == txn => store.end(active, commit, out),
            other => {
                self.active = other;
                // Another partition's vote was enough to end it before it began here.
                self.queue.retain(|arrived| !arrived.is(txn));
            }
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(arrived) = self.queue.pop_front_if(|_| self.active.is_none()) else { return false };
        self.execute(store, arrived, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &Multi> {
        self.active.iter().chain(self.queue.iter().filter_map(Arrived::multi))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_none() && self.queue.is_empty()
    }
}

fn run(store: &mut Store, multi: &mut Multi, out: &mut Outbox) {
    store.run_fragment(multi, None, out);
    store.report(multi, None, out);
}
