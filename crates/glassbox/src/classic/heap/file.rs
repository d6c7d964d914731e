//! A heap file: reading, updating and deleting records. All records, and all pages, one after the other.

use std::collections::HashSet;
use std::ops::Deref;

use smallvec::SmallVec;

use super::change::HeapChange;
use super::room::Room;
use super::{difference, list, slotted};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::any_pages::{AnyPages, AnyShared};
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::page::{self, PageKind, miss};
use crate::classic::space::Space;
use crate::error::Error;
use crate::prefetch::{prefetch_read, prefetch_span};

/// A page with fewer ghosts than one in so many slots is not worth a visit to insert there.
const SLOTS_PER_GHOST: u16 = 8;

/// As much of a record is asked for: the processor keeps few misses in flight.
const AHEAD_BYTES: usize = 320;

/// A copy of a record; one of a usual width needs no allocation.
type RecordCopy = SmallVec<[u8; 1024]>;

/// A heap file whose records have one width. It holds what is known of the room in its pages, so there should be one of
/// these for each file; its pages are given to each call.
pub(crate) struct HeapFile {
    store: StoreId,
    pub(super) root: PageId,
    width: usize,
    pub(super) room: Room,
}

impl HeapFile {
    /// Makes the first page of a new file and returns it: the file's root. Call it in a nested action.
    ///
    /// # Errors
    /// When there is no page for it, or it cannot be logged.
    pub(crate) fn create<P: Pages, S: Space, J: PageLog>(
        pages: &P,
        space: &S,
        journal: &mut J,
        store: StoreId,
    ) -> Result<PageId, Error> {
        let root = space.allocate(journal)?;
        let mut page = pages.fix_new(root)?;
        journal.change(&mut page, Change::Format { kind: PageKind::HeapPages, store, body: &[] }, Undo::Page)?;
        Ok(root)
    }

    /// Opens the file of this number and root, whose records have `width` bytes. Reads its list of pages.
    ///
    /// # Errors
    /// When the list is damaged or cannot be read, or a page has no room for a record.
    pub(crate) fn open<P: Pages>(pages: &P, store: StoreId, root: PageId, width: usize) -> Result<Self, Error> {
        Self::open_any(AnyPages::of(pages), store, root, width)
    }

    /// Refuses records that have no room in a page.
    pub(crate) fn check_width(width: usize, page_bytes: usize) -> Result<(), Error> {
        if width <= slotted::most_record_bytes(page_bytes) {
            return Ok(());
        }
        Err(Error::Config(format!(
            "a record of {width} bytes has no room in a page of {page_bytes}; choose larger pages"
        )))
    }

    fn open_any(pages: AnyPages<'_>, store: StoreId, root: PageId, width: usize) -> Result<Self, Error> {
        Self::check_width(width, pages.page_bytes())?;
        let mut open = Vec::new();
        let tail = for_each_entry(pages, store, root, &mut |entry| {
            open.extend(entry.has_room.then_some(entry.page));
            Ok(())
        })?;
        Ok(Self { store, root, width, room: Room::new(tail, open) })
    }

    /// Its number.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// The width of its records, in bytes.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The page into which the next record will probably be inserted, if one is known.
    pub(crate) fn next_page(&self) -> Option<PageId> {
        let target = self.room.targets[0].page();
        if target == PageId::NONE { self.room.first() } else { Some(target) }
    }

    /// Fixes the page of a record to read it. Whether there is such a record says [`RecordGuard::record`].
    ///
    /// # Errors
    /// When the page cannot be read, or is none of this file.
    #[inline(always)]
    pub(crate) fn fix<'a, P: Pages>(&self, pages: &'a P, rid: Rid) -> Result<RecordGuard<P::Shared<'a>>, Error> {
        let page = pages.fix_shared(rid.page)?;
        self.check(rid.page, &page)?;
        let (at, length) = match slotted::slot(&page, rid.slot) {
            Some(slot) if !slot.is_ghost => (slot.at, slot.length),
            _ => (0, ABSENT),
        };
        Ok(RecordGuard { page, at, length })
    }

    /// Asks for what reading a record will look at: the page's header, its slot, and where it should be.
    #[inline(always)]
    pub(crate) fn prefetch<P: Pages>(&self, pages: &P, rid: Rid) {
        let Some(page) = pages.address(rid.page) else { return };
        prefetch_read(page);
        prefetch_read(page.wrapping_add(slotted::place_of_slot(rid.slot)));
        if let Some(record) = slotted::likely_place(pages.page_bytes(), rid.slot, self.width) {
            prefetch_span(page.wrapping_add(record), self.width.min(AHEAD_BYTES));
        }
    }

    /// Gives a record to `read` while its page is fixed. `None` when there is no such record.
    ///
    /// # Errors
    /// As for [`HeapFile::fix`].
    #[inline(always)]
    pub(crate) fn read<P: Pages, R>(
        &self,
        pages: &P,
        rid: Rid,
        read: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        Ok(self.fix(pages, rid)?.record().map(read))
    }

    /// Replaces a record by `after`, which has the same width, and logs where they differ; nothing if they do not.
    /// False when there is no such record.
    ///
    /// # Errors
    /// As for [`HeapFile::fix`], and when the log does not take it.
    pub(crate) fn update<P: Pages, J: PageLog>(
        &self,
        pages: &P,
        journal: &mut J,
        rid: Rid,
        after: &[u8],
    ) -> Result<bool, Error> {
        let mut page = self.fix_exclusive(pages, rid.page)?;
        let Some(slot) = slotted::slot(&page, rid.slot).filter(|slot| !slot.is_ghost) else { return Ok(false) };
        replace(journal, &mut page, rid, slot, after).map(|()| true)
    }

    /// Deletes a record: leaves a ghost, whose place others may use when the caller's lock of it has ended. False when
    /// there is no such record.
    ///
    /// # Errors
    /// As for [`HeapFile::fix`], and when the log does not take it.
    pub(crate) fn delete<P: Pages, J: PageLog>(&self, pages: &P, journal: &mut J, rid: Rid) -> Result<bool, Error> {
        let mut page = self.fix_exclusive(pages, rid.page)?;
        let Some(record) = slotted::record(&page, rid.slot).map(RecordCopy::from_slice) else { return Ok(false) };
        let change = HeapChange::Delete { slot: rid.slot, record: &record };
        journal.change(&mut page, Change::Heap(change), Undo::Page)?;
        let is_open = slotted::ghosts(&page) >= slotted::slots(&page).div_ceil(SLOTS_PER_GHOST);
        if is_open && self.room.note(rid.page) {
            let place = slotted::list_place(&page);
            drop(page);
            self.log_room(pages, journal, rid.page, place)?;
        }
        Ok(true)
    }

    /// Whether this is a page of records of this file.
    #[inline(always)]
    pub(super) fn check(&self, id: PageId, page: &[u8]) -> Result<(), Error> {
        if page::is(page, PageKind::Heap, self.store) {
            return Ok(());
        }
        Err(page::damaged(id, page.len(), format!("a page with records of store {} should be here", self.store)))
    }

    #[inline(always)]
    pub(super) fn fix_exclusive<'a, P: Pages>(&self, pages: &'a P, id: PageId) -> Result<P::Exclusive<'a>, Error> {
        let page = pages.fix_exclusive(id)?;
        self.check(id, &page)?;
        Ok(page)
    }

    /// Makes the list say what is known of the room in a page. Called without a latch.
    pub(super) fn log_room<P: Pages, J: PageLog>(
        &self,
        pages: &P,
        journal: &mut J,
        id: PageId,
        (list_page, index): (PageId, u16),
    ) -> Result<(), Error> {
        // The page is no longer known to have room: that must not be forgotten.
        let _reading = miss::reading();
        let mut list = pages.fix_exclusive(list_page)?;
        check_list(self.store, list_page, &list)?;
        // Asked again now that the list is latched: of two who disagree, the one who comes last must say what is true.
        let has_room = self.room.is_known(id);
        match list::entry(&list, index) {
            Some(entry) if entry.page == id && entry.has_room == has_room => Ok(()),
            Some(entry) if entry.page == id => {
                let change = list::ListChange::SetRoom { index, has_room };
                journal.change(&mut list, Change::HeapPages(change), Undo::Nothing)
            }
            _ => Err(page::damaged(id, list.len(), "the page is not where it should be in its file's list of pages")),
        }
    }
}

/// Replaces the record in this slot, and logs where it differs.
pub(super) fn replace<J: PageLog>(
    journal: &mut J,
    page: &mut impl ExclusivePage,
    rid: Rid,
    slot: slotted::Slot,
    after: &[u8],
) -> Result<(), Error> {
    let place = slot.at..slot.at + slot.length;
    if journal.is_silent() {
        page[place].copy_from_slice(after);
        return journal.changed_silently(page);
    }
    let mut ranges = journal.room();
    difference::between(&page[place.clone()], after, &mut ranges);
    if !ranges.is_empty() {
        let change = HeapChange::Update { slot: rid.slot, ranges: &ranges, back: false };
        let overwrite = |page: &mut [u8]| {
            page[place].copy_from_slice(after);
            Ok(())
        };
        journal.change_by(page, Change::Heap(change), Undo::Page, overwrite)?;
    }
    journal.give_back(ranges);
    Ok(())
}

/// No length of a record.
const ABSENT: usize = usize::MAX;

/// A record whose page is fixed, or its absence.
pub(crate) struct RecordGuard<G> {
    page: G,
    at: usize,
    length: usize,
}

impl<G: Deref<Target = [u8]>> RecordGuard<G> {
    /// The record; `None` when there is none of this id, or it was deleted.
    #[inline(always)]
    pub(crate) fn record(&self) -> Option<&[u8]> {
        if self.length == ABSENT { None } else { Some(&self.page[self.at..self.at + self.length]) }
    }
}

pub(super) fn check_list(store: StoreId, at: PageId, page: &[u8]) -> Result<(), Error> {
    if page::is(page, PageKind::HeapPages, store) {
        return Ok(());
    }
    Err(page::damaged(at, page.len(), format!("a page with the list of pages of store {store} should be here")))
}

/// The visitor of each record.
type EachRecord<'f> = dyn FnMut(Rid, &[u8]) -> Result<(), Error> + 'f;
/// And with each page.
type EachPage<'f> = dyn FnMut(PageId, &[u8]) -> Result<(), Error> + 'f;

impl HeapFile {
    /// Gives every record to `each`, in the order of the file's pages and their slots, until it returns an error.
    /// Those that others insert or delete meanwhile may be among them or not. The page is latched while `each` runs.
    ///
    /// # Errors
    /// Those of `each`, and when a page is damaged or cannot be read.
    pub(crate) fn scan<P: Pages>(
        &self,
        pages: &P,
        mut each: impl FnMut(Rid, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.scan_any(AnyPages::of(pages), &mut each)
    }

    fn scan_any(&self, pages: AnyPages<'_>, each: &mut EachRecord<'_>) -> Result<(), Error> {
        self.for_each_page(pages, &mut |id, page| {
            for slot in 0..slotted::slots(page) {
                if let Some(record) = slotted::record(page, slot) {
                    each(Rid { page: id, slot }, record)?;
                }
            }
            Ok(())
        })
    }

    /// Checks the file's pages, and gives the number of each to `each`, with those of its list: they are the pages that
    /// the space map should know to be in use for it.
    ///
    /// # Errors
    /// The first contradiction, and when a page cannot be read.
    pub(crate) fn verify<P: Pages>(&self, pages: &P, mut each: impl FnMut(PageId)) -> Result<(), Error> {
        self.verify_any(AnyPages::of(pages), &mut each)
    }

    fn verify_any(&self, pages: AnyPages<'_>, each: &mut dyn FnMut(PageId)) -> Result<(), Error> {
        let mut lists = Vec::new();
        for_each_list(pages, self.store(), self.root, &mut |id, _| {
            lists.push(id);
            Ok(())
        })?;
        lists.into_iter().for_each(&mut *each);
        self.for_each_page(pages, &mut |id, page| {
            each(id);
            slotted::check(page).map_err(|problem| page::damaged(id, page.len(), problem))?;
            let widths = (0..slotted::slots(page)).filter_map(|slot| slotted::slot(page, slot));
            if widths.into_iter().any(|slot| slot.length != self.width()) {
                return Err(page::damaged(id, page.len(), "a record has not the width of those of its store"));
            }
            Ok(())
        })
    }

    fn for_each_page(&self, pages: AnyPages<'_>, each: &mut EachPage<'_>) -> Result<(), Error> {
        for_each_entry(pages, self.store(), self.root, &mut |entry| {
            let page = pages.fix_shared(entry.page)?;
            self.check(entry.page, &page)?;
            each(entry.page, &page)
        })
        .map(drop)
    }
}

/// Gives each entry of the list that begins at `root` to `each`, while nothing is latched; returns the list's last
/// page.
pub(super) fn for_each_entry(
    pages: AnyPages<'_>,
    store: StoreId,
    root: PageId,
    each: &mut dyn FnMut(list::ListEntry) -> Result<(), Error>,
) -> Result<PageId, Error> {
    for_each_list(pages, store, root, &mut |_, entries| entries.into_iter().try_for_each(&mut *each))
}

/// Gives each page of the list that begins at `root` to `each`, with its entries, while nothing is latched; returns the
/// last.
fn for_each_list(
    pages: AnyPages<'_>,
    store: StoreId,
    root: PageId,
    each: &mut dyn FnMut(PageId, Vec<list::ListEntry>) -> Result<(), Error>,
) -> Result<PageId, Error> {
    let mut at = root;
    let mut seen = HashSet::new();
    loop {
        if !seen.insert(at) {
            return Err(page::damaged(at, pages.page_bytes(), "a list of pages leads back to this one"));
        }
        let page = fix_list(&pages, store, at)?;
        let entries: Vec<_> = (0..list::entries(&page)).map_while(|index| list::entry(&page, index)).collect();
        let next = list::next(&page);
        drop(page);
        each(at, entries)?;
        if next == PageId::NONE {
            return Ok(at);
        }
        at = next;
    }
}

fn fix_list<'p>(pages: &'p AnyPages<'_>, store: StoreId, at: PageId) -> Result<AnyShared<'p>, Error> {
    let page = pages.fix_shared(at)?;
    check_list(store, at, &page)?;
    Ok(page)
}
