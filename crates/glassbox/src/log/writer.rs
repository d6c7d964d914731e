//! Writing blocks: the end of the log on disk.
//!
//! The records go from the ring to the file without another copy: header, one or two parts of the ring and padding are
//! one gathered write. The padding fills the page the block ends in with zeros: a page that is written whole is never
//! read first, even in a recycled segment that the system no longer has in its cache. The padding lies after the end of
//! the log.
//!
//! One sector of each segment is always left for the block that ends it ([`BlockKind::Continues`] or
//! [`BlockKind::Closed`]). A switch to the next segment has three steps: begin that segment (force its header and
//! name), write and force `Continues` in this one, then write to that one. If records could reach the next segment
//! before `Continues` is forced, a crash could leave records after a place that looks like a torn end.

use std::io::IoSlice;

use super::format::{BLOCK_HEADER_BYTES, Block, BlockKind, PAGE_BYTES, SECTOR_BYTES, block_bytes};
use super::lsn::Lsn;
use super::ring::Ring;
use super::segments::Segments;
use crate::io::{File, IoError};

/// Maximum bytes of records in one block (a record that is larger gets a block of its own): what a disk writes in about
/// a millisecond, so that the wait for the block before is short, and enough to write at its full speed.
pub(super) const MAX_BLOCK_BYTES: u64 = 4 << 20;

/// Where the next block goes.
pub(super) struct Writer {
    pub file: Box<dyn File>,
    pub offset: u64,
    /// Size of this segment, from its header.
    pub segment_bytes: u64,
    pub database_id: u128,
    pub epoch: u64,
    /// See [`ExpectedLog`](super::ExpectedLog).
    pub generation: u64,
}

/// The result of a flush.
pub(super) struct Flushed {
    pub end: u64,
    /// Whether a segment was begun, and if so, whether a spare was ready.
    pub begun: Option<bool>,
}

impl Writer {
    /// Writes and forces the records `[from, to)` of the ring, or as many of them as make one block.
    ///
    /// # Safety
    /// As for [`Ring::slices`].
    pub unsafe fn flush(&mut self, ring: &Ring, segments: &Segments, from: u64, to: u64) -> Result<Flushed, IoError> {
        // SAFETY: the caller's promise, here and below. The first record is whole, being below `to`.
        let first = unsafe { ring.first_record(from) };
        let mut begun = None;
        if first > self.room() {
            begun = Some(self.next_segment(segments, Lsn(from))?);
        }
        assert!(first <= self.room(), "appending refuses what does not fit a fresh segment");
        let max_bytes = self.room().min(MAX_BLOCK_BYTES.max(first));
        // SAFETY: as above.
        let end = unsafe { ring.cut(from, to, max_bytes) };
        // SAFETY: as above.
        let (front, back) = unsafe { ring.slices(from, end) };
        self.write(BlockKind::Records, Lsn(from), front, back)?;
        Ok(Flushed { end, begun })
    }

    /// Writes the closing block.
    pub fn close(&mut self, end: Lsn) -> Result<(), IoError> {
        let offset = self.offset;
        self.write(BlockKind::Closed, end, &[], &[])?;
        // When the log is opened again, its next block replaces this one.
        self.offset = offset;
        Ok(())
    }

    /// Bytes left for blocks in this segment.
    pub fn rest(&self) -> u64 {
        (self.segment_bytes - self.offset).saturating_sub(SECTOR_BYTES)
    }

    /// Maximum bytes of records that one more block of this segment may hold.
    fn room(&self) -> u64 {
        self.rest().saturating_sub(BLOCK_HEADER_BYTES as u64)
    }

    /// Continues the log in another segment, which begins at `next`.
    fn next_segment(&mut self, segments: &Segments, next: Lsn) -> Result<bool, IoError> {
        let (file, ready) = segments.begin(next, self.epoch)?;
        self.write(BlockKind::Continues, next, &[], &[])?;
        self.file = file;
        self.offset = SECTOR_BYTES;
        self.segment_bytes = segments.segment_bytes();
        Ok(ready)
    }

    fn write(&mut self, kind: BlockKind, first_lsn: Lsn, front: &[u8], back: &[u8]) -> Result<(), IoError> {
        static ZEROS: [u8; PAGE_BYTES as usize] = [0; PAGE_BYTES as usize];
        let payload = (front.len() + back.len()) as u64;
        let block = Block {
            kind,
            payload_bytes: payload as u32,
            payload_checksum: crc32c::crc32c_append(crc32c::crc32c(front), back),
            database_id: self.database_id,
            first_lsn,
            epoch: self.epoch,
            generation: self.generation,
        };
        let header = block.encode();
        let end = self.offset + header.len() as u64 + payload;
        let padding = (end.next_multiple_of(PAGE_BYTES) - end) as usize;
        let parts = [&header, front, back, &ZEROS[..padding]];
        self.file.write_parts_at(&mut parts.map(IoSlice::new), self.offset)?;
        self.file.sync_data()?;
        self.offset += block_bytes(payload);
        Ok(())
    }
}
