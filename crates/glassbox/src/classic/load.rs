//! Bulk loads: rows into an empty database, without log and locks.
//!
//! A page that is changed without the log cannot be brought back by it. So a load is only for a database without rows:
//! the manifest says that it is going on, and if it does not end well, the next opening makes the volume anew, empty as
//! it was.

use std::sync::{Arc, Mutex, PoisonError};

use super::change::Undo;
use super::engine::Engine;
use super::ids::Rid;
use super::open::unlogged;
use super::pages::Pages;
use super::sessions::Sessions;
use super::stack::Stack;
use super::table::{IndexStore, TableStores};
use super::tree::Inserted;
use super::undo::TreeUndo;
use super::wal::forms::Unlogged;
use super::wal::table::TransactionTable;
use super::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::procedure::Abort;
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record};

/// Threads that may load at once.
const LOADERS: usize = 256;

type Journal = TransactionLog<Unlogged>;

/// The journals of a load, handed out to whoever adds a row.
#[derive(Default)]
pub(super) struct Loading {
    table: Mutex<Option<Arc<TransactionTable>>>,
    idle: Mutex<Vec<Journal>>,
}

impl Loading {
    fn take(&self) -> Result<Journal, Error> {
        if let Some(journal) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(journal);
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        unlogged(table.get_or_insert_with(|| TransactionTable::new(LOADERS)))
    }

    fn give_back(&self, journal: Journal) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(journal);
    }
}

impl<S: Stack> Engine<S> {
    /// Refuses transactions from here on, until [`Engine::end_loading`]; none runs when this returns.
    ///
    /// # Errors
    /// When the database has rows, or takes no work.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.sessions.quietly(|_| {
            for table in self.tables.iter().flatten() {
                let empty = self.tree(&table.primary).len()? == 0;
                if !empty {
                    return Err(Error::Config(format!(
                        "a bulk load fills an empty database, but table `{}` has rows: insert by transactions",
                        table.schema.name
                    )));
                }
            }
            self.health.begin_loading()
        })?
    }

    /// Admits transactions again, unless the database stopped meanwhile.
    pub(crate) fn end_loading(&self) {
        self.health.end_loading();
    }

    /// Adds a row within a load.
    ///
    /// # Errors
    /// [`Error::Aborted`] when a key is there already; others when pages fail.
    pub(crate) fn load_row<R: Record>(&self, row: &R) -> Result<(), Error> {
        let mut journal = self.loading.take()?;
        let loaded = self.load_into(&mut journal, row);
        match &loaded {
            Ok(()) => journal.commit().map(drop)?,
            Err(_) => journal.abort(&self.pages, &mut TreeUndo(self))?,
        }
        self.loading.give_back(journal);
        loaded
    }

    fn load_into<R: Record>(&self, journal: &mut Journal, row: &R) -> Result<(), Error> {
        let table = self.table::<R>();
        let mut stored = smallvec::SmallVec::<[u8; 1024]>::from_elem(0, R::ROW_WIDTH);
        row.store(&mut stored);
        let placed = table.heap.insert(&self.pages, &self.space, journal, &stored, |_| true)?;
        let rid = placed.expect("every place is admitted");
        self.enter_unlogged::<R>(journal, &table.primary, row.key().encode::<R::Encoded>(), rid)?;
        let mut enter = EnterAll { engine: self, journal, table, row, rid, entered: Ok(()) };
        R::each_index(&mut enter);
        enter.entered
    }

    fn enter_unlogged<R: Record>(
        &self,
        journal: &mut Journal,
        index: &IndexStore<S>,
        key: impl EncodedKey,
        rid: Rid,
    ) -> Result<(), Error> {
        let tree = self.tree(index);
        let inserted =
            key.for_bytes(index.key_width(), |key| tree.insert(journal, key, rid, Undo::Logical, |_| true))?;
        match inserted {
            Inserted::Done => Ok(()),
            _ => Err(Abort { code: Abort::DUPLICATE_KEY, message: R::TABLE.into() }.into()),
        }
    }
}

/// Enters a new row into the secondary indexes.
struct EnterAll<'a, S: Stack, R> {
    engine: &'a Engine<S>,
    journal: &'a mut Journal,
    table: &'a TableStores<S>,
    row: &'a R,
    rid: Rid,
    entered: Result<(), Error>,
}

impl<S: Stack, R: Record> IndexVisitor<R> for EnterAll<'_, S, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        if self.entered.is_ok() {
            let key: I::Encoded = I::key(self.row).encode();
            let index = &self.table.indexes[I::POSITION];
            self.entered = self.engine.enter_unlogged::<R>(self.journal, index, key, self.rid);
        }
    }
}
