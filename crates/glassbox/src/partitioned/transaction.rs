//! A transaction on the partitions whose tokens are held: the engine's implementation of [`Transaction`].
//!
//! Nothing here waits or locks: the run owns the data. Each access computes the partition from the key; if that one is
//! not held, the run stops and names the partition that it needs. What a change costs beyond the change itself
//! depends on two flags that are the same for all of a transaction: keep the old row (`undo`), write the difference to
//! the log record (`values`).

use std::ops::ControlFlow;
use std::ptr::NonNull;

use super::change::{Changes, Torn};
use super::held::{Held, Hold};
use super::lookups::find;
use super::table::Table;
use crate::io::Clock;
use crate::procedure::{Retry, Stop, TableFull, Transaction};
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp, mix};

/// The refusal of a row for which there is no memory.
#[cold]
pub(super) fn table_full(table: &'static str) -> Stop {
    Stop::TableFull(TableFull { table: table.into() })
}

/// A live row and its table, in a held partition.
pub(super) type Place<'a, R> = (&'a mut Table<R>, NonNull<R>);

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
