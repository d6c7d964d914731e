//! Writing a base.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::io::Files;
use crate::log::{Log, Lsn};
use crate::store::Manifest;
use crate::partitioned::checkpoint::{BLOCK_HEADER_BYTES, CheckpointWriter, REPLICATED};

/// What the maker of a base shares with its journal.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) files: Arc<dyn Files>,
    pub(super) log: Arc<Log>,
    pub(super) manifest: Arc<Mutex<Manifest>>,
}

/// Rows of one table, behind room for a block's header.
pub(super) struct Piece {
    table: u16,
    rows: u32,
    block: Vec<u8>,
}

impl Piece {
    /// Room for the header, to be filled with rows.
    pub(super) fn room() -> Vec<u8> {
        vec![0; BLOCK_HEADER_BYTES]
    }

    pub(super) fn new(table: u16, row_width: usize, block: Vec<u8>) -> Self {
        let rows = (block.len() - BLOCK_HEADER_BYTES) / row_width;
        Self { table, rows: rows as u32, block }
    }
}

/// A base that is being written.
pub(super) struct BaseWriter {
    shared: Shared,
    file: CheckpointWriter,
    lsn: Lsn,
}

impl BaseWriter {
    /// Begins one whose rows are as they are at this place of the log.
    pub(super) fn new(shared: Shared, lsn: Lsn) -> Result<Self, Error> {
        let id = shared.manifest().database_id;
        let file = CheckpointWriter::create(&*shared.files, id, lsn, 1)?;
        Ok(Self { shared, file, lsn })
    }

    /// Writes all pieces and names the base in the manifest, unless they end before the last.
    pub(super) fn write(mut self, pieces: impl Iterator<Item = Option<Piece>>) -> Result<(), Error> {
        for piece in pieces {
            let Some(Piece { table, rows, mut block }) = piece else { return self.finish() };
            if let Err(error) = self.file.rows(table, REPLICATED, rows, &mut block) {
                return Err(self.file.give_up(&*self.shared.files, error));
            }
        }
        self.file.give_up(&*self.shared.files, crate::error::NOT_ANSWERED);
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        let Self { shared, file, lsn } = self;
        let entry = file.finish(&*shared.files)?;
        // What the log may not have yet is in the rows, and the base is nothing without the records that go with it.
        if let Err(error) = shared.log.force() {
            // Nobody will name it.
            let _ = shared.files.remove(&entry.file);
            return Err(error.into());
        }
        shared.replace(|manifest| Manifest { log_start: lsn.0, checkpoint: Some(entry), ..manifest })
    }
}

impl Shared {
    pub(super) fn manifest(&self) -> std::sync::MutexGuard<'_, Manifest> {
        // It is changed only after it is written: a panic between leaves the older one, which is right.
        self.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes another manifest, and removes what the one before needed.
    pub(super) fn replace(&self, change: impl FnOnce(Manifest) -> Manifest) -> Result<(), Error> {
        let mut manifest = self.manifest();
        let next = change(manifest.clone());
        next.write(&*self.files)?;
        let older = std::mem::replace(&mut *manifest, next);
        if let Some(older) = older.checkpoint {
            // What is left is removed at the next opening.
            let _ = self.files.remove(&older.file);
        }
        self.log.truncate(Lsn(manifest.log_start));
        Ok(())
    }
}
