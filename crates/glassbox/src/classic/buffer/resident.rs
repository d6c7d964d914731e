//! Pages without a pool: all in memory, each at a fixed address.
//!
//! Pages without a buffer manager: the address of a page is a multiplication away, nothing is pinned, because no page
//! is evicted, and nothing is written. Latches stay; without them one number for each page detects a page that is fixed
//! twice.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::memory::Memory;
use crate::classic::ids::PageId;
use crate::classic::latch::Latch;
use crate::classic::page;
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::error::Error;
use crate::log::Lsn;

/// [`Use::alone`] of a page fixed to be changed.
const CHANGING: u32 = u32::MAX;

/// Pages of zeros until they are formatted.
pub(crate) struct Resident<L> {
    memory: Memory,
    uses: Box<[Use<L>]>,
}

struct Use<L> {
    latch: L,
    /// Without latches: the number of shared fixes of the page, or [`CHANGING`]. With latches, unused.
    alone: Cell<u32>,
}

// SAFETY: with latches that keep threads out, `alone` is not used, and the bytes of a page are reached only under its
// latch. Latches that exclude no thread are not `Sync`.
unsafe impl<L: Latch + Sync> Sync for Resident<L> {}

/// A resident page that may be read.
pub(crate) struct SharedResident<'a, L: Latch> {
    used: &'a Use<L>,
    bytes: NonNull<[u8]>,
}

/// A resident page that may be changed.
pub(crate) struct ExclusiveResident<'a, L: Latch> {
    used: &'a Use<L>,
    id: PageId,
    bytes: NonNull<[u8]>,
}

impl<L: Latch> Resident<L> {
    /// Room for pages 0 to `pages - 1`. The system gives the memory when it is first touched.
    ///
    /// # Errors
    /// When there is not so much.
    pub(crate) fn new(page_bytes: usize, pages: usize) -> Result<Self, Error> {
        let unused = |_| Use { latch: L::default(), alone: Cell::new(0) };
        Ok(Self { memory: Memory::new(page_bytes, pages)?, uses: (0..pages).map(unused).collect() })
    }

    #[inline(always)]
    fn find(&self, page: PageId) -> Result<&Use<L>, Error> {
        self.uses.get(page.0 as usize).ok_or_else(|| self.too_few(page))
    }

    #[cold]
    fn too_few(&self, page: PageId) -> Error {
        let pages = self.uses.len();
        Error::OutOfMemory(format!("page {page} is wanted, and there is memory for {pages} pages; give it more"))
    }

    #[inline(always)]
    fn shared<'a>(&'a self, page: PageId, used: &'a Use<L>) -> SharedResident<'a, L> {
        SharedResident { used, bytes: self.memory.page(page.0 as usize) }
    }

    #[inline(always)]
    fn exclusive<'a>(&'a self, page: PageId, used: &'a Use<L>) -> ExclusiveResident<'a, L> {
        ExclusiveResident { used, id: page, bytes: self.memory.page(page.0 as usize) }
    }
}

impl<L: Latch> Use<L> {
    /// Where there are no latches, notes the fix; says whether what the only thread has fixed already allows it.
    #[inline(always)]
    fn allow(&self, exclusive: bool) -> bool {
        if L::CONCURRENT {
            return true;
        }
        let now = self.alone.get();
        let allowed = if exclusive { now == 0 } else { now != CHANGING };
        if allowed {
            self.alone.set(if exclusive { CHANGING } else { now + 1 });
        }
        allowed
    }
}

impl<L: Latch> Pages for Resident<L> {
    type Shared<'a>
        = SharedResident<'a, L>
    where
        Self: 'a;
    type Exclusive<'a>
        = ExclusiveResident<'a, L>
    where
        Self: 'a;

    #[inline(always)]
    fn page_bytes(&self) -> usize {
        self.memory.page_bytes()
    }

    #[inline(always)]
    fn address(&self, page: PageId) -> Option<*const u8> {
        self.memory.address(page.0 as usize)
    }

    #[inline]
    fn fix_shared(&self, page: PageId) -> Result<SharedResident<'_, L>, Error> {
        let used = self.find(page)?;
        assert!(used.allow(false), "page {page} is fixed by this thread already: it would wait for itself");
        used.latch.shared();
        Ok(self.shared(page, used))
    }

    #[inline]
    fn fix_exclusive(&self, page: PageId) -> Result<ExclusiveResident<'_, L>, Error> {
        let used = self.find(page)?;
        assert!(used.allow(true), "page {page} is fixed by this thread already: it would wait for itself");
        used.latch.exclusive();
        Ok(self.exclusive(page, used))
    }

    #[inline]
    fn try_fix_shared(&self, page: PageId) -> Result<Option<SharedResident<'_, L>>, Error> {
        let used = self.find(page)?;
        Ok((used.allow(false) && used.latch.try_shared()).then(|| self.shared(page, used)))
    }

    #[inline]
    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<ExclusiveResident<'_, L>>, Error> {
        let used = self.find(page)?;
        Ok((used.allow(true) && used.latch.try_exclusive()).then(|| self.exclusive(page, used)))
    }

    fn fix_new(&self, page: PageId) -> Result<ExclusiveResident<'_, L>, Error> {
        let fixed = self.fix_exclusive(page)?;
        self.memory.taken(page.0 as usize);
        Ok(fixed)
    }
}

impl<L: Latch> Deref for SharedResident<'_, L> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: latched to read until this is dropped, or noted so by the only thread; the memory was zeros at first.
        unsafe { self.bytes.as_ref() }
    }
}

impl<L: Latch> Deref for ExclusiveResident<'_, L> {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        // SAFETY: latched to change until this is dropped, or noted so by the only thread.
        unsafe { self.bytes.as_ref() }
    }
}

impl<L: Latch> DerefMut for ExclusiveResident<'_, L> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and a mutable borrow is the only one.
        unsafe { self.bytes.as_mut() }
    }
}

impl<L: Latch> FixedPage for SharedResident<'_, L> {
    /// Nothing came from a file.
    #[inline(always)]
    fn is_sound(&self) -> Option<bool> {
        Some(true)
    }
}

impl<L: Latch> FixedPage for ExclusiveResident<'_, L> {
    /// Nothing came from a file.
    #[inline(always)]
    fn is_sound(&self) -> Option<bool> {
        Some(true)
    }
}

impl<L: Latch> ExclusivePage for ExclusiveResident<'_, L> {
    #[inline(always)]
    fn id(&self) -> PageId {
        self.id
    }

    #[inline(always)]
    fn changed(&mut self, _from: Lsn, lsn: Lsn) {
        page::set_lsn(self, lsn);
    }
}

impl<L: Latch> Drop for SharedResident<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.used.latch.release_shared();
        if !L::CONCURRENT {
            self.used.alone.set(self.used.alone.get() - 1);
        }
    }
}

impl<L: Latch> Drop for ExclusiveResident<'_, L> {
    #[inline(always)]
    fn drop(&mut self) {
        self.used.latch.release_exclusive();
        if !L::CONCURRENT {
            self.used.alone.set(0);
        }
    }
}
