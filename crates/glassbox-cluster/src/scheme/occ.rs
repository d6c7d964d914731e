//! Optimistic concurrency control: while a distributed transaction is active, every run records what it touches, and is
//! validated against the undecided ones when it ends.
//!
//! *Low Overhead Concurrency Control*, section 5.7, names it as future work; after Kung and Robinson, *On Optimistic
//! Methods for Concurrency Control*, ACM TODS 6(2), 1981. Runs are serial and change rows in place, so only finished
//! undecided transactions can conflict, and validation is against these alone. As under locking, clients coordinate,
//! and while no distributed transaction is active nothing is recorded.
//!
//! A run that conflicts may have read changes that will be undone, so its result is void: it is undone, and run again
//! when the other transaction has ended. Of several transactions that wait for the same one, the first is run first,
//! and those that would conflict with it wait for it. Transactions that wait for each other, across partitions or
//! because of earlier rounds, exceed the coordinator's timeout; a restarted one queues behind all that waited for it.
//! Otherwise it would conflict with them again, for ever.

use std::collections::{BTreeMap, VecDeque};

use glassbox::research::shard::{Kept, Ran, Touch, Watch, WatchedKey};

use super::restart_backoff::RestartBackoff;
use crate::participant::store::Store;
use crate::participant::txn::{DistributedTxn, LocalTxn, Txn};
use crate::protocol::address::TxnId;
use crate::protocol::message::FragmentEnd;
use crate::protocol::outbox::Outbox;

/// The read and write set of runs.
#[derive(Debug, Default)]
struct Footprint {
    /// By space and key; whether it was written.
    points: BTreeMap<(u32, WatchedKey), bool>,
    /// Ranges that were read: the space, the first and the last key.
    ranges: Vec<(u32, WatchedKey, WatchedKey)>,
}

impl Footprint {
    fn meets(&self, other: &Self) -> bool {
        let both = |(key, &written): (_, &bool)| other.points.get(key).is_some_and(|&also| written || also);
        self.points.iter().any(both) || self.reads_over(other) || other.reads_over(self)
    }

    fn reads_over(&self, other: &Self) -> bool {
        let written = |(space, low, high): &(u32, WatchedKey, WatchedKey)| {
            other.points.range((*space, low.clone())..=(*space, high.clone())).any(|(_, it)| *it)
        };
        self.ranges.iter().any(written)
    }

    fn add(&mut self, other: Self) {
        other.points.into_iter().for_each(|(key, written)| *self.points.entry(key).or_default() |= written);
        self.ranges.extend(other.ranges);
    }
}

impl Watch for Footprint {
    fn point(&mut self, space: u32, key: WatchedKey, touch: Touch) -> bool {
        *self.points.entry((space, key)).or_default() |= touch == Touch::Write;
        true
    }

    fn range(&mut self, space: u32, low: WatchedKey, high: WatchedKey) -> bool {
        // A range from outside may be invalid; it is empty then.
        if low <= high {
            self.ranges.push((space, low, high));
        }
        true
    }
}

/// Numbers transactions in the order of arrival.
type Number = u64;

#[derive(Debug)]
struct Active {
    arrived: Txn,
    /// Of its valid runs here.
    touched: Footprint,
    /// Of the run that was undone, while it waits.
    wanted: Footprint,
    /// Transactions that wait for its end.
    waiting: Vec<Number>,
}

impl Active {
    fn new(arrived: Txn) -> Self {
        Self { arrived, touched: Footprint::default(), wanted: Footprint::default(), waiting: Vec::new() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Occ {
    /// All active transactions; a single-partition one only while it waits.
    active: BTreeMap<Number, Active>,
    /// The distributed ones, by id.
    numbers: BTreeMap<TxnId, Number>,
    /// To be run again: the transactions that they conflicted with have ended.
    ready: VecDeque<Number>,
    next: Number,
    backoff: RestartBackoff,
    /// Restarted transactions, which run when none is ready: other transactions may wait for the first ready one.
    again: VecDeque<Number>,
}

impl Occ {
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match arrived {
            Txn::Local(single) if self.active.is_empty() => store.run_and_answer(&single, out),
            Txn::Local(single) => {
                let number = self.number();
                self.run_single(store, (number, single, Vec::new()), out);
            }
            Txn::Distributed(next) => match self.numbers.get(&next.txn()) {
                Some(&number) => {
                    if let Some(Active { arrived: Txn::Distributed(multi), .. }) = self.active.get_mut(&number) {
                        multi.fragment = next.fragment;
                    }
                    self.run(store, number, out);
                }
                None => {
                    let number = self.number();
                    self.numbers.insert(next.txn(), number);
                    if self.backoff.has_begun(&next) {
                        self.active.insert(number, Active::new(Txn::Distributed(next)));
                        self.again.push_back(number);
                    } else {
                        let touched = Footprint::default();
                        self.run_multi(store, (number, next, Vec::new()), touched, out);
                    }
                }
            },
        }
    }

    fn number(&mut self) -> Number {
        self.next += 1;
        self.next
    }

    /// Runs an active transaction.
    fn run(&mut self, store: &mut Store, number: Number, out: &mut Outbox) {
        match self.active.remove(&number) {
            Some(Active { arrived: Txn::Local(single), waiting, .. }) => {
                self.run_single(store, (number, single, waiting), out);
            }
            Some(Active { arrived: Txn::Distributed(multi), touched, waiting, .. }) => {
                self.run_multi(store, (number, multi, waiting), touched, out);
            }
            None => {}
        }
    }

    /// An undecided transaction that a run conflicts with.
    fn met(&self, touched: &Footprint) -> Option<Number> {
        self.active.iter().find(|(_, other)| other.touched.meets(touched)).map(|(&number, _)| number)
    }

    fn wait(&mut self, number: Number, active: Active, other: Number) {
        self.active.get_mut(&other).expect("it was met").waiting.push(number);
        self.active.insert(number, active);
    }

    /// The transaction that these waited for has ended.
    fn wake(&mut self, waiting: Vec<Number>) {
        let mut woken: Vec<Number> = Vec::new();
        for number in waiting {
            let Some(it) = self.active.get(&number) else { continue };
            // A transaction that would wait for this one does not delay it.
            let keeps_off = |first: &Number| {
                let first = &self.active[first].wanted;
                first.meets(&it.wanted) && !first.meets(&it.touched)
            };
            match woken.iter().copied().find(keeps_off) {
                Some(first) => self.active.get_mut(&first).expect("it was woken").waiting.push(number),
                None => woken.push(number),
            }
        }
        self.ready.extend(woken);
    }

    fn run_single(
        &mut self,
        store: &mut Store,
        (number, single, waiting): (Number, LocalTxn, Vec<Number>),
        out: &mut Outbox,
    ) {
        let (mut kept, mut wanted) = (Kept::default(), Footprint::default());
        let ran = store.run_single(&single, Some(&mut kept), Some(&mut wanted), out);
        if let Some(other) = self.met(&wanted) {
            if matches!(ran, Ran::Done(_)) {
                store.undo(kept, out);
            }
            return self.wait(number, Active { wanted, waiting, ..Active::new(Txn::Local(single)) }, other);
        }
        if matches!(ran, Ran::Done(_)) {
            store.commit(kept);
        }
        store.replicate(&single, &ran, false, out);
        store.answer(&single, ran, out);
        self.wake(waiting);
    }

    /// `touched` is the set of its earlier rounds.
    fn run_multi(
        &mut self,
        store: &mut Store,
        (number, mut multi, waiting): (Number, DistributedTxn, Vec<Number>),
        mut touched: Footprint,
        out: &mut Outbox,
    ) {
        let mut wanted = Footprint::default();
        store.perform(&mut multi, Some(&mut wanted), out);
        if let Some(other) = self.met(&wanted) {
            store.undo_fragment(&mut multi, out);
            return self.wait(number, Active { arrived: Txn::Distributed(multi), touched, wanted, waiting }, other);
        }
        store.prepare(&mut multi, out);
        store.report(&multi, None, out);
        // A run that will not commit delays no other transaction.
        let lost = matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)));
        let active = Active::new(Txn::Distributed(multi));
        if lost {
            self.active.insert(number, active);
            return self.wake(waiting);
        }
        touched.add(wanted);
        self.active.insert(number, Active { touched, waiting, ..active });
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(number) = self.numbers.remove(&txn) else { return };
        let active = self.active.remove(&number).expect("it is under way");
        let Txn::Distributed(multi) = active.arrived else { unreachable!("only these are decided") };
        self.wake(active.waiting);
        store.end(multi, commit, out);
        if !commit && !self.ready.is_empty() {
            self.backoff.note(txn);
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(number) = self.ready.pop_front().or_else(|| self.again.pop_front()) else {
            self.backoff.forget();
            return false;
        };
        self.run(store, number, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &DistributedTxn> {
        self.active.values().filter_map(|it| it.arrived.multi())
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.active.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footprint(points: &[(u128, Touch)], ranges: &[(u128, u128)]) -> Footprint {
        let mut it = Footprint::default();
        let key = WatchedKey::Short;
        assert!(points.iter().all(|&(number, touch)| it.point(1, key(number), touch)));
        assert!(ranges.iter().all(|&(low, high)| it.range(1, key(low), key(high))));
        it
    }

    #[test]
    fn an_invalid_range_conflicts_with_nothing() {
        let (nonsense, writes) = (footprint(&[], &[(9, 3)]), footprint(&[(5, Touch::Write)], &[]));
        assert!(!nonsense.meets(&writes) && !writes.meets(&nonsense));
    }

    #[test]
    fn runs_conflict_where_one_of_them_writes() {
        let (reads, writes) = (footprint(&[(5, Touch::Read)], &[]), footprint(&[(5, Touch::Write)], &[]));
        let (scans, scans_elsewhere) = (footprint(&[], &[(3, 5)]), footprint(&[], &[(6, 9)]));
        assert!(!reads.meets(&reads) && !scans.meets(&reads) && !scans.meets(&scans));
        assert!(writes.meets(&writes) && writes.meets(&reads) && reads.meets(&writes));
        assert!(writes.meets(&scans) && scans.meets(&writes) && !writes.meets(&scans_elsewhere));
        let mut both = footprint(&[(5, Touch::Write), (5, Touch::Read)], &[]);
        assert!(both.meets(&reads), "what was written stays written");
        both = footprint(&[(5, Touch::Read)], &[]);
        both.add(footprint(&[(5, Touch::Write)], &[]));
        assert!(both.meets(&scans));
    }
}
