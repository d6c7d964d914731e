//! The memory of all frames: one block, aligned for disks that copy straight into it.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};

use crate::error::Error;

/// What direct reads and writes want offsets and addresses to be multiples of.
pub(super) const DISK_ALIGNMENT: usize = 4096;
/// A large block begins where a huge page may.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Pages of memory, zeros at first. It gives out addresses; whoever uses them keeps others out.
pub(super) struct Memory {
    whole: NonNull<u8>,
    layout: Layout,
    /// Aligned.
    base: NonNull<u8>,
    page_bytes: usize,
    pages: usize,
}

// SAFETY: a `Memory` owns its block alone, and only gives addresses out.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Room for so many pages. The system gives the memory when it is first touched.
    ///
    /// # Errors
    /// When there is not so much.
    pub fn new(page_bytes: usize, pages: usize) -> Result<Self, Error> {
        let nope = || Error::OutOfMemory(format!("cannot get {pages} pages of {page_bytes} bytes for the buffer pool"));
        assert!(page_bytes.is_multiple_of(DISK_ALIGNMENT), "pages are not aligned");
        let bytes = page_bytes.checked_mul(pages).ok_or_else(nope)?;
        let alignment = if bytes < HUGE_PAGE_BYTES { DISK_ALIGNMENT } else { HUGE_PAGE_BYTES };
        // An alignment that the allocator must see to would make it write the zeros itself.
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
        }
        Ok(Self { whole, layout, base, page_bytes, pages })
    }

    /// Bytes of a page.
    #[inline(always)]
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Where page number `page` is.
    #[inline(always)]
    pub fn page(&self, page: usize) -> NonNull<[u8]> {
        assert!(page < self.pages);
        // SAFETY: it lies within the block.
        NonNull::slice_from_raw_parts(unsafe { self.base.add(page * self.page_bytes) }, self.page_bytes)
    }

    /// Where page number `page` begins, if there is one, for whoever does not look there yet.
    #[inline(always)]
    pub fn address(&self, page: usize) -> Option<*const u8> {
        (page < self.pages).then(|| self.base.as_ptr().cast_const().wrapping_add(page * self.page_bytes))
    }

    /// All pages, of one who has the memory for himself.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.pages * self.page_bytes;
        // SAFETY: the block is that long, and nobody else can have it while the borrow lasts.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.whole.as_ptr(), self.layout) }
    }
}
