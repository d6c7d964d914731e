//! What an engine tells of a transaction that it ran, and counts of them.

use serde::Serialize;

use crate::log::Lsn;
use crate::procedure::Abort;

/// What a transaction came to, and the log position up to which it must be durable before anyone is told.
pub(crate) struct Executed {
    pub(crate) outcome: Result<(), Abort>,
    pub(crate) lsn: Lsn,
}

/// What happened since the database was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) committed: u64,
    pub(crate) aborted: u64,
    pub(crate) rerun: u64,
}

/// Space and rows of one table, over all partitions: memory, or what its pages take on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableUsage {
    /// The table's name.
    pub table: String,
    /// Rows; those of a replicated table count once.
    pub rows: u64,
    /// Space of the rows, bytes.
    pub row_bytes: u64,
    /// Space of each index, bytes: the primary one first, by name.
    pub index_bytes: Vec<(String, u64)>,
}
