//! Many keys of one table, one after the other.
//!
//! As looking for each alone, but what keys that were declared together have in common is asked once.

use std::ptr::{NonNull, null_mut};

use super::change::Changes;
use super::find::{TableRow, find, look_up, row_of};
use super::lookups::{AHEAD, NOWHERE, Places, UNSURE};
use super::table::Table;
use super::transaction::PartitionedTransaction;
use crate::procedure::Stop;
use crate::record::Record;

/// The group of lookups whose turn it is: its table, the places that were left at first, and are left now.
struct Turn<R: Record> {
    table: *mut Table<R>,
    places: *const Places,
    first: usize,
    next: usize,
    end: usize,
}

/// Where a row is, if it is, and the turn after it.
type Found<R> = (Option<(*mut Table<R>, NonNull<R>)>, Turn<R>);

impl PartitionedTransaction<'_> {
    /// Does something with each key, what stands beside it, and where its row is, up to the first whose row
    /// `is_elsewhere`, which is given back. That is asked only of keys whose rows were not found beforehand.
    #[inline(always)]
    pub(super) fn each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        is_elsewhere: impl Fn(&R::Key) -> bool,
        mut with: impl FnMut(&mut Changes<'_>, C, &R::Key, Option<TableRow<'_, R>>) -> Result<(), Stop>,
    ) -> Result<Option<(R::Key, C)>, Stop> {
        let mut turn = self.turn();
        for (key, beside) in keys {
            let (table, row) = match turn.take(&key) {
                Some(row) => (turn.table, row),
                None if is_elsewhere(&key) => {
                    self.skip_to(&turn);
                    return Ok(Some((key, beside)));
                }
                None => {
                    let found;
                    (found, turn) = self.out_of_turn(key, turn)?;
                    let Some(found) = found else {
                        with(&mut self.changes, beside, &key, None)?;
                        continue;
                    };
                    found
                }
            };
            // SAFETY: it is the row's table, in a partition that `self` holds and that nothing else refers to now.
            with(&mut self.changes, beside, &key, Some((unsafe { &mut *table }, row)))?;
        }
        self.skip_to(&turn);
        Ok(None)
    }

    /// Reads the rows with these keys; as [`Self::each`].
    #[inline(always)]
    pub(super) fn read_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        is_elsewhere: impl Fn(&R::Key) -> bool,
        mut read: impl FnMut(C, Option<&R>) -> Result<(), Stop>,
    ) -> Result<Option<(R::Key, C)>, Stop> {
        self.each::<R, C>(keys, is_elsewhere, |_, beside, _, found| {
            // SAFETY: it is a live row of a held partition, which nothing changes before `read` returns.
            read(beside, found.map(|(_, row)| unsafe { row.as_ref() }))
        })
    }

    /// Changes the rows with these keys, of a table that is not replicated; as [`Self::each`].
    #[inline(always)]
    pub(super) fn change_each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        is_elsewhere: impl Fn(&R::Key) -> bool,
        mut change: impl FnMut(C, &mut R),
    ) -> Result<Option<(R::Key, C)>, Stop> {
        // Asked once for all.
        let values = self.changes.values;
        if self.changes.keeps::<R>(values) {
            return self.each::<R, C>(keys, is_elsewhere, |changes, beside, key, found| match found {
                Some((table, row)) => changes.update_keeping(table, row, key, values, |row| change(beside, row)),
                None => Ok(()),
            });
        }
        self.each::<R, C>(keys, is_elsewhere, |changes, beside, key, found| match found {
            Some((table, row)) => changes.update_plain(table, row, key, |row| change(beside, row)),
            None => Ok(()),
        })
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
    fn out_of_turn<R: Record>(&mut self, key: R::Key, mut turn: Turn<R>) -> Result<Found<R>, Stop> {
        let raw = |(table, row): TableRow<'_, R>| (&raw mut *table, row);
        if turn.next == turn.end {
            // Of several partitions, each key has a group of its own.
            self.skip_to(&turn);
            let found = find::<R>(&mut self.held, &mut self.changes.scratch.lookups, &key)?.map(raw);
            return Ok((found, self.turn()));
        }
        let found = look_up::<R>(&mut self.held, &key)?.map(raw);
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
