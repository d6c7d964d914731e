//! Bulk loads: rows into an empty database, without log and locks.
//!
//! A page that is changed without the log cannot be brought back by it. So a load is only for a database without rows:
//! the manifest says that it is going on, and if it does not end well, the next opening makes the volume again from
//! scratch, empty as it was.

use std::sync::{Arc, Mutex, PoisonError};

use super::change::Undo;
use super::engine::Engine;
use super::ids::Rid;
use super::open::unlogged;
use super::stack::Stack;
use super::table::TableStores;
use super::tree::{Inserted, anywhere};
use super::undo::TreeUndo;
use super::wal::forms::Unlogged;
use super::wal::table::TransactionTable;
use super::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::procedure::{AbortReason, DuplicateKey};
use crate::record::{EncodedKey, Index, IndexVisitor, Key, Record};

/// Threads that may load at once.
const LOADERS: usize = 256;

type Journal = TransactionLog<Unlogged>;
/// Rows and keys on their way; those of usual size need no allocation.
type Bytes = smallvec::SmallVec<[u8; 1024]>;

/// The journals of a load, handed out to the threads that add rows.
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
    /// Refuses a load into a database that has rows. To be asked while no transaction runs.
    ///
    /// # Errors
    /// When it has some, or a page cannot be read.
    pub(crate) fn check_empty(&self) -> Result<(), Error> {
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
        let (stored, keys) = encode(row);
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
        journal: &mut Journal,
        table: &TableStores<S>,
        stored: &[u8],
        mut keys: &[u8],
    ) -> Result<Option<usize>, Error> {
        let placed = table.heap.insert(&self.pages, &self.space, journal, stored, any_place)?;
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

/// No lock is in the way.
fn any_place(_: Rid) -> bool {
    true
}

/// The stored form of a row, and its keys: the primary one, then those of its secondary indexes, one behind the other.
#[inline(never)]
fn encode<R: Record>(row: &R) -> (Bytes, Bytes) {
    let mut stored = Bytes::from_elem(0, R::ROW_WIDTH);
    row.store(&mut stored);
    let mut keys = Bytes::new();
    let primary: R::Encoded = row.key().encode();
    primary.for_bytes(R::Key::WIDTH, |key| keys.extend_from_slice(key));
    R::each_index(&mut EncodeAll { row, keys: &mut keys });
    (stored, keys)
}

/// Encodes the keys of a new row in its secondary indexes, one behind the other.
struct EncodeAll<'a, R> {
    row: &'a R,
    keys: &'a mut Bytes,
}

impl<R: Record> IndexVisitor<R> for EncodeAll<'_, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        let key: I::Encoded = I::key(self.row).encode();
        key.for_bytes(I::Key::WIDTH, |key| self.keys.extend_from_slice(key));
    }
}
