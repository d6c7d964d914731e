//! Optimistic concurrency control: while a transaction of several partitions is under way, every run notes what it
//! touches, and is compared with the undecided ones when it is done.
//!
//! *Low Overhead Concurrency Control*, section 5.7, names it and leaves it as future work; after Kung and Robinson, *On
//! Optimistic Methods for Concurrency Control*, ACM TODS 6(2), 1981. Runs follow each other and change rows in place, so
//! only transactions that are done and not decided can be met, and validation is against these alone. As under locking,
//! clients coordinate, and while there is no transaction of several partitions nothing is noted.
//!
//! A run that has met another may have read what will be taken back, so whatever came of it does not count: it is taken
//! back and run again when the other has ended. A transaction of several partitions waits so only for younger ones and
//! is otherwise tried again everywhere: no two wait for each other, and the oldest always ends.

use std::collections::{BTreeMap, VecDeque};

use glassbox::shard::{Kept, Ran, Touch, Watch};

use crate::address::{Address, TxnId};
use crate::arrived::{Arrived, Multi, Single};
use crate::message::FragmentEnd;
use crate::outbox::Outbox;
use crate::store::Store;

/// What runs touched.
#[derive(Debug, Default)]
struct Footprint {
    /// By space and key; whether it was written.
    points: BTreeMap<(u32, u128), bool>,
    /// Spaces and the first and last keys of what was read.
    ranges: Vec<(u32, u128, u128)>,
}

impl Footprint {
    fn meets(&self, other: &Self) -> bool {
        let both = |(key, &written): (_, &bool)| other.points.get(key).is_some_and(|&also| written || also);
        self.points.iter().any(both) || self.reads_over(other) || other.reads_over(self)
    }

    fn reads_over(&self, other: &Self) -> bool {
        let written = |&(space, low, high): &_| other.points.range((space, low)..=(space, high)).any(|(_, it)| *it);
        self.ranges.iter().any(written)
    }

    fn add(&mut self, other: Self) {
        other.points.into_iter().for_each(|(key, written)| *self.points.entry(key).or_default() |= written);
        self.ranges.extend(other.ranges);
    }
}

impl Watch for Footprint {
    fn point(&mut self, space: u32, key: u128, touch: Touch) -> bool {
        *self.points.entry((space, key)).or_default() |= touch == Touch::Write;
        true
    }

    fn range(&mut self, space: u32, low: u128, high: u128) -> bool {
        self.ranges.push((space, low, high));
        true
    }
}

/// Numbers what has arrived.
type Number = u64;

#[derive(Debug)]
struct Active {
    arrived: Arrived,
    /// Of its runs that count here.
    touched: Footprint,
    /// Those that wait for its end.
    waiting: Vec<Number>,
}

/// By age: lower is older.
fn age(txn: TxnId) -> (u64, Address) {
    (txn.sequence, txn.coordinator)
}

#[derive(Debug, Default)]
pub(crate) struct Occ {
    /// All that have begun and not ended; those on this partition alone are here only while they wait.
    active: BTreeMap<Number, Active>,
    /// To be run again: what they met has ended.
    ready: VecDeque<Number>,
    next: Number,
}

impl Occ {
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) if self.active.is_empty() => store.run_and_answer(&single, out),
            Arrived::Multi(next) if self.number(next.txn()).is_some() => {
                let number = self.number(next.txn()).expect("asked a moment ago");
                if let Some(Active { arrived: Arrived::Multi(multi), .. }) = self.active.get_mut(&number) {
                    multi.fragment = next.fragment;
                }
                self.run(store, number, out);
            }
            arrived => {
                let number = self.next;
                self.next += 1;
                let (touched, waiting) = (Footprint::default(), Vec::new());
                self.active.insert(number, Active { arrived, touched, waiting });
                self.run(store, number, out);
            }
        }
    }

    fn number(&self, txn: TxnId) -> Option<Number> {
        self.active.iter().find(|(_, it)| it.arrived.is(txn)).map(|(&number, _)| number)
    }

    /// Runs one that is active.
    fn run(&mut self, store: &mut Store, number: Number, out: &mut Outbox) {
        let Some(active) = self.active.remove(&number) else { return };
        match active.arrived {
            Arrived::Single(single) => self.run_single(store, number, single, out),
            Arrived::Multi(multi) => {
                self.run_multi(store, number, Active { arrived: Arrived::Multi(multi), ..active }, out)
            }
        }
    }

    /// Those whose undecided runs this one has met.
    fn met(&self, touched: &Footprint) -> Vec<Number> {
        let met = self.active.iter().filter(|(_, other)| other.touched.meets(touched));
        met.map(|(&number, _)| number).collect()
    }

    fn run_single(&mut self, store: &mut Store, number: Number, single: Single, out: &mut Outbox) {
        let (mut kept, mut touched) = (Kept::default(), Footprint::default());
        let ran = store.run_single(&single, Some(&mut kept), Some(&mut touched), out);
        if let Some(other) = self.met(&touched).first() {
            if matches!(ran, Ran::Done(_)) {
                store.undo(kept, out);
            }
            return self.wait(number, Arrived::Single(single), *other);
        }
        if matches!(ran, Ran::Done(_)) {
            store.commit(kept);
        }
        store.replicate(&single, &ran, false, out);
        store.answer(&single, ran, out);
    }

    fn wait(&mut self, number: Number, arrived: Arrived, other: Number) {
        self.active.get_mut(&other).expect("it was met").waiting.push(number);
        self.active.insert(number, Active { arrived, touched: Footprint::default(), waiting: Vec::new() });
    }

    fn run_multi(&mut self, store: &mut Store, number: Number, active: Active, out: &mut Outbox) {
        let Active { arrived: Arrived::Multi(mut multi), touched: mut before, mut waiting } = active else { return };
        let mut touched = Footprint::default();
        store.perform(&mut multi, Some(&mut touched), out);
        let met = self.met(&touched);
        if met.is_empty() {
            store.prepare(&mut multi, out);
            store.report(&multi, None, out);
            before.add(touched);
        } else {
            store.undo_fragment(&mut multi, out);
            let is_younger = |other: &Number| match &self.active[other].arrived {
                Arrived::Multi(other) => age(other.txn()) > age(multi.txn()),
                Arrived::Single(_) => true,
            };
            if met.iter().all(is_younger) {
                self.active.get_mut(&met[0]).expect("it was met").waiting.push(number);
            } else {
                multi.end = Some(FragmentEnd::Again);
                store.report(&multi, None, out);
            }
        }
        // What will not be committed keeps nobody waiting.
        if matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_) | FragmentEnd::Again)) {
            before = Footprint::default();
            self.ready.extend(waiting.drain(..));
        }
        self.active.insert(number, Active { arrived: Arrived::Multi(multi), touched: before, waiting });
    }

    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        let Some(number) = self.number(txn) else { return };
        let active = self.active.remove(&number).expect("found a moment ago");
        let Arrived::Multi(multi) = active.arrived else { unreachable!("only these are decided") };
        self.active.values_mut().for_each(|other| other.waiting.retain(|waits| *waits != number));
        self.ready.retain(|ready| *ready != number);
        self.ready.extend(active.waiting);
        store.end(multi, commit, out);
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(number) = self.ready.pop_front() else { return false };
        self.run(store, number, out);
        true
    }

    pub(crate) fn multis(&self) -> impl Iterator<Item = &Multi> {
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
        assert!(points.iter().all(|&(key, touch)| it.point(1, key, touch)));
        assert!(ranges.iter().all(|&(low, high)| it.range(1, low, high)));
        it
    }

    #[test]
    fn two_runs_meet_where_one_of_them_writes() {
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
