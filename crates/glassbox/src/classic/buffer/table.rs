//! The page table: from a page's number to its frame.
//!
//! Page numbers are dense, so this is an array and not a hash table: two loads and no comparison of keys. It has two
//! levels, and the chunks of the second are made when a page in them is first fixed. An entry may be outdated when it
//! is used; the frame has the authoritative page number ([`super::frame`]). The invariant: an entry is set only while
//! it is empty, and by the thread that has claimed the frame, so no page is in two frames.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::classic::ids::PageId;

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
