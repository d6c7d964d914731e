//! The operating system's files.
//!
//! Positioned reads and writes and `fdatasync`, straight from the system calls. An interrupted call is retried; a
//! partial write continues where it stopped. Nothing is retried after a failed force.
//!
//! *A path is resolved once.* [`RealFiles`] opens its directory when it is made, keeps that handle, and names every
//! file relative to it (`openat` and its relatives). So a program that changes its working directory, or a directory
//! that is renamed or replaced while it is open, cannot spread a lock, a log and a checkpoint over two places. An
//! absolute path would only protect against the first of these.
//!
//! *Only the process that opened a directory changes it.* A child of `fork` has the same handles; see [`process`].

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{self, AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::IoError;
use super::batched_reads::{BatchReader, BatchedReads, read_one};
use super::files::{DirectoryLock, File, Files, ReadRequest};
use super::process::{self, OpeningProcess};

/// Name of the file with the id of the process that has locked a database directory.
const LOCK: &str = "LOCK";
/// Zeros are written in pieces of this many bytes.
const ZEROS_BYTES: usize = 1 << 20;
/// Direct I/O needs addresses that are multiples of this.
const DIRECT_ALIGNMENT: usize = 4096;
/// Maximum number of parts in one write on Linux.
const MAX_PARTS: usize = 1024;

/// A directory of the operating system, open.
#[derive(Clone, Debug)]
pub struct RealFiles {
    directory: Arc<OwnedFd>,
    /// The path at the opening: for messages only.
    path: PathBuf,
    process: OpeningProcess,
    read_only: bool,
    /// Probed when it is first needed: most files are read one by one.
    batches: Arc<OnceLock<BatchReader>>,
}

impl RealFiles {
    /// The directory `root`, created with its parents if it does not exist. Its name is durable when this returns.
    pub fn new(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        let root = root.into();
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing = root.ancestors().take_while(is_missing).count();
        if missing > 0 {
            std::fs::create_dir_all(&root).map_err(|e| IoError::new(&root, "create directory", e))?;
        }
        // The directory's name must be as durable as its contents. An empty one may have been made by a process that
        // was killed before it forced the names, of the parents too.
        let is_empty = || std::fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_none());
        if missing > 0 || is_empty() {
            let absolute = std::path::absolute(&root).map_err(|e| IoError::new(&root, "find directory", e))?;
            for (at, parent) in absolute.ancestors().skip(1).enumerate() {
                let forced = std::fs::File::open(parent).and_then(|parent| parent.sync_all());
                // A parent that this process did not change may belong to another user or file system.
                if at < missing {
                    forced.map_err(|e| IoError::new(parent, "force directory", e))?;
                }
            }
        }
        Self::existing(root)
    }

    /// The directory `root`, which must exist.
    pub fn existing(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        let root = root.into();
        let opened = again(|| fs::open(&root, DIRECTORY, Mode::empty()));
        let directory = Arc::new(opened.map_err(|e| IoError::new(&root, "open directory", e))?);
        let path = std::path::absolute(&root).unwrap_or(root);
        let process = OpeningProcess::current();
        Ok(Self { directory, path, process, read_only: false, batches: Arc::default() })
    }

    /// The directory `root`, which must exist, for reading only: files are opened for reading, and the lock excludes
    /// writers, but not other readers.
    pub fn read_only(root: impl Into<PathBuf>) -> Result<Self, IoError> {
        Ok(Self { read_only: true, ..Self::existing(root)? })
    }

    /// An error about a file, or about the directory itself: "".
    fn error(&self, name: &str, operation: &'static str, source: impl Into<io::Error>) -> IoError {
        let path = if name.is_empty() { self.path.clone() } else { self.path.join(name) };
        IoError::new(&path, operation, source)
    }

    /// Refuses an operation in a child of the process that opened the directory.
    fn check_process(&self, name: &str, operation: &'static str) -> Result<(), IoError> {
        self.process.check().map_err(|e| self.error(name, operation, e))
    }

    fn open_with(&self, name: &str, flags: OFlags, operation: &'static str) -> Result<RealFile, IoError> {
        self.check_process(name, operation)?;
        let access = if self.read_only { OFlags::RDONLY } else { OFlags::RDWR };
        let flags = flags | access | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o640);
        let file = again(|| fs::openat(&self.directory, name, flags, mode));
        let file = file.map_err(|e| self.error(name, operation, e))?;
        let path = self.path.join(name);
        Ok(RealFile { file, path, process: self.process, batches: Arc::clone(&self.batches) })
    }

    fn open_directory(&self, name: &str) -> Result<OwnedFd, Errno> {
        let name = if name.is_empty() { "." } else { name };
        again(|| fs::openat(&self.directory, name, DIRECTORY, Mode::empty()))
    }

    /// Locks the directory itself, so that a removed `LOCK` lets in no second process; `None` where the file system
    /// cannot lock directories.
    fn lock_directory(&self, operation: FlockOperation) -> Result<Option<LockedFile>, IoError> {
        // Opened once more: a lock belongs to an open file description, and clones share theirs.
        let opened = self.open_directory("").map_err(|e| self.error("", "lock", e))?;
        match again(|| fs::flock(&opened, operation)) {
            Ok(()) => Ok(Some(LockedFile::new(opened))),
            Err(Errno::WOULDBLOCK) => Err(self.held_by_another(&opened)),
            Err(Errno::BADF | Errno::INVAL | Errno::NOLCK | Errno::NOTSUP | Errno::NOSYS) => Ok(None),
            Err(e) => Err(self.error("", "lock", e)),
        }
    }

    fn held_by_another(&self, refused: &OwnedFd) -> IoError {
        let mut text = [0; 16];
        let got = self.open(LOCK).and_then(|lock| lock.read_at(&mut text, 0)).unwrap_or(0);
        let holder = std::str::from_utf8(&text[..got]).ok().and_then(|t| t.trim().parse::<u32>().ok());
        let who = holder.map_or("another process".to_string(), |id| format!("process {id}"));
        let message = match again(|| fs::flock(refused, FlockOperation::NonBlockingLockShared)) {
            // So the others only read.
            Ok(()) => "another process is looking into the database; wait until it has ended".to_owned(),
            Err(_) => format!("the database is open in {who}; close it there first"),
        };
        self.error(LOCK, "lock", io::Error::new(io::ErrorKind::WouldBlock, message))
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Files for RealFiles {
    fn open(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(Box::new(self.open_with(name, OFlags::empty(), "open")?))
    }

    fn open_direct(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        match self.open_with(name, OFlags::DIRECT, "open") {
            Ok(file) => Ok(Box::new(file)),
            // The errors of file systems that cannot lock directories.
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => self.open(name),
            Err(e) => Err(e),
        }
    }

    fn create(&self, name: &str) -> Result<Box<dyn File>, IoError> {
        Ok(Box::new(self.open_with(name, OFlags::CREATE | OFlags::EXCL, "create")?))
    }

    fn remove(&self, name: &str) -> Result<(), IoError> {
        self.check_process(name, "remove")?;
        let removed = again(|| fs::unlinkat(&self.directory, name, AtFlags::empty()));
        removed.map_err(|e| self.error(name, "remove", e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), IoError> {
        self.check_process(from, "rename")?;
        let renamed = again(|| fs::renameat(&self.directory, from, &self.directory, to));
        renamed.map_err(|e| self.error(from, "rename", e))
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, IoError> {
        let error = |e| self.error(directory, "list", e);
        let entries = match self.open_directory(directory) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            opened => Dir::new(opened.map_err(error)?).map_err(error)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(error)?;
            // A name that is not UTF-8 is not a file of the database.
            let Ok(name) = entry.file_name().to_str() else { continue };
            let name = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
            let kind = match entry.file_type() {
                FileType::Unknown => {
                    let found = fs::statat(&self.directory, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
                    FileType::from_raw_mode(found.st_mode)
                }
                known => known,
            };
            if kind == FileType::RegularFile {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn exists(&self, name: &str) -> Result<bool, IoError> {
        match again(|| fs::statat(&self.directory, name, AtFlags::empty())) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(self.error(name, "look for", e)),
        }
    }

    fn create_directory(&self, directory: &str) -> Result<(), IoError> {
        self.check_process(directory, "create directory")?;
        match again(|| fs::mkdirat(&self.directory, directory, Mode::from_raw_mode(0o777))) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(e) => return Err(self.error(directory, "create directory", e)),
        }
        let parent = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.sync_directory(parent)
    }

    fn sync_directory(&self, directory: &str) -> Result<(), IoError> {
        self.check_process(directory, "force directory")?;
        let forced = self.open_directory(directory).and_then(|opened| again(|| fs::fsync(&opened)));
        forced.map_err(|e| self.error(directory, "force directory", e))
    }

    fn batched_reads(&self) -> BatchedReads {
        self.batches.get_or_init(BatchReader::probe).way()
    }

    fn lock(&self) -> Result<DirectoryLock, IoError> {
        self.check_process("", "lock")?;
        let (flags, operation) = match self.read_only {
            true => (OFlags::empty(), FlockOperation::NonBlockingLockShared),
            false => (OFlags::CREATE, FlockOperation::NonBlockingLockExclusive),
        };
        let directory = self.lock_directory(operation)?;
        // The file as well: it says who holds the lock, and is all that programs of before know.
        let lock = match self.open_with(LOCK, flags, "lock") {
            // Opening a database to write makes the file. So no process has opened it to write.
            Err(e) if self.read_only && e.kind() == io::ErrorKind::NotFound => {
                return Ok(DirectoryLock::new(directory));
            }
            opened => opened?,
        };
        match again(|| fs::flock(&lock.file, operation)) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(self.held_by_another(&lock.file)),
            Err(e) => return Err(IoError::new(&lock.path, "lock", e)),
        }
        if !self.read_only {
            // The number is for the message above only; the lock itself is the system's and ends with its holder.
            lock.set_len(0)?;
            lock.write_at(std::process::id().to_string().as_bytes(), 0)?;
        }
        Ok(DirectoryLock::new((LockedFile::new(lock.file), directory)))
    }
}

/// Releases the lock when dropped. Closing the file would not do: a process that is just being started from this one
/// has a copy of it for a moment, and the lock is held until the last copy is closed. In a child of the process that
/// locked it, a drop leaves the lock.
struct LockedFile {
    /// `None` after the drop.
    file: Option<OwnedFd>,
    process: OpeningProcess,
    /// Whether children have closed their copies.
    is_closed_in_children: bool,
}

impl LockedFile {
    fn new(file: OwnedFd) -> Self {
        let is_closed_in_children = process::close_in_children(file.as_raw_fd());
        Self { file: Some(file), process: OpeningProcess::current(), is_closed_in_children }
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        let Some(file) = self.file.take() else { return };
        if self.process.is_current() {
            // If this fails, closing the file releases it.
            let _ = again(|| fs::flock(&file, FlockOperation::Unlock));
            process::keep_in_children(file.as_raw_fd());
        } else if self.is_closed_in_children {
            // The descriptor may be another file's.
            std::mem::forget(file);
        }
    }
}

/// A file of the operating system.
struct RealFile {
    file: OwnedFd,
    path: PathBuf,
    process: OpeningProcess,
    batches: Arc<OnceLock<BatchReader>>,
}

impl RealFile {
    /// Refuses a change in a child of the process that opened the file.
    fn check_process(&self, operation: &'static str) -> Result<(), IoError> {
        self.process.check().map_err(|e| IoError::new(&self.path, operation, e))
    }
}

impl File for RealFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
        read_one(self.file.as_fd(), &self.path, buffer, offset)
    }

    fn read_many(&self, reads: &mut [ReadRequest<'_>]) {
        if let Err(error) = self.process.check() {
            // The rings of io_uring are shared with the parent, and the pool's threads are only there.
            let refuse = |read: &mut ReadRequest<'_>| {
                read.result = Err(IoError::new(&self.path, "read", io::Error::other(error.to_string())));
            };
            return reads.iter_mut().for_each(refuse);
        }
        self.batches.get_or_init(BatchReader::probe).read(self.file.as_fd(), &self.path, reads);
    }

    fn write_parts_at(&self, mut parts: &mut [IoSlice<'_>], mut offset: u64) -> Result<(), IoError> {
        self.check_process("write")?;
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
        self.check_process("force")?;
        again(|| fs::fdatasync(&self.file)).map_err(|e| IoError::new(&self.path, "force", e))
    }

    fn len(&self) -> Result<u64, IoError> {
        let found = fs::fstat(&self.file).map_err(|e| IoError::new(&self.path, "measure", e))?;
        Ok(found.st_size as u64)
    }

    fn set_len(&self, bytes: u64) -> Result<(), IoError> {
        self.check_process("resize")?;
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

/// Repeats a system call until no signal interrupts it.
pub(super) fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
