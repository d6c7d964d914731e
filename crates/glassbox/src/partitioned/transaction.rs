//! A transaction on the partitions whose tokens are held: the engine's implementation of [`Transaction`].
//!
//! Nothing here waits or locks: the run owns the data. Each access computes the partition from the key; if that one is
//! not held, the run stops and names the partition that it needs. What a change costs beyond the change itself
//! depends on two flags that are the same for all of a transaction: keep the old row (`undo`), write the difference to
//! the log record (`values`).

use std::ops::ControlFlow;

use super::change::{Changes, Torn, refusal_of_key};
use super::find::find;
use super::held::{Held, Hold};
use super::memory::RowId;
use crate::io::Clock;
use crate::procedure::{Retry, Stop, Transaction, partition_of};
use crate::record::{Bounds, Direction, Index, Key, OrderedRecord, Record, Timestamp, mix};

/// A run of a transaction on the partitions that it holds.
pub struct PartitionedTransaction<'a> {
    pub(super) held: Held<'a>,
    pub(super) changes: Changes<'a>,
    clock: &'a dyn Clock,
    pub(crate) now: Option<Timestamp>,
    pub(crate) seed: u64,
    random: u64,
}

/// What a transaction keeps in addition to its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// Old rows, to be able to undo.
    pub(crate) undo: bool,
    /// Changes, for the value log.
    pub(crate) values: bool,
}

impl<'a> PartitionedTransaction<'a> {
    #[inline(always)]
    pub(super) fn new(hold: Hold<'a>, clock: &'a dyn Clock, keep: Keep) -> Self {
        let Hold { mut held, scratch } = hold;
        let home = held.home();
        home.seed = home.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let seed = home.seed;
        let changes = Changes { scratch, undo: keep.undo, values: keep.values, wrote: false, torn: None };
        Self { held, changes, clock, now: None, seed, random: seed }
    }

    /// Sets what a replayed transaction was assigned when it first ran.
    pub(crate) fn assign(&mut self, now: Timestamp, seed: u64) {
        (self.now, self.seed, self.random) = (Some(now), seed, seed);
    }

    /// The outcome of a run, given what the procedure returned: when a partition was missing, or rows and indexes or
    /// copies of a replicated table differ now, that means nothing.
    ///
    /// # Panics
    /// When the procedure returns a restart that this run did not ask for.
    #[inline(always)]
    pub(crate) fn outcome(&self, returned: Result<(), Stop>) -> Result<(), Stop> {
        if !self.held.missing().is_empty() {
            return Err(Stop::Retry(Retry { partitions: self.held.missing() }));
        }
        if let Some(torn) = self.changes.torn {
            return Err(torn.stop());
        }
        let kept = matches!(returned, Err(Stop::Retry(_)));
        assert!(!kept, "a procedure kept a `Stop::Retry` of another run and answers it");
        returned
    }
}

impl PartitionedTransaction<'_> {
    /// Changes all copies of a row of a replicated table.
    #[inline(always)]
    pub(super) fn update_copies<R: Record, O>(
        &mut self,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<Option<O>, Stop> {
        // The change may be run once only: the other copies take over the row that it made.
        let Self { held, changes, .. } = self;
        let mut tables = held.need_all()?.map(|partition| partition.table::<R>());
        let first = tables.next().expect("a database has a partition");
        let Some(id) = first.find(key.encode()) else { return Ok(None) };
        let place = first.rows.place(id);
        let out = changes.update_at(first, place, key, changes.values, change)?;
        let row = *first.rows.get(id);
        for table in tables {
            let id = table.find(key.encode()).expect("all copies of a replicated table have the same rows");
            let place = table.rows.place(id);
            let copied = changes.update_at(table, place, key, false, |copy| *copy = row);
            copied.inspect_err(|_| changes.torn = Some(Torn::Full(R::TABLE)))?;
        }
        Ok(Some(out))
    }

    /// Adds rows, those that follow each other together.
    #[inline(always)]
    pub(super) fn insert_all<R: Record>(&mut self, mut rows: impl Iterator<Item = R>) -> Result<(), Stop> {
        if R::PLACEMENT.is_none() || R::INDEXES > 0 {
            return rows.try_for_each(|row| self.insert(&row));
        }
        let mut next = rows.next();
        while let Some(row) = next {
            next = self.insert_run(row, &mut rows)?;
        }
        Ok(())
    }

    /// Adds a row and those after it that belong to the same partition, as long as they fit behind each other; gives
    /// the next one.
    #[inline(always)]
    fn insert_run<R: Record>(&mut self, first: R, rows: &mut impl Iterator<Item = R>) -> Result<Option<R>, Stop> {
        let (partition, count, mut other) = (self.held.place_of::<R>(&first.key()), self.held.count(), None);
        let table = self.held.table_of::<R>(&first.key())?;
        let next = || {
            let row = rows.next()?;
            if count > 1 && place_among::<R>(&row.key(), count) != partition {
                other = Some(row);
                return None;
            }
            Some(row)
        };
        let (id, count, result) = table.insert_run(&first, next);
        let changes = &mut self.changes;
        changes.wrote |= count > 0;
        let added = (id.get()..id.get() + count).map(RowId::new);
        if changes.undo {
            added.clone().for_each(|id| changes.scratch.undo.inserted(table, id));
        }
        if changes.values {
            table.log_inserts(added, &mut changes.scratch.record);
        }
        result.map_err(|(refused, key)| refusal_of_key::<R>(refused, &key))?;
        Ok(other.or_else(|| rows.next()))
    }
}

/// The number of the partition of a key of a partitioned table.
#[inline(always)]
fn place_among<R: Record>(key: &R::Key, count: usize) -> usize {
    R::PLACEMENT.map_or(0, |position| partition_of(key.placement_at(position), count as u64) as usize)
}

impl Transaction for PartitionedTransaction<'_> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        // SAFETY: it is a live row of a held partition, and the borrow of `self` keeps it as it is.
        let found = find::<R>(&mut self.held, &mut self.changes.scratch.lookups, key)?;
        Ok(found.map(|(_, row)| unsafe { row.as_ref() }))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if R::PLACEMENT.is_some() {
            let found = find::<R>(&mut self.held, &mut self.changes.scratch.lookups, key)?;
            let Some((table, row)) = found else { return Ok(None) };
            let values = self.changes.values;
            return self.changes.update_at(table, row, key, values, change).map(Some);
        }
        self.update_copies(key, change)
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.read_each(keys, |_| false, read).map(drop)
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        if R::PLACEMENT.is_none() {
            let mut keys = keys.into_iter();
            return keys.try_for_each(|(key, beside)| self.update::<R, ()>(&key, |row| change(beside, row)).map(drop));
        }
        self.change_each(keys, |_| false, change).map(drop)
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        if R::PLACEMENT.is_some() {
            let table = self.held.table_of::<R>(&row.key())?;
            let values = self.changes.values;
            return self.changes.insert_in(table, row, values);
        }
        for (at, partition) in self.held.need_all()?.enumerate() {
            let values = self.changes.values && at == 0;
            let inserted = self.changes.insert_in(partition.table(), row, values);
            inserted
                .inspect_err(|_| self.changes.torn = self.changes.torn.or((at > 0).then_some(Torn::Full(R::TABLE))))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        self.insert_all(rows.into_iter())
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if R::PLACEMENT.is_some() {
            let table = self.held.table_of::<R>(key)?;
            let values = self.changes.values;
            return Ok(self.changes.delete_in::<R>(table, key, values));
        }
        let mut found = false;
        for (at, partition) in self.held.need_all()?.enumerate() {
            let values = self.changes.values && at == 0;
            found |= self.changes.delete_in::<R>(partition.table(), key, values);
        }
        Ok(found)
    }

    #[inline(always)]
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_rows(bounds, direction, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.scan_rows_by::<I>(bounds, direction, visit)
    }

    #[inline(always)]
    fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| Timestamp::from_micros(self.clock.wall_us()))
    }

    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random)
    }
}
