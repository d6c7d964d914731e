//! Checkpoints: every row as of one moment of the log, in a file of its own, written while transactions run.
//!
//! The moment is when all tokens are held at once, which takes as long as the longest transaction: each table then
//! fixes its rows (see `snapshot`) and the log position is noted. After that the rows are copied out in slices under
//! one partition's token at a time, each some tens of microseconds, and written without it. The file counts only when
//! the manifest names it, so a checkpoint that did not come to its end is just a file to remove. Afterwards the log
//! before the position is not needed any more.
//!
//! The format is drawn in `docs/formats/checkpoint.md`.

use super::engine::Engine;
use super::pace::{Growth, Pace};
use crate::error::Error;
use crate::io::{File, Files};
use crate::log::Lsn;
use crate::procedure::PartitionSet;
use crate::store::CheckpointEntry;

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
/// Rows copied under a token at once, bytes: a few tens of microseconds.
const SLICE_BYTES: usize = 64 << 10;
/// Most bytes of a block's rows that a reader accepts.
pub(crate) const MOST_BLOCK_BYTES: usize = 256 << 20;
/// Forced after so many bytes, so that the log's own forces never wait behind more than that.
const FORCE_BYTES: u64 = 1 << 20;

/// A finished checkpoint file, not yet named by the manifest.
pub(crate) struct Written {
    pub(crate) entry: CheckpointEntry,
    /// Everything before is in it.
    pub(crate) lsn: Lsn,
}

/// A checkpoint file that is being written; beside the one that it may replace.
pub(crate) struct CheckpointWriter {
    file: Box<dyn File>,
    name: String,
    at: u64,
    forced: u64,
    blocks: u64,
    rows: u64,
}

impl CheckpointWriter {
    /// Begins one of the rows as they are at this log position.
    pub(crate) fn create(files: &dyn Files, database_id: u128, lsn: Lsn, partitions: usize) -> Result<Self, Error> {
        files.create_directory(DIRECTORY)?;
        let name = free_name(files, lsn)?;
        let temporary = temporary(&name);
        if files.exists(&temporary)? {
            files.remove(&temporary)?;
        }
        let mut writer = Self { file: files.create(&temporary)?, name, at: 0, forced: 0, blocks: 0, rows: 0 };
        match writer.put(&header(database_id, lsn, partitions)) {
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

    /// Writes rows of a table, behind the place for the block's header in `block`; whether this forced the file.
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
        self.put(block)
    }

    /// Bytes written.
    pub(crate) fn written(&self) -> u64 {
        self.at
    }

    /// Ends the file, which counts when the manifest names it.
    pub(crate) fn finish(mut self, files: &dyn Files) -> Result<CheckpointEntry, Error> {
        match self.end(files) {
            Ok(()) => Ok(CheckpointEntry { file: self.name, bytes: self.at, rows: self.rows }),
            Err(error) => Err(self.give_up(files, error)),
        }
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

    /// On a full disk, half a checkpoint would only keep room from the log. If this fails too, opening removes it.
    pub(crate) fn give_up(self, files: &dyn Files, error: Error) -> Error {
        let _ = files.remove(&temporary(&self.name));
        error
    }
}

fn temporary(name: &str) -> String {
    format!("{name}.new")
}

/// A table to be written: where it is, its number in the files, the width of its rows, and whether it is replicated.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) id: usize,
    pub(crate) number: u16,
    pub(crate) row_width: usize,
    pub(crate) replicated: bool,
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

/// Writes all rows, as of now, to a new file. Transactions go on meanwhile.
pub(crate) fn write(
    engine: &Engine,
    files: &dyn Files,
    database_id: u128,
    sources: &[Source],
    alone: bool,
    log: &Growth<'_>,
) -> Result<Written, Error> {
    let (lsn, bytes) = engine.holding(engine.all(), || {
        engine.check_whole(alone)?;
        let mut bytes = 0;
        for_each(engine, sources, |partition, source| {
            // SAFETY: all tokens are held.
            let partition = unsafe { &mut *engine.cells[partition].partition() };
            bytes += table(partition, source).begin_snapshot() * source.row_width as u64;
        });
        Ok::<_, Error>(((log.lsn_now)(), bytes))
    })?;
    let pace = Pace::new(&*engine.clock, log, lsn, bytes);
    let written = write_rows(engine, files, database_id, sources, pace);
    if written.is_err() {
        engine.holding(engine.all(), || {
            for_each(engine, sources, |partition, source| {
                // SAFETY: all tokens are held.
                let partition = unsafe { &mut *engine.cells[partition].partition() };
                table(partition, source).end_snapshot();
            });
        });
    }
    written
}

fn table<'a>(
    partition: &'a mut super::partition::Partition,
    source: &Source,
) -> &'a mut dyn super::any_table::AnyTable {
    &mut **partition.tables[source.id].as_mut().expect("the sources are the catalog's tables")
}

/// Every table of every partition, replicated ones of the first only.
fn for_each(engine: &Engine, sources: &[Source], mut work: impl FnMut(usize, &Source)) {
    for partition in 0..engine.cells.len() {
        for source in sources.iter().filter(|source| partition == 0 || !source.replicated) {
            work(partition, source);
        }
    }
}

fn write_rows(
    engine: &Engine,
    files: &dyn Files,
    database_id: u128,
    sources: &[Source],
    mut pace: Pace<'_>,
) -> Result<Written, Error> {
    let lsn = pace.began;
    let mut writer = CheckpointWriter::create(files, database_id, lsn, engine.cells.len())?;
    let mut result = Ok(());
    for_each(engine, sources, |partition, source| {
        if result.is_ok() {
            result = write_table(engine, partition, source, &mut writer, &mut pace);
        }
    });
    match result {
        Ok(()) => Ok(Written { entry: writer.finish(files)?, lsn }),
        Err(error) => Err(writer.give_up(files, error)),
    }
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

fn write_table(
    engine: &Engine,
    partition: usize,
    source: &Source,
    writer: &mut CheckpointWriter,
    pace: &mut Pace<'_>,
) -> Result<(), Error> {
    let mut block = Vec::with_capacity(BLOCK_HEADER_BYTES + SLICE_BYTES + source.row_width);
    let mut done = false;
    while !done {
        block.clear();
        block.resize(BLOCK_HEADER_BYTES, 0);
        engine.holding(PartitionSet::of(partition), || {
            // SAFETY: its token is held.
            let partition = unsafe { &mut *engine.cells[partition].partition() };
            done = table(partition, source).snapshot_slice(SLICE_BYTES, &mut block);
        });
        let rows = (block.len() - BLOCK_HEADER_BYTES) / source.row_width;
        let place = if source.replicated { REPLICATED } else { partition as u16 };
        if rows > 0 && writer.rows(source.number, place, rows as u32, &mut block)? {
            pace.rest(writer.written());
        }
    }
    Ok(())
}
