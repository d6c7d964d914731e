//! Pages that a transaction keeps in memory from its fetch stage to its end, and how many may be kept.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::classic::ids::PageId;
use crate::classic::page::pages::Pages;
use crate::error::Error;

/// Places of the table of pinned pages.
const PLACES: usize = 1024;
/// Pages in it at most, so that a search is short. Further ones may be pinned more than once.
const KNOWN: usize = PLACES / 2;
/// Pages that are brought into memory at the same time.
pub(crate) const BATCH: usize = 64;
/// Pins that a transaction reserves at once.
const RESERVED: usize = 16;

/// How many pages may be pinned: of all transactions, and of one.
#[derive(Debug, Default)]
pub(crate) struct PinBudget {
    reserved: AtomicUsize,
    most: usize,
    of_transaction: usize,
}

impl PinBudget {
    /// For a pool of `frames`, of which each of `sessions` needs `needed` at the same time, whatever is pinned.
    pub(crate) fn new(frames: usize, sessions: usize, needed: usize) -> Self {
        let most = frames.saturating_sub(needed * sessions).min(frames / 2);
        Self { reserved: AtomicUsize::new(0), most, of_transaction: frames / (2 * sessions.max(1)) }
    }

    /// Brings pages into memory, as many at the same time as there is room for beside what is pinned.
    pub(crate) fn bring(&self, pages: &impl Pages, wanted: &[PageId]) -> Result<(), Error> {
        let mut left = wanted;
        while !left.is_empty() {
            let mut batch = left.len().min(BATCH);
            // Pages that are being read occupy frames, as pinned ones do.
            while batch > 1 && !self.reserve(batch - 1) {
                batch /= 2;
            }
            let brought = pages.bring(&left[..batch]);
            self.reserved.fetch_sub(batch - 1, Ordering::Relaxed);
            brought?;
            left = &left[batch..];
        }
        Ok(())
    }

    fn reserve(&self, pins: usize) -> bool {
        let reserve = |reserved: usize| (reserved + pins <= self.most).then_some(reserved + pins);
        self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok()
    }

    /// Pins that are reserved now.
    #[cfg(test)]
    pub(crate) fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }
}

/// The pages that a transaction has pinned.
#[derive(Debug)]
pub(crate) struct Pins {
    /// With their frames.
    pages: Vec<(PageId, u32)>,
    /// The first of these pages, by the end of their numbers, or in the next free place.
    known: Box<[PageId; PLACES]>,
    reserved: usize,
    /// Whether the budget did not allow one.
    is_refused: bool,
}

impl Default for Pins {
    fn default() -> Self {
        Self { pages: Vec::new(), known: Box::new([PageId::NONE; PLACES]), reserved: 0, is_refused: false }
    }
}

impl Pins {
    /// Pins a page by `pin`, if the budget allows. Returns whether it is pinned.
    #[inline]
    fn keep(&mut self, id: PageId, pin: impl FnOnce() -> Option<u32>, budget: &PinBudget) -> bool {
        let place = self.place(id);
        if self.known[place] == id {
            return true;
        }
        if self.pages.len() == self.reserved {
            let more = RESERVED.min(budget.of_transaction.saturating_sub(self.reserved));
            if more == 0 || !budget.reserve(more) {
                self.is_refused = true;
                return false;
            }
            self.reserved += more;
        }
        let Some(frame) = pin() else { return false };
        if self.pages.len() < KNOWN {
            self.known[place] = id;
        }
        self.pages.push((id, frame));
        true
    }

    /// Where a page is in the table, or would be.
    #[inline]
    fn place(&self, id: PageId) -> usize {
        let mut place = id.0 as usize % PLACES;
        while self.known[place] != id && self.known[place] != PageId::NONE {
            place = (place + 1) % PLACES;
        }
        place
    }

    /// Pinned pages.
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    /// Whether there are pages that the budget did not allow to be pinned.
    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Releases all of them.
    pub(crate) fn release(&mut self, pages: &impl Pages, budget: &PinBudget) {
        for (page, frame) in self.pages.drain(..) {
            // With all that stand behind it, which leave as well.
            let mut place = page.0 as usize % PLACES;
            while self.known[place] != PageId::NONE {
                self.known[place] = PageId::NONE;
                place = (place + 1) % PLACES;
            }
            pages.unpin(page, frame);
        }
        budget.reserved.fetch_sub(std::mem::take(&mut self.reserved), Ordering::Relaxed);
        self.is_refused = false;
    }
}

/// Pages of which each that is fixed is pinned. They are read only.
pub(crate) struct Pinning<'p, P> {
    pages: &'p P,
    pins: RefCell<&'p mut Pins>,
    budget: &'p PinBudget,
}

impl<'p, P: Pages> Pinning<'p, P> {
    pub(crate) fn new(pages: &'p P, pins: &'p mut Pins, budget: &'p PinBudget) -> Self {
        Self { pages, pins: RefCell::new(pins), budget }
    }

    /// Pins a page that is in memory, and need not be fixed for that; returns whether it is pinned.
    #[inline]
    pub(crate) fn try_pin(&self, page: PageId) -> bool {
        self.pins.borrow_mut().keep(page, || self.pages.pin(page), self.budget)
    }

    /// Pins a page.
    pub(crate) fn touch(&self, page: PageId) -> Result<(), Error> {
        if self.try_pin(page) { Ok(()) } else { self.fix_shared(page).map(drop) }
    }

    fn keep<'a>(&self, id: PageId, page: P::Shared<'a>) -> P::Shared<'a>
    where
        P: 'a,
    {
        self.pins.borrow_mut().keep(id, || self.pages.pin_fixed(&page), self.budget);
        page
    }
}

impl<P: Pages> Pages for Pinning<'_, P> {
    type Shared<'a>
        = P::Shared<'a>
    where
        Self: 'a;
    type Exclusive<'a>
        = P::Exclusive<'a>
    where
        Self: 'a;

    fn page_bytes(&self) -> usize {
        self.pages.page_bytes()
    }

    fn is_resident(&self, page: PageId) -> bool {
        self.pages.is_resident(page)
    }

    fn bring(&self, pages: &[PageId]) -> Result<(), Error> {
        self.budget.bring(self.pages, pages)
    }

    fn fix_shared(&self, page: PageId) -> Result<P::Shared<'_>, Error> {
        Ok(self.keep(page, self.pages.fix_shared(page)?))
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<P::Shared<'_>>, Error> {
        Ok(self.pages.try_fix_shared(page)?.map(|fixed| self.keep(page, fixed)))
    }

    fn fix_exclusive(&self, page: PageId) -> Result<P::Exclusive<'_>, Error> {
        unreachable!("the fetch stage changes nothing, and page {page} neither")
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<P::Exclusive<'_>>, Error> {
        unreachable!("the fetch stage changes nothing, and page {page} neither")
    }

    fn fix_new(&self, page: PageId) -> Result<P::Exclusive<'_>, Error> {
        unreachable!("the fetch stage makes no page, and page {page} neither")
    }
}
