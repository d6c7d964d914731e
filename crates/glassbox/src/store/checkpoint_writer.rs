//! Writing a checkpoint file: every row as of one position of the log.
//!
//! The format is drawn in `docs/formats/checkpoint.md`.

use super::manifest::CheckpointEntry;
use crate::error::Error;
use crate::io::{File, Files};
use crate::log::Lsn;

/// Directory of the checkpoint files.
pub(crate) const DIRECTORY: &str = "checkpoint";
pub(crate) const MAGIC: &[u8; 8] = b"GBCHECKP";
pub(crate) const FORMAT: u32 = 1;
/// Magic, format, checksum of the rest, database id, log position, partitions.
pub(crate) const HEADER_BYTES: usize = 8 + 4 + 4 + 16 + 8 + 8;
/// Length of the rows, checksum of the rest and the rows, table, partition, number of rows.
pub(crate) const BLOCK_HEADER_BYTES: usize = 4 + 4 + 2 + 2 + 4;
/// Table number of the last block, whose payload is the number of blocks and of rows.
pub(crate) const END: u16 = u16::MAX;
/// Partition of the blocks of replicated tables.
pub(crate) const REPLICATED: u16 = u16::MAX;
/// Maximum bytes of a block's rows that a reader accepts.
pub(crate) const MAX_BLOCK_BYTES: usize = 256 << 20;
/// Bytes between forces of the file: the log's own forces wait for at most so many.
const FORCE_BYTES: u64 = 1 << 20;

/// A finished checkpoint file, not yet named by the manifest.
pub(crate) struct WrittenCheckpoint {
    pub(crate) entry: CheckpointEntry,
    /// The file contains all changes before this position.
    pub(crate) lsn: Lsn,
}

/// A checkpoint file that is being written, under another name than the one that it may replace.
pub(crate) struct CheckpointWriter {
    file: Box<dyn File>,
    name: String,
    lsn: Lsn,
    at: u64,
    forced: u64,
    blocks: u64,
    rows: u64,
    /// The checksum of all headers so far.
    checksum: u32,
}

impl CheckpointWriter {
    /// Begins the file of the rows as of this log position.
    pub(crate) fn create(files: &dyn Files, database_id: u128, lsn: Lsn, partitions: usize) -> Result<Self, Error> {
        files.create_directory(DIRECTORY)?;
        let name = free_name(files, lsn)?;
        let temporary = temporary(&name);
        if files.exists(&temporary)? {
            files.remove(&temporary)?;
        }
        let (file, header) = (files.create(&temporary)?, header(database_id, lsn, partitions));
        let checksum = crc32c::crc32c(&header);
        let mut writer = Self { file, name, lsn, at: 0, forced: 0, blocks: 0, rows: 0, checksum };
        match writer.put(&header) {
            Ok(_) => Ok(writer),
            Err(error) => Err(writer.give_up(files, error)),
        }
    }

    /// Whether this forced the file.
    fn put(&mut self, bytes: &[u8]) -> Result<bool, Error> {
        self.file.write_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        let forces = self.at - self.forced >= FORCE_BYTES;
        if forces {
            self.file.sync_data()?;
            self.forced = self.at;
        }
        Ok(forces)
    }

    /// Writes rows of a table, which follow the room for the block's header in `block`; whether this forced the file.
    pub(crate) fn rows(&mut self, table: u16, partition: u16, rows: u32, block: &mut [u8]) -> Result<bool, Error> {
        self.blocks += 1;
        self.rows += u64::from(rows);
        self.block(table, partition, rows, block)
    }

    fn block(&mut self, table: u16, partition: u16, rows: u32, block: &mut [u8]) -> Result<bool, Error> {
        let length = (block.len() - BLOCK_HEADER_BYTES) as u32;
        block[8..10].copy_from_slice(&table.to_le_bytes());
        block[10..12].copy_from_slice(&partition.to_le_bytes());
        block[12..16].copy_from_slice(&rows.to_le_bytes());
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&length.to_le_bytes()), &block[8..]);
        block[0..4].copy_from_slice(&length.to_le_bytes());
        block[4..8].copy_from_slice(&checksum.to_le_bytes());
        self.checksum = crc32c::crc32c_append(self.checksum, &block[..BLOCK_HEADER_BYTES]);
        self.put(block)
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> u64 {
        self.at
    }

    /// Ends the file, which is valid when the manifest names it.
    pub(crate) fn finish(mut self, files: &dyn Files) -> Result<WrittenCheckpoint, Error> {
        if let Err(error) = self.end(files) {
            return Err(self.give_up(files, error));
        }
        let (bytes, rows, checksum) = (self.at, self.rows, Some(self.checksum));
        Ok(WrittenCheckpoint { entry: CheckpointEntry { file: self.name, bytes, rows, checksum }, lsn: self.lsn })
    }

    fn end(&mut self, files: &dyn Files) -> Result<(), Error> {
        let mut end = vec![0; BLOCK_HEADER_BYTES];
        end.extend_from_slice(&self.blocks.to_le_bytes());
        end.extend_from_slice(&self.rows.to_le_bytes());
        self.block(END, REPLICATED, 0, &mut end)?;
        self.file.sync_data()?;
        files.rename(&temporary(&self.name), &self.name)?;
        files.sync_directory(DIRECTORY)?;
        Ok(())
    }

    /// Removes half a checkpoint, whose room the log may need on a full disk. If this fails too, the next opening
    /// removes it.
    pub(crate) fn give_up(self, files: &dyn Files, error: Error) -> Error {
        self.discard(files);
        error
    }

    /// Removes the file, which is not complete.
    pub(crate) fn discard(self, files: &dyn Files) {
        let _ = files.remove(&temporary(&self.name));
    }
}

fn temporary(name: &str) -> String {
    format!("{name}.new")
}

/// A name for the checkpoint file of a log position. Rows that come without a log make two checkpoints of one position
/// differ, and until the manifest names the new one, the old one must stay as it is.
fn free_name(files: &dyn Files, lsn: Lsn) -> Result<String, Error> {
    let mut name = format!("{DIRECTORY}/{:016x}.checkpoint", lsn.0);
    for number in 1_u64.. {
        if !files.exists(&name)? {
            break;
        }
        name = format!("{DIRECTORY}/{:016x}-{number}.checkpoint", lsn.0);
    }
    Ok(name)
}

/// Whether a checkpoint, complete or not, has this name, from the database's directory.
pub(super) fn is_checkpoint_file(name: &str) -> bool {
    let stem = name.strip_prefix(DIRECTORY).and_then(|rest| rest.strip_prefix('/'));
    let stem = stem.map(|rest| rest.strip_suffix(".new").unwrap_or(rest));
    let Some(stem) = stem.and_then(|rest| rest.strip_suffix(".checkpoint")) else { return false };
    let (position, number) = stem.split_once('-').unwrap_or((stem, "1"));
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    position.len() == 16 && position.bytes().all(is_digit) && number.parse::<u64>().is_ok()
}

fn header(database_id: u128, lsn: Lsn, partitions: usize) -> Vec<u8> {
    let mut rest = Vec::with_capacity(HEADER_BYTES);
    rest.extend_from_slice(&database_id.to_le_bytes());
    rest.extend_from_slice(&lsn.0.to_le_bytes());
    rest.extend_from_slice(&(partitions as u64).to_le_bytes());
    let mut header = Vec::with_capacity(HEADER_BYTES);
    header.extend_from_slice(MAGIC);
    header.extend_from_slice(&FORMAT.to_le_bytes());
    header.extend_from_slice(&crc32c::crc32c(&rest).to_le_bytes());
    header.extend_from_slice(&rest);
    debug_assert_eq!(header.len(), HEADER_BYTES);
    header
}
