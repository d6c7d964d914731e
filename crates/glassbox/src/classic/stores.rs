//! The stores of a program's tables: found in the directory, or made.
//!
//! A table has a heap file of its own name; the tree of its primary key is called `name/`, that of an index
//! `name/index`. Which of them are whole, the manifest says: it names tables and indexes only after their stores were
//! made and filled. Other stores in the directory were left by an interrupted attempt, or by an index
//! that a program has dropped; it is never used again, and a new store of that name gets a number behind it
//! (`name/index~2`). The one with the highest number counts.

use super::change::Undo;
use super::directory::{self, StoreEntry, StoreKind};
use super::engine::Engine;
use super::heap::HeapFile;
use super::ids::{Rid, StoreId};
use super::make::granularity;
use super::session::Session;
use super::sessions::Sessions;
use super::stack::{Stack, StackLocks, TableKeys};
use super::table::{IndexStore, TableStores, key_parts};
use super::tree::{Definition, Inserted, MOST_KEY_BYTES, anywhere};
use crate::error::Error;
use crate::record::layout::encode;
use crate::record::{IndexSchema, TableSchema};

impl<S: Stack> Engine<S> {
    /// Opens the stores of a table, the place of whose record is `id`; makes those that `stored`, the schema in the
    /// manifest, does not name.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had, a store is missing, or rows break the promise of a new unique index.
    pub(crate) fn add_table(
        &mut self,
        id: usize,
        schema: &TableSchema,
        stored: Option<&TableSchema>,
    ) -> Result<(), Error> {
        check_key_widths(schema)?;
        let heap = match stored {
            Some(_) => self.existing(&schema.name)?,
            None => self.make_heap(schema)?,
        };
        let heap = HeapFile::open(&self.pages, heap.store, heap.root, schema.row_width)?;
        if let Some(chosen) = self.granularity_of.get(&*schema.name) {
            self.locks.set_granularity(heap.store(), granularity(*chosen));
        }
        let primary_columns = schema.key.to_vec();
        let primary_name = format!("{}/", schema.name);
        let primary = match stored {
            Some(_) => self.existing(&primary_name)?,
            None => self.make_tree(&primary_name, heap.store(), 0, true, key_width(schema, &primary_columns))?,
        };
        let primary = self.index_store(schema, schema.name.to_string(), primary_columns, primary);
        let mut table = TableStores { schema: schema.clone(), heap, primary, indexes: Vec::new() };
        for (at, index) in schema.indexes.iter().enumerate() {
            let known = stored.is_some_and(|stored| stored.indexes.contains(index));
            let store = self.open_index(&table, index, at, known)?;
            table.indexes.push(store);
        }
        if self.tables.len() <= id {
            self.tables.resize_with(id + 1, || None);
        }
        self.tables[id] = Some(table);
        Ok(())
    }

    fn open_index(
        &self,
        table: &TableStores<S>,
        index: &IndexSchema,
        at: usize,
        known: bool,
    ) -> Result<IndexStore<S>, Error> {
        let schema = &table.schema;
        let (name, columns) = (format!("{}/{}", schema.name, index.name), index.columns.to_vec());
        if known {
            let entry = self.existing(&name)?;
            return Ok(self.index_store(schema, format!("{}.{}", schema.name, index.name), columns, entry));
        }
        let width = key_width(schema, &columns);
        let rows = self.sorted_keys(&table.heap, schema, &columns)?;
        let entry = self.make_tree(&name, table.heap.store(), at as u16 + 1, index.unique, width)?;
        let store = self.index_store(schema, format!("{}.{}", schema.name, index.name), columns, entry);
        self.fill(rows, &store)?;
        Ok(store)
    }

    /// Refuses unique indexes of a table that `stored` does not know and that two rows contradict. To be called of all
    /// tables before a store is made of any.
    ///
    /// # Errors
    /// When there is such an index, or pages are damaged or cannot be had.
    pub(crate) fn check_new_indexes(&self, schema: &TableSchema, stored: &TableSchema) -> Result<(), Error> {
        for index in schema.indexes.iter().filter(|index| index.unique && !stored.keeps_unique(index)) {
            let heap = self.existing(&schema.name)?;
            let heap = HeapFile::open(&self.pages, heap.store, heap.root, schema.row_width)?;
            let rows = self.sorted_keys(&heap, schema, &index.columns)?;
            if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let read = |rid| heap.read(&self.pages, rid, <[u8]>::to_vec);
                let one = read(pair[0].1)?.expect("it was scanned just now");
                let other = read(pair[1].1)?.expect("it was scanned just now");
                return Err(Error::not_unique(schema, index, [&one, &other]));
            }
        }
        Ok(())
    }

    /// The keys of all rows of a table in an index, in their order.
    fn sorted_keys(
        &self,
        heap: &HeapFile,
        schema: &TableSchema,
        columns: &[usize],
    ) -> Result<Vec<(Vec<u8>, Rid)>, Error> {
        let mut rows = Vec::new();
        heap.scan(&self.pages, |rid, row| {
            let mut key = Vec::new();
            encode(schema, columns, row, &mut key);
            rows.push((key, rid));
            Ok(())
        })?;
        rows.sort_unstable();
        Ok(rows)
    }

    /// Inserts an entry for each row into an index that is new, in their order, so that the tree is filled page by
    /// page. They are never rolled back: an index counts only once the manifest names it.
    fn fill(&self, rows: Vec<(Vec<u8>, Rid)>, index: &IndexStore<S>) -> Result<(), Error> {
        let mut session = self.sessions.take()?;
        let Session { journal, .. } = &mut *session;
        let tree = self.tree(index);
        for (key, rid) in rows {
            let inserted = tree.insert(journal, &key, rid, Undo::Nothing, anywhere)?;
            assert!(matches!(inserted, Inserted::Done), "`check_new_indexes` found that keys are unique");
        }
        journal.commit()?;
        Ok(())
    }

    fn index_store(&self, schema: &TableSchema, name: String, columns: Vec<usize>, entry: StoreEntry) -> IndexStore<S> {
        let keys = S::Keys::of(&key_parts(schema, &columns));
        let tree = Definition::new(entry.store, entry.root, keys, self.page_bytes());
        IndexStore { name, tree, entry, columns }
    }

    /// The latest store of this name; there must be one.
    fn existing(&self, name: &str) -> Result<StoreEntry, Error> {
        let mut entries = directory::list(&self.pages)?;
        entries.retain(|entry| base(entry) == name.as_bytes());
        entries.pop().ok_or_else(|| {
            let problem = format!("the directory has no store `{name}`, which the manifest says there is");
            super::page::damaged(super::ids::PageId(0), self.page_bytes(), problem)
        })
    }

    /// A name for a new store: the plain one if it is free.
    fn new_name(&self, name: &str) -> Result<String, Error> {
        let entries = directory::list(&self.pages)?;
        let count = entries.iter().filter(|entry| base(entry) == name.as_bytes()).count();
        Ok(if count == 0 { name.to_owned() } else { format!("{name}~{}", count + 1) })
    }

    fn make_heap(&self, schema: &TableSchema) -> Result<StoreEntry, Error> {
        let name = self.new_name(&schema.name)?;
        let width = u16::try_from(schema.row_width)
            .map_err(|_| Error::Catalog(format!("a row of table `{}` is larger than any page", schema.name)))?;
        let mut session = self.sessions.take()?;
        let journal = &mut session.journal;
        // A failed attempt is left as it is, for the next opening to undo.
        let made = directory::create_heap(&self.pages, &self.space, journal, name.as_bytes(), width)?;
        journal.commit()?;
        Ok(made)
    }

    fn make_tree(
        &self,
        name: &str,
        heap: StoreId,
        number: u16,
        is_unique: bool,
        key_width: usize,
    ) -> Result<StoreEntry, Error> {
        let name = self.new_name(name)?;
        let mut session = self.sessions.take()?;
        let journal = &mut session.journal;
        let kind = StoreKind::Tree { key_width: key_width as u16, heap, number, is_unique };
        let made = directory::create_tree(&self.pages, &self.space, journal, name.as_bytes(), kind)?;
        journal.commit()?;
        Ok(made)
    }

    /// All trees of the directory, whatever they are of: enough to undo a transaction's changes of them.
    pub(super) fn all_trees(&self) -> Result<Vec<Definition<S::Keys>>, Error> {
        let entries = directory::list(&self.pages)?;
        entries.iter().filter_map(|entry| self.any_tree(entry).transpose()).collect()
    }
}

/// The name of a store without the number behind it.
fn base(entry: &StoreEntry) -> &[u8] {
    let name = entry.name.as_bytes();
    match name.iter().rposition(|byte| *byte == b'~') {
        Some(at) if name[at + 1..].iter().all(u8::is_ascii_digit) => &name[..at],
        _ => name,
    }
}

/// Refuses keys that no node of a tree has room for.
fn check_key_widths(schema: &TableSchema) -> Result<(), Error> {
    let keys = std::iter::once(&schema.key).chain(schema.indexes.iter().map(|index| &index.columns));
    for columns in keys {
        let width = key_width(schema, columns);
        if !(1..=MOST_KEY_BYTES).contains(&width) {
            return Err(Error::Catalog(format!(
                "table `{}` has a key or index of {width} bytes; the classic engine takes 1 to {MOST_KEY_BYTES}",
                schema.name
            )));
        }
    }
    Ok(())
}

/// Width of a key of these columns.
fn key_width(schema: &TableSchema, columns: &[usize]) -> usize {
    columns.iter().map(|&at| schema.columns[at].width).sum()
}
