//! A table whose record type is not known here: what loading, checkpoints, recovery and statistics need of it.
//!
//! The path of a transaction knows the type and does not come here.

use crate::executed::TableUsage;
use crate::partitioned::log_records::values::{Ahead, Asked, BadLogRecord, Mine};
use crate::partitioned::shard::Lookup;
use crate::partitioned::storage::indexes::NotBuilt;
use crate::partitioned::storage::memory::{AddressSpace, CannotReserve, RowId};
use crate::partitioned::storage::snapshot::Snapshot;
use crate::partitioned::storage::table::{Refused, Table};
use crate::procedure::TableFull;
use crate::record::{Direction, EncodedKey, Index, IndexSchema, IndexVisitor, Key, Record, TableHistory, TableSchema};

/// A table of any record.
pub(crate) trait AnyTable: Send {
    /// How many rows it has.
    fn begin_snapshot(&mut self) -> u64;
    fn snapshot_slice(&mut self, most: usize, out: &mut Vec<u8>) -> bool;
    fn end_snapshot(&mut self);
    /// Adds stored rows, those that are `mine`; how many.
    fn load(&mut self, rows: &[u8], mine: Mine<'_>) -> Result<u64, BadLogRecord>;
    fn apply<'a>(
        &mut self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
        ahead: &mut Ahead,
    ) -> Result<&'a [u8], BadLogRecord>;
    /// Passes over an operation that is still to be applied: has asked the memory for the row that it changes, if that
    /// is known at once and `mine`, or for where it is looked up, which is given then; and gives the rest of `bytes`.
    /// `None`: they make no sense.
    fn ask_for_place<'a>(
        &self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
    ) -> Option<(Option<Asked<'a>>, &'a [u8])>;
    /// Asks the memory for the row of what `ask_for_place` gave, of this table, which has not changed since.
    fn ask_for_row(&self, asked: Asked<'_>) -> Option<RowId>;
    fn add_usage(&self, usage: &mut TableUsage, first: bool);
    /// See [`Table::defer_unique`].
    fn defer_unique(&mut self, is_new: &dyn Fn(&IndexSchema) -> bool) -> bool;
    /// See [`Table::build_deferred`].
    fn build_deferred(&mut self) -> Result<(), NotBuilt>;
    /// Whether every index agrees with the rows; what is wrong otherwise.
    fn verify(&self) -> Result<(), String>;
    /// A number of all rows together, in whatever places they are: equal for copies.
    fn digest(&self) -> u64;
    /// Adds the stored form of so many rows, after passing over some, in no order; how many.
    fn stored(&self, from: usize, most: usize, out: &mut Vec<u8>) -> usize;
    /// Gives the stored form of all rows, about so many bytes at a time.
    fn store_all(&self, most_bytes: usize, each: &mut dyn FnMut(Vec<u8>));
    /// Whether all partitions have the same rows.
    fn is_replicated(&self) -> bool;
    /// Adds the stored form of the rows looked up, in the order of the keys; `false`: the keys are none of this table.
    fn find_stored(&self, lookup: &Lookup, out: &mut Vec<u8>) -> bool;
    /// Whether the encoded primary keys of these rows, in their stored form, are all allowed.
    fn allows_keys(&self, rows: &[u8], allows: &mut dyn FnMut(&[u8]) -> bool) -> bool;
}

/// Creates an empty table of a number, whose rows and indexes may take a number of bytes each.
type CreateTable = fn(u16, usize, &mut AddressSpace) -> Result<Box<dyn AnyTable>, CannotReserve>;

/// What a catalog keeps of a record type.
#[derive(Clone)]
pub(crate) struct TableKind {
    pub(crate) schema: TableSchema,
    pub(crate) history: TableHistory,
    pub(crate) id: usize,
    pub(crate) create: CreateTable,
}

impl TableKind {
    pub(crate) fn of<R: Record>() -> Self {
        Self {
            schema: R::SCHEMA,
            history: R::HISTORY,
            id: R::table_id().assign(),
            create: |number, bytes, space| Ok(Box::new(Table::<R>::new(number, bytes, space)?)),
        }
    }
}

impl<R: Record> AnyTable for Table<R> {
    fn begin_snapshot(&mut self) -> u64 {
        self.snapshot.begin(self.rows.slots());
        self.rows.len() as u64
    }

    fn snapshot_slice(&mut self, most: usize, out: &mut Vec<u8>) -> bool {
        self.snapshot.slice(&self.rows, most, out)
    }

    fn end_snapshot(&mut self) {
        self.snapshot = Snapshot::none();
    }

    fn load(&mut self, rows: &[u8], mine: Mine<'_>) -> Result<u64, BadLogRecord> {
        let mut loaded = 0;
        for row in rows.chunks(R::ROW_WIDTH) {
            let row = R::load(row)?;
            if mine(R::PLACEMENT.map(|position| row.key().placement_at(position))) {
                self.insert(&row).map_err(|refused| match refused {
                    Refused::Duplicate => BadLogRecord::diverged::<R>("holds", &row.key(), "is there twice"),
                    Refused::Full => BadLogRecord::Full(TableFull::of::<R>()),
                })?;
                loaded += 1;
            }
        }
        Ok(loaded)
    }

    fn apply<'a>(
        &mut self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
        ahead: &mut Ahead,
    ) -> Result<&'a [u8], BadLogRecord> {
        Table::apply(self, operation, bytes, mine, ahead)
    }

    fn ask_for_place<'a>(
        &self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
    ) -> Option<(Option<Asked<'a>>, &'a [u8])> {
        Table::ask_for_place(self, operation, bytes, mine)
    }

    fn ask_for_row(&self, asked: Asked<'_>) -> Option<RowId> {
        Table::ask_for_row(self, asked)
    }

    fn add_usage(&self, usage: &mut TableUsage, first: bool) {
        if R::PLACEMENT.is_some() || first {
            usage.rows += self.rows.len() as u64;
        }
        usage.row_bytes += self.rows.used_bytes() as u64;
        for (at, (name, bytes)) in self.index_usage().into_iter().enumerate() {
            match usage.index_bytes.get_mut(at) {
                Some((_, sum)) => *sum += bytes,
                None => usage.index_bytes.push((name, bytes)),
            }
        }
    }

    fn defer_unique(&mut self, is_new: &dyn Fn(&IndexSchema) -> bool) -> bool {
        Table::defer_unique(self, is_new)
    }

    fn build_deferred(&mut self) -> Result<(), NotBuilt> {
        Table::build_deferred(self)
    }

    fn verify(&self) -> Result<(), String> {
        Table::verify(self)
    }

    fn digest(&self) -> u64 {
        Table::digest(self)
    }

    fn stored(&self, from: usize, most: usize, out: &mut Vec<u8>) -> usize {
        let rows = self.rows.iter().skip(from).take(most);
        rows.map(|(_, row)| {
            let at = out.len();
            out.resize(at + R::ROW_WIDTH, 0);
            row.store(&mut out[at..]);
        })
        .count()
    }

    fn store_all(&self, most_bytes: usize, each: &mut dyn FnMut(Vec<u8>)) {
        let mut all = Vec::new();
        for (_, row) in self.rows.iter() {
            let at = all.len();
            all.resize(at + R::ROW_WIDTH, 0);
            row.store(&mut all[at..]);
            if all.len() >= most_bytes {
                each(std::mem::take(&mut all));
            }
        }
        if !all.is_empty() {
            each(all);
        }
    }

    fn is_replicated(&self) -> bool {
        R::PLACEMENT.is_none()
    }

    fn find_stored(&self, lookup: &Lookup, out: &mut Vec<u8>) -> bool {
        match lookup {
            Lookup::Key(key) => {
                let Some(key) = key_of::<R::Encoded>(key, R::Key::WIDTH) else { return false };
                if let Some(id) = self.find(key) {
                    store(self.rows.get(id), out);
                }
                true
            }
            Lookup::Range { index: None, low, high } => {
                let ends = (key_of(low, R::Key::WIDTH), key_of(high, R::Key::WIDTH));
                let ((Some(low), Some(high)), false) = (ends, Self::POINT) else { return false };
                for (_, id) in self.tree.range(&low, &high, Direction::Forward) {
                    store(self.rows.get(id), out);
                }
                true
            }
            Lookup::Range { index: Some(index), low, high } => {
                let mut find = FindByIndex { table: self, index: usize::from(*index), low, high, out, known: false };
                R::each_index(&mut find);
                find.known
            }
        }
    }

    fn allows_keys(&self, rows: &[u8], allows: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let keys = rows.chunks_exact(R::ROW_WIDTH).map(R::load);
        keys.flatten().all(|row| row.key().encode::<R::Encoded>().for_bytes(R::Key::WIDTH, &mut *allows))
    }
}

// Rows looked up by keys whose types are known to their table only, for other partitions.

fn key_of<E: EncodedKey>(bytes: &[u8], width: usize) -> Option<E> {
    (bytes.len() == width).then(|| E::from_bytes(bytes))
}

fn store<R: Record>(row: &R, out: &mut Vec<u8>) {
    let at = out.len();
    out.resize(at + R::ROW_WIDTH, 0);
    row.store(&mut out[at..]);
}

struct FindByIndex<'a, R: Record> {
    table: &'a Table<R>,
    index: usize,
    low: &'a [u8],
    high: &'a [u8],
    out: &'a mut Vec<u8>,
    known: bool,
}

impl<R: Record> IndexVisitor<R> for FindByIndex<'_, R> {
    fn visit<I: Index<Record = R>>(&mut self) {
        if I::POSITION != self.index {
            return;
        }
        let ends = (key_of(self.low, I::Key::WIDTH), key_of(self.high, I::Key::WIDTH));
        let (Some(low), Some(high)) = ends else { return };
        self.known = true;
        for (_, id) in self.table.index_tree::<I>().range(&low, &high, Direction::Forward) {
            store(self.table.rows.get(id), self.out);
        }
    }
}
