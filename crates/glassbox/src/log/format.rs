//! The bytes on disk; drawn in `docs/formats/log.md`.
//!
//! A segment is a file of fixed size: a header in its first sector, then blocks, each from the start of a sector. A
//! block is what one force makes durable. No sector is shared by two blocks, so a write that is torn cannot harm bytes
//! forced before it. (Writes are padded to the page with zeros, see [`super::writer`]; the padding is no part of a
//! block and is not read.)
//!
//! A block is valid if it has the id of its database, the LSN that the reader expects next, an epoch not before that of
//! the preceding block, and two correct checksums. The header has a checksum of its own because a header, being one
//! sector, is whole or absent. A valid header *after* an invalid block proves that the invalid block was forced once,
//! so that it is damaged and not torn, even if both payloads are lost.

use std::mem::{offset_of, size_of};

use super::lsn::Lsn;

/// The unit a disk writes whole; blocks start on it.
pub(super) const SECTOR_BYTES: u64 = 512;
/// The unit the system caches; writes end on it.
pub(super) const PAGE_BYTES: u64 = 4096;
/// Version of this format.
pub(super) const VERSION: u32 = 1;
const SEGMENT_MAGIC: [u8; 8] = *b"GLASSLOG";
const BLOCK_MAGIC: u32 = u32::from_le_bytes(*b"GBLK");
/// Bytes of a record's length, ahead of the record.
pub(super) const LENGTH_BYTES: usize = size_of::<u32>();
/// Records are padded with zeros to this.
pub(super) const RECORD_ALIGN: usize = 8;
/// No log gets this far, so sums of positions and lengths do not overflow.
const END_OF_POSITIONS: u64 = 1 << 62;

/// First bytes of a segment. Numbers are little-endian.
#[repr(C)]
pub(super) struct SegmentHeader {
    magic: [u8; 8],
    version: u32,
    /// CRC-32C of the other bytes.
    checksum: u32,
    database_id: u128,
    first_lsn: u64,
    segment_bytes: u64,
    epoch: u64,
    reserved: u64,
}

/// First bytes of a block; the payload follows. Numbers are little-endian.
#[repr(C)]
pub(super) struct BlockHeader {
    magic: u32,
    /// CRC-32C of the bytes behind it, up to the payload.
    checksum: u32,
    kind: u32,
    payload_bytes: u32,
    database_id: u128,
    first_lsn: u64,
    epoch: u64,
    payload_checksum: u32,
    reserved: u32,
    generation: u64,
}

pub(super) const SEGMENT_HEADER_BYTES: usize = size_of::<SegmentHeader>();
pub(super) const BLOCK_HEADER_BYTES: usize = size_of::<BlockHeader>();
const _: () = assert!(SEGMENT_HEADER_BYTES == 64 && BLOCK_HEADER_BYTES == 64);
const _: () = assert!(BLOCK_HEADER_BYTES.is_multiple_of(RECORD_ALIGN) && SECTOR_BYTES as usize >= BLOCK_HEADER_BYTES);

/// Kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    /// Records.
    Records = 1,
    /// No payload: the log continues in the segment that begins with this LSN.
    Continues = 2,
    /// No payload: the log was closed and ends here.
    Closed = 3,
}

/// A segment header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub database_id: u128,
    pub first_lsn: Lsn,
    pub segment_bytes: u64,
    pub epoch: u64,
}

/// The reason why bytes are no valid segment header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BadSegment {
    Magic,
    Checksum,
    Version(u32),
    Size,
    Position,
}

/// A block header, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub kind: BlockKind,
    pub payload_bytes: u32,
    pub payload_checksum: u32,
    pub database_id: u128,
    pub first_lsn: Lsn,
    pub epoch: u64,
    /// See [`ExpectedLog`](super::ExpectedLog).
    pub generation: u64,
}

/// Number of positions of a record of `bytes` bytes: length field, record and padding.
#[inline(always)]
pub(super) const fn framed(bytes: usize) -> usize {
    (LENGTH_BYTES + bytes).next_multiple_of(RECORD_ALIGN)
}

/// Bytes of a block in a segment, given the size of its payload.
pub(super) const fn block_bytes(payload: u64) -> u64 {
    (BLOCK_HEADER_BYTES as u64 + payload).next_multiple_of(SECTOR_BYTES)
}

fn put<const N: usize>(into: &mut [u8], at: usize, bytes: [u8; N]) {
    into[at..at + N].copy_from_slice(&bytes);
}

fn take<const N: usize>(from: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| from[at + i])
}

macro_rules! number {
    ($type:ty, $from:expr, $layout:ident.$field:ident) => {
        <$type>::from_le_bytes(take($from, offset_of!($layout, $field)))
    };
}

fn segment_checksum(bytes: &[u8; SEGMENT_HEADER_BYTES]) -> u32 {
    let at = offset_of!(SegmentHeader, checksum);
    let before = crc32c::crc32c(&bytes[..at]);
    crc32c::crc32c_append(before, &bytes[at + size_of::<u32>()..])
}

fn block_checksum(bytes: &[u8; BLOCK_HEADER_BYTES]) -> u32 {
    crc32c::crc32c(&bytes[offset_of!(BlockHeader, kind)..])
}

impl Lsn {
    /// Whether a log or a segment may begin here.
    pub(super) const fn can_begin(self) -> bool {
        self.0.is_multiple_of(RECORD_ALIGN as u64) && self.0 < END_OF_POSITIONS
    }

    /// Whether a log that ends here may be opened: no process appends as many bytes as are left to the positions at
    /// which a segment may begin.
    pub(super) const fn can_append(self) -> bool {
        self.0 < END_OF_POSITIONS / 2
    }
}

impl Segment {
    pub fn encode(&self) -> [u8; SEGMENT_HEADER_BYTES] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        put(&mut bytes, offset_of!(SegmentHeader, magic), SEGMENT_MAGIC);
        put(&mut bytes, offset_of!(SegmentHeader, version), VERSION.to_le_bytes());
        put(&mut bytes, offset_of!(SegmentHeader, database_id), self.database_id.to_le_bytes());
        put(&mut bytes, offset_of!(SegmentHeader, first_lsn), self.first_lsn.0.to_le_bytes());
        put(&mut bytes, offset_of!(SegmentHeader, segment_bytes), self.segment_bytes.to_le_bytes());
        put(&mut bytes, offset_of!(SegmentHeader, epoch), self.epoch.to_le_bytes());
        let checksum = segment_checksum(&bytes);
        put(&mut bytes, offset_of!(SegmentHeader, checksum), checksum.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8; SEGMENT_HEADER_BYTES]) -> Result<Segment, BadSegment> {
        if take(bytes, offset_of!(SegmentHeader, magic)) != SEGMENT_MAGIC {
            return Err(BadSegment::Magic);
        }
        // The checksum first: a damaged version is damage, not another version. All versions keep it in this place.
        if number!(u32, bytes, SegmentHeader.checksum) != segment_checksum(bytes) {
            return Err(BadSegment::Checksum);
        }
        let version = number!(u32, bytes, SegmentHeader.version);
        if version != VERSION {
            return Err(BadSegment::Version(version));
        }
        let segment_bytes = number!(u64, bytes, SegmentHeader.segment_bytes);
        if segment_bytes < PAGE_BYTES || !segment_bytes.is_multiple_of(PAGE_BYTES) {
            return Err(BadSegment::Size);
        }
        let first_lsn = Lsn(number!(u64, bytes, SegmentHeader.first_lsn));
        if !first_lsn.can_begin() {
            return Err(BadSegment::Position);
        }
        Ok(Segment {
            database_id: number!(u128, bytes, SegmentHeader.database_id),
            first_lsn,
            segment_bytes,
            epoch: number!(u64, bytes, SegmentHeader.epoch),
        })
    }
}

impl Block {
    pub fn encode(&self) -> [u8; BLOCK_HEADER_BYTES] {
        let mut bytes = [0; BLOCK_HEADER_BYTES];
        put(&mut bytes, offset_of!(BlockHeader, magic), BLOCK_MAGIC.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, kind), (self.kind as u32).to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, payload_bytes), self.payload_bytes.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, database_id), self.database_id.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, first_lsn), self.first_lsn.0.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, epoch), self.epoch.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, payload_checksum), self.payload_checksum.to_le_bytes());
        put(&mut bytes, offset_of!(BlockHeader, generation), self.generation.to_le_bytes());
        let checksum = block_checksum(&bytes);
        put(&mut bytes, offset_of!(BlockHeader, checksum), checksum.to_le_bytes());
        bytes
    }

    /// The header in `bytes`, if they are one: the magic, the checksum and the kind are right.
    pub fn decode(bytes: &[u8; BLOCK_HEADER_BYTES]) -> Option<Block> {
        if number!(u32, bytes, BlockHeader.magic) != BLOCK_MAGIC
            || number!(u32, bytes, BlockHeader.checksum) != block_checksum(bytes)
        {
            return None;
        }
        let kind = match number!(u32, bytes, BlockHeader.kind) {
            1 => BlockKind::Records,
            2 => BlockKind::Continues,
            3 => BlockKind::Closed,
            _ => return None,
        };
        Some(Block {
            kind,
            payload_bytes: number!(u32, bytes, BlockHeader.payload_bytes),
            payload_checksum: number!(u32, bytes, BlockHeader.payload_checksum),
            database_id: number!(u128, bytes, BlockHeader.database_id),
            first_lsn: Lsn(number!(u64, bytes, BlockHeader.first_lsn)),
            epoch: number!(u64, bytes, BlockHeader.epoch),
            generation: number!(u64, bytes, BlockHeader.generation),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes_of_a_block_header() {
        let block = Block {
            kind: BlockKind::Closed,
            payload_bytes: 0,
            payload_checksum: 0,
            database_id: 0x0102,
            first_lsn: Lsn(0x1122_3340),
            epoch: 3,
            generation: 0x55,
        };
        let mut golden = [0; BLOCK_HEADER_BYTES];
        golden[..4].copy_from_slice(b"GBLK");
        golden[8] = 3;
        golden[16..18].copy_from_slice(&[2, 1]);
        golden[32..36].copy_from_slice(&[0x40, 0x33, 0x22, 0x11]);
        golden[40] = 3;
        golden[56] = 0x55;
        let checksum = crc32c::crc32c(&golden[8..]);
        golden[4..8].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(block.encode(), golden);
        assert_eq!(Block::decode(&golden), Some(block));
        // As programs wrote it that knew of no generation.
        golden[56] = 0;
        let checksum = crc32c::crc32c(&golden[8..]);
        golden[4..8].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Block::decode(&golden), Some(Block { generation: 0, ..block }));
    }
}
