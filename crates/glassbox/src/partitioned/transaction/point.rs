//! The calls of a procedure: one row each, here or remote; batches and scans stand in files of their own.

use std::ops::ControlFlow;

use super::PartitionedTransaction;
use super::change::Torn;
use super::find::{find, read};
use super::remote::RemoteRows;
use super::watch::{Touch, Watching};
use crate::procedure::{Stop, Transaction};
use crate::record::{Bounds, Direction, Index, Key, OrderedRecord, Record, Timestamp, mix};

/// Changes all copies of a row of a replicated table.
#[inline(always)]
fn update_copies<R: Record, O, M, W>(
    transaction: &mut PartitionedTransaction<'_, M, W>,
    key: &R::Key,
    change: impl FnOnce(&mut R) -> O,
) -> Result<Option<O>, Stop> {
    // The change may be run once only: the other copies take over the row that it made.
    let PartitionedTransaction { held, changes, .. } = transaction;
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

impl<M: RemoteRows, W: Watching> Transaction for PartitionedTransaction<'_, M, W> {
    #[inline(always)]
    fn get<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        if let Some(at) = self.remote.of::<R>(key) {
            let number = self.number::<R>();
            return self.remote.get(number, at, key);
        }
        self.touch::<R>(key, Touch::Read)?;
        let found = find::<M, R>(&mut self.held, &mut self.changes.scratch.lookups, key)?;
        Ok(found.map(read))
    }

    #[inline(always)]
    fn update<R: Record, O>(&mut self, key: &R::Key, change: impl FnOnce(&mut R) -> O) -> Result<Option<O>, Stop> {
        if let Some(at) = self.remote.of::<R>(key) {
            let number = self.number::<R>();
            return self.remote.update(number, at, key, change);
        }
        if R::PLACEMENT.is_none() && M::SEVERAL_HERE {
            return update_copies(self, key, change);
        }
        self.touch::<R>(key, Touch::Write)?;
        let found = find::<M, R>(&mut self.held, &mut self.changes.scratch.lookups, key)?;
        let Some((table, row)) = found else { return Ok(None) };
        let values = self.changes.values;
        if !Self::watches_indexes::<R>() {
            return self.changes.update_at(table, row, key, values, change).map(Some);
        }
        // The keys of secondary indexes are reported before they change.
        let number = table.number;
        let before = *read((table, row));
        let mut after = before;
        let out = change(&mut after);
        self.watch.index_keys(number, &before, Some(&after))?;
        self.watch.index_keys(number, &after, Some(&before))?;
        let table = M::table::<R>(&mut self.held, key)?;
        self.changes.update_at(table, row, key, values, |row| *row = after)?;
        Ok(Some(out))
    }

    #[inline(always)]
    fn get_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.read_each(keys.into_iter(), read)
    }

    #[inline(always)]
    fn update_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        self.change_each(keys.into_iter(), change)
    }

    #[inline(always)]
    fn insert<R: Record>(&mut self, row: &R) -> Result<(), Stop> {
        let key = row.key();
        if let Some(at) = self.remote.of::<R>(&key) {
            let number = self.number::<R>();
            return self.remote.insert(number, at, row);
        }
        if W::WATCHES {
            let number = self.number::<R>();
            self.watch.key::<R>(number, &key, Touch::Write)?;
            self.watch.index_keys(number, row, None)?;
        }
        let values = self.changes.values;
        if R::PLACEMENT.is_some() || !M::SEVERAL_HERE {
            return self.changes.insert_in(M::table::<R>(&mut self.held, &key)?, row, values);
        }
        for (at, partition) in self.held.need_all()?.enumerate() {
            let inserted = self.changes.insert_in(partition.table(), row, values && at == 0);
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
        if let Some(at) = self.remote.of::<R>(key) {
            let number = self.number::<R>();
            return self.remote.delete::<R>(number, at, key);
        }
        self.touch::<R>(key, Touch::Write)?;
        let values = self.changes.values;
        if R::PLACEMENT.is_some() || !M::SEVERAL_HERE {
            let table = M::table::<R>(&mut self.held, key)?;
            if Self::watches_indexes::<R>()
                && let Some(id) = table.find(key.encode())
            {
                self.watch.index_keys(table.number, table.rows.get(id), None)?;
            }
            return self.changes.delete_in::<R>(table, key, values);
        }
        let mut found = false;
        for (at, partition) in self.held.need_all()?.enumerate() {
            found |= self.changes.delete_in::<R>(partition.table(), key, values && at == 0)?;
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

    #[inline(always)]
    fn owns<R: Record>(&mut self, key: &R::Key) -> bool {
        self.remote.of::<R>(key).is_none()
    }
}
