//! The traits for a directory of files and for a file.
//!
//! They contain what a database needs: reads and writes at positions, forces, and directory operations, whose
//! durability is separate (a created file survives a crash only after its directory was forced). Names are relative,
//! with `/` between parts: `log/0000000000000000.log`.

use std::io::{self, IoSlice};
use std::path::Path;

use super::IoError;
use super::batched_reads::BatchedReads;

/// A directory of files, such as a database's. Creations, removals and renames are visible at once, and survive a crash
/// only after [`Files::sync_directory`].
pub trait Files: Send + Sync {
    /// Opens an existing file for reading and writing.
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError>;
    /// Opens an existing file for direct I/O, bypassing the system's cache, if the file system can; otherwise as
    /// [`Files::open`]. Addresses of memory, lengths and offsets must be multiples of 4096.
    fn open_direct(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        self.open(name)
    }
    /// Creates an empty file; fails if it exists.
    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError>;
    /// Removes a file. Open handles stay usable.
    fn remove(&self, name: &str) -> Result<(), IoError>;
    /// Renames a file within its directory, replacing a file with the new name.
    fn rename(&self, from: &str, to: &str) -> Result<(), IoError>;
    /// Names, including the directory, of the files in `directory`, sorted; "" is the root. A missing directory is
    /// empty.
    fn list(&self, directory: &str) -> Result<Vec<String>, IoError>;
    /// Whether a file of that name exists.
    fn exists(&self, name: &str) -> Result<bool, IoError>;
    /// Creates a directory, durably, unless it exists.
    fn create_directory(&self, directory: &str) -> Result<(), IoError>;
    /// Forces the creations, removals and renames made in `directory`; "" is the root.
    fn sync_directory(&self, directory: &str) -> Result<(), IoError>;
    /// How [`File::read_many`] of these files is done.
    fn batched_reads(&self) -> BatchedReads {
        BatchedReads::OneByOne
    }
    /// Locks the directory against other processes, and other callers in this one, until the lock is dropped. Fails at
    /// once if it is held, with the holder's process id if that is known.
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

/// One of many reads.
#[derive(Debug)]
pub struct ReadRequest<'a> {
    /// Where it begins in the file.
    pub offset: u64,
    /// What it fills, with fewer bytes only at the end of the file.
    pub buffer: &'a mut [u8],
    /// The number of bytes that were read; before the read, zero.
    pub result: Result<usize, IoError>,
}

impl<'a> ReadRequest<'a> {
    /// A read that is still to be done.
    pub fn new(offset: u64, buffer: &'a mut [u8]) -> Self {
        Self { offset, buffer, result: Ok(0) }
    }
}

/// An open file. Reads and writes name their position; there is no cursor, so a handle can be shared by threads.
pub trait File: Send + Sync {
    /// The path, for messages.
    fn path(&self) -> &Path;
    /// Fills `buffer` from `offset`, with fewer bytes only at the end of the file. Returns their number.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError>;
    /// Does all of these reads, as each by [`File::read_at`]; at the same time where the system can. Each has a result
    /// of its own.
    fn read_many(&self, reads: &mut [ReadRequest<'_>]) {
        for read in reads {
            read.result = self.read_at(read.buffer, read.offset);
        }
    }
    /// Writes all the parts, one after the other, from `offset`; extends the file if necessary. The slices are
    /// consumed.
    fn write_parts_at(&self, parts: &mut [IoSlice<'_>], offset: u64) -> Result<(), IoError>;
    /// Forces the file's bytes and length. After a failure, writes since the last success may or may not be on disk,
    /// and a retry proves nothing: the system may have dropped the pages.
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

    /// Fills `buffer` from `offset`; a shorter file is an error.
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
