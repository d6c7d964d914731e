//! Pages that tell who fixes them.

use std::ops::{Deref, DerefMut};

use super::trace;
use crate::classic::buffer::BackgroundWriter;
use crate::classic::engine::log_ahead::LogAhead;
use crate::classic::ids::PageId;
use crate::classic::latch::ReadWriteLatch;
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::classic::stack::{PageStore, Pool};
use crate::error::Error;
use crate::io::Files;
use crate::log::Lsn;

/// See the file.
#[derive(Clone)]
pub struct TracedPages(Pool<ReadWriteLatch, LogAhead>);

/// A page that is fixed.
pub struct Traced<G: Deref<Target = [u8]>> {
    guard: G,
    id: PageId,
}

impl<G: Deref<Target = [u8]>> Traced<G> {
    fn new(guard: G, how: &str, id: PageId) -> Self {
        trace::fixed(how, id, Some(&guard));
        Self { guard, id }
    }

    fn tried(guard: Option<G>, how: &str, id: PageId) -> Option<Self> {
        if guard.is_none() {
            trace::with(|trace| trace.add("busy", &format!("page {id}: its latch is taken")));
        }
        guard.map(|guard| Self::new(guard, how, id))
    }
}

impl<G: Deref<Target = [u8]>> Drop for Traced<G> {
    fn drop(&mut self) {
        trace::unfixed(self.id, &self.guard);
    }
}

impl<G: Deref<Target = [u8]>> Deref for Traced<G> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.guard
    }
}

impl<G: DerefMut<Target = [u8]>> DerefMut for Traced<G> {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.guard
    }
}

impl<G: FixedPage> FixedPage for Traced<G> {
    fn is_sound(&self) -> Option<bool> {
        self.guard.is_sound()
    }

    fn note_sound(&self, is_sound: bool) {
        self.guard.note_sound(is_sound);
    }
}

impl<G: ExclusivePage> ExclusivePage for Traced<G> {
    fn id(&self) -> PageId {
        self.guard.id()
    }

    fn changed(&mut self, from: Lsn, lsn: Lsn) {
        self.guard.changed(from, lsn);
    }
}

type Below = Pool<ReadWriteLatch, LogAhead>;

impl Pages for TracedPages {
    type Shared<'a> = Traced<<Below as Pages>::Shared<'a>>;
    type Exclusive<'a> = Traced<<Below as Pages>::Exclusive<'a>>;

    fn page_bytes(&self) -> usize {
        self.0.page_bytes()
    }

    fn fix_shared(&self, page: PageId) -> Result<Self::Shared<'_>, Error> {
        Ok(Traced::new(self.0.fix_shared(page)?, "S", page))
    }

    fn fix_exclusive(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error> {
        Ok(Traced::new(self.0.fix_exclusive(page)?, "X", page))
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<Self::Shared<'_>>, Error> {
        Ok(Traced::tried(self.0.try_fix_shared(page)?, "S?", page))
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<Self::Exclusive<'_>>, Error> {
        Ok(Traced::tried(self.0.try_fix_exclusive(page)?, "X?", page))
    }

    fn fix_new(&self, page: PageId) -> Result<Self::Exclusive<'_>, Error> {
        let guard = self.0.fix_new(page)?;
        trace::fixed("X", page, None);
        Ok(Traced { guard, id: page })
    }
}

impl PageStore<LogAhead> for TracedPages {
    type Writer = Option<BackgroundWriter>;

    fn make(files: &dyn Files, page_bytes: usize, pages: usize, ahead: LogAhead) -> Result<Self, Error> {
        Ok(Self(Below::make(files, page_bytes, pages, ahead)?))
    }
}
