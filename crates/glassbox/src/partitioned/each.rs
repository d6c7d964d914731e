//! Many keys of one table, one after the other.
//!
//! As looking for each alone, but what keys that were declared together have in common is asked once.

use std::ptr::{NonNull, null_mut};

use super::table::Table;
use super::transaction::{PartitionedTransaction, Place};
use crate::procedure::Stop;
use crate::record::Record;

/// The group of lookups whose turn it is: its table, the next lookup, and the one behind the last.
struct Turn<R: Record> {
    table: *mut Table<R>,
    at: usize,
    end: usize,
}

impl<'a> PartitionedTransaction<'a> {
    /// Does something with each key, what stands beside it, and where its row is. It may not look for rows.
    #[inline(always)]
    pub(super) fn each<R: Record, C>(
        &mut self,
        keys: impl IntoIterator<Item = (R::Key, C)>,
        mut with: impl FnMut(&mut Self, C, &R::Key, Option<(&'a mut Table<R>, NonNull<R>)>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut turn = self.turn();
        for (key, beside) in keys {
            let mut row = None;
            if turn.at < turn.end {
                // SAFETY: the tokens are the same as when the lookups were made, and `turn` is of the group.
                row = unsafe { self.scratch.lookups.row_at::<R>(turn.at, &key) };
            }
            let found = match row {
                Some(row) => {
                    turn.at += 1;
                    // SAFETY: it is the group's table; no reference to it is left.
                    Some((unsafe { &mut *turn.table }, row))
                }
                None => self.out_of_turn(&key, &mut turn)?,
            };
            with(self, beside, &key, found)?;
        }
        self.scratch.lookups.skip(turn.at);
        Ok(())
    }

    #[inline(always)]
    fn turn<R: Record>(&self) -> Turn<R> {
        // SAFETY: the tokens are the same as when the lookups were made.
        match unsafe { self.scratch.lookups.group::<R>() } {
            Some((table, lookups)) => Turn { table, at: lookups.start, end: lookups.end },
            None => Turn { table: null_mut(), at: 0, end: 0 },
        }
    }

    /// A key that is not that of the next lookup.
    #[inline(never)]
    fn out_of_turn<R: Record>(&mut self, key: &R::Key, turn: &mut Turn<R>) -> Result<Option<Place<'a, R>>, Stop> {
        self.scratch.lookups.skip(turn.at);
        let found = self.find::<R>(key)?;
        *turn = self.turn();
        Ok(found)
    }
}
