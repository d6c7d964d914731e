//! The dry run: a procedure reads, changes nothing, and its keys are recorded.
//!
//! One mechanism with several names in the literature (Calvin's reconnaissance, Charm's fetch stage, H-Store's extra
//! round): it discovers the set of a procedure that could not declare it. Reads go through to the transaction below; a
//! change is made to a copy, so that the procedure continues as usual, and the copy is then discarded. So a procedure
//! that reads a row that it has changed sees the old one. The set is a very good guess, not a promise, and engines
//! treat it so.

use std::ops::ControlFlow;

use super::key_set::KeySet;
use super::read_write_set::{Mode, ReadWriteSet};
use super::stop::Stop;
use super::transaction::Transaction;
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};

/// Wraps a transaction: reads from it, writes nothing, and records every key in a [`ReadWriteSet`].
#[derive(Debug)]
pub struct DryRun<'a, T> {
    below: &'a mut T,
    set: &'a mut ReadWriteSet,
}

impl<'a, T: Transaction> DryRun<'a, T> {
    pub(crate) fn new(below: &'a mut T, set: &'a mut ReadWriteSet) -> Self {
        Self { below, set }
    }
}

impl<T: Transaction> Transaction for DryRun<'_, T> {
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        self.set.read::<R>(key);
        self.below.get(key)
    }

    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        self.set.write::<R>(key);
        let mut copy = self.below.get::<R>(key)?.copied();
        Ok(copy.as_mut().map(change))
    }

    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.set.insert::<R>(&row.key());
        Ok(())
    }

    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        self.set.write::<R>(key);
        Ok(self.below.get::<R>(key)?.is_some())
    }

    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.set.range_of::<R>(&bounds, Mode::Read);
        self.below.scan(bounds, direction, visit)
    }

    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        mut visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if I::PLACEMENT.is_none_or(|position| bounds.placement_at(position).is_none()) {
            // The partitions of an index range are unknown.
            self.set.whole::<I::Record>(Mode::Read);
        }
        let set = &mut *self.set;
        self.below.scan_index::<I>(bounds, direction, |row| {
            set.read::<I::Record>(&row.key());
            visit(row)
        })
    }

    fn owns<R: Record>(&mut self, key: &R::Key) -> bool {
        self.below.owns::<R>(key)
    }

    fn now(&mut self) -> Timestamp {
        self.below.now()
    }

    fn random(&mut self) -> u64 {
        self.below.random()
    }
}
