//! Writing pages out: for a thread that needs a frame, for checkpoints, and before closing.
//!
//! *No circles of waiting.* A thread that needs a frame may hold latches, and waits for the batch. So the thread that
//! has the batch never waits for a latch: pages that are latched are left over, and when they must be written too,
//! their latch is waited for without the batch, and the batch then waited for with the latch, to read.
//!
//! *No dirty page is missed by a checkpoint.* [`BufferPool::dirty_pages`] is called after the checkpoint has taken its
//! position in the log. A record before that position was appended by a thread that had its page latched exclusively,
//! and that notes in the frame from where on the log is needed before it releases the latch. The list takes every
//! frame's latch to look, so it either comes later and finds that said, or came before he had the latch, and then his
//! record is behind the position, where a recovery begins to read anyway. What it finds is a lower bound: `from` was
//! read before the record was appended. A page that moves to a frame that was looked at already was clean on the way,
//! and what changes it there is behind the position.
//!
//! *A failure stops the writing for good.* After a failed write or force the contents of the disk are unknown. The
//! pages of the batch stay dirty, none of them leaves memory, and every later writer gets the error. Recovery begins
//! with what the disk really holds; the images are still there.

use std::sync::MutexGuard;

use super::batch::Batch;
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
    /// The dirty pages, each with a position from which on the log is needed to bring it back. Everything that was
    /// changed by a record before the call, and is not in this list, is on disk. Waits for those who change pages; the
    /// caller has fixed none.
    pub(crate) fn dirty_pages(&self) -> Vec<(PageId, Lsn)> {
        self.dirty_frames().map(|(page, _, needed_from)| (page, needed_from)).collect()
    }

    /// Writes all pages for which the log before `lsn` is needed. The caller has fixed none.
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

    /// Writes all dirty pages. The caller has fixed none.
    ///
    /// # Errors
    /// As for [`BufferPool::clean_up_to`].
    pub(crate) fn flush_all(&self) -> Result<u64, Error> {
        self.clean_up_to(Lsn(u64::MAX))
    }

    /// Writes the dirty pages among the next that the clock will come to, without those that it will spare: what is
    /// used again and again would be written again and again. Says how many there were. This is what the background
    /// writer does.
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
                    // Busy is a page that the only thread has fixed itself, and does not change meanwhile.
                    _ => return frame.needed_from().map(|needed_from| (page, number, needed_from)),
                }
            }
        })
    }

    /// Writes those of `wanted`, pages in frames, that are dirty; says how many. With `wait` also those that others
    /// have latched, else without them.
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

    /// Waits for the latch of a page; `None` when it has left the frame.
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

    fn copy(&self, batch: &mut Batch, page: PageId, number: usize, guard: SharedFrame<'_, L>) {
        let frame = &self.frames.headers()[number];
        if frame.is_changed() {
            batch.add(page, number, &guard);
            frame.begin_write();
        }
    }

    /// Waits for the role of writing pages.
    fn take_batch(&self) -> Result<MutexGuard<'_, Batch>, Error> {
        let batch = self.batch.lock().map_err(|_| stopped("a thread panicked while it wrote pages"))?;
        self.check_writing()?;
        Ok(batch)
    }

    /// Whether pages can be written; why not otherwise.
    ///
    /// # Errors
    /// When writing failed before.
    pub(crate) fn check_writing(&self) -> Result<(), Error> {
        match self.stopped.get() {
            None => Ok(()),
            Some(reason) => Err(stopped(reason)),
        }
    }

    fn write_batch(&self, batch: &mut Batch) -> Result<u64, Error> {
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
