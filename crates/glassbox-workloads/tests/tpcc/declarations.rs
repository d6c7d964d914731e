//! What procedures declare is what they touch, in that order.

use std::ops::ControlFlow;

use crate::common::loaded;
use glassbox::procedure::{Declared, Entry, EntryKey, Mode, PartitionSet, Procedure, ReadWriteSet, Stop, Transaction};
use glassbox::record::{Bounds, Direction, EncodedKey, Index, Key, OrderedRecord, Record, Timestamp};
use glassbox_workloads::tpcc::{Customers, Input, Inputs, Kind, Remote, Scale, Settings};

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
    assert_eq!(procedure.declare(&mut set), Declared::Complete);
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
