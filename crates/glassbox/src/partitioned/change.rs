//! A change of one row in one partition: the row, its indexes, what undoes it and what the log keeps of it.

use super::memory::RowId;
use super::table::{Refused, Table};
use super::transaction::{PartitionedTransaction, table_full};
use crate::procedure::Stop;
use crate::record::{Key, Record};

impl PartitionedTransaction<'_> {
    #[inline(always)]
    pub(super) fn update_at<R: Record, O>(
        &mut self,
        table: &mut Table<R>,
        id: RowId,
        key: &R::Key,
        values: bool,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        table.preserve(id);
        if !self.undo && !values && R::INDEXES == 0 {
            self.wrote = true;
            let row = table.rows.get_mut(id);
            let out = change(row);
            check_key(row, key);
            return Ok(out);
        }
        let copy;
        let before: &R = if self.undo {
            // SAFETY: the copy in the undo buffer stays until something is added to it, which `change` cannot do.
            unsafe { &*self.scratch.undo.updating(table, id) }
        } else {
            copy = *table.rows.get(id);
            &copy
        };
        // Until the indexes have followed, any way out of here puts the row back: they and undo know the old one.
        let out = {
            let mut guard = PutBack { row: table.rows.get_mut(id), before, armed: true };
            let out = change(guard.row);
            check_key(guard.row, key);
            guard.armed = false;
            out
        };
        if R::INDEXES > 0
            && let Err(refused) = table.reindex(before, id)
        {
            *table.rows.get_mut(id) = *before;
            return Err(refused.stop::<R>());
        }
        self.wrote = true;
        if values {
            table.log_update(key, before, table.rows.get(id), &mut self.scratch.record);
        }
        Ok(out)
    }

    #[inline(always)]
    pub(super) fn insert_in<R: Record>(&mut self, table: &mut Table<R>, row: &R, values: bool) -> Result<(), Stop> {
        let id = table.insert(row).map_err(Refused::stop::<R>)?;
        self.wrote = true;
        if self.undo {
            self.scratch.undo.inserted(table, id);
        }
        if values {
            table.log_insert(row, &mut self.scratch.record);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn delete_in<R: Record>(&mut self, table: &mut Table<R>, key: &R::Key, values: bool) -> bool {
        let Some(id) = table.find(key.encode()) else { return false };
        self.wrote = true;
        if self.undo {
            self.scratch.undo.deleting(table, id);
        }
        table.remove(id);
        // Its place may become another row's.
        self.scratch.lookups.clear();
        if values {
            table.log_delete(key, &mut self.scratch.record);
        }
        true
    }
}

/// Puts a row back when its change panics.
struct PutBack<'a, R: Copy> {
    row: &'a mut R,
    before: &'a R,
    armed: bool,
}

impl<R: Copy> Drop for PutBack<'_, R> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.armed {
            *self.row = *self.before;
        }
    }
}

/// Changing the primary key would leave the index pointing at a row that is another one.
#[inline(always)]
fn check_key<R: Record>(row: &R, key: &R::Key) {
    assert!(row.key() == *key, "an update changed the primary key of table `{}`; delete and insert instead", R::TABLE);
}

impl Refused {
    #[cold]
    fn stop<R: Record>(self) -> Stop {
        match self {
            Self::Duplicate => Stop::duplicate_key(R::TABLE),
            Self::Full => table_full(R::TABLE),
        }
    }
}
