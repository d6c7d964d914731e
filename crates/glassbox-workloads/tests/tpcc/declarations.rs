//! What procedures declare is what they touch, in that order; and of independent ones, every key.

use std::ops::ControlFlow;

use crate::common::loaded;
use glassbox::procedure::{Declared, Entry, EntryKey, Mode, PartitionSet, Procedure, ReadWriteSet, Stop, Transaction};
use glassbox::record::{Bounds, Direction, EncodedKey, Index, Key, OrderedRecord, Record, Timestamp};
use glassbox::research::shard::{self, DeclaredKeys, Kept, Ran, Shard, Stamp, Task, TouchedKeys};
use glassbox_workloads::tpcc::{
    Call, Customers, Input, Inputs, Kind, Remote, Scale, Settings, distributed_catalog, fill,
};

/// Keys of existing rows that a run looked up, and partitions of all that it touched, of so many partitions.
struct Trace<'a, T> {
    inner: &'a mut T,
    touched: Vec<(Mode, u64)>,
    partitions: PartitionSet,
    of: u64,
}

impl<T> Trace<'_, T> {
    fn touch<R: Record>(&mut self, mode: Mode, key: &R::Key) {
        let encoded: R::Encoded = key.encode();
        if mode != Mode::Insert {
            self.touched.push((mode, encoded.as_u64().expect("looked-up keys have at most 8 bytes")));
        }
        self.place(R::PLACEMENT.map(|position| key.placement_at(position)));
    }

    fn place(&mut self, placement: Option<u64>) {
        self.partitions.extend(
            placement.map_or(PartitionSet::EMPTY, |placement| PartitionSet::of((placement % self.of) as usize)),
        );
    }
}

impl<T: Transaction> Transaction for Trace<'_, T> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.touch::<R>(Mode::Read, key);
        self.inner.get(key)
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        self.touch::<R>(Mode::Write, key);
        self.inner.update(key, change)
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.touch::<R>(Mode::Insert, &row.key());
        self.inner.insert(row)
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        self.touch::<R>(Mode::Write, key);
        self.inner.delete::<R>(key)
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.place(Some(bounds.placement_at(R::PLACEMENT.unwrap()).expect("a scan stays in its partition")));
        self.inner.scan(bounds, direction, visit)
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.place(Some(bounds.placement_at(I::PLACEMENT.unwrap()).expect("a scan stays in its partition")));
        self.inner.scan_index::<I>(bounds, direction, visit)
    }

    fn now(&mut self) -> Timestamp {
        self.inner.now()
    }

    fn random(&mut self) -> u64 {
        self.inner.random()
    }
}

fn keys(entries: &[Entry]) -> Vec<(Mode, u64)> {
    let small = |entry: &Entry| match entry.key {
        EntryKey::Small(key) => (entry.mode, key),
        _ => panic!("{entry:?} is no key of at most 8 bytes"),
    };
    entries.iter().map(small).collect()
}

/// Runs the procedure and compares; `whole` when its looked-up keys are all known from its arguments.
fn compare<P: Procedure>(tx: &mut impl Transaction, procedure: &P, whole: bool) -> Result<(), Stop> {
    let of = 3;
    let mut set = ReadWriteSet::new(of as usize);
    assert_ne!(procedure.declare(&mut set), Declared::Unknown);
    let mut trace = Trace { inner: tx, touched: Vec::new(), partitions: PartitionSet::EMPTY, of };
    let committed = procedure.run(&mut trace).is_ok();
    if whole && committed {
        assert_eq!(keys(set.entries()), trace.touched, "{}", P::NAME);
    }
    let undeclared = trace.partitions.difference(set.partitions());
    assert_eq!(undeclared, PartitionSet::EMPTY, "{} touched more partitions than it declared", P::NAME);
    if committed {
        assert_eq!(trace.partitions, set.partitions(), "{} declared partitions that it did not touch", P::NAME);
    }
    Ok(())
}

#[test]
fn keys_are_declared_in_the_order_in_which_they_are_touched() {
    let scale = Scale::small(3);
    let mut database = loaded(&scale, 1, 2);
    let remote = Remote { order_lines: 20.0, payments: 50.0 };
    let mut inputs = Inputs::new(&Settings { remote, load_seed: 1, ..Settings::new(scale) }, 0);
    let mut seen = [0; 5];
    for _ in 0..1_000 {
        let input = inputs.next();
        seen[input.kind() as usize] += 1;
        let compared = database.transaction(|tx| match &input {
            Input::NewOrder(procedure) => compare(tx, procedure, true),
            Input::Payment(procedure) => compare(tx, procedure, matches!(procedure.customer, Customers::Id(_))),
            Input::OrderStatus(procedure) => compare(tx, procedure, matches!(procedure.customer, Customers::Id(_))),
            Input::Delivery(procedure) => compare(tx, procedure, false),
            Input::StockLevel(procedure) => compare(tx, procedure, false),
        });
        compared.unwrap();
    }
    assert!(Kind::ALL.into_iter().all(|kind| seen[kind as usize] > 0));
}

/// Runs calls on two partitions, each under a watch of the keys that it declares there.
struct Watched {
    shards: [Shard; 2],
    number: u64,
    /// Of each kind, calls that declare all keys, and others.
    declared: [(u64, u64); 5],
    /// Which of the declared keys of each call is left out, if any.
    left_out: Option<usize>,
    refused: u64,
}

impl Call for Watched {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        self.number += 1;
        let catalog = distributed_catalog();
        let (number, now) = (catalog.number_of::<P>().unwrap(), Timestamp::from_micros(self.number as i64));
        let call = shard::Call::new(*procedure, Stamp { procedure: number, now, seed: 0 });
        let route = catalog.route(&call, 2).unwrap();
        let mut runs = Vec::new();
        for partition in route.partitions.iter() {
            let shard = &mut self.shards[partition];
            let declared = shard.declared(&call).unwrap();
            assert_eq!(declared.is_complete(), route.is_complete);
            let (complete, dependent) = &mut self.declared[kind as usize];
            if !declared.is_complete() {
                *dependent += 1;
                // The keys that it finds are enough for the same run.
                let (mut touched, mut kept) = (TouchedKeys::default(), Kept::default());
                let task = Task { participants: route.partitions, given: &[] };
                if let Ran::Done(_) = shard.run(&call, task, Some(&mut kept), Some(&mut touched)) {
                    shard.undo(kept);
                }
                let keys = DeclaredKeys::found(touched.requests);
                let mut kept = Kept::default();
                let ran = shard.run(&call, task, Some(&mut kept), Some(&mut keys.watch()));
                assert_ne!(ran, Ran::Refused, "{}", P::NAME);
                runs.push((partition, ran, kept));
                continue;
            }
            *complete += 1;
            let mut requests = declared.requests().to_vec();
            if let Some(nth) = self.left_out {
                requests.remove(nth % requests.len());
            }
            let keys = DeclaredKeys::new(requests, Declared::Complete);
            let (mut watch, mut kept) = (keys.watch(), Kept::default());
            let task = Task { participants: route.partitions, given: &[] };
            let ran = shard.run(&call, task, Some(&mut kept), Some(&mut watch));
            assert_eq!(ran == Ran::Refused, watch.undeclared.is_some());
            assert!(self.left_out.is_some() || ran != Ran::Refused, "{} touches {:?}", P::NAME, watch.undeclared);
            self.refused += u64::from(ran == Ran::Refused);
            runs.push((partition, ran, kept));
        }
        let is_done = runs.iter().all(|(_, ran, _)| matches!(ran, Ran::Done(_)));
        for (partition, ran, kept) in runs {
            match ran {
                Ran::Done(_) if is_done => self.shards[partition].commit(kept),
                Ran::Done(_) => self.shards[partition].undo(kept),
                Ran::Aborted(_) | Ran::Refused => {}
                other => panic!("{}: {other:?}", P::NAME),
            }
        }
    }
}

fn watched(left_out: Option<usize>, calls: usize) -> Watched {
    let scale = Scale::small(4);
    let shards = [0, 1].map(|index| {
        let mut shard = Shard::new(&distributed_catalog(), index, 2, 1 << 28).unwrap();
        fill(&scale, 1, &mut shard).unwrap();
        shard
    });
    let mut watched = Watched { shards, number: 0, declared: [(0, 0); 5], left_out, refused: 0 };
    let remote = Remote { order_lines: 20.0, payments: 50.0 };
    let mut inputs = Inputs::new(&Settings { remote, load_seed: 1, ..Settings::new(scale) }, 0);
    (0..calls).for_each(|_| inputs.next().give(&mut watched));
    watched
}

/// The dependent transactions are Delivery, Stock-Level, and those that name a customer.
#[test]
fn independent_transactions_touch_only_keys_that_they_declare() {
    let Watched { declared, refused, .. } = watched(None, 3_000);
    assert_eq!(refused, 0);
    for (kind, (complete, dependent)) in Kind::ALL.into_iter().zip(declared) {
        let [is_complete, is_dependent] = match kind {
            Kind::NewOrder => [true, false],
            Kind::Payment | Kind::OrderStatus => [true, true],
            Kind::Delivery | Kind::StockLevel => [false, true],
        };
        assert_eq!([complete > 0, dependent > 0], [is_complete, is_dependent], "{kind:?}");
    }
}

#[test]
fn a_run_that_touches_a_key_that_was_left_out_is_refused() {
    let all: u64 = (0..40).map(|left_out| watched(Some(left_out), 60).refused).sum();
    assert!(all > 1_000, "{all} of 2,400 calls");
}
