//! Writing a base.

use std::sync::Arc;

use crate::error::Error;
use crate::log::{Log, Lsn};
use crate::store::checkpoint_writer::BLOCK_HEADER_BYTES;
use crate::store::{CheckpointWriter, REPLICATED, Store};

/// The directory and the log of a journal, shared with the writer of its base.
#[derive(Clone)]
pub(crate) struct JournalFiles {
    pub(crate) store: Arc<Store>,
    pub(crate) log: Arc<Log>,
}

/// Rows of one table, behind room for a block's header.
pub(crate) struct Piece {
    table: u16,
    rows: u32,
    block: Vec<u8>,
}

impl Piece {
    /// Room for the header, to be filled with rows.
    pub(crate) fn room() -> Vec<u8> {
        vec![0; BLOCK_HEADER_BYTES]
    }

    pub(crate) fn new(table: u16, row_width: usize, block: Vec<u8>) -> Self {
        let rows = (block.len() - BLOCK_HEADER_BYTES) / row_width;
        Self { table, rows: rows as u32, block }
    }
}

/// A base that is being written.
pub(crate) struct BaseWriter {
    shared: JournalFiles,
    file: CheckpointWriter,
}

impl BaseWriter {
    /// Begins one whose rows are as they are at this place of the log.
    pub(crate) fn new(shared: JournalFiles, lsn: Lsn) -> Result<Self, Error> {
        let id = shared.store.manifest().database_id;
        let file = CheckpointWriter::create(&*shared.store.files, id, lsn, 1)?;
        Ok(Self { shared, file })
    }

    /// Writes all pieces and names the base in the manifest, unless they end before the last.
    pub(crate) fn write(mut self, pieces: impl Iterator<Item = Option<Piece>>) -> Result<(), Error> {
        for piece in pieces {
            let Some(Piece { table, rows, mut block }) = piece else { return self.finish() };
            if let Err(error) = self.file.rows(table, REPLICATED, rows, &mut block) {
                return Err(self.file.give_up(&*self.shared.store.files, error));
            }
        }
        self.file.discard(&*self.shared.store.files);
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        let JournalFiles { store, log } = self.shared;
        let written = self.file.finish(&*store.files)?;
        store.manifest().adopt(written, Some(&log))
    }
}
