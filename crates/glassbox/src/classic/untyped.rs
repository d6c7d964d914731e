//! Rows without their types: for tools, which have the schema only.

use super::directory::{self, StoreEntry};
use super::engine::Engine;
use super::stack::{Stack, Standard};
use super::table::TableStores;
use super::tree::{Cursor, Step};
use crate::error::Error;
use crate::record::Direction;

impl<S: Stack> Engine<S> {
    /// Gives every row of a table, in its stored form, to `each`, in the order of the primary key. The row's page is
    /// latched meanwhile. No transaction runs.
    ///
    /// # Errors
    /// Those of `each`, and when a page is damaged or cannot be read.
    pub(crate) fn each_row<E: From<Error>>(
        &self,
        table: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(table) = self.stores_of(table) else { return Ok(()) };
        let tree = self.tree(&table.primary);
        let width = table.primary.key_width();
        let mut cursor = Cursor::new(Direction::Forward, &vec![0; width], &vec![u8::MAX; width]);
        while let Step::Got(rid) = cursor.step(&tree, |_| true)? {
            let read = table.heap.read(&self.pages, rid, &mut each)?;
            read.ok_or_else(|| self.missing_record(&table.schema.name, rid))??;
        }
        Ok(())
    }

    fn stores_of(&self, table: &str) -> Option<&TableStores<S>> {
        self.tables.iter().flatten().find(|known| known.schema.name == table)
    }

    /// All stores, in the order in which they were made.
    ///
    /// # Errors
    /// When the directory is damaged or cannot be read.
    pub(crate) fn stores(&self) -> Result<Vec<StoreEntry>, Error> {
        directory::list(&self.pages)
    }

    /// Whether a store is in use: others were left by what was interrupted or given up.
    pub(crate) fn is_in_use(&self, entry: &StoreEntry) -> bool {
        let mut tables = self.tables.iter().flatten();
        tables.any(|table| table.heap.store() == entry.store || table.trees().any(|index| index.store() == entry.store))
    }
}

impl Engine<Standard> {
    /// Writes all pages to the file.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.pages.flush_all().map(drop)
    }
}
