//! Writing pages out: for a thread that needs a frame, for checkpoints, and before closing.
//!
//! *No deadlocks.* A thread that needs a frame may hold latches, and waits for the batch. So the thread that has the
//! batch never waits for a latch: it skips latched pages. If these must be written too, the thread waits for the latch
//! without the batch, and then, with the shared latch, for the batch.
//!
//! *No dirty page is missed by a checkpoint.* [`BufferPool::dirty_pages`] is called after the checkpoint has its log
//! position. A record before that position was appended by a thread that held its page's latch exclusively, and that
//! stores in the frame the position from which the log is needed before it releases the latch. The listing acquires
//! every frame's latch. So it either comes later and finds the stored position, or came before that thread had the
//! latch, and then the record is after the checkpoint's position, where recovery reads anyway. The stored position is a
//! lower bound: `from` was read before the record was appended. A page that moves to a frame already listed was clean
//! in between, and later changes of it are after the position.
//!
//! *A failure stops the writing for good.* After a failed write or force the contents of the disk are unknown. The
//! pages of the batch stay dirty, none of them leaves memory, and every later writer gets the error. Recovery begins
//! with the actual contents of the disk; the images are still there.

use std::sync::MutexGuard;

use super::batch::WriteBatch;
use super::frame::{Fix, NO_PAGE};
use super::guard::SharedFrame;
use super::pool::BufferPool;
use super::simulate::Event;
use super::write_ahead::WriteAhead;
use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::error::Error;
use crate::log::Lsn;

impl<L: Latch, W: WriteAhead> BufferPool<L, W> {
    /// The dirty pages, each with the position from which the log is needed to redo its changes. Every other page
    /// changed by a record before the call is on disk. Waits for threads that change pages; the caller has no page
    /// fixed.
    pub(crate) fn dirty_pages(&self) -> Vec<(PageId, Lsn)> {
        self.dirty_frames().map(|(page, _, needed_from)| (page, needed_from)).collect()
    }

    /// Writes all pages for which the log before `lsn` is needed. The caller has no page fixed.
    ///
    /// # Errors
    /// When writing fails, or failed before.
    pub(crate) fn clean_up_to(&self, lsn: Lsn) -> Result<u64, Error> {
        if self.trace.is_some() {
            self.record(Event::Cleaned);
        }
        let old = self.dirty_frames().filter(|(.., needed_from)| *needed_from < lsn);
        self.write_out(old.map(|(page, frame, _)| (page, frame)).collect(), true)
    }

    /// The number of the last batch that was written.
    ///
    /// # Errors
    /// When writing has failed before.
    pub(crate) fn last_batch(&self) -> Result<u64, Error> {
        Ok(self.take_batch()?.number())
    }

    /// Writes all dirty pages. The caller has no page fixed.
    ///
    /// # Errors
    /// As for [`BufferPool::clean_up_to`].
    pub(crate) fn flush_all(&self) -> Result<u64, Error> {
        self.clean_up_to(Lsn(u64::MAX))
    }

    /// The work of the background writer: writes the dirty pages among those that the clock reaches next, except pages
    /// that the clock will spare, because frequently used pages would be written repeatedly. Returns their number.
    ///
    /// # Errors
    /// As for [`BufferPool::clean_up_to`].
    pub(crate) fn clean_ahead(&self) -> Result<u64, Error> {
        let dirty = self.clock.ahead().filter_map(|step| {
            let number = self.clock.frame(step);
            let frame = &self.frames.headers()[number];
            let leaves = frame.uses_if_unfixed().is_some_and(|uses| self.clock.is_idle(number, uses));
            (leaves && frame.needed_from().is_some()).then(|| (frame.page(), number))
        });
        self.write_out(dirty.collect(), false)
    }

    fn dirty_frames(&self) -> impl Iterator<Item = (PageId, usize, Lsn)> {
        self.frames.headers().iter().enumerate().filter_map(|(number, frame)| {
            loop {
                let page = frame.page();
                if page == NO_PAGE {
                    return None;
                }
                let (fixed, _latched) = self.frames.fix_to_copy(number, page, true);
                match fixed {
                    Fix::Other => std::thread::yield_now(),
                    // A busy page is one that the only thread has fixed itself, and does not change meanwhile.
                    _ => return frame.needed_from().map(|needed_from| (page, number, needed_from)),
                }
            }
        })
    }

    /// Writes the dirty ones of `wanted`, pages in frames; returns their number. Pages latched by other threads are
    /// written only with `wait`.
    pub(super) fn write_out(&self, mut wanted: Vec<(PageId, usize)>, wait: bool) -> Result<u64, Error> {
        wanted.sort_unstable();
        wanted.dedup();
        let mut written = 0;
        let mut latched = None;
        while latched.is_some() || !wanted.is_empty() {
            let mut batch = self.take_batch()?;
            if let Some((page, number, guard)) = latched.take() {
                self.copy(&mut batch, page, number, guard);
            }
            let mut left = Vec::new();
            let mut coming = wanted.into_iter();
            while !batch.is_full()
                && let Some((page, number)) = coming.next()
            {
                match self.frames.fix_to_copy(number, page, false) {
                    (Fix::Fixed { .. }, guard) => self.copy(&mut batch, page, number, guard.expect("it is fixed")),
                    (Fix::Other, _) if self.frames.headers()[number].page() != page => {}
                    _ => left.push((page, number)),
                }
            }
            written += self.write_batch(&mut batch)?;
            drop(batch);
            let left_over = left.len();
            left.extend(coming);
            wanted = left;
            if !wait {
                wanted.drain(..left_over);
            } else if left_over > 0 {
                let (page, number) = wanted.remove(0);
                latched = self.wait_to_copy(page, number).map(|guard| (page, number, guard));
            }
        }
        Ok(written)
    }

    /// Waits for the latch of a page; `None` if the page has left the frame.
    fn wait_to_copy(&self, page: PageId, number: usize) -> Option<SharedFrame<'_, L>> {
        loop {
            match self.frames.fix_to_copy(number, page, true) {
                (Fix::Fixed { .. }, guard) => return guard,
                (Fix::Busy, _) => panic!("page {page} is fixed by this thread: it would wait for itself"),
                (Fix::Other, _) if self.frames.headers()[number].page() != page => return None,
                (Fix::Other, _) => std::thread::yield_now(),
            }
        }
    }

    fn copy(&self, batch: &mut WriteBatch, page: PageId, number: usize, guard: SharedFrame<'_, L>) {
        let frame = &self.frames.headers()[number];
        if frame.is_changed() {
            batch.add(page, number, &guard);
            frame.begin_write();
        }
    }

    /// Waits for the role of writing pages.
    fn take_batch(&self) -> Result<MutexGuard<'_, WriteBatch>, Error> {
        let batch = self.batch.lock().map_err(|_| stopped("a thread panicked while it wrote pages"))?;
        self.check_writing()?;
        Ok(batch)
    }

    /// Fails with the reason if pages cannot be written.
    ///
    /// # Errors
    /// When writing failed before.
    pub(crate) fn check_writing(&self) -> Result<(), Error> {
        match self.stopped.get() {
            None => Ok(()),
            Some(reason) => Err(stopped(reason)),
        }
    }

    fn write_batch(&self, batch: &mut WriteBatch) -> Result<u64, Error> {
        let pages = batch.pages().len() as u64;
        if pages == 0 {
            return Ok(0);
        }
        let forced = self.wal.force_up_to(batch.highest_lsn());
        if let Err(cause) = forced.and_then(|()| Ok(batch.write(&self.volume)?)) {
            let reason = format!(
                "pages could not be written, and what is on disk is unknown: {cause}; remove the cause and open the \
                 database again"
            );
            // The first cause is the one to report.
            let _ = self.stopped.set(reason);
            return Err(cause);
        }
        for (_, number) in batch.pages() {
            self.frames.headers()[*number].end_write();
        }
        batch.clear();
        self.counts.batches.add(1);
        self.counts.writes.add(pages);
        Ok(pages)
    }
}

fn stopped(reason: &str) -> Error {
    Error::Stopped { reason: reason.to_owned() }
}
