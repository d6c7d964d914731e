//! The value log's records: what a transaction did to rows, independent of the procedure's code.
//!
//! A record is a kind byte, then one operation after the other, in the order in which they were done:
//!
//! ```text
//! insert   1  table u16  row                              (the stored row)
//! update   2  table u16  key  columns  values             (only the columns that changed)
//! delete   3  table u16  key
//! ```
//!
//! `key` is the encoded key, most significant byte first; `columns` a little-endian bit set with a bit for each column
//! of the table, in as many bytes as that takes; `values` the stored form of the columns in the set. Widths come from
//! the schema.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::partitioned::log_records::record_buffer::{RecordBuffer, RecordTooLarge};
use crate::partitioned::storage::memory::{Node, RowId};
use crate::partitioned::storage::table::{Refused, Table};
use crate::prefetch::{MAX_ROW_BYTES, prefetch_span};
use crate::procedure::TableFull;
use crate::record::{BadColumn, BadRow, EncodedKey, Key, Record, TableSchema};

/// First byte of a record of row changes.
pub(crate) const VALUES: u8 = 1;
/// First byte of a record of a procedure call.
pub(crate) const COMMAND: u8 = 3;
/// A call without the digest of its changes.
pub(crate) const COMMAND_WITHOUT_DIGEST: u8 = 2;

pub(crate) const INSERT: u8 = 1;
pub(crate) const UPDATE: u8 = 2;
pub(crate) const DELETE: u8 = 3;

/// Operation and table number.
pub(crate) const OPERATION_WIDTH: usize = 3;

/// Decides whether rows of a placement number belong to the partition that asks.
pub(crate) type Mine<'a> = &'a dyn Fn(Option<u64>) -> bool;

/// A lookup under way: the key, and the leaf that it has come to, of a table with a tree.
pub(crate) type Asked<'a> = (&'a [u8], Option<Node>);

/// The rows that lookups came to, in their order, or [`RowId::NONE`]. They are perhaps not there any more.
pub(crate) type Ahead = VecDeque<RowId>;

/// A log record that does not fit the data or the schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadLogRecord {
    #[error("it ends in the middle of an operation")]
    Short,
    #[error("operation {0} is unknown")]
    Operation(u8),
    #[error("table number {0} is unknown")]
    Table(u16),
    #[error("{0}")]
    Row(#[from] BadRow),
    #[error("the key of a row of table `{0}` is {1}")]
    Key(&'static str, BadColumn),
    #[error("it {does} row {key} of table `{table}`, which {but}")]
    Diverged { does: &'static str, table: &'static str, key: String, but: &'static str },
    #[error("{0}")]
    Full(TableFull),
}

impl BadLogRecord {
    /// An operation does not fit the rows there are.
    #[cold]
    pub(crate) fn diverged<R: Record>(does: &'static str, key: &R::Key, but: &'static str) -> Self {
        Self::Diverged { does, table: R::TABLE, key: key.in_words(), but }
    }
}

/// Bytes of a table's column set.
pub(crate) const fn mask_width(columns: usize) -> usize {
    columns.div_ceil(8)
}

/// The columns that an index has, as a set.
const fn indexed(schema: &TableSchema) -> u64 {
    let Cow::Borrowed(indexes) = schema.indexes else { return u64::MAX };
    let (mut columns, mut index) = (0, 0);
    while index < indexes.len() {
        let Cow::Borrowed(places) = indexes[index].columns else { return u64::MAX };
        let mut at = 0;
        while at < places.len() {
            columns |= 1 << places[at];
            at += 1;
        }
        index += 1;
    }
    columns
}

impl<R: Record> Table<R> {
    const MASK_WIDTH: usize = mask_width(R::COLUMNS);
    pub(crate) const SCHEMA: &TableSchema = &R::SCHEMA;
    /// The columns that an index has.
    const INDEXED: u64 = indexed(Self::SCHEMA);

    #[inline(always)]
    fn head(&self, operation: u8, out: &mut [u8]) {
        let number = self.number.to_le_bytes();
        out[..OPERATION_WIDTH].copy_from_slice(&[operation, number[0], number[1]]);
    }

    #[inline(always)]
    fn put_key(key: &R::Key, out: &mut [u8]) {
        key.encode::<R::Encoded>().for_bytes(R::Key::WIDTH, |bytes| out[..R::Key::WIDTH].copy_from_slice(bytes));
    }

    #[inline(always)]
    pub(crate) fn log_insert(&self, row: &R, record: &mut RecordBuffer) -> Result<(), RecordTooLarge> {
        let out = record.space(OPERATION_WIDTH + R::ROW_WIDTH)?;
        self.head(INSERT, out);
        row.store(&mut out[OPERATION_WIDTH..]);
        record.advance(OPERATION_WIDTH + R::ROW_WIDTH);
        Ok(())
    }

    /// As [`Table::log_insert`] of each of these rows.
    #[inline(always)]
    pub(crate) fn log_inserts(
        &self,
        rows: impl ExactSizeIterator<Item = RowId>,
        record: &mut RecordBuffer,
    ) -> Result<(), RecordTooLarge> {
        let width = OPERATION_WIDTH + R::ROW_WIDTH;
        let all = rows.len() * width;
        let (mut head, row) = ([0; OPERATION_WIDTH], self.rows.getter());
        self.head(INSERT, &mut head);
        for (out, id) in record.space(all)?.chunks_exact_mut(width).zip(rows) {
            out[..OPERATION_WIDTH].copy_from_slice(&head);
            row(id).store(&mut out[OPERATION_WIDTH..]);
        }
        record.advance(all);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn log_update(
        &self,
        key: &R::Key,
        before: &R,
        after: &R,
        record: &mut RecordBuffer,
    ) -> Result<(), RecordTooLarge> {
        let front = OPERATION_WIDTH + R::Key::WIDTH + Self::MASK_WIDTH;
        let out = record.space(front + R::ROW_WIDTH)?;
        let (columns, width) = after.store_changes(before, &mut out[front..]);
        if columns == 0 {
            return Ok(());
        }
        self.head(UPDATE, out);
        Self::put_key(key, &mut out[OPERATION_WIDTH..]);
        out[front - Self::MASK_WIDTH..front].copy_from_slice(&columns.to_le_bytes()[..Self::MASK_WIDTH]);
        record.advance(front + width);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn log_delete(&self, key: &R::Key, record: &mut RecordBuffer) -> Result<(), RecordTooLarge> {
        let out = record.space(OPERATION_WIDTH + R::Key::WIDTH)?;
        self.head(DELETE, out);
        Self::put_key(key, &mut out[OPERATION_WIDTH..]);
        record.advance(OPERATION_WIDTH + R::Key::WIDTH);
        Ok(())
    }

    /// Replays one operation, if the row is on this partition (`mine`, asked with its placement number). Gives the
    /// rest of `bytes`.
    pub(crate) fn apply<'a>(
        &mut self,
        operation: u8,
        bytes: &'a [u8],
        mine: Mine<'_>,
        ahead: &mut Ahead,
    ) -> Result<&'a [u8], BadLogRecord> {
        if operation == INSERT {
            let (row, rest) = bytes.split_at_checked(R::ROW_WIDTH).ok_or(BadLogRecord::Short)?;
            let row = R::load(row)?;
            if mine(R::PLACEMENT.map(|position| row.key().placement_at(position))) {
                self.insert(&row).map_err(|refused| match refused {
                    Refused::Duplicate => BadLogRecord::diverged::<R>("inserts", &row.key(), "is there already"),
                    Refused::Full => BadLogRecord::Full(TableFull::of::<R>()),
                })?;
            }
            return Ok(rest);
        }
        let does = match operation {
            UPDATE => "updates",
            DELETE => "deletes",
            other => return Err(BadLogRecord::Operation(other)),
        };
        let (key, rest) = bytes.split_at_checked(R::Key::WIDTH).ok_or(BadLogRecord::Short)?;
        let key = R::Key::decode(key).map_err(|bad| BadLogRecord::Key(R::TABLE, bad))?;
        let found = if mine(R::PLACEMENT.map(|position| key.placement_at(position))) {
            // The log begins exactly where the checkpoint ends, so nothing is done twice and the row must be there.
            let missing = || BadLogRecord::diverged::<R>(does, &key, "is not there");
            Some(self.find_again(&key, ahead).ok_or_else(missing)?)
        } else {
            None
        };
        if operation == DELETE {
            if let Some(id) = found {
                self.remove(id);
            }
            return Ok(rest);
        }
        let Some(id) = found else { return Self::skip_changes(rest).ok_or(BadLogRecord::Short) };
        let (columns, values) = Self::split_columns(rest).ok_or(BadLogRecord::Short)?;
        // A row that does not come out right may be left half changed: the database is not opened then.
        let before = (columns & Self::INDEXED != 0).then(|| *self.rows.get(id));
        self.preserve(id);
        let row = self.rows.get_mut(id);
        let read = row.load_changes(columns, values)?;
        if !row.key().is_key(&key) {
            return Err(BadLogRecord::diverged::<R>(does, &key, "then has another primary key"));
        }
        if let Some(before) = before {
            let twice = |_| BadLogRecord::diverged::<R>(does, &key, "then shares a unique key");
            self.reindex(&before, id).map_err(twice)?;
        }
        Ok(&values[read..])
    }

    /// Splits off an update's column set.
    fn split_columns(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let (mask, values) = bytes.split_at_checked(Self::MASK_WIDTH)?;
        let mut columns = [0; 8];
        columns[..mask.len()].copy_from_slice(mask);
        Some((u64::from_le_bytes(columns), values))
    }

    /// The rest after an update's column set and values.
    pub(crate) fn skip_changes(bytes: &[u8]) -> Option<&[u8]> {
        let (mut columns, values) = Self::split_columns(bytes)?;
        let mut width = 0;
        while columns != 0 {
            width += Self::SCHEMA.columns.get(columns.trailing_zeros() as usize)?.width;
            columns &= columns - 1;
        }
        values.get(width..)
    }

    /// See [`AnyTable::ask_for_place`](crate::partitioned::storage::any_table::AnyTable::ask_for_place).
    pub(crate) fn ask_for_place<'a>(
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

    /// See [`AnyTable::ask_for_row`](crate::partitioned::storage::any_table::AnyTable::ask_for_row).
    pub(crate) fn ask_for_row(&self, (key, leaf): Asked<'_>) -> Option<RowId> {
        let key = R::Encoded::from_bytes(key);
        let row = match leaf {
            Some(leaf) => self.tree.find_in_leaf(leaf, &key),
            None => self.hash.candidate_of(key.hash64()),
        };
        row.inspect(|&row| self.prefetch_row(row))
    }

    /// The row of a key, to which a lookup has come ahead unless it is dense.
    #[inline]
    pub(crate) fn find_again(&self, key: &R::Key, ahead: &mut Ahead) -> Option<RowId> {
        let encoded = key.encode();
        let dense = if Self::POINT { self.dense_row(&encoded) } else { None };
        dense.or_else(|| {
            let row = ahead.pop_front().unwrap_or(RowId::NONE);
            let is_it = self.rows.is_live(row) && self.rows.get(row).key().is_key(key);
            if is_it { Some(row) } else { self.find(encoded) }
        })
    }

    fn prefetch_row(&self, row: RowId) {
        prefetch_span(self.rows.pointers()(row), size_of::<R>().min(MAX_ROW_BYTES));
    }
}
