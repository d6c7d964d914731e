//! The writes of a fetch stage, which only the stage itself sees.
//!
//! A fetch stage is a dry run: what it inserts, changes and deletes goes to [`PrivateWrites`] over the stored rows, so
//! that the procedure takes the path of its operate stage and fetches the pages of that path. The private writes exist
//! from the first write on; until then reads go to the pages at once.
//!
//! An optimistic stage that has changed rows before a page was missing is undone, and its changes are not among the
//! private writes. So it does not go on from there: a fetch stage begins from scratch.
//!
//! [`PrivateWrites`]: crate::procedure::PrivateWrites

use std::ops::ControlFlow;

use super::FetchStage;
use crate::classic::lock::LockMode;
use crate::classic::stack::Stack;
use crate::procedure::{Stop, StoredRows, Transaction};
use crate::record::{Bounds, Direction, Index, OrderedRecord, Record, Timestamp};

impl<S: Stack> StoredRows for FetchStage<'_, '_, S> {
    fn stored<R: Record>(&mut self, key: &R::Key) -> Result<Option<&R>, Stop> {
        let Some(rid) = FetchStage(&mut *self.0).find::<R>(key)? else { return Ok(None) };
        let table = self.0.table_of::<R>();
        FetchStage(&mut *self.0).read::<R>(table, rid).map(|row| Some(&*row))
    }

    fn scan_stored<R: OrderedRecord>(
        &mut self,
        bounds: impl Bounds<R::Key>,
        direction: Direction,
        visit: impl FnMut(&R) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.0.scan_locked(bounds, direction, LockMode::S, visit)
    }

    fn scan_index_stored<I: Index>(
        &mut self,
        bounds: impl Bounds<I::Key>,
        direction: Direction,
        visit: impl FnMut(&I::Record) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        self.0.scan_index_locked::<I>(bounds, direction, LockMode::S, visit)
    }

    fn prepare_change<R: Record>(&mut self, before: Option<&R>, after: Option<&R>) -> Result<(), Stop> {
        self.begin()?;
        let table = self.0.table_of::<R>();
        match (before, after) {
            (Some(before), after) => self.entries(table, before, after),
            (None, Some(row)) => self.fetch_insertion(table, row),
            (None, None) => {}
        }
        Ok(())
    }

    fn owns_row<R: Record>(&mut self, key: &R::Key) -> bool {
        self.0.owns::<R>(key)
    }

    fn time(&mut self) -> Timestamp {
        self.0.now()
    }

    fn next_random(&mut self) -> u64 {
        self.0.random()
    }
}
