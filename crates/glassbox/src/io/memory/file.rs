//! An open file in memory.

use std::io::{ErrorKind, IoSlice};
use std::path::{Path, PathBuf};

use super::image::FileChange;
use super::world::{MemoryFiles, OperationKind, stopped};
use crate::io::{File, IoError};

/// An open file in memory: it follows the file, not the name.
pub(super) struct MemoryFile {
    pub files: MemoryFiles,
    pub node: usize,
    pub path: PathBuf,
}

impl MemoryFile {
    fn change(&self, operation: &'static str, change: FileChange) -> Result<(), IoError> {
        let mut world = self.files.world();
        let made = world.count(&OperationKind::Change).and_then(|goes_on| {
            let length = world.image.nodes[self.node].current.len() as u64;
            let wanted = match &change {
                FileChange::Write { offset, data } => length.max(offset + data.len() as u64),
                FileChange::SetLen(length) => *length,
            };
            let all = world.image.bytes() + wanted.saturating_sub(length);
            let full = world.is_full() || world.faults.capacity_bytes.is_some_and(|most| all > most);
            if wanted > length && full {
                return Err(ErrorKind::StorageFull.into());
            }
            world.image.nodes[self.node].change(change);
            if goes_on { Ok(()) } else { Err(stopped()) }
        });
        made.map_err(|e| IoError::new(&self.path, operation, e))
    }
}

impl File for MemoryFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let world = self.files.world();
        world.alive().map_err(|e| IoError::new(&self.path, "read", e))?;
        let bytes = &world.image.nodes[self.node].current;
        let from = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
        let got = buffer.len().min(bytes.len() - from);
        buffer[..got].copy_from_slice(&bytes[from..from + got]);
        Ok(got)
    }

    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError> {
        // Byte by byte, this took a third of the time of the crash tests.
        let mut data = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| data.extend_from_slice(part));
        self.change("write", FileChange::Write { offset, data })
    }

    fn sync_data(&self) -> Result<(), IoError> {
        let mut world = self.files.world();
        let forced =
            world.count(&OperationKind::Force).and_then(|goes_on| if goes_on { Ok(()) } else { Err(stopped()) });
        let failed = forced.is_err() && !world.stopped;
        let node = &mut world.image.nodes[self.node];
        if failed {
            node.forget_unsynced();
        }
        forced.map_err(|e| IoError::new(&self.path, "force", e))?;
        node.sync();
        Ok(())
    }

    fn len(&self) -> Result<u64, IoError> {
        let world = self.files.world();
        world.alive().map_err(|e| IoError::new(&self.path, "measure", e))?;
        Ok(world.image.nodes[self.node].current.len() as u64)
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        self.change("resize", FileChange::SetLen(bytes))
    }

    fn preallocate(&self, bytes: u64) -> Result<(), IoError> {
        let at = self.len()?;
        if at >= bytes {
            return Ok(());
        }
        self.change("write", FileChange::Write { offset: at, data: vec![0; (bytes - at) as usize] })
    }
}
