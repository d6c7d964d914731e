//! What partitions send each other of their rows: the reads that a run needs, and the rows that answer them.

use serde::{Deserialize, Serialize};

use crate::procedure::PartitionSet;

/// Rows that a run needs from other partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteRead {
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
pub struct RemoteReadResult {
    /// Which partition.
    pub partition: u8,
    /// The table's number in the catalog.
    pub table: u16,
    /// The key or the bounds that were asked for.
    pub lookup: Lookup,
    /// The rows in their stored form, one after the other.
    pub rows: Vec<u8>,
}
