//! The space map as a source of pages.

use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::Space;
use super::map::{self, FIRST_MAP, MapChange, NEW_MAP};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, PageKind, miss};
use crate::error::Error;

/// Pages that a volume may have: all numbers but the highest.
pub(crate) const LIMIT_PAGES: u32 = u32::MAX - 1;

/// The space map of a volume.
///
/// Pages are taken in the order of the file, from a hint on: as far as this process knows, no page below it is free.
/// The hint may be too high, because taking back an allocation does not lower it; so before the volume is called full,
/// all of the map is searched once.
pub(crate) struct SpaceMap<P> {
    pages: P,
    limit_pages: u32,
    hint: AtomicU32,
}

/// The map pages of pages that are to be given back.
pub(crate) struct Freeing<G> {
    maps: SmallVec<[G; 1]>,
    /// Of each page, which of the map pages, and its bit there.
    places: SmallVec<[(usize, u32); 4]>,
    lowest: PageId,
}

impl<P: Pages> SpaceMap<P> {
    /// The map of a volume that has been made, which may have pages up to number `limit_pages` - 1.
    pub(crate) fn new(pages: P, limit_pages: u32) -> Self {
        Self { pages, limit_pages, hint: AtomicU32::new(FIRST_MAP.0 + 1) }
    }

    /// Makes the first map page, in a volume that is being made.
    ///
    /// # Errors
    /// When the page cannot be fixed or logged.
    pub(crate) fn create<J: PageLog>(&self, journal: &mut J) -> Result<(), Error> {
        self.format(journal, FIRST_MAP).map(drop)
    }

    fn format<J: PageLog>(&self, journal: &mut J, at: PageId) -> Result<P::Exclusive<'_>, Error> {
        let mut map = self.pages.fix_new(at)?;
        let format = Change::Format { kind: PageKind::Map, store: StoreId::VOLUME, body: &NEW_MAP };
        journal.change(&mut map, format, Undo::Page)?;
        Ok(map)
    }

    /// Calls `each` with every page that is in use, in order, but for page 0; among them the map's own.
    ///
    /// # Errors
    /// When the map cannot be read.
    pub(crate) fn for_each_used(&self, mut each: impl FnMut(PageId)) -> Result<(), Error> {
        let per_map = map::pages_per_map(self.pages.page_bytes());
        let mut at = FIRST_MAP;
        loop {
            let map = self.pages.fix_shared(at)?;
            self.check(at, &map)?;
            (0..per_map).filter(|bit| map::is_taken(&map, *bit)).for_each(|bit| each(PageId(at.0 + bit)));
            match at.0.checked_add(per_map) {
                Some(next) if map::has_next(&map) => at = PageId(next),
                _ => return Ok(()),
            }
        }
    }

    fn check(&self, at: PageId, map: &[u8]) -> Result<(), Error> {
        match page::kind(map) {
            Some(PageKind::Map) => Ok(()),
            _ => Err(page::damaged(at, map.len(), "a page of the space map should be here")),
        }
    }

    /// Takes the first free page from `from` on; `None` if there is none below the limit.
    fn allocate_from<J: PageLog>(&self, journal: &mut J, from: PageId) -> Result<Option<PageId>, Error> {
        let page_bytes = self.pages.page_bytes();
        let per_map = map::pages_per_map(page_bytes);
        let Some((mut at, mut bit)) = map::place(from, page_bytes) else { return Ok(None) };
        if from.0 >= self.limit_pages {
            return Ok(None);
        }
        let mut map = self.pages.fix_exclusive(at)?;
        loop {
            self.check(at, &map)?;
            let until = per_map.min(self.limit_pages - at.0);
            if let Some(bit) = map::first_free(&map, bit, until) {
                journal.change(&mut map, Change::Map(MapChange::Take { bit }), Undo::Page)?;
                return Ok(Some(PageId(at.0 + bit)));
            }
            // A map page without a page to speak for would be of no use.
            let next = match at.0.checked_add(per_map) {
                Some(next) if next < self.limit_pages.saturating_sub(1) => PageId(next),
                _ => return Ok(None),
            };
            map = if map::has_next(&map) { self.pages.fix_exclusive(next)? } else { self.extend(journal, map, next)? };
            (at, bit) = (next, 1);
        }
    }

    /// Makes the map page behind `last`, and returns it.
    fn extend<J: PageLog>(
        &self,
        journal: &mut J,
        mut last: P::Exclusive<'_>,
        next: PageId,
    ) -> Result<P::Exclusive<'_>, Error> {
        let begun = journal.begin_nested();
        let map = self.format(journal, next)?;
        journal.change(&mut last, Change::Map(MapChange::Extend), Undo::Page)?;
        journal.end_nested(begun)?;
        Ok(map)
    }

    /// The map page of a page that a store has, and its bit.
    fn place(&self, page: PageId) -> Result<(PageId, u32), Error> {
        let page_bytes = self.pages.page_bytes();
        map::place(page, page_bytes)
            .filter(|(_, bit)| *bit != 0)
            .ok_or_else(|| page::damaged(page, page_bytes, "a store took this page of the volume's for its own"))
    }
}

impl<P: Pages> Space for SpaceMap<P> {
    fn allocate<J: PageLog>(&self, journal: &mut J) -> Result<PageId, Error> {
        let _reading = miss::reading();
        let hint = self.hint.load(Ordering::Relaxed);
        if let Some(page) = self.allocate_from(journal, PageId(hint))? {
            // Not one further: that may be the place of a map page that has not been made. If the hint was moved
            // meanwhile, it stays where it was moved to.
            let _ = self.hint.compare_exchange(hint, page.0, Ordering::Relaxed, Ordering::Relaxed);
            return Ok(page);
        }
        let found = self.allocate_from(journal, PageId(FIRST_MAP.0 + 1))?;
        found.ok_or(Error::VolumeFull { limit_pages: self.limit_pages })
    }

    type Freeing<'a>
        = Freeing<P::Exclusive<'a>>
    where
        Self: 'a;

    fn fix_for_freeing(&self, pages: &[PageId]) -> Result<Self::Freeing<'_>, Error> {
        let _reading = miss::reading();
        // Map pages are latched in the order of the file, as by those who look for a free page.
        let mut pages = SmallVec::<[PageId; 4]>::from_slice(pages);
        pages.sort_unstable();
        let lowest = *pages.first().expect("pages are to be given back");
        let mut freeing = Freeing::<P::Exclusive<'_>> { maps: SmallVec::new(), places: SmallVec::new(), lowest };
        for page in &pages {
            let (at, bit) = self.place(*page)?;
            if freeing.maps.last().is_none_or(|map| map.id() != at) {
                let map = self.pages.fix_exclusive(at)?;
                self.check(at, &map)?;
                freeing.maps.push(map);
            }
            let map = freeing.maps.len() - 1;
            if !map::is_taken(&freeing.maps[map], bit) {
                let problem = "a store has this page, but the space map says it is free";
                return Err(page::damaged(*page, self.pages.page_bytes(), problem));
            }
            freeing.places.push((map, bit));
        }
        Ok(freeing)
    }

    fn end_nested_freeing<J: PageLog>(
        &self,
        journal: &mut J,
        begun: J::Nested,
        mut freeing: Self::Freeing<'_>,
    ) -> Result<(), Error> {
        for (map, bit) in freeing.places {
            journal.change(&mut freeing.maps[map], Change::Map(MapChange::Give { bit }), Undo::Page)?;
        }
        // While the map pages are latched no thread allocates these pages: a later allocation is after this end in the
        // log.
        journal.end_nested(begun)?;
        self.hint.fetch_min(freeing.lowest.0, Ordering::Relaxed);
        Ok(())
    }
}
