//! Checkpoints: every row as of one moment of the log, in a file of its own, written while transactions run.
//!
//! The moment is when all tokens are held at once, which takes as long as the longest transaction: each table then
//! fixes its rows (see `snapshot`) and the log position is noted. After that the rows are copied out in slices under
//! one partition's token at a time, each some tens of microseconds, and written without it ([`CheckpointWriter`]). The
//! file counts only when the manifest names it, so a checkpoint that did not come to its end is just a file to remove.
//! Afterwards the log before the position is not needed any more.

use super::engine::Engine;
use super::pace::{Growth, Pace};
use crate::error::Error;
use crate::io::Files;
use crate::procedure::PartitionSet;
use crate::store::checkpoint_writer::BLOCK_HEADER_BYTES;
use crate::store::{CheckpointWriter, REPLICATED, WrittenCheckpoint};

/// Rows copied under a token at once, bytes: a few tens of microseconds.
const SLICE_BYTES: usize = 64 << 10;

/// A table to be written: where it is, its number in the files, the width of its rows, and whether it is replicated.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) id: usize,
    pub(crate) number: u16,
    pub(crate) row_width: usize,
    pub(crate) replicated: bool,
}

/// Writes all rows, as of now, to a new file. Transactions go on meanwhile.
pub(crate) fn write(
    engine: &Engine,
    files: &dyn Files,
    database_id: u128,
    sources: &[Source],
    alone: bool,
    log: &Growth<'_>,
) -> Result<WrittenCheckpoint, Error> {
    let (lsn, bytes) = engine.holding(engine.all(), |mut hold| {
        engine.check_whole(alone)?;
        let mut bytes = 0;
        for_each(engine, sources, |partition, source| {
            let partition = hold.held.partition(partition).expect("all are held");
            bytes += table(partition, source).begin_snapshot() * source.row_width as u64;
        });
        Ok::<_, Error>(((log.lsn_now)(), bytes))
    })?;
    let pace = Pace::new(&*engine.clock, log, lsn, bytes);
    let written = write_rows(engine, files, database_id, sources, pace);
    if written.is_err() {
        engine.holding(engine.all(), |mut hold| {
            for_each(engine, sources, |partition, source| {
                let partition = hold.held.partition(partition).expect("all are held");
                table(partition, source).end_snapshot();
            });
        });
    }
    written
}

fn table<'a>(
    partition: &'a mut super::partition::Partition,
    source: &Source,
) -> &'a mut dyn crate::partitioned::storage::any_table::AnyTable {
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
) -> Result<WrittenCheckpoint, Error> {
    let lsn = pace.began;
    let mut writer = CheckpointWriter::create(files, database_id, lsn, engine.cells.len())?;
    let mut result = Ok(());
    for_each(engine, sources, |partition, source| {
        if result.is_ok() {
            result = write_table(engine, partition, source, &mut writer, &mut pace);
        }
    });
    match result {
        Ok(()) => writer.finish(files),
        Err(error) => Err(writer.give_up(files, error)),
    }
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
        engine.holding(PartitionSet::of(partition), |mut hold| {
            done = table(hold.held.home(), source).snapshot_slice(SLICE_BYTES, &mut block);
        });
        let rows = (block.len() - BLOCK_HEADER_BYTES) / source.row_width;
        let place = if source.replicated { REPLICATED } else { partition as u16 };
        if rows > 0 && writer.rows(source.number, place, rows as u32, &mut block)? {
            pace.rest(writer.written());
        }
    }
    Ok(())
}
