//! The operating system's files.
//!
//! Positioned reads and writes and `fdatasync`, straight from the system calls. A call that was interrupted is made
//! again; a write that wrote less than asked goes on where it stopped. Nothing is retried after a failed force.

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::IoError;
use super::files::{DirectoryLock, File, Files};

/// Name of the file that bears the lock of a database directory.
const LOCK: &str = "LOCK";
/// Zeros are written in pieces of this many bytes.
const ZEROS_BYTES: usize = 1 << 20;
/// Reads and writes past the cache need addresses that are multiples of this.
const DIRECT_ALIGNMENT: usize = 4096;
/// Linux takes at most this many parts in one write.
const MAX_PARTS: usize = 1024;

/// A directory of the operating system.
#[derive(Clone, Debug)]
pub struct RealFiles {
    root: PathBuf,
    read_only: bool,
}

impl RealFiles {
    /// The directory `root`, made (with its parents) if it does not exist.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        let root = root.into();
        if root.exists() {
            return Self::existing(root);
        }
        std::fs::create_dir_all(&root).map_err(|e| IoError::new(&root, "create directory", e))?;
        if let Some(parent) = root.parent() {
            // Its name must be as durable as what will be in it.
            let parent = if parent.as_os_str().is_empty() { std::path::Path::new(".") } else { parent };
            let forced = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
            forced.map_err(|e| IoError::new(parent, "force directory", e))?;
        }
        Self::existing(root)
    }

    /// The directory `root`, which must exist.
    pub fn existing(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        let root = root.into();
        let found = std::fs::metadata(&root).map_err(|e| IoError::new(&root, "open directory", e))?;
        if !found.is_dir() {
            return Err(IoError::new(&root, "open directory", io::ErrorKind::NotADirectory));
        }
        Ok(Self { root, read_only: false })
    }

    /// The directory `root`, which must exist, to be read where writing may not be possible: files are opened for
    /// reading, and the lock keeps out writers, but not other readers.
    pub fn read_only(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        Ok(Self { read_only: true, ..Self::existing(root)? })
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.root.clone() } else { self.root.join(name) }
    }

    fn open_with(&self, name: &str, flags: OFlags, operation: &'static str) -> Result<RealFile, IoError> {
        let path = self.path(name);
        let access = if self.read_only { OFlags::RDONLY } else { OFlags::RDWR };
        let flags = flags | access | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o640);
        let file = again(|| fs::open(&path, flags, mode)).map_err(|e| IoError::new(&path, operation, e))?;
        Ok(RealFile { file, path })
    }
}

impl Files for RealFiles {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(Box::new(self.open_with(name, OFlags::empty(), "open")?))
    }

    fn open_direct(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        match self.open_with(name, OFlags::DIRECT, "open") {
            Ok(file) => Ok(Box::new(file)),
            // The errors of file systems that cannot do it.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => self.open(name),
            Err(e) => Err(e),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(Box::new(self.open_with(name, OFlags::CREATE | OFlags::EXCL, "create")?))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        let path = self.path(name);
        std::fs::remove_file(&path).map_err(|e| IoError::new(&path, "remove", e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        let path = self.path(from);
        std::fs::rename(&path, self.path(to)).map_err(|e| IoError::new(&path, "rename", e))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        let path = self.path(directory);
        let error = |e| IoError::new(&path, "list", e);
        let entries = match std::fs::read_dir(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(error)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(error)?;
            if !entry.file_type().map_err(error)?.is_file() {
                continue;
            }
            // A name that is not UTF-8 is none of ours.
            if let Ok(name) = entry.file_name().into_string() {
                names.push(if directory.is_empty() { name } else { format!("{directory}/{name}") });
            }
        }
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        let path = self.path(name);
        path.try_exists().map_err(|e| IoError::new(&path, "look for", e))
    }

    fn create_directory(&self, directory: &str) -> Result<(), IoError> {
        let path = self.path(directory);
        std::fs::create_dir_all(&path).map_err(|e| IoError::new(&path, "create directory", e))?;
        let parent = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.sync_directory(parent)
    }

    fn sync_directory(&self, directory: &str) -> Result<(), IoError> {
        let path = self.path(directory);
        let error = |e| IoError::new(&path, "force directory", e);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = again(|| fs::open(&path, flags, Mode::empty())).map_err(error)?;
        again(|| fs::fsync(&opened)).map_err(error)
    }

    fn lock(&self) -> Result<DirectoryLock, IoError> {
        let (flags, operation) = match self.read_only {
            true => (OFlags::empty(), FlockOperation::NonBlockingLockShared),
            false => (OFlags::CREATE, FlockOperation::NonBlockingLockExclusive),
        };
        let lock = match self.open_with(LOCK, flags, "lock") {
            // Opening a database to write makes the file. So no process has opened it to write.
            Err(e) if self.read_only && e.kind() == io::ErrorKind::NotFound => return Ok(DirectoryLock::new(())),
            opened => opened?,
        };
        match again(|| fs::flock(&lock.file, operation)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(held_by_another(&lock)),
            Err(e) => return Err(IoError::new(&lock.path, "lock", e)),
        }
        if !self.read_only {
            // The number is for the message below only; the lock itself is the system's and ends with its holder.
            lock.set_len(0)?;
            lock.write_at(std::process::id().to_string().as_bytes(), 0)?;
        }
        Ok(DirectoryLock::new(Held(lock.file)))
    }
}

/// Releases the lock when dropped. Closing the file would not do: a process that is just being started from this one
/// has a copy of it for a moment, and the lock is held until the last copy is closed.
struct Held(OwnedFd);

impl Drop for Held {
    fn drop(&mut self) {
        // If this fails, closing the file releases it.
        let _ = again(|| fs::flock(&self.0, FlockOperation::Unlock));
    }
}

fn held_by_another(lock: &RealFile) -> IoError {
    let mut text = [0; 16];
    let got = lock.read_at(&mut text, 0).unwrap_or(0);
    let holder = std::str::from_utf8(&text[..got]).ok().and_then(|t| t.trim().parse::<u32>().ok());
    let who = holder.map_or("another process".to_string(), |id| format!("process {id}"));
    let message = match again(|| fs::flock(&lock.file, FlockOperation::NonBlockingLockShared)) {
        // So the others only read.
        Ok(()) => "another process is looking into the database; wait until it has ended".to_owned(),
        Err(_) => format!("the database is open in {who}; close it there first"),
    };
    IoError::new(&lock.path, "lock", io::Error::new(io::ErrorKind::WouldBlock, message))
}

/// A file of the operating system.
struct RealFile {
    file: OwnedFd,
    path: PathBuf,
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        let mut got = 0;
        while got < buffer.len() {
            let rest = &mut buffer[got..];
            match again(|| rustix::io::pread(&self.file, &mut *rest, offset + got as u64)) {
                Ok(0) => break,
                Ok(n) => got += n,
                Err(e) => return Err(IoError::new(&self.path, "read", e)),
            }
        }
        Ok(got)
    }

    fn write_parts_at(&self, mut parts: &mut [IoSlice<'_>], mut offset: u64) -> Result<(), IoError> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            let now = &parts[..parts.len().min(MAX_PARTS)];
            match again(|| rustix::io::pwritev(&self.file, now, offset)) {
                Ok(0) => return Err(IoError::new(&self.path, "write", io::ErrorKind::WriteZero)),
                Ok(n) => {
                    offset += n as u64;
                    IoSlice::advance_slices(&mut parts, n);
                }
                Err(e) => return Err(IoError::new(&self.path, "write", e)),
            }
        }
        Ok(())
    }

    fn sync_data(&self) -> Result<(), IoError> {
        again(|| fs::fdatasync(&self.file)).map_err(|e| IoError::new(&self.path, "force", e))
    }

    fn len(&self) -> Result<u64, IoError> {
        let found = fs::fstat(&self.file).map_err(|e| IoError::new(&self.path, "measure", e))?;
        Ok(found.st_size as u64)
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        again(|| fs::ftruncate(&self.file, bytes)).map_err(|e| IoError::new(&self.path, "resize", e))
    }

    fn preallocate(&self, bytes: u64) -> Result<(), IoError> {
        let mut at = self.len()?;
        // Aligned, for files opened past the cache.
        let zeros = vec![0; ZEROS_BYTES + DIRECT_ALIGNMENT];
        let zeros = &zeros[zeros.as_ptr().align_offset(DIRECT_ALIGNMENT)..];
        while at < bytes {
            let now = (bytes - at).min(ZEROS_BYTES as u64);
            self.write_at(&zeros[..now as usize], at)?;
            at += now;
        }
        Ok(())
    }
}

/// Makes a system call until a signal does not interrupt it.
fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
