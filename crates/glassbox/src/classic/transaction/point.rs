//! The calls of a procedure: one row each, and scans. Batches, and changes of and walks along indexes, stand in
//! files of their own.

use std::ops::ControlFlow;

use super::super::lock::LockMode;
use super::super::stack::Stack;
use super::{FindModes, StackTransaction};
use crate::procedure::{Stop, Transaction};
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp, mix};

impl<S: Stack> Transaction for StackTransaction<'_, S> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry_row(key);
        }
        self.get_locked(key, LockMode::S)
    }

    #[inline(always)]
    fn get_for_update<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry_row(key);
        }
        self.get_locked(key, LockMode::U)
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if S::TWO_STAGE && self.is_fetching() {
            return self.dry(|run| run.update(key, change));
        }
        let Some(rid) = self.find::<R>(key, FindModes::of(LockMode::X))? else { return Ok(None) };
        let table = self.table::<R>()?;
        self.update_at(table, rid, key, change).map(Some)
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return keys.into_iter().try_for_each(|(key, beside)| read(beside, self.dry_row::<R>(&key)?));
        }
        self.each::<R, C>(keys, LockMode::S, |tx, table, _, beside, rid| match rid {
            Some(rid) => read(beside, Some(tx.read::<R>(table, rid)?)),
            None => read(beside, None),
        })
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry(|run| run.update_each::<R, C>(keys, change));
        }
        self.each::<R, C>(keys, LockMode::X, |tx, table, key, beside, rid| match rid {
            Some(rid) => tx.update_at(table, rid, key, |row| change(beside, row)),
            None => Ok(()),
        })
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        self.insert_row(row)
    }

    #[inline(always)]
    fn insert_each<R: Record>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<(), Stop> {
        self.insert_rows(rows)
    }

    #[inline(always)]
    fn delete<R: Record>(&mut self, key: &R::Key) -> Result<bool, Stop> {
        if S::TWO_STAGE && self.is_fetching() {
            return self.dry(|run| run.delete::<R>(key));
        }
        let Some(rid) = self.find::<R>(key, FindModes::DELETED)? else { return Ok(false) };
        let table = self.table::<R>()?;
        self.delete_row::<R>(table, rid, key)?;
        Ok(true)
    }

    #[inline(always)]
    fn scan<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry(|run| run.scan(bounds, direction, visit));
        }
        self.scan_locked(bounds, direction, LockMode::S, visit)
    }

    #[inline(always)]
    fn scan_for_update<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry(|run| run.scan(bounds, direction, visit));
        }
        self.scan_locked(bounds, direction, LockMode::U, visit)
    }

    #[inline(always)]
    fn scan_index<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry(|run| run.scan_index::<I>(bounds, direction, visit));
        }
        self.scan_index_locked::<I>(bounds, direction, LockMode::S, visit)
    }

    #[inline(always)]
    fn scan_index_for_update<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        if S::TWO_STAGE && self.has_own_writes() {
            return self.dry(|run| run.scan_index::<I>(bounds, direction, visit));
        }
        self.scan_index_locked::<I>(bounds, direction, LockMode::U, visit)
    }

    #[inline(always)]
    fn now(&mut self) -> Timestamp {
        *self.now.get_or_insert_with(|| Timestamp::from_micros(self.engine.clock.wall_us()))
    }

    #[inline(always)]
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(1);
        mix(self.random)
    }
}
