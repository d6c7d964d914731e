//! The memory of all frames: one block, aligned for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::mm::{Advice, madvise};

use crate::error::Error;
use crate::huge_pages::{self, HUGE_PAGE_BYTES};

/// Alignment of offsets and addresses for direct I/O.
pub(super) const DISK_ALIGNMENT: usize = 4096;

/// Pages of memory, initially zeros. It gives addresses; their users ensure exclusion.
pub(super) struct Memory {
    whole: NonNull<u8>,
    layout: Layout,
    /// Aligned.
    base: NonNull<u8>,
    page_bytes: usize,
    pages: usize,
    /// Bytes present or requested.
    asked: AtomicUsize,
}

// SAFETY: a `Memory` owns its block alone, and only gives addresses out.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Memory for this many pages. The system allocates it at the first access.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn new(page_bytes: usize, pages: usize) -> Result<Self, Error> {
        let nope = || no_memory(page_bytes, pages);
        assert!(page_bytes.is_multiple_of(DISK_ALIGNMENT), "pages are not aligned");
        let bytes = page_bytes.checked_mul(pages).ok_or_else(nope)?;
        // A large block begins where a huge page may.
        let alignment = if bytes < HUGE_PAGE_BYTES { DISK_ALIGNMENT } else { HUGE_PAGE_BYTES };
        // With an alignment request, the allocator would write the zeros itself.
        let layout = Layout::from_size_align(bytes.checked_add(alignment).ok_or_else(nope)?, 16).map_err(|_| nope())?;
        // SAFETY: the size is not zero, `alignment` being part of it.
        let whole = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(nope)?;
        let skip = whole.as_ptr().addr().next_multiple_of(alignment) - whole.as_ptr().addr();
        // SAFETY: `skip` is below `alignment`, by which the block is larger than needed.
        let base = unsafe { whole.add(skip) };
        if alignment == HUGE_PAGE_BYTES {
            // SAFETY: the range lies within the block; what it holds does not change. A system that has no huge pages
            // says so, and nothing is lost.
            let _ = unsafe { madvise(base.as_ptr().cast(), bytes, Advice::LinuxHugepage) };
            huge_pages::start();
        }
        Ok(Self { whole, layout, base, page_bytes, pages, asked: AtomicUsize::new(0) })
    }

    /// Called at the first use of a page: requests the memory after it in advance, which is right as long as pages are
    /// first used in order.
    #[inline]
    pub fn taken(&self, page: usize) {
        let bytes = self.pages * self.page_bytes;
        if bytes < HUGE_PAGE_BYTES {
            return;
        }
        let used = ((page + 1) * self.page_bytes).next_multiple_of(HUGE_PAGE_BYTES);
        let until = huge_pages::until(used).min(bytes);
        if self.asked.load(Ordering::Relaxed) < until {
            let asked = self.asked.fetch_max(until, Ordering::Relaxed);
            for at in (used.max(asked)..until).step_by(HUGE_PAGE_BYTES) {
                huge_pages::ask(self.base.as_ptr().addr() + at);
            }
        }
    }

    /// Bytes of a page.
    #[inline(always)]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// The address of page number `page`.
    #[inline(always)]
    pub fn page(&self, page: usize) -> NonNull<[u8]> {
        assert!(page < self.pages);
        // SAFETY: it lies within the block.
        NonNull::slice_from_raw_parts(unsafe { self.base.add(page * self.page_bytes) }, self.page_bytes)
    }

    /// The address of page number `page`, if it exists, for a prefetch.
    #[inline(always)]
    pub fn address(&self, page: usize) -> Option<*const u8> {
        (page < self.pages).then(|| self.base.as_ptr().cast_const().wrapping_add(page * self.page_bytes))
    }

    /// All pages, with exclusive access.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the block is that long, and the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), bytes) }
    }
}

/// The error of a failed allocation of this many pages.
pub(super) fn no_memory(page_bytes: usize, pages: usize) -> Error {
    Error::OutOfMemory(format!(
        "the system does not give memory for {pages} pages of {page_bytes} bytes: lower classic.pool_bytes, or \
         classic.sessions, each of which needs some pages"
    ))
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.whole.as_ptr(), self.layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_next_is_asked_for_and_nothing_behind_the_end() {
        let memory = Memory::new(8192, 1000).unwrap();
        let asked = |page| {
            memory.taken(page);
            memory.asked.load(Ordering::Relaxed)
        };
        assert_eq!(asked(0), 2 * HUGE_PAGE_BYTES);
        assert_eq!(asked(255), 2 * HUGE_PAGE_BYTES);
        assert_eq!(asked(256), 3 * HUGE_PAGE_BYTES);
        assert_eq!(asked(999), 8192 * 1000);
        assert_eq!(asked(3), 8192 * 1000);
        let small = Memory::new(8192, 10).unwrap();
        small.taken(9);
        assert_eq!(small.asked.load(Ordering::Relaxed), 0);
    }
}
