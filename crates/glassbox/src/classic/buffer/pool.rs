//! The pool: frames, their pages, and the files.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::batch::WriteBatch;
use super::clock::ClockSweep;
use super::double::{self, DOUBLE};
use super::frame::Frame;
use super::frames::Frames;
use super::frames::PageTable;
use super::simulate::{Event, Simulated, simulate};
use super::volume::{PAGES, Volume};
use super::write_ahead::WriteAhead;
use crate::classic::ids::{PageId, StoreId};
use crate::classic::latch::Latch;
use crate::classic::page::is_page_size;
use crate::error::Error;
use crate::io::{Clock, Files};

/// Settings of a pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolConfig {
    /// Bytes of a page: a power of two from 4 to 32 KiB, always the same for one database.
    pub(crate) page_bytes: usize,
    /// Number of frames. Every thread needs some for pages that it fixes at the same time.
    pub(crate) frames: usize,
    /// Maximum pages of a batch.
    pub(crate) batch_pages: usize,
    /// Whether every fix is recorded, for [`BufferPool::simulated_misses`].
    pub(crate) trace: bool,
    /// The number of the batch that the doublewrite file held once, or an earlier one: an older copy is refused.
    pub(crate) batch: u64,
}

impl Default for PoolConfig {
    fn default() -> Self {
        Self { page_bytes: 8 << 10, frames: 16 << 10, batch_pages: 128, trace: false, batch: 0 }
    }
}

/// Pause of the background writer if there was nothing to write.
const WRITER_REST: Duration = Duration::from_millis(20);

/// The signal from other threads to the background writer.
#[derive(Default)]
pub(super) struct WriterSignal {
    requests: Mutex<WriterRequests>,
    pub(super) come: Condvar,
}

/// The state of the background writer, and what others want of it.
#[derive(Default)]
pub(super) struct WriterRequests {
    pub(super) running: bool,
    pub(super) stop: bool,
    pub(super) now: bool,
}

impl WriterSignal {
    pub(super) fn requests(&self) -> MutexGuard<'_, WriterRequests> {
        // Nothing panics while it is held.
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports dirty pages ahead of the clock's hand.
    pub fn nudge(&self) {
        let mut requests = self.requests();
        if requests.running && !requests.now {
            requests.now = true;
            self.come.notify_one();
        }
    }

    /// Waits for work; returns whether to continue.
    pub(super) fn wait(&self) -> bool {
        let mut requests = self.requests();
        if !requests.now && !requests.stop {
            requests = self.come.wait_timeout(requests, WRITER_REST).unwrap_or_else(PoisonError::into_inner).0;
        }
        requests.now = false;
        !requests.stop
    }
}

/// A session that reads a page from disk, or waits while another one reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionRead {
    pub(crate) session: u32,
    /// Of a batch, the first one.
    pub(crate) page: PageId,
    /// The table for which it reads, by its heap file; the volume if that is not known.
    pub(crate) table: StoreId,
}

/// Pages of a file in frames of memory. Dropping it without [`BufferPool::flush_all`] is like a crash.
pub(crate) struct BufferPool<L: Latch, W> {
    pub(super) frames: Frames<L>,
    pub(super) table: PageTable,
    pub(super) clock: ClockSweep,
    pub(super) volume: Volume,
    /// The role of writing pages, which one thread has at a time. Its holder waits for the log and the disk, but for no
    /// latch.
    pub(super) batch: Mutex<WriteBatch>,
    pub(super) batch_pages: usize,
    /// Free frames: chosen by the clock and written by a batch beyond its need, for the next threads.
    pub(super) chosen: Mutex<Vec<(PageId, usize)>>,
    pub(super) wal: W,
    /// The reason why no page can be written any more.
    pub(super) stopped: OnceLock<String>,
    pub(super) trace: Option<Mutex<Vec<Event>>>,
    pub(super) counts: PoolCounts,
    pub(super) reading: Mutex<Vec<SessionRead>>,
    /// By which reads are timed.
    pub(super) clock_of_reads: OnceLock<Arc<dyn Clock>>,
    pub(super) signal: Arc<WriterSignal>,
}

impl<L: Latch, W: WriteAhead> BufferPool<L, W> {
    /// Creates the file of pages, empty, and opens it.
    ///
    /// # Errors
    /// When it exists, when its creation fails, and as for [`BufferPool::open`].
    pub(crate) fn create(files: &dyn Files, config: &PoolConfig, wal: W) -> Result<Self, Error> {
        if files.exists(DOUBLE)? && !files.exists(PAGES)? {
            // It holds pages of another file.
            files.remove(DOUBLE)?;
            files.sync_directory("")?;
        }
        files.create(PAGES)?.sync_data()?;
        files.sync_directory("")?;
        Self::open(files, config, wal)
    }

    /// Opens the file of pages, and first repairs pages that were torn.
    ///
    /// # Errors
    /// When the configuration is invalid, a read or write fails, or there is not enough memory.
    pub(crate) fn open(files: &dyn Files, config: &PoolConfig, wal: W) -> Result<Self, Error> {
        let PoolConfig { page_bytes, frames, batch_pages, trace, batch } = *config;
        if !is_page_size(page_bytes) {
            return Err(Error::Config(format!("pages of {page_bytes} bytes; choose 4096, 8192, 16384 or 32768")));
        }
        if frames == 0 || frames >= u32::MAX as usize || batch_pages == 0 {
            return Err(Error::Config(format!(
                "a buffer pool cannot have {frames} pages, written {batch_pages} at a time: it must have 1 to {}, and \
                 write at least 1",
                u32::MAX - 1
            )));
        }
        double::repair(files, batch)?;
        Ok(Self {
            frames: Frames::new(page_bytes, frames)?,
            table: PageTable::new(),
            clock: ClockSweep::new(frames),
            volume: Volume::open(files, page_bytes)?,
            batch: Mutex::new(WriteBatch::open(files, page_bytes, batch_pages, batch)?),
            batch_pages,
            chosen: Mutex::default(),
            wal,
            stopped: OnceLock::new(),
            trace: trace.then(Mutex::default),
            counts: PoolCounts::default(),
            reading: Mutex::default(),
            clock_of_reads: OnceLock::new(),
            signal: Arc::default(),
        })
    }

    /// Sets whether recovery runs. During recovery, a page that was never written is fixed as zeros. Later it is
    /// damage, because every page in use has been written or is in memory.
    pub(crate) fn set_recovering(&self, recovering: bool) {
        self.volume.set_recovering(recovering);
    }

    /// The sessions that read a page from disk now, or wait while another thread reads it.
    pub(crate) fn reading(&self) -> Vec<SessionRead> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Times reads by this clock from now on.
    pub(crate) fn set_clock(&self, clock: Arc<dyn Clock>) {
        // The first is the engine's.
        let _ = self.clock_of_reads.set(clock);
    }

    /// Refuses to write pages from here on.
    pub(crate) fn stop(&self, reason: &str) {
        // The first reason is the one to report.
        let _ = self.stopped.set(reason.to_owned());
    }

    /// The log that is made durable before pages are written.
    pub(crate) fn wal(&self) -> &W {
        &self.wal
    }

    /// Counts of the pool.
    pub(crate) fn stats(&self) -> PoolStats {
        let counts = &self.counts;
        let fixes = counts.fixes.get() + self.frames.headers().iter().map(Frame::uses).sum::<u64>();
        PoolStats {
            fixes,
            hits: fixes.saturating_sub(counts.misses.get()),
            reads: counts.reads.get(),
            writes: counts.writes.get(),
            batches: counts.batches.get(),
            evictions: counts.evictions.get(),
            dirty_victims: counts.dirty_victims.get(),
            latch_waits: counts.latch_waits.get(),
        }
    }

    /// Pages that fit in memory.
    pub(crate) fn frames(&self) -> usize {
        self.frames.headers().len()
    }

    /// Reads and writes of a simulated pool of as many frames, given the recorded fixes; `None` unless tracing was
    /// configured.
    pub(crate) fn simulated(&self) -> Option<Simulated> {
        let trace = self.trace.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        Some(simulate(&trace, self.frames()))
    }

    /// The trace since the last call; empty unless tracing was configured.
    #[cfg(test)]
    pub(crate) fn take_trace(&self) -> Vec<Event> {
        self.trace
            .as_ref()
            .map_or_else(Vec::new, |trace| std::mem::take(&mut *trace.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Counts of a pool since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolStats {
    /// Pages fixed.
    pub(crate) fixes: u64,
    /// Of these, pages that were in memory.
    pub(crate) hits: u64,
    /// Pages read from disk.
    pub(crate) reads: u64,
    /// Pages written, each of them twice.
    pub(crate) writes: u64,
    /// Batches of written pages, with two forces each.
    pub(crate) batches: u64,
    /// Pages evicted from memory.
    pub(crate) evictions: u64,
    /// Fixes that found no clean frame, and wrote pages themselves.
    pub(crate) dirty_victims: u64,
    /// Fixes that waited for a latch.
    pub(crate) latch_waits: u64,
}

/// A number that threads add to.
#[derive(Default)]
pub(super) struct EventCount(AtomicU64);

impl EventCount {
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// None of them is counted when a page is in memory and its latch is free: the fixes of the pages that are in memory
/// stand in their frames.
#[derive(Default)]
pub(super) struct PoolCounts {
    /// Fixes of pages that have left.
    pub fixes: EventCount,
    /// Fixes that found the page missing.
    pub misses: EventCount,
    pub reads: EventCount,
    pub writes: EventCount,
    pub batches: EventCount,
    pub evictions: EventCount,
    pub dirty_victims: EventCount,
    pub latch_waits: EventCount,
}
