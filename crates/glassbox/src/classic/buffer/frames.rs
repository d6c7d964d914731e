//! All frames: their headers, their memory, and access to the bytes.
//!
//! The page table: from a page's number to its frame.
//!
//! Page numbers are dense, so this is an array and not a hash table: two loads and no comparison of keys. It has two
//! levels, and the chunks of the second are made when a page in them is first fixed. An entry may be outdated when it
//! is used; the frame has the authoritative page number ([`super::frame`]). The invariant: an entry is set only while
//! it is empty, and by the thread that has claimed the frame, so no page is in two frames.

use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::frame::{Fix, Frame};
use super::guard::{ExclusiveFrame, SharedFrame};
use super::memory::{Memory, no_memory};
use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::error::Error;
use crate::prefetch::prefetch_read;

/// See the file.
pub(super) struct Frames<L> {
    headers: Box<[Frame<L>]>,
    memory: Memory,
}

/// A claimed frame.
pub(super) struct Claimed<'a, L: Latch> {
    frames: &'a Frames<L>,
    number: usize,
}

/// The mode of a fix: shared or exclusive.
pub(super) trait Guard<'a, L: Latch>: Sized + Deref<Target = [u8]> {
    const EXCLUSIVE: bool;

    /// The result of fixing the page in this frame, and if it is fixed, the page.
    fn fix(frames: &'a Frames<L>, number: usize, page: PageId, wait: bool) -> (Fix, Option<Self>);

    /// The fix of this mode of a page that was just read.
    fn of_arrived(page: ExclusiveFrame<'a, L>) -> Self;
}

impl<'a, L: Latch> Guard<'a, L> for SharedFrame<'a, L> {
    const EXCLUSIVE: bool = false;

    #[inline(always)]
    fn fix(frames: &'a Frames<L>, number: usize, page: PageId, wait: bool) -> (Fix, Option<Self>) {
        let frame = &frames.headers[number];
        match frame.fix(page, false, wait) {
            // SAFETY: fixed to read just now, and the memory is that of this frame, which was written before the page
            // was entered, and lives as long as the frame.
            fixed @ Fix::Fixed { .. } => (fixed, Some(unsafe { SharedFrame::new(frame, frames.memory.page(number)) })),
            not => (not, None),
        }
    }

    fn of_arrived(page: ExclusiveFrame<'a, L>) -> Self {
        page.downgrade()
    }
}

impl<'a, L: Latch> Guard<'a, L> for ExclusiveFrame<'a, L> {
    const EXCLUSIVE: bool = true;

    #[inline(always)]
    fn fix(frames: &'a Frames<L>, number: usize, page: PageId, wait: bool) -> (Fix, Option<Self>) {
        let frame = &frames.headers[number];
        match frame.fix(page, true, wait) {
            // SAFETY: as for a shared one, fixed to change.
            fixed @ Fix::Fixed { .. } => {
                (fixed, Some(unsafe { ExclusiveFrame::new(frame, frames.memory.page(number)) }))
            }
            not => (not, None),
        }
    }

    fn of_arrived(page: ExclusiveFrame<'a, L>) -> Self {
        page
    }
}

impl<L: Latch> Frames<L> {
    /// Empty frames.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn new(page_bytes: usize, frames: usize) -> Result<Self, Error> {
        let memory = Memory::new(page_bytes, frames)?;
        let mut headers = Vec::new();
        headers.try_reserve_exact(frames).map_err(|_| no_memory(page_bytes, frames))?;
        headers.extend((0..frames).map(|_| Frame::default()));
        Ok(Self { headers: headers.into(), memory })
    }

    /// Bytes of a page.
    #[inline(always)]
    pub fn page_bytes(&self) -> usize {
        self.memory.page_bytes()
    }

    /// The address of a frame's bytes, for a prefetch. Also prefetches the header.
    #[inline(always)]
    pub fn address(&self, number: usize) -> Option<*const u8> {
        prefetch_read(self.headers.get(number)?);
        self.memory.address(number)
    }

    /// The headers, by the numbers of the frames.
    #[inline(always)]
    pub fn headers(&self) -> &[Frame<L>] {
        &self.headers
    }

    /// The number of one of these frames.
    #[inline(always)]
    pub fn number_of(&self, frame: &Frame<L>) -> u32 {
        let offset = std::ptr::from_ref(frame).addr() - self.headers.as_ptr().addr();
        (offset / size_of::<Frame<L>>()) as u32
    }

    /// Fixes the page in this frame to copy it, which does not count as a use.
    pub fn fix_to_copy(&self, number: usize, page: PageId, wait: bool) -> (Fix, Option<SharedFrame<'_, L>>) {
        let frame = &self.headers[number];
        match frame.fix_to_copy(page, wait) {
            // SAFETY: as for any shared one.
            fixed @ Fix::Fixed { .. } => (fixed, Some(unsafe { SharedFrame::new(frame, self.memory.page(number)) })),
            not => (not, None),
        }
    }

    /// Claims a frame if its page is clean and not fixed. Returns that page and its number of fixes.
    pub fn claim(&self, number: usize) -> Option<(Claimed<'_, L>, PageId, u64)> {
        let (page, uses) = self.headers[number].claim()?;
        Some((Claimed { frames: self, number }, page, uses))
    }
}

impl<'a, L: Latch> Claimed<'a, L> {
    /// The frame's number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Ends the claim: the frame has `page`, fixed exclusively, whose bytes are still to be read. `None` if another
    /// frame has that page already; then this one is empty.
    pub fn enter(self, page: PageId, table: &PageTable) -> Option<ExclusiveFrame<'a, L>> {
        let frame = &self.frames.headers[self.number];
        frame.prepare(page);
        if !table.set(page, self.number) {
            frame.give_up();
            return None;
        }
        frame.publish();
        self.frames.memory.taken(self.number);
        // SAFETY: the claim latched it exclusively, and it still is; the memory is that of this frame, zeros at first.
        Some(unsafe { ExclusiveFrame::new(frame, self.frames.memory.page(self.number)) })
    }
}

const CHUNK: usize = 1 << 16;
const CHUNKS: usize = (1 << 32) / CHUNK;
const EMPTY: u32 = u32::MAX;

/// See the file.
pub(super) struct PageTable {
    // Arrays, whose lengths need no load.
    chunks: Box<[OnceLock<Chunk>; CHUNKS]>,
}

type Chunk = Box<[AtomicU32; CHUNK]>;

impl PageTable {
    pub fn new() -> Self {
        let chunks: Box<[OnceLock<Chunk>]> = (0..CHUNKS).map(|_| OnceLock::new()).collect();
        Self { chunks: chunks.try_into().expect("as many") }
    }

    /// The frame that holds the page, or held it a moment ago.
    #[inline(always)]
    pub fn get(&self, page: PageId) -> Option<usize> {
        let chunk = self.chunks[page.0 as usize / CHUNK].get()?;
        let frame = chunk[page.0 as usize % CHUNK].load(Ordering::Acquire);
        (frame != EMPTY).then_some(frame as usize)
    }

    /// Sets `frame` as the frame of the page, unless another one is set.
    pub fn set(&self, page: PageId, frame: usize) -> bool {
        let empty = || {
            let chunk: Box<[AtomicU32]> = (0..CHUNK).map(|_| AtomicU32::new(EMPTY)).collect();
            chunk.try_into().expect("as many")
        };
        let chunk = self.chunks[page.0 as usize / CHUNK].get_or_init(empty);
        let entry = &chunk[page.0 as usize % CHUNK];
        entry.compare_exchange(EMPTY, frame as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Clears the frame of the page. Only for the thread that claimed or latched that frame.
    pub fn clear(&self, page: PageId) {
        let chunk = self.chunks[page.0 as usize / CHUNK].get().expect("a page that is held has an entry");
        chunk[page.0 as usize % CHUNK].store(EMPTY, Ordering::Release);
    }
}
