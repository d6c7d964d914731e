//! Many keys or rows of one table, one after the other.
//!
//! The same as a call for each alone, but what keys that were declared together have in common is asked once.

use std::ptr::{NonNull, null_mut};

use super::super::lookups::{AHEAD, NOWHERE, Places, UNSURE};
use super::PartitionedTransaction;
use super::change::{Changes, refusal_of_key};
use super::find::{self, TableRow, find, look_up, row_of};
use super::remote::RemoteRows;
use super::watch::{Touch, Watching};
use crate::partitioned::storage::memory::RowId;
use crate::partitioned::storage::table::Table;
use crate::procedure::{Stop, Transaction, partition_of};
use crate::record::{Key, Record};

/// The group of lookups whose turn it is: its table, the places that were left at first, and are left now.
struct Turn<R: Record> {
    table: *mut Table<R>,
    places: *const Places,
    first: usize,
    next: usize,
    end: usize,
}

/// Where a row is, if it is, and the turn after it.
type RowAndTurn<R> = (Option<(*mut Table<R>, NonNull<R>)>, Turn<R>);

impl<M: RemoteRows, W: Watching> PartitionedTransaction<'_, M, W> {
    /// Calls `with` for each key, with the work to do, what stands beside the key, and where its row is. A remote key
    /// goes to `remotely` instead. Whether a key is remote is asked only if its row was not prefetched.
    #[inline(always)]
    fn each<R: Record, C, F>(
        &mut self,
        keys: impl Iterator<Item = (R::Key, C)>,
        touch: Touch,
        mut work: F,
        with: impl Fn(&mut F, &mut Changes<'_>, C, &R::Key, Option<TableRow<'_, R>>) -> Result<(), Stop>,
        remotely: impl Fn(&mut F, &mut Self, C, &R::Key) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let number = if W::WATCHES { self.number::<R>() } else { 0 };
        let mut turn = self.turn();
        for (key, beside) in keys {
            let prefetched = turn.take(&key);
            if prefetched.is_none() && self.remote.of::<R>(&key).is_some() {
                self.skip_to(&turn);
                remotely(&mut work, self, beside, &key)?;
                turn = self.turn();
                continue;
            }
            self.watch.key::<R>(number, &key, touch)?;
            let (table, row) = match prefetched {
                Some(row) => (turn.table, row),
                None => {
                    let found;
                    (found, turn) = self.out_of_turn(key, turn)?;
                    let Some(found) = found else {
                        with(&mut work, &mut self.changes, beside, &key, None)?;
                        continue;
                    };
                    found
                }
            };
            // SAFETY: it is the row's table, in a partition that `self` holds and that nothing else refers to now.
            with(&mut work, &mut self.changes, beside, &key, Some((unsafe { &mut *table }, row)))?;
        }
        self.skip_to(&turn);
        Ok(())
    }

    /// As [`Transaction::get_each`].
    #[inline(always)]
    pub(super) fn read_each<R: Record, C>(
        &mut self,
        keys: impl Iterator<Item = (R::Key, C)>,
        read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.each::<R, C, _>(
            keys,
            Touch::Read,
            read,
            |read, _, beside, _, found| read(beside, found.map(find::read)),
            |read, this, beside, key| read(beside, this.get::<R>(key)?),
        )
    }

    /// As [`Transaction::update_each`].
    #[inline(always)]
    pub(super) fn change_each<R: Record, C>(
        &mut self,
        mut keys: impl Iterator<Item = (R::Key, C)>,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<(), Stop> {
        if R::PLACEMENT.is_none() || Self::watches_indexes::<R>() {
            return keys.try_for_each(|(key, beside)| self.update::<R, ()>(&key, |row| change(beside, row)).map(drop));
        }
        // Asked once for all.
        let values = self.changes.values;
        if self.changes.keeps::<R>(values) {
            return self.each::<R, C, _>(
                keys,
                Touch::Write,
                change,
                |change, changes, beside, key, found| match found {
                    Some((table, row)) => changes.update_keeping(table, row, key, values, |row| change(beside, row)),
                    None => Ok(()),
                },
                |change, this, beside, key| this.update::<R, ()>(key, |row| change(beside, row)).map(drop),
            );
        }
        self.each::<R, C, _>(
            keys,
            Touch::Write,
            change,
            |change, changes, beside, key, found| match found {
                Some((table, row)) => changes.update_plain(table, row, key, |row| change(beside, row)),
                None => Ok(()),
            },
            |change, this, beside, key| this.update::<R, ()>(key, |row| change(beside, row)).map(drop),
        )
    }

    /// As [`Transaction::insert_each`]: rows that follow each other are inserted together.
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

    /// Inserts a row and those after it that belong to the same partition, as long as their places follow each other;
    /// gives the next one.
    #[inline(always)]
    fn insert_run<R: Record>(&mut self, first: R, rows: &mut impl Iterator<Item = R>) -> Result<Option<R>, Stop> {
        if self.remote.of::<R>(&first.key()).is_some() {
            self.insert(&first)?;
            return Ok(rows.next());
        }
        self.touch::<R>(&first.key(), Touch::Write)?;
        let (partition, count) = (self.held.place_of::<R>(&first.key()), self.held.count());
        let (mut other, mut allowed) = (None, Ok(()));
        let table = M::table::<R>(&mut self.held, &first.key())?;
        let (number, watch, remote) = (table.number, &mut self.watch, &self.remote);
        let next = || {
            let row = rows.next()?;
            let key = row.key();
            if remote.of::<R>(&key).is_some() || count > 1 && place_among::<R>(&key, count) != partition {
                other = Some(row);
                return None;
            }
            if W::WATCHES {
                allowed = watch.key::<R>(number, &key, Touch::Write);
            }
            allowed.is_ok().then_some(row)
        };
        let (id, count, result) = table.insert_run(&first, next);
        let changes = &mut self.changes;
        changes.wrote |= count > 0;
        let added = (id.get()..id.get() + count).map(RowId::new);
        if changes.undo {
            added.clone().for_each(|id| changes.scratch.undo.inserted(table, id));
        }
        if changes.values {
            table.log_inserts(added, &mut changes.scratch.record)?;
        }
        result.map_err(|(refused, key)| refusal_of_key::<R>(refused, &key))?;
        allowed?;
        Ok(other.or_else(|| rows.next()))
    }

    #[inline(always)]
    fn turn<R: Record>(&self) -> Turn<R> {
        match self.changes.scratch.lookups.group::<R>() {
            Some((table, next, end)) => {
                let places = &raw const self.changes.scratch.lookups.places;
                Turn { table: table.as_ptr(), places, first: next, next, end }
            }
            None => Turn { table: null_mut(), places: &raw const NOWHERE, first: 0, next: 0, end: 0 },
        }
    }

    /// Goes on after what was taken of the group.
    #[inline(always)]
    fn skip_to<R: Record>(&mut self, turn: &Turn<R>) {
        if !turn.table.is_null() {
            self.changes.scratch.lookups.go_to(turn.next);
        }
    }

    /// A key that is not that of the next lookup. By value, so that both stay in registers meanwhile.
    #[cold]
    #[inline(never)]
    fn out_of_turn<R: Record>(&mut self, key: R::Key, mut turn: Turn<R>) -> Result<RowAndTurn<R>, Stop> {
        let raw = |(table, row): TableRow<'_, R>| (&raw mut *table, row);
        if turn.next == turn.end {
            // Of several partitions, each key has a group of its own.
            self.skip_to(&turn);
            let found = find::<M, R>(&mut self.held, &mut self.changes.scratch.lookups, &key)?.map(raw);
            return Ok((found, self.turn()));
        }
        let found = look_up::<M, R>(&mut self.held, &key)?.map(raw);
        turn.go_behind(found.map_or(0, |(_, row)| row.addr().get() as u64));
        Ok((found, turn))
    }
}

impl<R: Record> Turn<R> {
    /// The row of the next lookup, if its key is this.
    #[inline(always)]
    fn take(&mut self, key: &R::Key) -> Option<NonNull<R>> {
        // SAFETY: it is one of the group's, which is of `R` and found, in a held partition; or what is behind them.
        let row = unsafe { row_of::<R>(&*self.places, self.next, key) }?;
        self.next += 1;
        Some(row)
    }

    /// Goes on behind the lookup of this row. One that found another row, or none, is the next one: a tag was the same,
    /// or the bucket goes on. Should the key be one that was not declared, it was not that, and is the one before when
    /// the next key comes.
    fn go_behind(&mut self, row: u64) {
        let from = self.next - usize::from(self.next > self.first);
        // SAFETY: they do not change meanwhile.
        let words = unsafe { &(*self.places).words };
        let found = (from..self.end.min(self.next + AHEAD)).find(|&at| words[at] & !UNSURE == row);
        self.next = match found {
            Some(at) => at + 1,
            None => self.next + usize::from(self.next < self.end),
        };
    }
}

/// The number of the partition of a key of a partitioned table.
#[inline(always)]
fn place_among<R: Record>(key: &R::Key, count: usize) -> usize {
    R::PLACEMENT.map_or(0, |position| partition_of(key.placement_at(position), count as u64) as usize)
}
