//! Rows of other partitions: what a run wants of them, what was found, and what the run itself did to them since.
//!
//! A run that writes a row elsewhere and reads it again must see what it wrote, though the row's own partition does the
//! writing. So rows that were found are copied when they are first used, and changed in the copy.

use std::any::Any;

use serde::{Deserialize, Serialize};

use crate::procedure::PartitionSet;
use crate::record::{Encoded, EncodedKey, Key, Record};

/// Rows that a run needs from other partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// The partitions to be asked.
    pub partitions: PartitionSet,
    /// The table's number in the catalog.
    pub table: u16,
    /// Which of its rows.
    pub lookup: Lookup,
    /// Whether the transaction goes on to change them.
    pub writes: bool,
}

/// Which rows are wanted; keys are encoded, most significant byte first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lookup {
    /// The row with this primary key.
    Key(Vec<u8>),
    /// The rows whose keys, of the primary key or of a secondary index, are within these, inclusive.
    Range {
        /// The secondary index by its place among the table's; `None`: the primary key.
        index: Option<u16>,
        /// The smallest key.
        low: Vec<u8>,
        /// The largest key.
        high: Vec<u8>,
    },
}

/// What one partition has of rows that were wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Which partition.
    pub partition: u8,
    /// The table's number in the catalog.
    pub table: u16,
    /// The key or the bounds that were asked for.
    pub lookup: Lookup,
    /// The rows in their stored form, one after the other.
    pub rows: Vec<u8>,
}

/// A row elsewhere as the run sees it: as it was found, or as the run left it.
struct Copied {
    /// The record's number, [`TableId`](crate::record::TableId).
    record: usize,
    key: Vec<u8>,
    /// A `R`; `None`: there is no such row.
    row: Option<Box<dyn Any>>,
}

/// Rows of other partitions during one run.
pub(super) struct Elsewhere<'a> {
    given: &'a [Found],
    copies: Vec<Copied>,
}

/// The bytes of a key.
pub(super) fn bytes_of<E: EncodedKey>(key: &E, width: usize) -> Vec<u8> {
    key.for_bytes(width, <[u8]>::to_vec)
}

pub(super) fn range_of<E: EncodedKey>(index: Option<usize>, range: &Encoded<E>, width: usize) -> Lookup {
    Lookup::Range {
        index: index.map(|position| position as u16),
        low: bytes_of(&range.low, width),
        high: bytes_of(&range.high, width),
    }
}

/// Rows that came by message and are none.
const BAD_ROWS: &str = "the rows that another partition sent for table `{}` cannot be read";

impl<'a> Elsewhere<'a> {
    pub(super) fn new(given: &'a [Found]) -> Self {
        Self { given, copies: Vec::new() }
    }

    /// The run's copy of a row: `None` when it was neither given nor written by the run.
    pub(super) fn row<R: Record>(
        &mut self,
        table: u16,
        partition: u8,
        key: &[u8],
    ) -> Result<Option<&mut Option<Box<dyn Any>>>, String> {
        let record = R::table_id().get();
        let known = self.copies.iter().position(|copy| copy.record == record && copy.key == key);
        let at = match known {
            Some(at) => at,
            None => {
                let Some(rows) = self.given_rows::<R>(table, partition, &Lookup::Key(key.to_vec()))? else {
                    return Ok(None);
                };
                let row = rows.into_iter().next().map(|row| Box::new(row) as Box<dyn Any>);
                self.copies.push(Copied { record, key: key.to_vec(), row });
                self.copies.len() - 1
            }
        };
        Ok(Some(&mut self.copies[at].row))
    }

    /// Notes what the run did to a row that it had no copy of.
    pub(super) fn write<R: Record>(&mut self, key: Vec<u8>, row: Option<R>) {
        let row = row.map(|row| Box::new(row) as Box<dyn Any>);
        self.copies.push(Copied { record: R::table_id().get(), key, row });
    }

    /// What a partition found, if it was asked.
    fn given_rows<R: Record>(&self, table: u16, partition: u8, lookup: &Lookup) -> Result<Option<Vec<R>>, String> {
        let is = |found: &&Found| found.partition == partition && found.table == table && found.lookup == *lookup;
        let Some(found) = self.given.iter().find(is) else { return Ok(None) };
        let bad = || BAD_ROWS.replace("{}", R::TABLE);
        if found.rows.len() % R::ROW_WIDTH != 0 {
            return Err(bad());
        }
        let rows = found.rows.chunks_exact(R::ROW_WIDTH).map(R::load).collect::<Result<_, _>>();
        rows.map(Some).map_err(|_| bad())
    }

    /// The rows of a range on several partitions, as the run left them; the partitions that were not asked yet.
    /// `key` gives a row's key in the range's index.
    pub(super) fn range<R: Record, E: EncodedKey>(
        &self,
        table: u16,
        partitions: PartitionSet,
        lookup: &Lookup,
        range: &Encoded<E>,
        key: impl Fn(&R) -> E,
    ) -> Result<(Vec<R>, PartitionSet), String> {
        let (mut rows, mut unasked) = (Vec::new(), PartitionSet::EMPTY);
        for partition in partitions.iter() {
            match self.given_rows::<R>(table, partition as u8, lookup)? {
                Some(given) => rows.extend(given),
                None => unasked.insert(partition),
            }
        }
        let primary = |row: &R| bytes_of(&row.key().encode::<R::Encoded>(), R::Key::WIDTH);
        for copy in self.copies.iter().filter(|copy| copy.record == R::table_id().get()) {
            rows.retain(|row| primary(row) != copy.key);
            let row = copy.row.as_ref().map(|row| *row.downcast_ref::<R>().expect("the record says what it is"));
            rows.extend(row.filter(|row| (range.low..=range.high).contains(&key(row))));
        }
        Ok((rows, unasked))
    }
}
