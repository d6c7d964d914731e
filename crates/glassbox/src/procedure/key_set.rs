//! Key sets: the receivers of a procedure's declaration.
//!
//! A declaration has several receivers: routing needs partitions, prefetching needs index nodes, a lock scheduler would
//! need keys. A list of keys, built once and read by each receiver, costs more than the receivers' own work: every key
//! is encoded, written, read and dispatched on by table number. So a declaration is code, which runs once for each
//! receiver. The receiver is compiled into it and gets each key with its type. [`ReadWriteSet`](super::ReadWriteSet) is
//! the receiver that makes a list.

use std::ops::Range;

use super::partition_set::PartitionSet;
use super::read_write_set::{Mode, partition_of};
use crate::record::{Bounds, Index, Key, Record};

/// Receives the keys that a run reads and writes, in [`Procedure::declare`](super::Procedure::declare).
///
/// Declare keys in the order in which the run accesses them: the engine then finds each prefetched row by its position.
///
/// The plain way: [`read`](KeySet::read), [`write`](KeySet::write) and [`insert`](KeySet::insert) for a key, `_each`
/// for a batch, [`range`](KeySet::range), [`index`](KeySet::index) and [`whole`](KeySet::whole) where keys are found by
/// a scan. Two methods are for performance, and do nothing that the plain ones do not: [`part`](KeySet::part) and
/// [`parts`](KeySet::parts) say in addition which bytes of a wide row the run accesses. [`share`](KeySet::share) is for
/// clusters.
pub trait KeySet {
    /// The run reads the row with this key.
    #[inline(always)]
    fn read<R: Record>(&mut self, key: &R::Key) {
        self.key::<R>(key, Mode::Read);
    }

    /// The run reads the rows with these keys, one after the other.
    #[inline(always)]
    fn read_each<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>) {
        self.parts::<R>(keys, Mode::Read, 0..size_of::<R>());
    }

    /// The run changes or removes the row with this key.
    #[inline(always)]
    fn write<R: Record>(&mut self, key: &R::Key) {
        self.key::<R>(key, Mode::Write);
    }

    /// The run changes or removes the rows with these keys, one after the other.
    #[inline(always)]
    fn write_each<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>) {
        self.parts::<R>(keys, Mode::Write, 0..size_of::<R>());
    }

    /// The run adds a row with this key.
    #[inline(always)]
    fn insert<R: Record>(&mut self, key: &R::Key) {
        self.key::<R>(key, Mode::Insert);
    }

    /// The run accesses the row of this key in this mode.
    #[inline(always)]
    fn key<R: Record>(&mut self, key: &R::Key, mode: Mode) {
        self.part::<R>(key, mode, 0..size_of::<R>());
    }

    /// The run may access any row within these bounds.
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode);

    /// The run may access any row that this index finds within these bounds, or add one at their end.
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode);

    /// For deterministic schemes: the run may access any row within these bounds, of a partition of which it declares
    /// another key. They lock the range; nothing is fetched ahead of the run. So a procedure names the keys that its
    /// other accesses lead to, or that it adds at an end, and pays nothing for it on other engines.
    #[inline(always)]
    fn cover<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        let _ = (bounds, mode);
    }

    /// As [`KeySet::cover`], for the entries of a secondary index within these bounds: those that a scan of the index
    /// reads, or that a change of rows adds and removes. The rows themselves are declared as well.
    #[inline(always)]
    fn cover_index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let _ = (bounds, mode);
    }

    /// The run may access any row of the table.
    fn whole<R: Record>(&mut self, mode: Mode) {
        self.range::<R>(.., mode);
    }

    /// For clusters: the run accesses the row of this key in this mode, and the runs of other participants read it. In
    /// a cluster such rows are sent to all participants before any of them runs.
    #[inline(always)]
    fn share<R: Record>(&mut self, key: &R::Key, mode: Mode) {
        self.key::<R>(key, mode);
    }

    /// For performance: the run accesses the row of this key in this mode, and only these of the row's bytes in memory
    /// (`offset_of!`): so only the needed part of a wide row is prefetched.
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, bytes: Range<usize>);

    /// For performance: the run accesses the rows of these keys in this mode, one after the other: as [`KeySet::part`]
    /// for each, but cheaper.
    #[inline(always)]
    fn parts<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>, mode: Mode, bytes: Range<usize>) {
        keys.into_iter().for_each(|key| self.part::<R>(&key, mode, bytes.clone()));
    }
}

/// The partitions of declared keys.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Partitions {
    /// A read of a replicated table needs no particular partition.
    pub(crate) set: PartitionSet,
    count: u64,
}

impl Partitions {
    /// None yet, of `count`.
    ///
    /// # Panics
    /// When there are none or more than 64.
    #[inline(always)]
    pub(crate) fn none(count: usize) -> Self {
        assert!((1..=PartitionSet::MAX_PARTITIONS).contains(&count), "a database has 1 to 64 partitions");
        Self { set: PartitionSet::EMPTY, count: count as u64 }
    }

    /// Adds the partition of a placement number, or all if it is unknown; returns the partition if it is a single one.
    #[inline(always)]
    pub(crate) fn add<R: Record>(&mut self, placement: Option<u64>, mode: Mode) -> Option<u8> {
        let partition = placement.map(|placement| partition_of(placement, self.count) as u8);
        self.set.extend(match partition {
            Some(partition) => PartitionSet::of(partition.into()),
            None if R::PLACEMENT.is_none() && mode == Mode::Read => PartitionSet::EMPTY,
            None => PartitionSet::all(self.count as usize),
        });
        partition
    }
}

impl KeySet for Partitions {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, mode: Mode, _bytes: Range<usize>) {
        self.add::<R>(R::PLACEMENT.map(|position| key.placement_at(position)), mode);
    }

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, mode: Mode) {
        self.add::<R>(R::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
    }

    #[inline(always)]
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        self.add::<I::Record>(I::PLACEMENT.and_then(|position| bounds.placement_at(position)), mode);
    }
}
