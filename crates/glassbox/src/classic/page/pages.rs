//! Pages that can be fixed: what the access methods see of a buffer pool.
//!
//! To fix a page is to have it in memory, to keep it there, and to hold its latch. Dropping what fixing gave unfixes
//! it.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::classic::ids::PageId;
use crate::error::Error;
use crate::log::Lsn;

/// A source of pages.
pub(crate) trait Pages {
    /// A page that may be read.
    type Shared<'a>: FixedPage
    where
        Self: 'a;
    /// A page that may be changed.
    type Exclusive<'a>: ExclusivePage
    where
        Self: 'a;

    /// Bytes of a page.
    fn page_bytes(&self) -> usize;

    /// Where a page is in memory, or was a moment ago: only to be asked for ahead of its use. `None` when it is not
    /// known.
    #[inline(always)]
    fn address(&self, _page: PageId) -> Option<*const u8> {
        None
    }

    /// Whether a page is in memory, or was a moment ago.
    #[inline(always)]
    fn is_resident(&self, _page: PageId) -> bool {
        true
    }

    /// Brings into memory those of these pages that are missing, reading at the same time as many as the disk can. No
    /// page may be fixed by this thread. Pages may have left memory again when this returns.
    ///
    /// # Errors
    /// As for [`Pages::fix_shared`].
    fn bring(&self, pages: &[PageId]) -> Result<(), Error> {
        pages.iter().try_for_each(|page| self.fix_shared(*page).map(drop))
    }

    /// Keeps a page in memory without fixing it, until [`Pages::unpin`] is called once for it. Returns the frame in
    /// which it stays; `None` if the page is missing, or may be, or these pages cannot be pinned.
    #[inline(always)]
    fn pin(&self, _page: PageId) -> Option<u32> {
        None
    }

    /// As [`Pages::pin`], for a page that is fixed.
    #[inline(always)]
    fn pin_fixed(&self, _page: &Self::Shared<'_>) -> Option<u32> {
        None
    }

    /// Removes a pin of a page in this frame.
    fn unpin(&self, page: PageId, _frame: u32) {
        panic!("page {page} was never pinned");
    }

    /// Fixes a page to read it; waits for those who change it.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    fn fix_shared(&self, page: PageId) -> Result<Self::Shared<'_>, Error>;

    /// Fixes a page to change it; waits for all others.
    ///
    /// # Errors
    /// As for [`Pages::fix_shared`].
    fn fix_exclusive(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error>;

    /// Fixes a page to read it unless that means waiting for a latch: against the order in which latches are taken.
    ///
    /// # Errors
    /// As for [`Pages::fix_shared`].
    fn try_fix_shared(&self, page: PageId) -> Result<Option<Self::Shared<'_>>, Error>;

    /// Fixes a page to change it unless that means waiting for a latch.
    ///
    /// # Errors
    /// As for [`Pages::fix_shared`].
    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<Self::Exclusive<'_>>, Error>;

    /// Fixes a page whose content does not matter, because it will be formatted: it is not read from disk, its bytes
    /// are what they happen to be.
    ///
    /// # Errors
    /// When there is no room for it.
    fn fix_new(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error>;
}

/// Pages that several own.
impl<T: Pages> Pages for Arc<T> {
    type Shared<'a>
        = T::Shared<'a>
    where
        Self: 'a;
    type Exclusive<'a>
        = T::Exclusive<'a>
    where
        Self: 'a;

    #[inline(always)]
    fn page_bytes(&self) -> usize {
        T::page_bytes(self)
    }

    #[inline(always)]
    fn address(&self, page: PageId) -> Option<*const u8> {
        T::address(self, page)
    }

    #[inline(always)]
    fn is_resident(&self, page: PageId) -> bool {
        T::is_resident(self, page)
    }

    fn bring(&self, pages: &[PageId]) -> Result<(), Error> {
        T::bring(self, pages)
    }

    #[inline(always)]
    fn pin(&self, page: PageId) -> Option<u32> {
        T::pin(self, page)
    }

    #[inline(always)]
    fn pin_fixed(&self, page: &Self::Shared<'_>) -> Option<u32> {
        T::pin_fixed(self, page)
    }

    #[inline(always)]
    fn unpin(&self, page: PageId, frame: u32) {
        T::unpin(self, page, frame);
    }

    #[inline(always)]
    fn fix_shared(&self, page: PageId) -> Result<Self::Shared<'_>, Error> {
        T::fix_shared(self, page)
    }

    #[inline(always)]
    fn fix_exclusive(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error> {
        T::fix_exclusive(self, page)
    }

    #[inline(always)]
    fn try_fix_shared(&self, page: PageId) -> Result<Option<Self::Shared<'_>>, Error> {
        T::try_fix_shared(self, page)
    }

    #[inline(always)]
    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<Self::Exclusive<'_>>, Error> {
        T::try_fix_exclusive(self, page)
    }

    #[inline(always)]
    fn fix_new(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error> {
        T::fix_new(self, page)
    }
}

/// A page that is fixed, and what is remembered of it while it is in memory.
pub(crate) trait FixedPage: Deref<Target = [u8]> {
    /// Whether all its rows are known to be what [`Record::store`](crate::record::Record::store) writes; `None` if that
    /// cannot be remembered.
    #[inline(always)]
    fn is_sound(&self) -> Option<bool> {
        None
    }

    /// Notes that its records are sound: they were checked, or there are none yet. Records stored later must be sound
    /// too.
    #[inline(always)]
    fn note_sound(&self, _is_sound: bool) {}
}

/// A page fixed to be changed.
pub(crate) trait ExclusivePage: FixedPage + DerefMut<Target = [u8]> {
    /// Its number.
    fn id(&self) -> PageId;

    /// Says that the page was changed by a log record that lies between `from` and `lsn`: stamps it with `lsn`, and
    /// notes, if it was clean, that the log from `from` on is needed to bring it back.
    fn changed(&mut self, from: Lsn, lsn: Lsn);
}
