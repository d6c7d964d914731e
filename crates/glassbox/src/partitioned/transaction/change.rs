//! A change of one row in one partition: the row, its indexes, what undoes it and what the log keeps of it.

use std::ptr::NonNull;

use super::super::partition::Scratch;
use super::watch::RESTART;
use crate::partitioned::log_records::record_buffer::RecordTooLarge;
use crate::partitioned::storage::table::{Refused, Table};
use crate::procedure::{DuplicateKey, Stop, TableFull};
use crate::record::{Key, Record};

/// The changes of one run: what they leave in the buffers of the home partition, and which of them cannot be undone.
pub(in super::super) struct Changes<'a> {
    pub(in super::super) scratch: &'a mut Scratch,
    /// Whether old rows are kept, to undo the run.
    pub(in super::super) undo: bool,
    /// Whether changes are collected for the value log.
    pub(in super::super) values: bool,
    /// Whether a deleted row keeps its place until the run is decided, because others run before that.
    pub(in super::super) places: bool,
    /// Whether anything was changed.
    pub(in super::super) wrote: bool,
    /// A change that was made in part and cannot be completed or undone by itself.
    pub(in super::super) torn: Option<Torn>,
}

/// The refusal of a row for which there is no memory.
#[cold]
pub(super) fn table_full(table: &'static str) -> Stop {
    Stop::TableFull(TableFull { table: table.into() })
}

/// A change of which only a part was made, and the table.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Torn {
    /// An index, or another copy of a replicated table, has no memory for the rest.
    Full(&'static str),
    /// The closure that changes a row panicked, and nothing was kept to put the row back.
    Panicked(&'static str),
}

impl Torn {
    #[cold]
    pub(super) fn stop(self) -> Stop {
        match self {
            Self::Full(table) => table_full(table),
            Self::Panicked(table) => Stop::abort(0, format!("the change of a row of table `{table}` panicked")),
        }
    }
}

impl Changes<'_> {
    #[inline(always)]
    pub(super) fn update_at<R: Record, O>(
        &mut self,
        table: &mut Table<R>,
        row: NonNull<R>,
        key: &R::Key,
        values: bool,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        if self.keeps::<R>(values) {
            return self.update_keeping(table, row, key, values, change);
        }
        self.update_plain(table, row, key, change)
    }

    /// Whether something needs to know all of a row as it was: a unique index, to put it back where it refuses.
    #[inline(always)]
    pub(super) fn keeps<R: Record>(&self, values: bool) -> bool {
        self.undo || values || Table::<R>::UNIQUE
    }

    /// Changes a row of which nothing needs to know more than what was in its indexes.
    #[inline(always)]
    pub(super) fn update_plain<R: Record, O>(
        &mut self,
        table: &mut Table<R>,
        row: NonNull<R>,
        key: &R::Key,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        preserve_for_snapshot(table, row);
        self.wrote = true;
        // SAFETY: it is a live row of this table, which is borrowed mutably.
        let place = unsafe { &mut *row.as_ptr() };
        let before = place.indexed();
        let torn = TearIfUnwound { torn: &mut self.torn, table: R::TABLE };
        let out = change(place);
        check_key(place, key);
        std::mem::forget(torn);
        if R::INDEXES > 0 {
            // Without memory for a node there is no way back: the change is there, and nothing can undo it, whatever
            // the procedure makes of the refusal.
            let refused = table.reindex_columns(before, table.rows.id_of(row));
            refused.inspect_err(|_| self.torn = Some(Torn::Full(R::TABLE))).map_err(|_| table_full(R::TABLE))?;
        }
        Ok(out)
    }

    /// Changes a row that something needs to know as it was.
    #[inline(always)]
    pub(super) fn update_keeping<R: Record, O>(
        &mut self,
        table: &mut Table<R>,
        place: NonNull<R>,
        key: &R::Key,
        values: bool,
        change: impl FnOnce(&mut R) -> O,
    ) -> Result<O, Stop> {
        preserve_for_snapshot(table, place);
        let copy;
        let before: &R = if self.undo {
            self.scratch.undo.updating(table, table.rows.id_of(place))
        } else {
            // SAFETY: it is a live row of this table, which is borrowed mutably.
            copy = unsafe { place.read() };
            &copy
        };
        // Until the indexes have followed, any way out of here puts the row back: they and undo know the old one.
        let out = {
            // SAFETY: as above.
            let mut guard = PutBack { row: unsafe { &mut *place.as_ptr() }, before, armed: true };
            let out = change(guard.row);
            check_key(guard.row, key);
            guard.armed = false;
            out
        };
        if R::INDEXES > 0
            && let Err(refused) = table.reindex(before, table.rows.id_of(place))
        {
            // SAFETY: as above.
            let after = unsafe { place.replace(*before) };
            return Err(table.refusal(refused, &after, Some(table.rows.id_of(place))).into());
        }
        self.wrote = true;
        if values {
            // SAFETY: as above.
            table.log_update(key, before, unsafe { place.as_ref() }, &mut self.scratch.record)?;
        }
        Ok(out)
    }

    #[inline(always)]
    pub(super) fn insert_in<R: Record>(&mut self, table: &mut Table<R>, row: &R, values: bool) -> Result<(), Stop> {
        let id = table.insert(row).map_err(|refused| Stop::from(table.refusal(refused, row, None)))?;
        self.wrote = true;
        if self.undo {
            self.scratch.undo.inserted(table, id);
        }
        if values {
            table.log_insert(row, &mut self.scratch.record)?;
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn delete_in<R: Record>(
        &mut self,
        table: &mut Table<R>,
        key: &R::Key,
        values: bool,
    ) -> Result<bool, Stop> {
        let Some(id) = table.find(key.encode()) else { return Ok(false) };
        self.wrote = true;
        if self.places {
            self.scratch.undo.unlinking(table, id);
            table.unlink(id);
        } else {
            if self.undo {
                self.scratch.undo.deleting(table, id);
            }
            table.remove(id);
        }
        // Its place may become another row's.
        self.scratch.lookups.clear();
        if values {
            table.log_delete(key, &mut self.scratch.record)?;
        }
        Ok(true)
    }
}

/// Stops the run at the change with which its log record exceeds the maximum.
impl From<RecordTooLarge> for Stop {
    fn from(_: RecordTooLarge) -> Self {
        RESTART
    }
}

/// Marks a row as half changed when its change panics: the procedure may catch the panic and go on.
struct TearIfUnwound<'t> {
    torn: &'t mut Option<Torn>,
    table: &'static str,
}

impl Drop for TearIfUnwound<'_> {
    #[cold]
    fn drop(&mut self) {
        *self.torn = Some(Torn::Panicked(self.table));
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

/// To be called before a row is changed: a checkpoint under way may still need it as it is.
#[inline(always)]
fn preserve_for_snapshot<R: Record>(table: &mut Table<R>, row: NonNull<R>) {
    if table.snapshot.is_under_way() {
        table.preserve(table.rows.id_of(row));
    }
}

/// Changing the primary key would leave the index pointing at a row that is another one.
#[inline(always)]
fn check_key<R: Record>(row: &R, key: &R::Key) {
    assert!(
        row.key().is_key(key),
        "an update changed the primary key of table `{}`; delete and insert instead",
        R::TABLE
    );
}

/// The refusal of a row of a table without secondary indexes.
#[cold]
pub(super) fn refusal_of_key<R: Record>(refused: Refused, key: &R::Encoded) -> Stop {
    match refused {
        Refused::Duplicate => Stop::DuplicateKey(Box::new(DuplicateKey::of_encoded::<R>(key))),
        Refused::Full => table_full(R::TABLE),
    }
}
