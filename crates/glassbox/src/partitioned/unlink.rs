//! Taking a row out of a table's indexes while it keeps its place, so that no other row gets it before that is certain;
//! and putting rows back.

use super::memory::RowId;
use super::table::Table;
use crate::record::{Key, Record};

impl<R: Record> Table<R> {
    /// Takes a row out of every index, and leaves it where it is.
    pub(crate) fn unlink(&mut self, id: RowId) {
        self.preserve(id);
        let row = *self.rows.get(id);
        self.remove_primary(row.key().encode(), id);
        self.remove_secondary(&row, R::INDEXES);
    }

    /// Puts a removed row back where it was, and into every index.
    pub(crate) fn put_back(&mut self, row: &R, id: RowId) {
        self.rows.put_back(id, row);
        self.relink(id);
        self.snapshot.inserted(id);
    }

    /// Puts a row back into every index.
    pub(crate) fn relink(&mut self, id: RowId) {
        let row = *self.rows.get(id);
        self.restore_primary(row.key().encode(), id);
        self.restore_secondary(&row, id);
    }
}
