//! Fixing pages: those in memory, and missing ones.
//!
//! A missing page is read as follows, without a lock around the steps:
//!
//! ```text
//! 1  claim a frame whose page will be evicted, and remove that page from the table
//! 2  set the new page as the frame's page                             (still claimed, and so latched exclusively)
//! 3  insert it into the table, unless another thread was quicker      (then the frame stays empty, and restart)
//! 4  end the claim, still latched; read the page; continue with the requested latch
//! ```
//!
//! From step 3 on, other threads find the page in the table and wait for the latch; so it is read once. If the read
//! fails, the page is removed from the table and the frame while it is latched. The waiting threads then find the frame
//! empty and retry.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::ClaimResult;
use super::frame::{Fix, NO_PAGE};
use super::frames::{Claimed, Guard};
use super::guard::{ExclusiveFrame, SharedFrame};
use super::pool::{BufferPool, SessionRead};
use super::simulate::Event;
use super::write_ahead::WriteAhead;
use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::classic::page;
use crate::classic::page::miss::{self, DiskRead};
use crate::classic::page::pages::Pages;
use crate::error::Error;

/// Maximum attempts to find a frame; the second half of them after a pause.
const ATTEMPTS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// The source of a page's bytes if it is not in memory.
#[derive(Clone, Copy, PartialEq)]
enum Bring {
    Read,
    /// The page will be formatted; until then its header must not look like another page's.
    Nowhere,
}

impl<L: Latch, W: WriteAhead> Pages for BufferPool<L, W> {
    type Shared<'a>
        = SharedFrame<'a, L>
    where
        Self: 'a;
    type Exclusive<'a>
        = ExclusiveFrame<'a, L>
    where
        Self: 'a;

    #[inline(always)]
    fn page_bytes(&self) -> usize {
        self.frames.page_bytes()
    }

    /// The frame's header is prefetched at once: it is needed before the page.
    #[inline(always)]
    fn address(&self, page: PageId) -> Option<*const u8> {
        self.table.get(page).and_then(|frame| self.frames.address(frame))
    }

    #[inline(always)]
    fn is_resident(&self, page: PageId) -> bool {
        self.table.get(page).is_some_and(|frame| !self.frames.headers()[frame].is_arriving())
    }

    fn bring(&self, pages: &[PageId]) -> Result<(), Error> {
        self.bring_missing(pages);
        // What another thread reads, and what there was no clean frame for.
        let _reading = miss::reading();
        let left = pages.iter().filter(|page| !self.is_resident(**page));
        left.copied().try_for_each(|page| self.fix::<SharedFrame<'_, L>>(page, Bring::Read).map(drop))
    }

    #[inline]
    fn pin(&self, page: PageId) -> Option<u32> {
        // A trace is of fixes.
        let frame = self.table.get(page).filter(|_| self.trace.is_none())?;
        self.frames.headers()[frame].pin_unfixed(page).then_some(frame as u32)
    }

    #[inline]
    fn pin_fixed(&self, page: &SharedFrame<'_, L>) -> Option<u32> {
        page.frame().pin().then(|| self.frames.number_of(page.frame()))
    }

    #[inline]
    fn unpin(&self, page: PageId, frame: u32) {
        let frame = &self.frames.headers()[frame as usize];
        debug_assert_eq!(frame.page(), page, "a pinned page stays in its frame");
        frame.unpin();
    }

    #[inline]
    fn fix_shared(&self, page: PageId) -> Result<SharedFrame<'_, L>, Error> {
        self.fix(page, Bring::Read)
    }

    #[inline]
    fn fix_exclusive(&self, page: PageId) -> Result<ExclusiveFrame<'_, L>, Error> {
        self.fix(page, Bring::Read)
    }

    #[inline]
    fn try_fix_shared(&self, page: PageId) -> Result<Option<SharedFrame<'_, L>>, Error> {
        self.try_fix(page)
    }

    #[inline]
    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<ExclusiveFrame<'_, L>>, Error> {
        self.try_fix(page)
    }

    fn fix_new(&self, page: PageId) -> Result<ExclusiveFrame<'_, L>, Error> {
        self.volume.make_room(page)?;
        self.fix(page, Bring::Nowhere)
    }
}

impl<L: Latch, W: WriteAhead> BufferPool<L, W> {
    /// The common case, in a function of its own, so that it needs no stack.
    #[inline(always)]
    fn fix<'a, G: Guard<'a, L>>(&'a self, page: PageId, bring: Bring) -> Result<G, Error> {
        match self.fix_present(page) {
            Some(guard) => Ok(guard),
            None => self.fix_waiting(page, bring),
        }
    }

    #[inline(always)]
    fn try_fix<'a, G: Guard<'a, L>>(&'a self, page: PageId) -> Result<Option<G>, Error> {
        match self.fix_present(page) {
            Some(guard) => Ok(Some(guard)),
            None => self.fix_missing(page, false, Bring::Read),
        }
    }

    /// Fixes a page that is in the frame given by the table, if its latch is free.
    #[inline(always)]
    fn fix_present<'a, G: Guard<'a, L>>(&'a self, page: PageId) -> Option<G> {
        let frame = self.table.get(page).filter(|_| self.trace.is_none())?;
        G::fix(&self.frames, frame, page, false).1.inspect(|_| miss::note_fixed(page))
    }

    #[cold]
    #[inline(never)]
    fn fix_waiting<'a, G: Guard<'a, L>>(&'a self, page: PageId, bring: Bring) -> Result<G, Error> {
        self.fix_missing(page, true, bring).map(|guard| guard.expect("it was waited for"))
    }

    /// Fixes a page that is latched, not in the frame given by the table, or not in the table.
    #[cold]
    #[inline(never)]
    fn fix_missing<'a, G: Guard<'a, L>>(&'a self, page: PageId, wait: bool, bring: Bring) -> Result<Option<G>, Error> {
        if self.trace.is_some() {
            self.record(if G::EXCLUSIVE { Event::Change(page) } else { Event::Read(page) });
        }
        if page == NO_PAGE {
            let problem = "it names a page that there cannot be".to_owned();
            return Err(Error::Damaged { file: super::volume::PAGES.to_owned(), offset: 0, problem });
        }
        loop {
            if let Some(frame) = self.table.get(page) {
                let arrives = wait && self.frames.headers()[frame].is_arriving();
                if arrives {
                    // As long a wait as a read.
                    miss::check(page)?;
                }
                let _reading = arrives.then(|| self.note_reading(page));
                let began_ns = if arrives { self.now_ns() } else { 0 };
                match G::fix(&self.frames, frame, page, wait) {
                    (Fix::Fixed { waited }, guard) => {
                        self.counts.latch_waits.add(u64::from(waited));
                        if let Some(guard) = guard.as_ref().filter(|_| arrives && waited) {
                            self.count_read(page, guard, began_ns);
                        }
                        miss::note_fixed(page);
                        return Ok(guard);
                    }
                    (Fix::Busy, _) => {
                        assert!(!wait, "page {page} is fixed by this thread already: it would wait for itself");
                        return Ok(None);
                    }
                    // The frame is being claimed, which is short.
                    (Fix::Other, _) => std::thread::yield_now(),
                }
                continue;
            }
            if bring == Bring::Read {
                miss::check(page)?;
            }
            let claimed = self.claim()?;
            let frame = claimed.number();
            self.clock.arrived(frame);
            if let Some(arriving) = claimed.enter(page, &self.table) {
                self.counts.misses.add(1);
                return self.bring(Arriving { pool: self, frame, page, guard: Some(arriving) }, bring).map(Some);
            }
        }
    }

    fn bring<'a, G: Guard<'a, L>>(&'a self, mut arriving: Arriving<'a, L, W>, bring: Bring) -> Result<G, Error> {
        let id = arriving.page;
        let bytes = arriving.guard.as_mut().expect("it has not arrived");
        match bring {
            Bring::Nowhere => bytes[..page::HEADER_BYTES].fill(0),
            Bring::Read => {
                let _reading = self.note_reading(id);
                let began_ns = self.now_ns();
                self.volume.read(id, bytes)?;
                self.counts.reads.add(1);
                self.count_read(id, bytes, began_ns);
            }
        }
        self.frames.headers()[arriving.frame].arrived();
        Ok(G::of_arrived(arriving.guard.take().expect("it arrives now")))
    }

    /// Reads as many missing pages as there are clean frames for, in one batch. Waits for nothing but the disk: the
    /// frames that it has claimed are ones that others wait for. A page that cannot be read stays missing.
    fn bring_missing(&self, pages: &[PageId]) {
        let mut arriving = Vec::with_capacity(pages.len());
        for page in pages.iter().copied().filter(|page| *page != NO_PAGE && self.table.get(*page).is_none()) {
            let Some(claimed) = self.claim_clean() else { break };
            let frame = claimed.number();
            self.clock.arrived(frame);
            if let Some(guard) = claimed.enter(page, &self.table) {
                self.counts.misses.add(1);
                arriving.push(Arriving { pool: self, frame, page, guard: Some(guard) });
            }
        }
        if arriving.is_empty() {
            return;
        }
        let _reading = self.note_reading(arriving[0].page);
        let began_ns = self.now_ns();
        let buffers = arriving
            .iter_mut()
            .map(|Arriving { page, guard, .. }| (*page, &mut **guard.as_mut().expect("it has not arrived")));
        let read = self.volume.read_many(buffers);
        for (mut page, _) in arriving.into_iter().zip(read).filter(|(_, read)| read.is_ok()) {
            self.counts.reads.add(1);
            self.frames.headers()[page.frame].arrived();
            let bytes = page.guard.take().expect("it arrives now");
            self.count_read(page.page, &bytes, began_ns);
        }
    }

    /// Notes that the session of this thread reads a page, until the result is dropped.
    fn note_reading(&self, page: PageId) -> Option<NotedReading<'_>> {
        let session = miss::session()?;
        let all = &self.reading;
        let read = SessionRead { session, page, table: miss::table() };
        all.lock().unwrap_or_else(PoisonError::into_inner).push(read);
        Some(NotedReading { all, session })
    }

    /// The time of the engine's clock; zero before it has one.
    fn now_ns(&self) -> u64 {
        self.clock_of_reads.get().map_or(0, |clock| clock.monotonic_ns())
    }

    fn count_read(&self, page: PageId, bytes: &[u8], began_ns: u64) {
        miss::count_read(DiskRead { page, store: page::store(bytes), began_ns, ended_ns: self.now_ns() });
    }

    /// An empty frame.
    fn claim(&self) -> Result<Claimed<'_, L>, Error> {
        for attempt in 0..ATTEMPTS {
            if let Some(claimed) = self.claim_chosen() {
                return Ok(claimed);
            }
            let mut dirty = Vec::new();
            if let Some(claimed) = self.claim_ahead(&mut dirty) {
                return Ok(claimed);
            }
            if !dirty.is_empty() {
                self.counts.dirty_victims.add(1);
                self.write_out(dirty.clone(), false)?;
                self.chosen().append(&mut dirty);
                if let Some(claimed) = self.claim_chosen() {
                    return Ok(claimed);
                }
            }
            if attempt < ATTEMPTS / 2 { std::thread::yield_now() } else { std::thread::sleep(PAUSE) }
        }
        let frames = self.frames.headers().len();
        Err(Error::OutOfMemory(format!(
            "all {frames} frames of the buffer pool are in use at the same time; give it more, or run fewer clients"
        )))
    }

    /// An empty frame, if that needs no page to be written.
    fn claim_clean(&self) -> Option<Claimed<'_, L>> {
        self.claim_chosen().or_else(|| self.claim_ahead(&mut Vec::new()))
    }

    /// Claims the next frame of the clock that is clean; gives those before it that are dirty, up to a batch.
    fn claim_ahead(&self, dirty: &mut Vec<(PageId, usize)>) -> Option<Claimed<'_, L>> {
        let mut claimed = None;
        let uses = |frame: usize| self.frames.headers()[frame].uses_if_unfixed();
        self.clock.victim(uses, |number| {
            let frame = &self.frames.headers()[number];
            if frame.needed_from().is_some() {
                dirty.push((frame.page(), number));
                return if dirty.len() >= self.enough_dirty() { ClaimResult::Stop } else { ClaimResult::Refused };
            }
            claimed = self.claim_frame(number);
            if claimed.is_some() { ClaimResult::Taken } else { ClaimResult::Refused }
        });
        if !dirty.is_empty() {
            self.signal.nudge();
        }
        claimed
    }

    /// Claims a frame that was chosen and cleaned earlier, if its page was not used since.
    fn claim_chosen(&self) -> Option<Claimed<'_, L>> {
        loop {
            let (page, number) = self.chosen().pop()?;
            let frame = &self.frames.headers()[number];
            if frame.page() == page
                && self.clock.is_idle(number, frame.uses())
                && let Some(claimed) = self.claim_frame(number)
            {
                return Some(claimed);
            }
        }
    }

    fn chosen(&self) -> MutexGuard<'_, Vec<(PageId, usize)>> {
        // Nothing panics while it is held.
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Claims this frame if possible, and removes its page from the table.
    fn claim_frame(&self, number: usize) -> Option<Claimed<'_, L>> {
        let (claimed, page, uses) = self.frames.claim(number)?;
        self.counts.fixes.add(uses);
        if page != NO_PAGE {
            self.table.clear(page);
            self.counts.evictions.add(1);
        }
        Some(claimed)
    }

    /// The number of dirty frames ahead of the clock's hand that makes a batch worthwhile.
    fn enough_dirty(&self) -> usize {
        self.batch_pages.min(self.frames.headers().len().div_ceil(4))
    }

    #[cold]
    pub(super) fn record(&self, event: Event) {
        let trace = self.trace.as_ref().expect("tracing is on");
        trace.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// A note that a session reads a page.
struct NotedReading<'a> {
    all: &'a Mutex<Vec<SessionRead>>,
    session: u32,
}

impl Drop for NotedReading<'_> {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).retain(|read| read.session != self.session);
    }
}

/// A page being read into a frame. Dropped before it is complete, as after a failed read, it clears the frame and the
/// table.
struct Arriving<'a, L: Latch, W: WriteAhead> {
    pool: &'a BufferPool<L, W>,
    frame: usize,
    page: PageId,
    guard: Option<ExclusiveFrame<'a, L>>,
}

impl<L: Latch, W: WriteAhead> Drop for Arriving<'_, L, W> {
    fn drop(&mut self) {
        // The latch is released after this, with the guard.
        if self.guard.is_some() {
            self.pool.table.clear(self.page);
            self.pool.frames.headers()[self.frame].forget();
        }
    }
}
