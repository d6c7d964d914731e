//! The number that orders everything the log holds.

use std::fmt;

/// A position in the endless log, in bytes of framed records (headers of blocks and segments do not count).
///
/// Assigned when a record is appended: a record of `n` bytes takes `n + 4` positions, rounded up to 8, so that every
/// LSN is a multiple of 8. What callers are given is the position *behind* their record: the record is durable once
/// `durable() >= lsn`, and reading from that LSN begins with the next record. Width on disk: 8 bytes, little-endian.
/// Order: LSNs grow along the log and never wrap. Reuse: the LSN of a durable record is never given again; the LSNs of
/// records that a crash took away before they were durable are. Reserved: 0 ([`Lsn::NONE`]) is behind no record.
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
