//! How the system does many reads at the same time.
//!
//! By io_uring where it is allowed: one system call for the batch, and a fifth of the processor's time. Many systems
//! refuse it: containers, most of all. There a pool of threads reads, each with a call of its own.

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::IoError;
use super::files::ReadRequest;
use super::real::again;
#[cfg(all(target_os = "linux", feature = "io-uring"))]
use super::uring;

/// Threads of a pool: as many reads as it does at the same time.
const THREADS: usize = 16;

/// The way in which the reads of a batch ([`File::read_many`](super::File::read_many)) are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchedReads {
    /// One after the other.
    OneByOne,
    /// By a pool of threads.
    Threads,
    /// By io_uring.
    IoUring,
}

impl fmt::Display for BatchedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OneByOne => "one by one",
            Self::Threads => "threads",
            Self::IoUring => "io_uring",
        })
    }
}

/// Does batches of reads.
#[derive(Debug)]
pub(super) struct BatchReader {
    way: BatchedReads,
    /// Made for the first batch that needs it; `None` if it cannot be.
    pool: OnceLock<Option<ThreadPool>>,
}

impl BatchReader {
    /// Tries what the system allows.
    pub(super) fn probe() -> Self {
        #[cfg(all(target_os = "linux", feature = "io-uring"))]
        if uring::is_allowed() {
            return Self { way: BatchedReads::IoUring, pool: OnceLock::new() };
        }
        Self { way: BatchedReads::Threads, pool: OnceLock::new() }
    }

    pub(super) fn way(&self) -> BatchedReads {
        self.way
    }

    /// Does all of these reads of a file.
    pub(super) fn read(&self, file: BorrowedFd<'_>, path: &Path, reads: &mut [ReadRequest<'_>]) {
        #[cfg(all(target_os = "linux", feature = "io-uring"))]
        if self.way == BatchedReads::IoUring && reads.len() > 1 && uring::read(file, path, reads) {
            return;
        }
        let read = |read: &mut ReadRequest<'_>| read.result = read_one(file, path, read.buffer, read.offset);
        let pool = if reads.len() > 1 { self.pool.get_or_init(pool).as_ref() } else { None };
        match pool {
            Some(pool) => pool.in_place_scope(|scope| reads.iter_mut().for_each(|one| scope.spawn(move |_| read(one)))),
            None => reads.iter_mut().for_each(read),
        }
    }
}

/// Without threads, reads are done one by one.
fn pool() -> Option<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(THREADS).thread_name(|at| format!("glassbox-read-{at}")).build().ok()
}

/// Fills the buffer from this offset, with fewer bytes only at the end of the file.
pub(super) fn read_one(file: BorrowedFd<'_>, path: &Path, buffer: &mut [u8], offset: u64) -> Result<usize, IoError> {
    let mut got = 0;
    while got < buffer.len() {
        let rest = &mut buffer[got..];
        match again(|| rustix::io::pread(file.as_fd(), &mut *rest, offset + got as u64)) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) => return Err(IoError::new(path, "read", e)),
        }
    }
    Ok(got)
}
