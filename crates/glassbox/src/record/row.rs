//! Records and indexes: what `#[derive(Record)]` writes for a struct.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::column::BadColumn;
use super::encoded::EncodedKey;
use super::key::Key;
use super::schema::{TableHistory, TableSchema};
use super::sound::Sound;

/// What the primary index of a table must be able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Lookups and scans in key order: a tree.
    Ordered,
    /// Lookups only: a hash table, which costs about half as much. A scan of such a table is refused when compiled.
    Point,
}

/// Stored bytes that are no row of their table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadRow {
    /// Fewer or more bytes than the schema says.
    #[error("row of table `{table}` has {found} bytes where {expected} are needed")]
    Width {
        /// The table.
        table: &'static str,
        /// Bytes there are.
        found: usize,
        /// Bytes there should be.
        expected: usize,
    },
    /// A column whose bytes are no value of its type.
    #[error("column `{column}` of table `{table}` is {bad}")]
    Column {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The error of its bytes.
        bad: BadColumn,
    },
    /// A set of changed columns that names columns the table does not have.
    #[error("change of table `{table}` names columns it does not have")]
    Mask {
        /// The table.
        table: &'static str,
    },
}

/// A struct that is a row of a table. Derived; see the crate's `Record` macro for the attributes.
pub trait Record: Copy + Send + Sync + 'static {
    /// The primary key: one column, or a tuple.
    type Key: Key;
    /// How the primary key is encoded: one integer where it fits.
    type Encoded: EncodedKey;
    /// The columns that a secondary index has and the primary key has not.
    #[doc(hidden)]
    type Indexed: Copy;
    /// The table's name.
    const TABLE: &'static str;
    /// The schema as data.
    const SCHEMA: TableSchema;
    /// Width of a stored row in bytes.
    const ROW_WIDTH: usize;
    /// What the primary index must be able to do.
    const ACCESS: Access;
    /// Position within the key of the column that decides the partition; `None`: the table is replicated.
    const PLACEMENT: Option<usize>;
    /// How many columns there are, at most 64.
    const COLUMNS: usize;
    /// How many secondary indexes there are.
    const INDEXES: usize;
    /// Earlier versions of the table.
    const HISTORY: TableHistory = TableHistory::NONE;

    /// The table's place in this process.
    fn table_id() -> &'static TableId;

    /// The primary key of this row.
    fn key(&self) -> Self::Key;

    /// Writes the stored form, exactly [`Record::ROW_WIDTH`] bytes.
    ///
    /// # Panics
    /// When `out` has another length.
    fn store(&self, out: &mut [u8]);

    /// Reads the stored form.
    ///
    /// # Errors
    /// When the bytes are no row of this table.
    fn load(bytes: &[u8]) -> Result<Self, BadRow>;

    /// As [`Record::load`], of bytes that are known to be a row of this table.
    #[doc(hidden)]
    fn load_sound(bytes: Sound<'_>) -> Self;

    /// Writes the columns that differ from `before`, which has the same primary key, one after the other, to the front
    /// of `out` (at least [`Record::ROW_WIDTH`] bytes). Returns the set of them, bit *i* for column *i*, and their
    /// length in bytes.
    fn store_changes(&self, before: &Self, out: &mut [u8]) -> (u64, usize);

    /// Applies what [`Record::store_changes`] wrote. Returns how many bytes it read.
    ///
    /// # Errors
    /// When the bytes are no values of these columns; the row may then be partly changed.
    fn load_changes(&mut self, columns: u64, bytes: &[u8]) -> Result<usize, BadRow>;

    /// What secondary indexes have of this row, besides the primary key.
    #[doc(hidden)]
    fn indexed(&self) -> Self::Indexed;

    /// Whether secondary indexes have the same keys of this row and of what they had.
    #[doc(hidden)]
    fn has_indexed(&self, before: &Self::Indexed) -> bool;

    /// Puts into this row what secondary indexes had of it.
    #[doc(hidden)]
    fn put_indexed(&mut self, columns: Self::Indexed);

    /// Calls `visitor` for each secondary index, in the order of [`Index::POSITION`].
    fn each_index<V: IndexVisitor<Self>>(visitor: &mut V);
}

/// A record whose table is ordered by its primary key, so that it can be scanned: all but those with `access = point`.
/// Derived with [`Record`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to have `access = ordered`, so its table cannot be scanned",
    label = "the table of `{Self}` cannot be scanned",
    note = "remove `access = point` from `#[record(...)]` of `{Self}`; a function that scans tables of any record \
            wants `OrderedRecord` instead of `Record`"
)]
pub trait OrderedRecord: Record {}

/// A secondary index. Derived, as a type named after the record and the index.
pub trait Index: Send + Sync + 'static {
    /// The record it finds.
    type Record: Record;
    /// Its columns; for a non-unique index followed by those of the primary key that it did not name.
    type Key: Key;
    /// How its key is encoded.
    type Encoded: EncodedKey;
    /// Its name.
    const NAME: &'static str;
    /// Its place among the table's secondary indexes.
    const POSITION: usize;
    /// Whether two rows may not have the same key.
    const UNIQUE: bool;
    /// Position within this index's key of the column that decides the partition, where the key has it.
    const PLACEMENT: Option<usize>;

    /// The key under which this index finds `row`.
    fn key(row: &Self::Record) -> Self::Key;
}

/// Code to run once for each index of a record, with the index's type at hand.
pub trait IndexVisitor<R: Record> {
    /// Called for each index in turn.
    fn visit<I: Index<Record = R>>(&mut self);
}

/// A record type's number in this process: its place in an engine's array of tables.
///
/// Assigned when a catalog first names the record, dense from zero, never reused, never stored: files know tables by
/// name.
#[derive(Debug)]
pub struct TableId(AtomicUsize);

static NEXT_TABLE: Mutex<usize> = Mutex::new(0);

impl TableId {
    /// Not yet assigned: past the end of every array of tables.
    const UNASSIGNED: usize = usize::MAX;

    /// For the derive: a number not yet assigned.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Self(AtomicUsize::new(Self::UNASSIGNED))
    }

    /// The number; past the end of every array when no catalog has named the record yet.
    #[inline(always)]
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The number, assigned now if it was not yet.
    pub(crate) fn assign(&self) -> usize {
        let mut next = NEXT_TABLE.lock().expect("nothing panics while it is held");
        if self.get() == Self::UNASSIGNED {
            self.0.store(*next, Ordering::Relaxed);
            *next += 1;
        }
        self.get()
    }
}
