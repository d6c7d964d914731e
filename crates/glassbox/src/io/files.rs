//! The traits: a directory of files, and a file.
//!
//! They name what a database needs and nothing else: reads and writes at positions, forcing, and the directory
//! operations whose durability is a matter of its own (a created file survives a crash only after its directory was
//! forced). Names are relative, with `/` between parts: `log/0000000000000000.log`.

use std::io::{self, IoSlice};
use std::path::Path;

use super::IoError;

/// A directory of files: where one database lives. Creating, removing and renaming is visible at once and survives a
/// crash only after [`Files::sync_directory`].
pub trait Files: Send + Sync {
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError>;
    /// Opens an existing file past the system's cache, where that is possible; elsewhere as [`Files::open`] does. The
    /// caller gives memory, lengths and offsets that are multiples of 4096.
    fn open_direct(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        self.open(name)
    }
    /// Creates an empty file; fails if it exists.
    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError>;
    /// Removes a file. Handles that are open stay usable.
    fn remove(&self, name: &str) -> Result<(), IoError>;
    /// Renames a file within its directory, replacing what bears the new name.
    fn rename(&self, from: &str, to: &str) -> Result<(), IoError>;
    /// Names (with the directory in front) of the files in `directory`, sorted; "" is the root. A directory that does
    /// not exist is empty.
    fn list(&self, directory: &str) -> Result<Vec<String>, IoError>;
    /// Whether a file of that name exists.
    fn exists(&self, name: &str) -> Result<bool, IoError>;
    /// Makes a directory, durably; nothing happens if it exists.
    fn create_directory(&self, directory: &str) -> Result<(), IoError>;
    /// Forces the creations, removals and renames made in `directory`; "" is the root.
    fn sync_directory(&self, directory: &str) -> Result<(), IoError>;
    /// Keeps every other process (and every other caller in this one) out until the lock is dropped. Fails at once if
    /// it is held, naming the process when that is known.
    fn lock(&self) -> Result<DirectoryLock, IoError>;
}

/// Holds the exclusive lock of a database directory; dropping it releases the lock.
pub struct DirectoryLock {
    _held: Box<dyn Send + Sync>,
}

impl DirectoryLock {
    /// A lock that is released by dropping `held`.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self { _held: Box::new(held) }
    }
}

/// An open file. Reads and writes name their position; there is no cursor, so a handle can be shared by threads.
pub trait File: Send + Sync {
    /// Where it is, for messages.
    fn path(&self) -> &Path;
    /// Fills `buffer` from `offset`; fewer bytes only where the file ends. Returns how many.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError>;
    /// Writes all the parts, one after the other, from `offset`; extends the file if need be. The slices are used up.
    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError>;
    /// Forces the file's bytes and length. When it fails, what was written since the last success may or may not be
    /// there, and trying again proves nothing: the system may have dropped the pages.
    fn sync_data(&self) -> Result<(), IoError>;
    /// Length in bytes.
    fn len(&self) -> Result<u64, IoError>;
    /// Cuts or extends (with zeros) to `bytes`.
    fn set_len(&self, bytes: u64) -> Result<(), IoError>;
    /// Writes zeros up to a length of `bytes` where the file is shorter, so that later writes neither extend the file
    /// nor convert unwritten extents, both of which would make each force pay for metadata. Not forced.
    fn preallocate(&self, bytes: u64) -> Result<(), IoError>;

    /// Whether it has no bytes.
    fn is_empty(&self) -> Result<bool, IoError> {
        Ok(self.len()? == 0)
    }

    /// Writes all of `data` at `offset`.
    fn write_at(&self, data: &[u8], offset: u64) -> Result<(), IoError> {
        self.write_parts_at(&mut [IoSlice::new(data)], offset)
    }

    /// Fills `buffer` from `offset`; a file that ends before is an error.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), IoError> {
        let got = self.read_at(buffer, offset)?;
        if got == buffer.len() {
            return Ok(());
        }
        let wanted = buffer.len();
        let message = format!("the file ends after {got} of {wanted} bytes wanted at offset {offset}");
        Err(IoError::new(self.path(), "read", io::Error::new(io::ErrorKind::UnexpectedEof, message)))
    }
}
