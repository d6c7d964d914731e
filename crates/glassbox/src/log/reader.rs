//! Reads the log, and tells a torn end from damage.
//!
//! Problem: after a crash the last block may be whole, absent, or some of its sectors. That is the normal end of the
//! log. The same bytes in the middle are damage, and treating them as the end would silently lose answered
//! transactions. The two cases differ because a block is written only after the one before it was forced. So if a block
//! is invalid, the rest of the log is searched. A valid block header of this database, with an LSN and an epoch that
//! are not before the expected ones, proves that the invalid block was forced once: [`LogError::Corrupt`]. So does a
//! later segment that is not empty or does not begin at the expected LSN. Otherwise the invalid block is a torn end.
//!
//! Damage of the very last block of a log that was not closed cannot be detected: it looks like a torn end.
//!
//! Stale bytes cause no confusion. The blocks in a recycled segment have LSNs below the expected one, since only
//! truncated segments are recycled. Nothing was ever written after a torn block; the header of the torn block is
//! overwritten before the log is used ([`LogScan::cut_torn_end`]), so that a later write over its payload cannot make
//! it whole. Records that contain copies of log blocks would have to foresee the LSN.
//!
//! Lengths are used only after their checksum was verified, and never beyond the file: no bytes can make the reader
//! panic or allocate more than a segment.

use super::error::LogError;
use super::format::{
    BLOCK_HEADER_BYTES, BadSegment, Block, BlockKind, LENGTH_BYTES, RECORD_ALIGN, SECTOR_BYTES, SEGMENT_HEADER_BYTES,
    Segment, VERSION, block_bytes, framed,
};
use super::look::ExpectedLog;
use super::lsn::Lsn;
use super::segments::{DIRECTORY, Named, parse_name, segment_name};
use super::writer::Writer;
use crate::io::{File, Files, IoError};

/// Bytes read at a time during the search.
const SEARCH_BYTES: usize = 1 << 20;

/// Receives a record and the position after it.
pub(super) type OnRecord<'a> = &'a mut dyn FnMut(Lsn, &[u8]) -> Result<(), LogError>;

/// The result of reading a log: its end and its segments.
pub(super) struct LogScan {
    pub end: Lsn,
    /// First LSNs of all segments up to the one in which the log ends.
    pub chain: Vec<Lsn>,
    /// First LSNs of later segments: prepared, but never written to.
    pub empty: Vec<Lsn>,
    /// Names of the segments that were read.
    pub read: Vec<String>,
    last: BlockCursor,
    /// Whether the log was not closed, so that a torn block may follow the end.
    pub torn: bool,
}

/// A position in a segment, and the values expected in the next block.
struct BlockCursor {
    file: Box<dyn File>,
    segment_bytes: u64,
    offset: u64,
    lsn: Lsn,
    epoch: u64,
    /// The highest of what was expected and of the blocks so far.
    generation: u64,
    database_id: u128,
}

/// The result of reading one block.
enum Stands {
    Block(Block),
    /// No valid block. The search for later ones starts at this offset: the block's end if its header was valid.
    Nothing {
        search_from: u64,
    },
}

/// First LSNs of all segments.
fn firsts(files: &dyn Files) -> Result<Vec<Lsn>, IoError> {
    let first = |name: &String| if let Named::Segment(first) = parse_name(name) { Some(first) } else { None };
    Ok(files.list(DIRECTORY)?.iter().filter_map(first).collect())
}

/// Reads the whole log and fails if a block was written with a later generation: the reason why something that was
/// expected is missing.
#[cold]
pub(super) fn check_generations(files: &dyn Files, expected: &ExpectedLog) -> Result<(), LogError> {
    let Some(&from) = firsts(files)?.first() else { return Ok(()) };
    match read(files, &ExpectedLog { from, end: Lsn::NONE, ..*expected }, &mut |_, _| Ok(())) {
        Err(older @ LogError::OlderGeneration { .. }) => Err(older),
        // What else may be wrong is another matter.
        _ => Ok(()),
    }
}

pub(super) fn read(files: &dyn Files, expected: &ExpectedLog, read: OnRecord<'_>) -> Result<LogScan, LogError> {
    let from = expected.from;
    let all = firsts(files)?;
    let missing = |wanted, why| LogError::MissingSegment { wanted, file: segment_name(wanted), why };
    // The last segment that begins strictly before `from`, if there is one: the segment that begins at `from` may only
    // be prepared, and then the log still ends in the one before. If there is none, it was truncated, so the log had
    // continued in the segment that begins at `from`.
    let before = all.iter().rposition(|&first| first < from);
    let Some(start) = before.or_else(|| all.iter().position(|&first| first == from)) else {
        check_generations(files, expected)?;
        let why = if all.is_empty() { "there is no log" } else { "the log begins later" };
        return Err(missing(from, why));
    };
    let cursor = BlockCursor::open(files, expected.database_id, all[start], 0)?;
    let mut cursor = BlockCursor { generation: expected.generation, ..cursor };
    let mut names = vec![segment_name(all[start])];
    let mut at = start;
    let mut payload = Vec::new();
    let torn = loop {
        let stands = cursor.read_block(&mut payload)?;
        if let Stands::Block(block) = &stands {
            cursor.check_rules(block)?;
            cursor.check_generation(block, expected)?;
        }
        match stands {
            Stands::Block(block) if block.kind == BlockKind::Records => {
                cursor.records(&block, &payload, from, read)?;
                cursor.pass(&block);
            }
            Stands::Block(block) if block.kind == BlockKind::Continues => {
                at += 1;
                let mut next = cursor.lsn;
                if all.get(at) != Some(&next) {
                    // Truncated segments lose their names in any order, so one may remain without its successor.
                    // Records before `from` are not needed if there is a segment that begins there.
                    let begins = all.iter().position(|&first| first == from && next < from);
                    at = begins.ok_or_else(|| missing(next, "the log continues there"))?;
                    next = from;
                }
                let (epoch, generation) = (cursor.epoch.max(block.epoch), cursor.generation.max(block.generation));
                cursor = BlockCursor { generation, ..BlockCursor::open(files, expected.database_id, next, epoch)? };
                names.push(segment_name(next));
            }
            Stands::Block(block) => {
                (cursor.epoch, cursor.generation) = (block.epoch, cursor.generation.max(block.generation));
                cursor.nothing_follows(files, cursor.offset + SECTOR_BYTES, &all[at + 1..])?;
                break false;
            }
            Stands::Nothing { search_from } => {
                cursor.nothing_follows(files, search_from, &all[at + 1..])?;
                break true;
            }
        }
    };
    if cursor.lsn < expected.end {
        let (file, end, expected, by) = (cursor.file.path().into(), cursor.lsn, expected.end, expected.file);
        return Err(LogError::OlderLog { file, end, expected, by });
    }
    if !cursor.lsn.can_append() {
        return Err(cursor.corrupt(cursor.offset, "no log gets as far as this position"));
    }
    if from > cursor.lsn {
        return Err(LogError::NoSuchPosition { file: cursor.file.path().into(), from, end: cursor.lsn });
    }
    let (chain, empty) = all.split_at(at + 1);
    Ok(LogScan { end: cursor.lsn, chain: chain.into(), empty: empty.into(), read: names, last: cursor, torn })
}

impl BlockCursor {
    /// Opens the segment that begins at `first` and checks its header.
    fn open(files: &dyn Files, database_id: u128, first: Lsn, epoch: u64) -> Result<BlockCursor, LogError> {
        let file = files.open(&segment_name(first))?;
        let path = || file.path().to_path_buf();
        let mut bytes = [0; SEGMENT_HEADER_BYTES];
        let (length, got) = (file.len()?, file.read_at(&mut bytes, 0)?);
        if got < bytes.len() || length < SECTOR_BYTES {
            return Err(LogError::Truncated { file: path(), bytes: length, wanted: SECTOR_BYTES });
        }
        let segment = Segment::decode(&bytes).map_err(|bad| match bad {
            BadSegment::Version(found) => LogError::WrongVersion { file: path(), found, known: VERSION },
            BadSegment::Magic => LogError::BadHeader { file: path(), why: "it does not begin like a log segment" },
            BadSegment::Checksum => LogError::BadHeader { file: path(), why: "its checksum is wrong" },
            BadSegment::Position => LogError::BadHeader { file: path(), why: "it names an impossible position" },
            BadSegment::Size => LogError::BadHeader { file: path(), why: "it names an impossible size" },
        })?;
        if segment.database_id != database_id {
            return Err(LogError::Foreign { file: path(), found: segment.database_id, wanted: database_id });
        }
        if segment.first_lsn != first {
            return Err(LogError::Misplaced { file: path(), found: segment.first_lsn, wanted: first });
        }
        if length < segment.segment_bytes {
            return Err(LogError::Truncated { file: path(), bytes: length, wanted: segment.segment_bytes });
        }
        let (segment_bytes, epoch) = (segment.segment_bytes, epoch.max(segment.epoch));
        Ok(BlockCursor { file, segment_bytes, offset: SECTOR_BYTES, lsn: first, epoch, generation: 0, database_id })
    }

    /// Reads the block expected at this offset; its payload goes to `payload`.
    fn read_block(&self, payload: &mut Vec<u8>) -> Result<Stands, LogError> {
        let next_sector = Stands::Nothing { search_from: self.offset + SECTOR_BYTES };
        if self.offset + SECTOR_BYTES > self.segment_bytes {
            return Ok(next_sector);
        }
        let mut header = [0; BLOCK_HEADER_BYTES];
        self.file.read_exact_at(&mut header, self.offset)?;
        let Some(block) = Block::decode(&header) else { return Ok(next_sector) };
        let end = self.offset + block_bytes(u64::from(block.payload_bytes));
        if !self.is_ours(&block) || block.first_lsn != self.lsn || end > self.segment_bytes {
            return Ok(next_sector);
        }
        payload.resize(block.payload_bytes as usize, 0);
        self.file.read_exact_at(payload, self.offset + BLOCK_HEADER_BYTES as u64)?;
        if crc32c::crc32c(payload) != block.payload_checksum {
            return Ok(Stands::Nothing { search_from: end });
        }
        Ok(Stands::Block(block))
    }

    /// Whether a block could have been written after the blocks read so far.
    fn is_ours(&self, block: &Block) -> bool {
        block.database_id == self.database_id && block.first_lsn >= self.lsn && block.epoch >= self.epoch
    }

    fn pass(&mut self, block: &Block) {
        self.offset += block_bytes(u64::from(block.payload_bytes));
        self.lsn = Lsn(self.lsn.0 + u64::from(block.payload_bytes));
        self.epoch = block.epoch;
        self.generation = self.generation.max(block.generation);
    }

    /// Refuses a block with right checksums that no writer writes: an append after it would rely on these rules.
    fn check_rules(&self, block: &Block) -> Result<(), LogError> {
        let end = self.offset + block_bytes(u64::from(block.payload_bytes));
        let broken = match block.kind {
            BlockKind::Records if block.payload_bytes == 0 => "the block there has no records",
            BlockKind::Records if end + SECTOR_BYTES > self.segment_bytes => {
                "the block there leaves no room for the end of the segment"
            }
            BlockKind::Continues | BlockKind::Closed if block.payload_bytes != 0 => {
                "the block there ends the segment or the log, and has a payload"
            }
            BlockKind::Records | BlockKind::Continues | BlockKind::Closed => return Ok(()),
        };
        Err(self.corrupt(self.offset, broken))
    }

    /// Refuses a block that was written with a later state of what is known of the log.
    fn check_generation(&self, block: &Block, expected: &ExpectedLog) -> Result<(), LogError> {
        let (found, known) = (block.generation, expected.generation);
        if known == 0 || found <= known {
            return Ok(());
        }
        let (file, offset) = (self.file.path().into(), self.offset);
        Err(LogError::OlderGeneration { file, offset, found, known, by: expected.file })
    }

    /// Passes the records of a block that begin at or after `from` to `read`.
    fn records(&self, block: &Block, payload: &[u8], from: Lsn, read: OnRecord<'_>) -> Result<(), LogError> {
        let mut at = 0;
        while at < payload.len() {
            let rest = &payload[at..];
            let length = rest.first_chunk::<LENGTH_BYTES>().map(|bytes| u32::from_le_bytes(*bytes) as usize);
            let Some(record) = length.and_then(|length| rest[LENGTH_BYTES..].get(..length)) else {
                return Err(self.corrupt(self.offset, "a record is longer than its block"));
            };
            let start = block.first_lsn.0 + at as u64;
            at += framed(record.len());
            let end = block.first_lsn.0 + at as u64;
            if start >= from.0 {
                read(Lsn(end), record)?;
            } else if end > from.0 {
                return Err(LogError::NoSuchPosition { file: self.file.path().into(), from, end: Lsn(end) });
            }
        }
        if at != payload.len() || !payload.len().is_multiple_of(RECORD_ALIGN) {
            return Err(self.corrupt(self.offset, "a record is longer than its block"));
        }
        Ok(())
    }

    /// Fails if there is a block of this log at or after `offset`, or in the segments `later`.
    fn nothing_follows(&self, files: &dyn Files, offset: u64, later: &[Lsn]) -> Result<(), LogError> {
        if self.search(offset)? {
            return Err(self.corrupt(self.offset, "no sound block here, but sound ones follow"));
        }
        match later {
            [] => Ok(()),
            &[next] if next == self.lsn => {
                let next = BlockCursor::open(files, self.database_id, next, self.epoch)?;
                let next = BlockCursor { epoch: self.epoch, ..next };
                if next.search(SECTOR_BYTES)? {
                    return Err(self.corrupt(self.offset, "no sound block here, but the next segment has some"));
                }
                Ok(())
            }
            _ => Err(self.corrupt(self.offset, "no sound block here, but later segments exist")),
        }
    }

    /// Whether there is a valid header of a later block of this log at or after `offset`.
    fn search(&self, mut offset: u64) -> Result<bool, LogError> {
        let mut bytes = vec![0; SEARCH_BYTES.min(self.segment_bytes as usize)];
        while offset < self.segment_bytes {
            let now = (self.segment_bytes - offset).min(bytes.len() as u64) as usize;
            self.file.read_exact_at(&mut bytes[..now], offset)?;
            let mut sectors = bytes[..now].chunks_exact(SECTOR_BYTES as usize);
            let header = |sector: &[u8]| sector.first_chunk().and_then(Block::decode);
            if sectors.any(|sector| header(sector).is_some_and(|block| self.is_ours(&block))) {
                return Ok(true);
            }
            offset += now as u64;
        }
        Ok(false)
    }

    fn corrupt(&self, offset: u64, why: &'static str) -> LogError {
        LogError::Corrupt { file: self.file.path().into(), offset, lsn: self.lsn, why }
    }
}

impl LogScan {
    /// Overwrites the header of a torn block, if there is one, and forces the write.
    pub fn cut_torn_end(&self) -> Result<(), IoError> {
        let BlockCursor { file, segment_bytes, offset, .. } = &self.last;
        if !self.torn || offset + SECTOR_BYTES > *segment_bytes {
            return Ok(());
        }
        let mut header = [0; BLOCK_HEADER_BYTES];
        file.read_exact_at(&mut header, *offset)?;
        if header == [0; BLOCK_HEADER_BYTES] {
            return Ok(());
        }
        file.write_at(&[0; SECTOR_BYTES as usize], *offset)?;
        file.sync_data()
    }

    pub fn database_id(&self) -> u128 {
        self.last.database_id
    }

    /// A writer at the end of the log, with the next epoch. No log is opened often enough to reach the highest epoch.
    /// If a header contains it, the epoch stays, and is still not below the last one.
    pub fn into_writer(self) -> Writer {
        let BlockCursor { file, segment_bytes, offset, epoch, generation, database_id, .. } = self.last;
        Writer { file, offset, segment_bytes, database_id, epoch: epoch.saturating_add(1), generation }
    }
}
