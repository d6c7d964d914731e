//! Tests of the buffer pool.

mod basics;
mod crash;
mod histories;
#[cfg(loom)]
mod interleavings;
mod parts;
mod policy;
mod stripped;
mod trouble;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BufferPool, PoolConfig, WriteAhead};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::latch::ReadWriteLatch;
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, HEADER_BYTES, PageKind};
use crate::error::Error;
use crate::io::{Dice, Files, MemoryFiles};
use crate::log::Lsn;

const PAGE: usize = 4096;

/// A log that is only a position, forced when told to.
#[derive(Default)]
struct FakeLog {
    appended: AtomicU64,
    durable: AtomicU64,
    failing: Mutex<bool>,
}

impl FakeLog {
    /// Appends a record: the bound before it, and the position behind it.
    fn append(&self) -> (Lsn, Lsn) {
        let from = self.appended.load(Ordering::SeqCst);
        (Lsn(from), Lsn(self.appended.fetch_add(8, Ordering::SeqCst) + 8))
    }

    fn durable(&self) -> u64 {
        self.durable.load(Ordering::SeqCst)
    }
}

impl WriteAhead for FakeLog {
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        assert!(lsn.0 <= self.appended.load(Ordering::SeqCst));
        if *self.failing.lock().unwrap() {
            return Err(Error::Stopped { reason: "the log".to_owned() });
        }
        self.durable.fetch_max(lsn.0, Ordering::SeqCst);
        Ok(())
    }
}

type Pool = BufferPool<ReadWriteLatch, FakeLog>;

fn config(frames: usize) -> PoolConfig {
    PoolConfig { page_bytes: PAGE, frames, batch_pages: 4, trace: false, batch: 0 }
}

fn create(files: &MemoryFiles, frames: usize) -> Pool {
    Pool::create(files, &config(frames), FakeLog::default()).unwrap()
}

fn open(files: &dyn Files, frames: usize) -> Pool {
    Pool::open(files, &config(frames), FakeLog::default()).unwrap()
}

/// Every byte of a page's content says which version it is of.
fn fill(bytes: &mut [u8], version: u64) {
    for chunk in bytes[HEADER_BYTES..].chunks_exact_mut(8) {
        chunk.copy_from_slice(&version.to_le_bytes());
    }
}

/// The version of the content, which is whole.
fn version(bytes: &[u8]) -> u64 {
    let first = page::u64_at(bytes, HEADER_BYTES);
    assert!(bytes[HEADER_BYTES..].chunks_exact(8).all(|chunk| chunk == first.to_le_bytes()), "a torn page");
    first
}

/// Makes a new page of this version.
fn make<P: Pages>(pages: &P, log: &FakeLog, id: u32, version: u64) {
    let mut bytes = pages.fix_new(PageId(id)).unwrap();
    let (from, lsn) = log.append();
    page::format(&mut bytes, PageId(id), PageKind::Heap, StoreId(1), &[]);
    fill(&mut bytes, version);
    bytes.changed(from, lsn);
}

/// Gives a page another version.
fn change<P: Pages>(pages: &P, log: &FakeLog, id: u32, version: u64) -> Result<(), Error> {
    let mut bytes = pages.fix_exclusive(PageId(id))?;
    let (from, lsn) = log.append();
    fill(&mut bytes, version);
    bytes.changed(from, lsn);
    Ok(())
}

fn read<P: Pages>(pages: &P, id: u32) -> Result<u64, Error> {
    let bytes = pages.fix_shared(PageId(id))?;
    assert_eq!(page::id(&bytes), PageId(id));
    Ok(version(&bytes))
}
