//! Speculation: once the last fragment of a transaction of several partitions has run here, what comes next is run on
//! what it left, in the hope that it commits. If it does not, all of that is taken back and run again.
//!
//! *Low Overhead Concurrency Control*, section 4.2, Figure 3. Invariants:
//!
//! - the transactions in `uncommitted` ran in this order, each on what those before it left, and so can be taken back
//!   from the end only;
//! - the first of them is one of several partitions, whose run depends on nothing undecided;
//! - all but the last have nothing more to do here.
//!
//! The result of a speculative transaction of several partitions goes to the coordinator at once, with the name of the
//! one that it came after, if the same coordinator decides about all that it depends on: it can then wait for that
//! decision. Otherwise, and of transactions on this partition alone always, the result waits here.

use std::collections::VecDeque;

use glassbox::shard::{Kept, Ran};

use crate::address::{Address, TxnId};
use crate::arrived::{Arrived, Multi, Single};
use crate::outbox::Outbox;
use crate::store::Store;

#[derive(Debug)]
enum Uncommitted {
    /// Its run; what it overwrote, if it did.
    Single(Single, Ran, Option<Kept>),
    /// Whether its result was told already.
    Multi(Multi, bool),
}

#[derive(Debug)]
pub(crate) struct Speculation {
    uncommitted: VecDeque<Uncommitted>,
    unexecuted: VecDeque<Arrived>,
    /// Whether coordinators are told results that depend on something undecided.
    tells: bool,
}

impl Speculation {
    pub(crate) fn new(tells: bool) -> Self {
        Self { uncommitted: VecDeque::new(), unexecuted: VecDeque::new(), tells }
    }

    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        if let Arrived::Multi(next) = &arrived
            && let Some(at) = self.position(next.txn())
        {
            return self.continues(store, at, arrived, out);
        }
        if self.unexecuted.is_empty() && self.tail_is_finished() {
            self.execute(store, arrived, out);
        } else {
            self.unexecuted.push_back(arrived);
        }
    }

    fn position(&self, txn: TxnId) -> Option<usize> {
        self.uncommitted.iter().position(|it| matches!(it, Uncommitted::Multi(multi, _) if multi.txn() == txn))
    }

    fn tail_is_finished(&self) -> bool {
        match self.uncommitted.back() {
            Some(Uncommitted::Multi(multi, _)) => multi.is_finished(),
            _ => true,
        }
    }

    /// A further fragment of a transaction that has begun. If it had ended here, what came after goes back.
    fn continues(&mut self, store: &mut Store, at: usize, arrived: Arrived, out: &mut Outbox) {
        self.undo_after(store, at, out);
        let Some(Uncommitted::Multi(mut multi, _)) = self.uncommitted.pop_back() else { unreachable!("found there") };
        let Arrived::Multi(next) = arrived else { unreachable!("only these continue") };
        multi.fragment = next.fragment;
        self.execute(store, Arrived::Multi(multi), out);
    }

    fn execute(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) if self.uncommitted.is_empty() => store.run_and_answer(&single, out),
            Arrived::Single(single) => {
                let mut kept = Kept::default();
                let ran = store.run_single(&single, Some(&mut kept), None, out);
                store.replicate(&single, &ran, true, out);
                let kept = matches!(ran, Ran::Done(_)).then_some(kept);
                self.uncommitted.push_back(Uncommitted::Single(single, ran, kept));
            }
            Arrived::Multi(mut multi) => {
                store.run_fragment(&mut multi, None, out);
                let told = match self.last_of(multi.txn().coordinator) {
                    Dependency::None => Some(None),
                    Dependency::Told(after) if self.tells => Some(Some(after)),
                    _ => None,
                };
                if let Some(after) = told {
                    store.report(&multi, after, out);
                }
                self.uncommitted.push_back(Uncommitted::Multi(multi, told.is_some()));
            }
        }
    }

    /// What a transaction of this coordinator depends on if it runs now.
    fn last_of(&self, coordinator: Address) -> Dependency {
        let multis = self.uncommitted.iter().filter_map(|it| match it {
            Uncommitted::Multi(multi, told) => Some((multi.txn(), *told)),
            Uncommitted::Single(..) => None,
        });
        let mut last = Dependency::None;
        for (txn, told) in multis {
            if txn.coordinator != coordinator || !told {
                return Dependency::Unknown;
            }
            last = Dependency::Told(txn);
        }
        last
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(at) = self.position(txn) else {
            self.unexecuted.retain(|arrived| !arrived.is(txn));
            return self.report_again(store, txn, out);
        };
        if !commit {
            self.undo_after(store, at, out);
        }
        let Some(Uncommitted::Multi(multi, _)) = self.uncommitted.remove(at) else { unreachable!("found there") };
        store.end(multi, commit, out);
        if at == 0 {
            self.certain(store, out);
        }
    }

    /// A transaction is aborted that a primary before this one ran, and of which nothing was left. The coordinator
    /// does not know that, and waits for what came after it to be run again.
    fn report_again(&mut self, store: &mut Store, aborted: TxnId, out: &mut Outbox) {
        let mut after = None;
        for it in &self.uncommitted {
            let Uncommitted::Multi(multi, told) = it else { continue };
            let txn = multi.txn();
            if *told && txn.coordinator == aborted.coordinator && txn.sequence > aborted.sequence {
                store.report(multi, after, out);
            }
            after = Some(txn);
        }
    }

    /// What is at the front now depends on nothing undecided.
    fn certain(&mut self, store: &mut Store, out: &mut Outbox) {
        while let Some(Uncommitted::Single(..)) = self.uncommitted.front() {
            let Some(Uncommitted::Single(single, ran, kept)) = self.uncommitted.pop_front() else { unreachable!() };
            if let Some(kept) = kept {
                store.commit(kept);
            }
            store.answer(&single, ran, out);
        }
        if let Some(Uncommitted::Multi(multi, told @ false)) = self.uncommitted.front_mut() {
            store.report(multi, None, out);
            *told = true;
        }
    }

    /// Takes back everything after the one at `at`, last first, to be run again in the same order.
    fn undo_after(&mut self, store: &mut Store, at: usize, out: &mut Outbox) {
        while self.uncommitted.len() > at + 1 {
            let arrived = match self.uncommitted.pop_back().expect("there are some") {
                Uncommitted::Single(single, _, kept) => {
                    if let Some(kept) = kept {
                        store.undo(kept, out);
                    }
                    Arrived::Single(single)
                }
                Uncommitted::Multi(mut multi, _) => {
                    store.undo_fragment(&mut multi, out);
                    Arrived::Multi(Multi::new(multi.fragment))
                }
            };
            self.unexecuted.push_front(arrived);
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        if !self.tail_is_finished() {
            return false;
        }
        let Some(arrived) = self.unexecuted.pop_front() else { return false };
        self.execute(store, arrived, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &Multi> {
        let begun = self.uncommitted.iter().filter_map(|it| match it {
            Uncommitted::Multi(multi, _) => Some(multi),
            Uncommitted::Single(..) => None,
        });
        begun.chain(self.unexecuted.iter().filter_map(Arrived::multi))
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.uncommitted.is_empty() && self.unexecuted.is_empty()
    }
}

/// What a transaction would depend on.
enum Dependency {
    /// Nothing undecided.
    None,
    /// Transactions of the same coordinator, which knows their results; the last of them.
    Told(TxnId),
    /// Something that its coordinator does not know of.
    Unknown,
}
