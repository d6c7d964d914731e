//! All records of a heap file, and all its pages.

use std::collections::HashSet;

use super::file::{HeapFile, check_list};
use super::{list, slotted};
use crate::classic::any_pages::{AnyPages, AnyShared};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page;
use crate::classic::pages::Pages;
use crate::error::Error;

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
    each: &mut dyn FnMut(list::Entry) -> Result<(), Error>,
) -> Result<PageId, Error> {
    for_each_list(pages, store, root, &mut |_, entries| entries.into_iter().try_for_each(&mut *each))
}

/// Gives each page of the list that begins at `root` to `each`, with its entries, while nothing is latched; returns the
/// last.
fn for_each_list(
    pages: AnyPages<'_>,
    store: StoreId,
    root: PageId,
    each: &mut dyn FnMut(PageId, Vec<list::Entry>) -> Result<(), Error>,
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
