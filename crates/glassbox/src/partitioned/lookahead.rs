//! Asks for the rows that the next records of a value log change, before their turn comes.
//!
//! Done again one after the other, changes wait for memory one after the other. But a log says long before which rows
//! it will change. So the keys of some records take their first step together, to the bucket or the leaf, and then the
//! second, to the row, as [`prefetch`](super::prefetch) has it for the keys that a procedure declares. Nothing is kept
//! but what is in the cache then: a row that comes or goes meanwhile is found, or missed, as ever.

use super::any_table::Mine;
use super::memory::RowId;
use super::partition::Partition;
use super::prefetch::PREFETCH_ROW_BYTES;
use super::table::Table;
use super::values::{DELETE, INSERT, OPERATION_WIDTH, UPDATE, VALUES};
use crate::prefetch::prefetch_span;
use crate::record::{EncodedKey, Key, Record};

/// Bytes of records whose rows are asked for together: some hundred rows, which stay in the first caches until their
/// turn.
const TOGETHER_BYTES: usize = 16 << 10;

/// The lookups that are under way: the table's place and the key.
#[derive(Default)]
pub(super) struct Lookahead<'a>(Vec<(usize, &'a [u8])>);

impl<'a> Lookahead<'a> {
    /// Asks for what the first records, of about [`TOGETHER_BYTES`], change in these tables; how many they are.
    pub(super) fn ask(
        &mut self,
        data: &Partition,
        tables: &[usize],
        mine: Mine<'_>,
        records: impl Iterator<Item = &'a [u8]>,
    ) -> usize {
        let (mut count, mut bytes) = (0, 0);
        self.0.clear();
        for record in records {
            if let Some((&VALUES, operations)) = record.split_first() {
                self.begin(data, tables, mine, operations);
            }
            (count, bytes) = (count + 1, bytes + record.len());
            if bytes >= TOGETHER_BYTES {
                break;
            }
        }
        for &(table, key) in &self.0 {
            if let Some(table) = &data.tables[table] {
                table.ask_for_row(key);
            }
        }
        count
    }

    /// The first step for each row of a record. One that makes no sense is told of when it is done.
    fn begin(&mut self, data: &Partition, tables: &[usize], mine: Mine<'_>, mut operations: &'a [u8]) {
        while let Some((&[operation, low, high], rest)) = operations.split_first_chunk::<OPERATION_WIDTH>() {
            let Some(&id) = tables.get(usize::from(u16::from_le_bytes([low, high]))) else { return };
            let Some(table) = &data.tables[id] else { return };
            let Some((key, rest)) = table.ask_for_place(operation, rest, mine) else { return };
            self.0.extend(key.map(|key| (id, key)));
            operations = rest;
        }
    }
}

impl<R: Record> Table<R> {
    /// See [`AnyTable::ask_for_place`](super::any_table::AnyTable::ask_for_place).
    pub(super) fn ask_for_place<'a>(
        &self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
    ) -> Option<(Option<&'a [u8]>, &'a [u8])> {
        if operation == INSERT {
            return Some((None, bytes.get(R::ROW_WIDTH..)?));
        }
        let (key, rest) = bytes.split_at_checked(R::Key::WIDTH)?;
        let rest = match operation {
            UPDATE => Self::skip_changes(rest)?,
            DELETE => rest,
            _ => return None,
        };
        if let Some(position) = R::PLACEMENT
            && !mine(Some(R::Key::decode(key).ok()?.placement_at(position)))
        {
            return Some((None, rest));
        }
        let encoded = R::Encoded::from_bytes(key);
        if Self::POINT {
            if self.dense_row(&encoded).is_none() {
                self.hash.prefetcher()(encoded.hash64());
            }
        } else {
            self.tree.prefetch_leaf(&encoded);
        }
        Some((Some(key), rest))
    }

    /// The row of a key that is dense.
    fn dense_row(&self, key: &R::Encoded) -> Option<RowId> {
        key.as_u64().and_then(|key| self.dense.find(key))
    }

    /// See [`AnyTable::ask_for_row`](super::any_table::AnyTable::ask_for_row).
    pub(super) fn ask_for_row(&self, key: &[u8]) {
        let key = R::Encoded::from_bytes(key);
        let row = if Self::POINT {
            self.dense_row(&key).or_else(|| {
                let probe = self.hash.prefetcher()(key.hash64());
                // SAFETY: it is from this index just now.
                unsafe { self.hash.candidate(probe) }
            })
        } else {
            self.tree.get(&key)
        };
        if let Some(row) = row {
            prefetch_span(self.rows.pointers()(row), size_of::<R>().min(PREFETCH_ROW_BYTES));
        }
    }
}
