//! Reading a checkpoint file: checked block by block, loaded by all partitions at once.

use std::io::ErrorKind;

use super::checkpoint_writer::{BLOCK_HEADER_BYTES, END, FORMAT, HEADER_BYTES, MAGIC, MAX_BLOCK_BYTES, REPLICATED};
use super::manifest::Manifest;
use crate::error::Error;
use crate::io::{File, Files};
use crate::log::{Lsn, older_or};

/// A block of rows, by its header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckpointBlock {
    /// Offset of its header in the file.
    pub(crate) at: u64,
    pub(crate) length: u32,
    pub(crate) table: u16,
    pub(crate) partition: u16,
    pub(crate) rows: u32,
}

/// A checkpoint file whose header and block headers are read.
pub(crate) struct CheckpointFile {
    pub(crate) file: Box<dyn File>,
    pub(crate) partitions: u64,
    pub(crate) blocks: Vec<CheckpointBlock>,
    /// The checksum of its header and those of its blocks.
    checksum: u32,
}

/// An error at a place of a file.
pub(crate) fn damaged(file: &dyn File, offset: u64, problem: impl Into<String>) -> Error {
    Error::Damaged { file: file.path().display().to_string(), offset, problem: problem.into() }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("2 bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

impl CheckpointFile {
    /// The file that the manifest names, if there is one; another file of that name, such as an older copy, is refused.
    pub(crate) fn of(files: &dyn Files, manifest: &Manifest) -> Result<Option<Self>, Error> {
        // The older copy may be the manifest.
        Self::named(files, manifest).map_err(|error| older_or(files, &manifest.expected_log(), error))
    }

    fn named(files: &dyn Files, manifest: &Manifest) -> Result<Option<Self>, Error> {
        let Some(entry) = &manifest.checkpoint else { return Ok(None) };
        let file = files.open(&entry.file).map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                let problem =
                    "it is missing, but the manifest names it: one of the two is an older copy, or was removed";
                Error::Damaged { file: entry.file.clone(), offset: 0, problem: problem.to_owned() }
            }
            _ => error.into(),
        })?;
        let found = Self::open(file, entry.bytes, manifest.database_id, Lsn(manifest.log_start))?;
        if entry.checksum.is_some_and(|checksum| checksum != found.checksum) {
            let problem = "it is not the file that the manifest names: one of the two is an older copy";
            return Err(damaged(&*found.file, 0, problem));
        }
        Ok(Some(found))
    }

    /// Reads the headers and checks that the file is whole and is of this database and position.
    pub(crate) fn open(file: Box<dyn File>, bytes: u64, database_id: u128, lsn: Lsn) -> Result<Self, Error> {
        let length = file.len()?;
        if length != bytes {
            return Err(damaged(
                &*file,
                length.min(bytes),
                format!("it has {length} bytes where {bytes} were written"),
            ));
        }
        if length < HEADER_BYTES as u64 {
            return Err(damaged(&*file, length, "it is too short to be a checkpoint"));
        }
        let mut header = [0; HEADER_BYTES];
        file.read_exact_at(&mut header, 0)?;
        if header[..8] != *MAGIC {
            return Err(damaged(&*file, 0, "it does not begin as a checkpoint does"));
        }
        if u32_at(&header, 8) != FORMAT {
            let (found, name) = (u32_at(&header, 8), file.path().display().to_string());
            return Err(Error::WrongFormat { file: name, offset: 8, found, known: FORMAT });
        }
        if u32_at(&header, 12) != crc32c::crc32c(&header[16..]) {
            return Err(damaged(&*file, 12, "the checksum of its header does not match"));
        }
        if header[16..32] != database_id.to_le_bytes() {
            return Err(damaged(&*file, 16, "it belongs to another database"));
        }
        if u64_at(&header, 32) != lsn.0 {
            return Err(damaged(&*file, 32, "it is of another moment than the manifest says"));
        }
        let partitions = u64_at(&header, 40);
        let (blocks, checksum) = read_blocks(&*file, length, crc32c::crc32c(&header))?;
        // The readers skip what is another partition's, so a block of none would never be read.
        let of_none =
            |block: &&CheckpointBlock| block.partition != REPLICATED && u64::from(block.partition) >= partitions;
        if let Some(block) = blocks.iter().find(of_none) {
            return Err(damaged(&*file, block.at, "this block is of a partition that there was not"));
        }
        Ok(Self { file, partitions, blocks, checksum })
    }

    /// Reads a block's rows and checks them.
    pub(crate) fn rows(&self, block: &CheckpointBlock, buffer: &mut Vec<u8>) -> Result<(), Error> {
        buffer.resize(BLOCK_HEADER_BYTES + block.length as usize, 0);
        self.file.read_exact_at(buffer, block.at)?;
        let checksum = crc32c::crc32c_append(crc32c::crc32c(&buffer[..4]), &buffer[8..]);
        if checksum != u32_at(buffer, 4) {
            return Err(damaged(&*self.file, block.at, "the checksum of this block does not match"));
        }
        buffer.drain(..BLOCK_HEADER_BYTES);
        Ok(())
    }
}

/// Reads the headers of all blocks, and adds them to the checksum.
fn read_blocks(file: &dyn File, length: u64, mut checksum: u32) -> Result<(Vec<CheckpointBlock>, u32), Error> {
    let mut blocks = Vec::new();
    let (mut at, mut rows) = (HEADER_BYTES as u64, 0);
    loop {
        let mut header = [0; BLOCK_HEADER_BYTES];
        if at + BLOCK_HEADER_BYTES as u64 > length {
            return Err(damaged(file, at, "it ends before its last block"));
        }
        file.read_exact_at(&mut header, at)?;
        checksum = crc32c::crc32c_append(checksum, &header);
        let block = CheckpointBlock {
            at,
            length: u32_at(&header, 0),
            table: u16_at(&header, 8),
            partition: u16_at(&header, 10),
            rows: u32_at(&header, 12),
        };
        let end = at + BLOCK_HEADER_BYTES as u64 + u64::from(block.length);
        if end > length || block.length as usize > MAX_BLOCK_BYTES {
            return Err(damaged(file, at, "this block is longer than the file"));
        }
        if block.table == END {
            return Ok((check_end(file, &block, end == length, blocks, rows)?, checksum));
        }
        rows += u64::from(block.rows);
        blocks.push(block);
        at = end;
    }
}

/// The last block counts the others, so that none can be missing.
fn check_end(
    file: &dyn File,
    end: &CheckpointBlock,
    last: bool,
    blocks: Vec<CheckpointBlock>,
    rows: u64,
) -> Result<Vec<CheckpointBlock>, Error> {
    let mut bytes = vec![0; BLOCK_HEADER_BYTES + end.length as usize];
    file.read_exact_at(&mut bytes, end.at)?;
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..4]), &bytes[8..]);
    let right = end.length == 16
        && end.partition == REPLICATED
        && checksum == u32_at(&bytes, 4)
        && u64_at(&bytes, BLOCK_HEADER_BYTES) == blocks.len() as u64
        && u64_at(&bytes, BLOCK_HEADER_BYTES + 8) == rows;
    if right && last { Ok(blocks) } else { Err(damaged(file, end.at, "its last block does not match the others")) }
}
