//! Asks for the rows that the next records of a value log change, before their turn comes.
//!
//! Done again one after the other, changes wait for memory one after the other. But a log says long before which rows
//! it will change. So the keys of some records take their first step together, to the bucket or the leaf, and then the
//! second, to the row, as [`prefetch`](super::prefetch) has it for keys that a procedure declares; the rows of dense
//! keys are known at once. What was found is kept for the change to look there first: a row that comes or goes
//! meanwhile is found, or missed, as ever.

use std::collections::VecDeque;

use super::any_table::Mine;
use super::memory::{Node, RowId};
use super::partition::Partition;
use super::prefetch::PREFETCH_ROW_BYTES;
use super::table::Table;
use super::values::{DELETE, INSERT, OPERATION_WIDTH, UPDATE, VALUES};
use crate::prefetch::prefetch_span;
use crate::record::{EncodedKey, Key, Record};

/// Bytes of records whose rows are asked for together: some hundred rows, which stay in the first caches until their
/// turn.
const TOGETHER_BYTES: usize = 16 << 10;

/// A lookup under way: the key, and the leaf that it has come to, of a table with a tree.
pub(super) type Asked<'a> = (&'a [u8], Option<Node>);

/// The lookups that are under way, each with its table's place.
#[derive(Default)]
pub(super) struct Lookahead<'a> {
    asked: Vec<(usize, Asked<'a>)>,
    pub(super) found: Ahead,
}

/// The rows that lookups came to, in their order, or [`RowId::NONE`]. They are perhaps not there any more.
pub(crate) type Ahead = VecDeque<RowId>;

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
        self.asked.clear();
        for record in records {
            if let Some((&VALUES, operations)) = record.split_first() {
                self.begin(data, tables, mine, operations);
            }
            (count, bytes) = (count + 1, bytes + record.len());
            if bytes >= TOGETHER_BYTES {
                break;
            }
        }
        let row = |&(table, asked): &(usize, Asked<'_>)| data.tables[table].as_ref()?.ask_for_row(asked);
        self.found.clear();
        self.found.extend(self.asked.iter().map(|asked| row(asked).unwrap_or(RowId::NONE)));
        count
    }

    /// The first step for each row of a record. One that makes no sense is told of when it is done.
    fn begin(&mut self, data: &Partition, tables: &[usize], mine: Mine<'_>, mut operations: &'a [u8]) {
        while let Some((&[operation, low, high], rest)) = operations.split_first_chunk::<OPERATION_WIDTH>() {
            let Some(&id) = tables.get(usize::from(u16::from_le_bytes([low, high]))) else { return };
            let Some(table) = &data.tables[id] else { return };
            let Some((asked, rest)) = table.ask_for_place(operation, rest, mine) else { return };
            self.asked.extend(asked.map(|asked| (id, asked)));
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
    ) -> Option<(Option<Asked<'a>>, &'a [u8])> {
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
        let leaf = if !Self::POINT {
            Some(self.tree.prefetch_leaf(&encoded))
        } else if let Some(row) = self.dense_row(&encoded) {
            self.prefetch_row(row);
            return Some((None, rest));
        } else {
            self.hash.prefetcher()(encoded.hash64());
            None
        };
        Some((Some((key, leaf)), rest))
    }

    /// The row of a key that is dense.
    fn dense_row(&self, key: &R::Encoded) -> Option<RowId> {
        key.as_u64().and_then(|key| self.dense.find(key))
    }

    /// See [`AnyTable::ask_for_row`](super::any_table::AnyTable::ask_for_row).
    pub(super) fn ask_for_row(&self, (key, leaf): Asked<'_>) -> Option<RowId> {
        let key = R::Encoded::from_bytes(key);
        let row = match leaf {
            Some(leaf) => self.tree.find_in_leaf(leaf, &key),
            None => {
                let probe = self.hash.prefetcher()(key.hash64());
                // SAFETY: it is from this index just now.
                unsafe { self.hash.candidate(probe) }
            }
        };
        row.inspect(|&row| self.prefetch_row(row))
    }

    /// The row of a key, to which a lookup has come ahead unless it is dense.
    #[inline]
    pub(super) fn find_again(&self, key: &R::Key, ahead: &mut Ahead) -> Option<RowId> {
        let encoded = key.encode();
        let dense = if Self::POINT { self.dense_row(&encoded) } else { None };
        dense.or_else(|| {
            let row = ahead.pop_front().unwrap_or(RowId::NONE);
            let is_it = self.rows.is_live(row) && self.rows.get(row).key() == *key;
            if is_it { Some(row) } else { self.find(encoded) }
        })
    }

    fn prefetch_row(&self, row: RowId) {
        prefetch_span(self.rows.pointers()(row), size_of::<R>().min(PREFETCH_ROW_BYTES));
    }
}
