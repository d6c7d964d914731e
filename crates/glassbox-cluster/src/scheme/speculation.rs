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
//! one that it came after. If that is its own, too, it knows when the result is certain; if another coordinator decides
//! about it, the result is sent again when it is certain, and withdrawn when it is not to be: so one message more is
//! needed where the coordinators' batches meet. The result of a transaction on this partition alone waits here.

use std::collections::VecDeque;

use glassbox::shard::{Kept, Ran};

use crate::participant::arrived::{Arrived, Multi, Single};
use crate::participant::store::Store;
use crate::protocol::address::{Address, TxnId};
use crate::protocol::outbox::Outbox;

#[derive(Debug)]
enum Uncommitted {
    /// Its run; what it overwrote, if it did.
    Single(Single, Ran, Option<Kept>),
    Multi(Multi, Told),
}

/// What a coordinator was told of a transaction's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// That it is certain as far as this partition is concerned, or will be when this transaction is committed.
    Result(Option<TxnId>),
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
        self.undo_after(store, at, None, out);
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
                let after = self.last();
                let told = if after.is_none() || self.tells { Told::Result(after) } else { Told::Nothing };
                if told != Told::Nothing {
                    store.report(&multi, after, out);
                }
                self.uncommitted.push_back(Uncommitted::Multi(multi, told));
            }
        }
    }

    /// The last transaction of several partitions on which what runs now depends.
    fn last(&self) -> Option<TxnId> {
        self.uncommitted.iter().rev().find_map(|it| match it {
            Uncommitted::Multi(multi, _) => Some(multi.txn()),
            Uncommitted::Single(..) => None,
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
            if *told != Told::Nothing && txn.coordinator == aborted.coordinator && txn.sequence > aborted.sequence {
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
        if let Some(Uncommitted::Multi(multi, told)) = self.uncommitted.front_mut() {
            // Its own coordinator knows how the one before ended.
            let knows = matches!(told, Told::Result(after)
                if after.is_none_or(|after| after.coordinator == multi.txn().coordinator));
            if !knows {
                store.report(multi, None, out);
            }
            *told = Told::Result(None);
        }
    }

    /// Takes back everything after the one at `at`, last first, to be run again in the same order. Coordinators are
    /// told that results do not count, but for one who knows.
    fn undo_after(&mut self, store: &mut Store, at: usize, knows: Option<Address>, out: &mut Outbox) {
        // Of each coordinator, the first.
        let mut withdrawn: Vec<TxnId> = Vec::new();
        while self.uncommitted.len() > at + 1 {
            let arrived = match self.uncommitted.pop_back().expect("there are some") {
                Uncommitted::Single(single, _, kept) => {
                    if let Some(kept) = kept {
                        store.undo(kept, out);
                    }
                    Arrived::Single(single)
                }
                Uncommitted::Multi(mut multi, told) => {
                    let txn = multi.txn();
                    if told != Told::Nothing && knows != Some(txn.coordinator) {
                        withdrawn.retain(|later| later.coordinator != txn.coordinator);
                        withdrawn.push(txn);
                    }
                    store.undo_fragment(&mut multi, out);
                    Arrived::Multi(Multi::new(multi.fragment))
                }
            };
            self.unexecuted.push_front(arrived);
        }
        withdrawn.into_iter().for_each(|txn| store.withdraw(txn, out));
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
