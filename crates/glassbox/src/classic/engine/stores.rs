//! The stores of a program's tables: found in the directory, or made.
//!
//! A table has a heap file of its own name, or `name@version` if its rows were converted to that version of the schema;
//! its trees are called `name/` (primary key) and `name/index`, or `name/index(columns)` if there was another index of
//! that name. Which stores are whole, the manifest says: it names tables and indexes only after their stores were made
//! and filled. Other stores were left by an interrupted attempt, by a conversion, or by an index that a program has
//! dropped; they are never used again, and a new store of that name gets a number at its end (`name/index~2`). The one
//! with the highest number counts.
//!
//! A bulk load adds rows to an empty database, without log and locks. A page that is changed without the log cannot be
//! brought back by it. So a load is only for a database without rows: the manifest says that it is going on, and if it
//! does not end well, the next opening makes the volume again from scratch, empty as it was.
//!
//! Here are the operations on all tables at once, too: their space, checks, checkpoints, the end.

use std::any::TypeId;

use crate::classic::buffer::{PoolStats, Simulated};
use crate::classic::change::Undo;
use crate::classic::directory::{self, StoreEntry, StoreKind, VOLUME_PAGE};
use crate::classic::engine::conversion::{StoredTable, convert, present_row, sorted_keys, store_name};
use crate::classic::engine::sessions::Sessions;
use crate::classic::engine::{Engine, IndexStore, TableStores, TreeUndo, granularity, key_parts};
use crate::classic::heap::HeapFile;
use crate::classic::ids::{Rid, StoreId};
use crate::classic::lock::{LockCounters, Wait};
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::recovery::{self, CheckpointLsns};
use crate::classic::stack::{Session, Stack, StackLocks, Standard, TableKeys};
use crate::classic::tree::{Definition, Find, Inserted, MAX_KEY_BYTES, anywhere};
use crate::classic::two_stage::Closures;
use crate::classic::wal::forms::{Logs, Unlogged};
use crate::classic::wal::transaction::TransactionLog;
use crate::config::Granularity;
use crate::error::Error;
use crate::executed::TableUsage;
use crate::health::{Until, await_transactions};
use crate::log::{Log, Lsn};
use crate::procedure::{AbortReason, DuplicateKey};
use crate::record::layout::{encode, key_width};
use crate::record::{EncodedKey, Index, IndexSchema, IndexVisitor, Key, Record, TableSchema, digest};
use crate::store::VolumeEntry;

impl<S: Stack> Engine<S> {
    /// Opens the stores of a table, which have this name, and the place of whose record is `id`; makes those that
    /// `stored`, the table in the manifest, does not have. Converted rows get new stores.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had, a store is missing, or rows break the promise of a new unique index.
    pub(crate) fn add_table(
        &mut self,
        id: usize,
        schema: &TableSchema,
        store: &str,
        stored: Option<StoredTable<'_>>,
    ) -> Result<(), Error> {
        self.check_widths(schema)?;
        let kept = stored.filter(|stored| stored.conversion.is_none());
        let heap = match kept {
            Some(_) => self.existing(store)?,
            None => self.make_heap(schema, store)?,
        };
        let heap = HeapFile::open(&self.pages, heap.store, heap.root, schema.row_width)?;
        if let Some(StoredTable { schema, store, conversion: Some(conversion) }) = stored {
            let mut session = self.sessions.take()?;
            let former = self.heap_of(schema, store)?;
            convert((&self.pages, &self.space), &mut session, (&former, &heap), conversion)?;
        }
        if let Some(chosen) = self.granularity_of.get(&*schema.name) {
            self.locks.set_granularity(heap.store(), granularity(*chosen));
        }
        let primary_columns = schema.key.to_vec();
        let primary_name = format!("{store}/");
        let primary = match kept {
            Some(_) => self.existing(&primary_name)?,
            None => self.make_tree(&primary_name, heap.store(), 0, true, key_width(schema, &primary_columns))?,
        };
        let primary = self.index_store(schema, schema.name.to_string(), primary_columns, primary);
        if stored.is_some() && kept.is_none() {
            self.fill(sorted_keys(&self.pages, &heap, (schema, &schema.key), None)?, &primary)?;
        }
        let mut table = TableStores { schema: schema.clone(), heap, primary, indexes: Vec::new() };
        for (at, index) in schema.indexes.iter().enumerate() {
            let known = kept.is_some_and(|stored| stored.schema.indexes.contains(index));
            table.indexes.push(self.open_index(&table, (index, at), store, known)?);
        }
        self.tables.resize_with(self.tables.len().max(id + 1), || None);
        self.tables[id] = Some(table);
        Ok(())
    }

    /// Refuses rows and keys that no page has room for. To be called of all tables before a store is made of any.
    ///
    /// # Errors
    /// When a row or a key is too wide.
    pub(crate) fn check_widths(&self, schema: &TableSchema) -> Result<(), Error> {
        HeapFile::check_width(schema.row_width, self.page_bytes())?;
        let keys = std::iter::once(&schema.key).chain(schema.indexes.iter().map(|index| &index.columns));
        match keys.map(|columns| key_width(schema, columns)).find(|width| !(1..=MAX_KEY_BYTES).contains(width)) {
            None => Ok(()),
            Some(width) => Err(Error::Catalog(format!(
                "table `{}` has a key or index of {width} bytes; the classic engine takes 1 to {MAX_KEY_BYTES}",
                schema.name
            ))),
        }
    }

    fn open_index(
        &self,
        table: &TableStores<S>,
        (index, at): (&IndexSchema, usize),
        store: &str,
        known: bool,
    ) -> Result<IndexStore<S>, Error> {
        let schema = &table.schema;
        let columns = index.columns.to_vec();
        let name = self.index_name(store, index, known)?;
        if known {
            let entry = self.existing(&name)?;
            return Ok(self.index_store(schema, format!("{}.{}", schema.name, index.name), columns, entry));
        }
        let width = key_width(schema, &columns);
        let rows = sorted_keys(&self.pages, &table.heap, (schema, &columns), None)?;
        let entry = self.make_tree(&name, table.heap.store(), at as u16 + 1, index.unique, width)?;
        let store = self.index_store(schema, format!("{}.{}", schema.name, index.name), columns, entry);
        self.fill(rows, &store)?;
        Ok(store)
    }

    /// The name of an index's tree. If another index had its name before, the positions of its columns are in it: the
    /// program with the other one may open the database again, after an attempt that was interrupted.
    fn index_name(&self, store: &str, index: &IndexSchema, known: bool) -> Result<String, Error> {
        let plain = format!("{store}/{}", index.name);
        let positions: Vec<_> = index.columns.iter().map(usize::to_string).collect();
        let with_columns = store_name(format!("{plain}({})", positions.join(",")));
        let plain = if store.contains(['@', '#']) { store_name(plain) } else { plain };
        let entries = directory::list(&self.pages)?;
        let there_is = |name: &str| entries.iter().any(|entry| base(entry) == name.as_bytes());
        Ok(if there_is(if known { &with_columns } else { &plain }) { with_columns } else { plain })
    }

    /// Refuses unique indexes of a table that `stored` does not know and that two rows contradict. To be called of all
    /// tables before a store is made of any.
    ///
    /// # Errors
    /// When there is such an index, or pages are damaged or cannot be had.
    pub(crate) fn check_new_indexes(&self, schema: &TableSchema, stored: StoredTable<'_>) -> Result<(), Error> {
        for index in schema.indexes.iter().filter(|index| index.unique && !stored.keeps_unique(index)) {
            let heap = self.heap_of(stored.schema, stored.store)?;
            let rows = sorted_keys(&self.pages, &heap, (schema, &index.columns), stored.conversion)?;
            if let Some(pair) = rows.windows(2).find(|pair| pair[0].0 == pair[1].0) {
                let present = |row: &[u8]| present_row(row, stored.conversion).into_owned();
                let read = |rid| heap.read(&self.pages, rid, present);
                let one = read(pair[0].1)?.expect("it was scanned just now");
                let other = read(pair[1].1)?.expect("it was scanned just now");
                return Err(Error::not_unique(schema, index, [&one, &other]));
            }
        }
        Ok(())
    }

    /// The heap file of a stored table.
    fn heap_of(&self, schema: &TableSchema, store: &str) -> Result<HeapFile, Error> {
        let heap = self.existing(store)?;
        HeapFile::open(&self.pages, heap.store, heap.root, schema.row_width)
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
        let locks_leaves = self.granularity(&schema.name) == Granularity::PageAndLeaf;
        IndexStore { name, tree, entry, columns, locks_leaves }
    }

    /// The latest store of this name; there must be one.
    fn existing(&self, name: &str) -> Result<StoreEntry, Error> {
        let mut entries = directory::list(&self.pages)?;
        entries.retain(|entry| base(entry) == name.as_bytes());
        entries.pop().ok_or_else(|| {
            let problem = format!("the directory has no store `{name}`, which the manifest says there is");
            crate::classic::page::damaged(crate::classic::ids::PageId(0), self.page_bytes(), problem)
        })
    }

    /// A name for a new store: the plain one if it is free.
    fn new_name(&self, name: &str) -> Result<String, Error> {
        let entries = directory::list(&self.pages)?;
        let count = entries.iter().filter(|entry| base(entry) == name.as_bytes()).count();
        Ok(if count == 0 { name.to_owned() } else { format!("{name}~{}", count + 1) })
    }

    fn make_heap(&self, schema: &TableSchema, store: &str) -> Result<StoreEntry, Error> {
        let name = self.new_name(store)?;
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
    pub(crate) fn all_trees(&self) -> Result<Vec<Definition<S::Keys>>, Error> {
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

/// Rows and keys on their way; those of usual size need no allocation.
type RowBytes = smallvec::SmallVec<[u8; 1024]>;

impl<S: Stack> Engine<S> {
    /// Refuses a load into a database that has rows. To be asked while no transaction runs.
    ///
    /// # Errors
    /// When it has some, or a page cannot be read.
    pub(crate) fn check_empty(&self) -> Result<(), Error> {
        if let Some(prepared) = self.prepared.list().first() {
            let name = &prepared.name;
            return Err(Error::Config(format!("transaction `{name}` is prepared: commit it or roll it back first")));
        }
        for table in self.tables.iter().flatten() {
            let empty = self.tree(&table.primary).len()? == 0;
            if !empty {
                return Err(Error::Config(format!(
                    "a bulk load fills an empty database, but table `{}` has rows: insert by transactions",
                    table.schema.name
                )));
            }
        }
        Ok(())
    }

    /// Adds a row within a load.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] when a key is there already; others when pages fail.
    pub(crate) fn load_row<R: Record>(&self, row: &R) -> Result<(), Error> {
        let (stored, keys) = encode_row(row);
        match self.load_stored(self.table::<R>(), &stored, &keys)? {
            None => Ok(()),
            Some(tree) => {
                let duplicate = DuplicateKey::of(row, tree.checked_sub(1));
                Err(AbortReason::DuplicateKey(Box::new(duplicate)).into())
            }
        }
    }

    // What does not depend on the record's type is compiled once for all of them.

    /// Adds a row in its stored form; `keys` are those of all its indexes, the primary one's first. The place among
    /// these of the one that has its key already, if so.
    #[inline(never)]
    fn load_stored(&self, table: &TableStores<S>, stored: &[u8], keys: &[u8]) -> Result<Option<usize>, Error> {
        let mut journal = self.loading.take()?;
        let loaded = self.load_into(&mut journal, table, stored, keys);
        match &loaded {
            Ok(None) => journal.commit().map(drop)?,
            Ok(Some(_)) | Err(_) => journal.abort(&self.pages, &mut TreeUndo(self))?,
        }
        self.loading.give_back(journal);
        loaded
    }

    fn load_into(
        &self,
        journal: &mut TransactionLog<Unlogged>,
        table: &TableStores<S>,
        stored: &[u8],
        mut keys: &[u8],
    ) -> Result<Option<usize>, Error> {
        let placed = table.heap.insert(&self.pages, &self.space, journal, stored, |_| true)?;
        let rid = placed.expect("every place is admitted");
        for (at, index) in table.trees().enumerate() {
            let (key, others) = keys.split_at(index.key_width());
            match self.tree(index).insert(journal, key, rid, Undo::Logical, anywhere)? {
                Inserted::Done => keys = others,
                _ => return Ok(Some(at)),
            }
        }
        Ok(None)
    }
}

/// The stored form of a row, and its keys: the primary one, then those of its secondary indexes, one behind the other.
#[inline(never)]
fn encode_row<R: Record>(row: &R) -> (RowBytes, RowBytes) {
    let mut stored = RowBytes::from_elem(0, R::ROW_WIDTH);
    row.store(&mut stored);
    let mut keys = RowBytes::new();
    let primary: R::Encoded = row.key().encode();
    primary.for_bytes(R::Key::WIDTH, |key| keys.extend_from_slice(key));
    R::each_index(&mut EncodeAll { row, keys: &mut keys });
    (stored, keys)
}

/// Encodes the keys of a new row in its secondary indexes, one behind the other.
struct EncodeAll<'a, R> {
    row: &'a R,
    keys: &'a mut RowBytes,
}

impl<R: Record> IndexVisitor<R> for EncodeAll<'_, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        let key: I::Encoded = I::key(self.row).encode();
        key.for_bytes(I::Key::WIDTH, |key| self.keys.extend_from_slice(key));
    }
}

impl<S: Stack> Engine<S> {
    /// A number that all rows of all tables give, wherever they are: equal for equal contents.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had.
    pub(crate) fn digest(&self) -> Result<u64, Error> {
        self.sessions.quietly(|_| {
            let _decisions = self.prepared.hold_decisions();
            let mut sum = 0_u64;
            for table in self.tables.iter().flatten() {
                let name = digest(0, table.schema.name.as_bytes());
                table.heap.scan(&self.pages, |_, row| {
                    sum = sum.wrapping_add(digest(name, row));
                    Ok(())
                })?;
            }
            Ok(sum)
        })?
    }

    /// The space of each table. Reads all trees and heap files.
    pub(crate) fn usage(&self) -> Vec<TableUsage> {
        // An unreadable table is reported by its users; here it counts as empty.
        self.tables.iter().flatten().filter_map(|table| self.usage_of(table).ok()).collect()
    }

    /// The space of a table. Reads its trees and its heap file.
    ///
    /// # Errors
    /// When a page is damaged or cannot be read, or there is no such table.
    pub(crate) fn usage_of_table(&self, table: &str) -> Result<TableUsage, Error> {
        let known = self.tables.iter().flatten().find(|known| known.schema.name == table);
        self.usage_of(known.ok_or_else(|| Error::Catalog(format!("there is no table `{table}`")))?)
    }

    fn usage_of(&self, table: &TableStores<S>) -> Result<TableUsage, Error> {
        let page_bytes = self.page_bytes() as u64;
        let mut heap_pages = 0;
        table.heap.verify(&self.pages, |_| heap_pages += 1)?;
        let mut index_bytes = Vec::new();
        for index in table.trees() {
            index_bytes.push((index.name.clone(), self.tree(index).pages()?.len() as u64 * page_bytes));
        }
        let rows = self.tree(&table.primary).len()?;
        Ok(TableUsage { table: table.schema.name.to_string(), rows, row_bytes: heap_pages * page_bytes, index_bytes })
    }

    /// Faults: in the structure of trees and heap files, in indexes that do not agree with their table, in
    /// pages of two owners or of none. No transaction runs meanwhile.
    pub(crate) fn verify(&self) -> Vec<String> {
        let checked = self.sessions.quietly(|_| {
            let _decisions = self.prepared.hold_decisions();
            let mut wrong = Vec::new();
            for table in self.tables.iter().flatten() {
                if let Err(error) = self.verify_table(table, &mut wrong) {
                    wrong.push(format!("table `{}`: {error}", table.schema.name));
                }
            }
            // The pages of a broken structure are unknown.
            if wrong.is_empty()
                && let Err(error) = self.verify_space(&mut wrong)
            {
                wrong.push(error.to_string());
            }
            wrong
        });
        checked.unwrap_or_else(|error| vec![error.to_string()])
    }

    fn verify_table(&self, table: &TableStores<S>, wrong: &mut Vec<String>) -> Result<(), Error> {
        table.heap.verify(&self.pages, |_| {})?;
        let mut rows = 0;
        table.heap.scan(&self.pages, |_, _| {
            rows += 1;
            Ok(())
        })?;
        for index in table.trees() {
            let tree = self.tree(index);
            let problems = tree.check()?;
            wrong.extend(problems.iter().map(|problem| format!("index `{}`: {problem}", index.name)));
            if !problems.is_empty() {
                continue;
            }
            let entries = tree.len()?;
            if entries != rows {
                wrong.push(format!("index `{}` has {entries} entries for {rows} rows", index.name));
            }
            self.verify_entries(table, index, wrong)?;
        }
        Ok(())
    }

    /// That every row is found by its key.
    fn verify_entries(
        &self,
        table: &TableStores<S>,
        index: &IndexStore<S>,
        wrong: &mut Vec<String>,
    ) -> Result<(), Error> {
        let tree = self.tree(index);
        let (mut key, mut lost): (Vec<u8>, Vec<Rid>) = (Vec::new(), Vec::new());
        table.heap.scan(&self.pages, |rid, row| {
            key.clear();
            encode(&table.schema, &index.columns, row, &mut key);
            if tree.find(&key, |_| true)? != Find::Found(rid) {
                lost.push(rid);
            }
            Ok(())
        })?;
        wrong.extend(lost.into_iter().map(|rid| format!("index `{}` does not find record {rid}", index.name)));
        Ok(())
    }
}

impl Engine<Standard> {
    /// What the buffer pool did since it was made.
    pub(crate) fn pool_stats(&self) -> PoolStats {
        self.pages.stats()
    }

    /// Bytes of a page, and pages that fit in memory.
    pub(crate) fn pool_size(&self) -> (usize, usize) {
        (self.pages.page_bytes(), self.pages.frames())
    }

    /// What the pool should have done so far by the replacement policy alone, as a simulator tells that is given the
    /// recorded fixes; `None` unless they are recorded.
    pub(crate) fn simulated(&self) -> Option<Simulated> {
        self.pages.simulated()
    }

    /// What waited for locks.
    pub(crate) fn lock_counters(&self) -> LockCounters {
        self.locks.counters()
    }

    /// The last waits for locks that are over, oldest first.
    pub(crate) fn lock_waits(&self) -> Vec<Wait> {
        self.locks.waits()
    }

    /// What people call the store of this number: table or index.
    pub(crate) fn store_in_words(&self, store: StoreId) -> String {
        for table in self.tables.iter().flatten() {
            if table.heap.store() == store {
                return format!("table `{}`", table.schema.name);
            }
            if let Some(index) = table.trees().find(|index| index.store() == store) {
                return format!("index `{}`", index.name);
            }
        }
        format!("store {store}")
    }

    /// Whether pages can be written; why not otherwise.
    pub(crate) fn check_writing(&self) -> Result<(), Error> {
        self.pages.check_writing()
    }

    /// The log.
    pub(crate) fn log(&self) -> &Log {
        &self.logs.0
    }

    /// Writes all pages that are dirty now, then makes a fuzzy checkpoint. Transactions go on meanwhile. Puts what the
    /// manifest must say of it into `entry`; returns the position from which on the log is needed.
    ///
    /// # Errors
    /// When pages cannot be read or written, or the log refuses.
    pub(crate) fn checkpoint(&self, entry: &mut VolumeEntry) -> Result<Lsn, Error> {
        let stamp = self.stamp()?;
        self.pages.flush_all()?;
        let batch = self.pages.last_batch()?;
        let mut device = self.logs.device()?;
        let CheckpointLsns { begin, needed_from } =
            recovery::checkpoint(&self.logs, &mut device, &self.transactions, || self.pages.dirty_pages())?;
        let page_bytes = entry.page_bytes;
        *entry = VolumeEntry { page_bytes, checkpoint: begin.0, loading: false, stamp: stamp.0, batch };
        Ok(needed_from)
    }

    /// Raises the LSN of page 0 to the end of the log: by it a copy of the file tells which checkpoint it is of. A
    /// record that changes the page later ends after that position, as one that changed it before does not.
    fn stamp(&self) -> Result<Lsn, Error> {
        let mut page = self.pages.fix_exclusive(VOLUME_PAGE)?;
        let end = self.log().appended();
        page.changed(end, end);
        Ok(end)
    }

    /// Waits for the transactions of all sessions.
    ///
    /// # Errors
    /// As for [`await_transactions`].
    pub(crate) fn await_transactions(&self, until: Until) -> Result<(), Error> {
        if self.health.is_stopped() {
            // No decision will end what these wait for.
            self.locks.end_waits();
        }
        drop(self.prepared.hold_decisions());
        let place = |(at, counters)| (counters, move || self.sessions.is_free(at));
        let places = self.counters.iter().map(|counters| &**counters).enumerate().map(place);
        await_transactions("session", places, until).map_err(|error| self.name_running(error))
    }

    /// The same error with the procedure that runs in the session.
    #[cold]
    fn name_running(&self, error: Error) -> Error {
        let Error::Busy { place, seconds, .. } = error else { return error };
        let session = self.counters.iter().enumerate().find(|(at, _)| place == format!("session {at}"));
        let number = session.and_then(|(_, counters)| counters.running.number());
        let procedure = number.and_then(|number| self.procedures.get(usize::from(number)));
        let procedure = procedure.filter(|known| known.id != TypeId::of::<Closures>());
        let running = procedure.map_or("a closure".to_owned(), |known| format!("procedure \"{}\"", known.name));
        Error::Busy { place, running, seconds }
    }

    /// Refuses further decisions about prepared transactions.
    pub(crate) fn end_decisions(&self) {
        self.prepared.close();
    }

    /// Ends the background writer, and writes no page from here on: the files may be those of another opening then.
    pub(crate) fn end_pages(&self) {
        if let Some(writer) = &self.writer {
            writer.stop();
        }
        self.pages.stop("the database was closed");
    }

    /// Refuses a checkpoint of what does not count: half a transaction that could not be undone, or half a bulk load,
    /// unless the checkpoint is that of the load, or of a close, which has the engine `alone`.
    pub(crate) fn check_whole(&self, alone: bool) -> Result<(), Error> {
        if alone && !self.health.is_stopped() { Ok(()) } else { self.check() }
    }

    /// Returns when all that was appended is durable.
    pub(crate) fn force_log(&self) -> Result<(), Error> {
        Ok(self.log().force()?)
    }
}
