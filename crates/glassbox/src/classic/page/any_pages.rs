//! Pages of whatever kind, for those who are not in a hurry.
//!
//! Access methods are compiled for each kind of pages, which makes them quick, and for each stack again what differs by
//! stack. Rare work, such as a check of all pages of a file, gains nothing by that: it is given pages in this form
//! and is compiled once. A page costs an allocation and a call that is not known beforehand.

use std::ops::{Deref, DerefMut};

use crate::classic::ids::PageId;
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::error::Error;
use crate::log::Lsn;

/// Pages of a kind that is not known.
#[derive(Clone, Copy)]
pub(crate) struct AnyPages<'p>(&'p dyn Erased);

impl<'p> AnyPages<'p> {
    /// These.
    pub(crate) fn of<P: Pages>(pages: &'p P) -> Self {
        Self(pages)
    }
}

/// A page that may be read.
pub(crate) struct AnyShared<'a>(Box<dyn FixedPage + 'a>);

/// A page that may be changed.
pub(crate) struct AnyExclusive<'a>(Box<dyn ExclusivePage + 'a>);

/// [`Pages`], as far as it can be called without knowing which.
trait Erased {
    fn page_bytes(&self) -> usize;
    fn fix_shared(&self, page: PageId) -> Result<AnyShared<'_>, Error>;
    fn fix_exclusive(&self, page: PageId) -> Result<AnyExclusive<'_>, Error>;
    fn try_fix_shared(&self, page: PageId) -> Result<Option<AnyShared<'_>>, Error>;
    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<AnyExclusive<'_>>, Error>;
    fn fix_new(&self, page: PageId) -> Result<AnyExclusive<'_>, Error>;
}

impl<P: Pages> Erased for P {
    fn page_bytes(&self) -> usize {
        Pages::page_bytes(self)
    }

    fn fix_shared(&self, page: PageId) -> Result<AnyShared<'_>, Error> {
        Ok(AnyShared(Box::new(Pages::fix_shared(self, page)?)))
    }

    fn fix_exclusive(&self, page: PageId) -> Result<AnyExclusive<'_>, Error> {
        Ok(AnyExclusive(Box::new(Pages::fix_exclusive(self, page)?)))
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<AnyShared<'_>>, Error> {
        Ok(Pages::try_fix_shared(self, page)?.map(|page| AnyShared(Box::new(page))))
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<AnyExclusive<'_>>, Error> {
        Ok(Pages::try_fix_exclusive(self, page)?.map(|page| AnyExclusive(Box::new(page))))
    }

    fn fix_new(&self, page: PageId) -> Result<AnyExclusive<'_>, Error> {
        Ok(AnyExclusive(Box::new(Pages::fix_new(self, page)?)))
    }
}

impl Pages for AnyPages<'_> {
    type Shared<'a>
        = AnyShared<'a>
    where
        Self: 'a;
    type Exclusive<'a>
        = AnyExclusive<'a>
    where
        Self: 'a;

    fn page_bytes(&self) -> usize {
        self.0.page_bytes()
    }

    fn fix_shared(&self, page: PageId) -> Result<AnyShared<'_>, Error> {
        self.0.fix_shared(page)
    }

    fn fix_exclusive(&self, page: PageId) -> Result<AnyExclusive<'_>, Error> {
        self.0.fix_exclusive(page)
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<AnyShared<'_>>, Error> {
        self.0.try_fix_shared(page)
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<AnyExclusive<'_>>, Error> {
        self.0.try_fix_exclusive(page)
    }

    fn fix_new(&self, page: PageId) -> Result<AnyExclusive<'_>, Error> {
        self.0.fix_new(page)
    }
}

impl Deref for AnyShared<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for AnyExclusive<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for AnyExclusive<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl FixedPage for AnyShared<'_> {
    fn is_sound(&self) -> Option<bool> {
        self.0.is_sound()
    }

    fn note_sound(&self, is_sound: bool) {
        self.0.note_sound(is_sound);
    }
}

impl FixedPage for AnyExclusive<'_> {
    fn is_sound(&self) -> Option<bool> {
        self.0.is_sound()
    }

    fn note_sound(&self, is_sound: bool) {
        self.0.note_sound(is_sound);
    }
}

impl ExclusivePage for AnyExclusive<'_> {
    fn id(&self) -> PageId {
        self.0.id()
    }

    fn changed(&mut self, from: Lsn, lsn: Lsn) {
        self.0.changed(from, lsn);
    }
}
