//! Optimistic concurrency control: while a transaction of several partitions is under way, every run notes what it
//! touches, and is compared with the undecided ones when it is done.
//!
//! *Low Overhead Concurrency Control*, section 5.7, names it and leaves it as future work; after Kung and Robinson, *On
//! Optimistic Methods for Concurrency Control*, ACM TODS 6(2), 1981. Runs follow each other and change rows in place,
//! so only transactions that are done and not decided can be met, and validation is against these alone. As under
//! locking, clients coordinate, and while there is no transaction of several partitions nothing is noted.
//!
//! A run that has met another may have read what will be taken back, so whatever came of it does not count: it is taken
//! back and run again when the other has ended. Of several that wait for the same, the first is let go first, and those
//! that would meet it wait for it. Who waits for each other, across partitions or because of rounds before, is tried
//! again by whoever coordinates, because it takes too long; and then stands behind all who waited for it. Otherwise it
//! would be met by them again, and so on for ever.

use std::collections::{BTreeMap, VecDeque};

use glassbox::shard::{Kept, Ran, Touch, Watch};

use super::gave_up::GaveUp;
use crate::participant::arrived::{Arrived, Multi, Single};
use crate::participant::store::Store;
use crate::protocol::address::TxnId;
use crate::protocol::message::FragmentEnd;
use crate::protocol::outbox::Outbox;

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
        // What comes from outside may be nonsense, and then nothing is read.
        if low <= high {
            self.ranges.push((space, low, high));
        }
        true
    }
}

/// Numbers what has arrived.
type Number = u64;

#[derive(Debug)]
struct Active {
    arrived: Arrived,
    /// By its runs that count here.
    touched: Footprint,
    /// By the run that was taken back, while it waits.
    wanted: Footprint,
    /// Those that wait for its end.
    waiting: Vec<Number>,
}

impl Active {
    fn new(arrived: Arrived) -> Self {
        Self { arrived, touched: Footprint::default(), wanted: Footprint::default(), waiting: Vec::new() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Occ {
    /// All that have begun and not ended; those on this partition alone are here only while they wait.
    active: BTreeMap<Number, Active>,
    /// Those of several partitions, by their names.
    numbers: BTreeMap<TxnId, Number>,
    /// To be run again: what they met has ended.
    ready: VecDeque<Number>,
    next: Number,
    gave_up: GaveUp,
    /// What they have begun since: to be run when nobody is ready, because behind the first of those that are stand
    /// others.
    again: VecDeque<Number>,
}

impl Occ {
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match arrived {
            Arrived::Single(single) if self.active.is_empty() => store.run_and_answer(&single, out),
            Arrived::Single(single) => {
                let number = self.number();
                self.run_single(store, (number, single, Vec::new()), out);
            }
            Arrived::Multi(next) => match self.numbers.get(&next.txn()) {
                Some(&number) => {
                    if let Some(Active { arrived: Arrived::Multi(multi), .. }) = self.active.get_mut(&number) {
                        multi.fragment = next.fragment;
                    }
                    self.run(store, number, out);
                }
                None => {
                    let number = self.number();
                    self.numbers.insert(next.txn(), number);
                    if self.gave_up.has_begun(&next) {
                        self.active.insert(number, Active::new(Arrived::Multi(next)));
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

    /// Runs one that is active.
    fn run(&mut self, store: &mut Store, number: Number, out: &mut Outbox) {
        match self.active.remove(&number) {
            Some(Active { arrived: Arrived::Single(single), waiting, .. }) => {
                self.run_single(store, (number, single, waiting), out);
            }
            Some(Active { arrived: Arrived::Multi(multi), touched, waiting, .. }) => {
                self.run_multi(store, (number, multi, waiting), touched, out);
            }
            None => {}
        }
    }

    /// One whose undecided runs this one has met.
    fn met(&self, touched: &Footprint) -> Option<Number> {
        self.active.iter().find(|(_, other)| other.touched.meets(touched)).map(|(&number, _)| number)
    }

    fn wait(&mut self, number: Number, active: Active, other: Number) {
        self.active.get_mut(&other).expect("it was met").waiting.push(number);
        self.active.insert(number, active);
    }

    /// What they waited for has ended.
    fn wake(&mut self, waiting: Vec<Number>) {
        let mut woken: Vec<Number> = Vec::new();
        for number in waiting {
            let Some(it) = self.active.get(&number) else { continue };
            // Who would wait for this one must not be waited for.
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
        (number, single, waiting): (Number, Single, Vec<Number>),
        out: &mut Outbox,
    ) {
        let (mut kept, mut wanted) = (Kept::default(), Footprint::default());
        let ran = store.run_single(&single, Some(&mut kept), Some(&mut wanted), out);
        if let Some(other) = self.met(&wanted) {
            if matches!(ran, Ran::Done(_)) {
                store.undo(kept, out);
            }
            return self.wait(number, Active { wanted, waiting, ..Active::new(Arrived::Single(single)) }, other);
        }
        if matches!(ran, Ran::Done(_)) {
            store.commit(kept);
        }
        store.replicate(&single, &ran, false, out);
        store.answer(&single, ran, out);
        self.wake(waiting);
    }

    /// `touched` is what its rounds before this one touched.
    fn run_multi(
        &mut self,
        store: &mut Store,
        (number, mut multi, waiting): (Number, Multi, Vec<Number>),
        mut touched: Footprint,
        out: &mut Outbox,
    ) {
        let mut wanted = Footprint::default();
        store.perform(&mut multi, Some(&mut wanted), out);
        if let Some(other) = self.met(&wanted) {
            store.undo_fragment(&mut multi, out);
            return self.wait(number, Active { arrived: Arrived::Multi(multi), touched, wanted, waiting }, other);
        }
        store.prepare(&mut multi, out);
        store.report(&multi, None, out);
        // What will not be committed keeps nobody waiting.
        let lost = matches!(multi.end, Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)));
        let active = Active::new(Arrived::Multi(multi));
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
        let Arrived::Multi(multi) = active.arrived else { unreachable!("only these are decided") };
        self.wake(active.waiting);
        store.end(multi, commit, out);
        if !commit && !self.ready.is_empty() {
            self.gave_up.note(txn);
        }
    }

    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        let Some(number) = self.ready.pop_front().or_else(|| self.again.pop_front()) else {
            self.gave_up.forget();
            return false;
        };
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
    fn what_is_no_range_meets_nothing() {
        let (nonsense, writes) = (footprint(&[], &[(9, 3)]), footprint(&[(5, Touch::Write)], &[]));
        assert!(!nonsense.meets(&writes) && !writes.meets(&nonsense));
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
