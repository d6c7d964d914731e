//! The log sequence number (LSN), which orders the log's records.

use std::fmt;

/// A position in the endless log, in bytes of framed records (headers of blocks and segments do not count).
///
/// Assigned when a record is appended: a record of `n` bytes takes `n + 4` positions, rounded up to 8, so that every
/// LSN is a multiple of 8. An append returns the position *after* its record: the record is durable once
/// `durable() >= lsn`, and reading from that LSN begins with the next record. Width on disk: 8 bytes, little-endian.
/// Order: LSNs grow along the log and never wrap. Reuse: the LSN of a durable record is never assigned again; the LSNs
/// of records that a crash lost before they were durable are. Reserved: 0 ([`Lsn::NONE`]) is after no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub(crate) u64);

impl Lsn {
    /// Before every record.
    pub const NONE: Lsn = Lsn(0);
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
