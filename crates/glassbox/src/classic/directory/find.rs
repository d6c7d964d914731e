//! Reading the directory.

use super::change;
use super::entry::{self, StoreEntry};
use super::volume::{self, VOLUME_PAGE};
use crate::classic::ids::{PageId, StoreId};
use crate::classic::page;
use crate::classic::page::any_pages::AnyPages;
use crate::classic::page::pages::Pages;
use crate::error::Error;

/// No directory is longer: links that lead in a circle would be followed for ever.
const MAX_PAGES: usize = 1 << 12;

/// The store of this name, looked for in the pages.
///
/// # Errors
/// When a page is damaged or cannot be read.
pub(crate) fn find<P: Pages>(pages: &P, name: &[u8]) -> Result<Option<StoreEntry>, Error> {
    for_each_page(pages, |at, page| {
        let found = change::all(page).iter().position(|bytes| entry::is_named(bytes, name));
        found.map(|index| decode(at, page, index)).transpose()
    })
}

/// Number and root of the store of this name, looked for in the pages: first where entry number `guess` of the first
/// page is.
///
/// # Errors
/// As for [`find`].
#[inline]
pub(super) fn find_place<P: Pages>(pages: &P, name: &[u8], guess: usize) -> Result<Option<(StoreId, PageId)>, Error> {
    {
        let page = pages.fix_shared(VOLUME_PAGE)?;
        volume::check(VOLUME_PAGE, &page)?;
        if let Some(entry) = change::all(&page).get(guess).filter(|entry| entry::is_named(entry, name)) {
            return Ok(Some(entry::place(entry)));
        }
    }
    find_elsewhere(pages, name)
}

#[cold]
fn find_elsewhere<P: Pages>(pages: &P, name: &[u8]) -> Result<Option<(StoreId, PageId)>, Error> {
    for_each_page(pages, |_, page| {
        let found = change::all(page).iter().find(|bytes| entry::is_named(bytes, name));
        Ok(found.map(entry::place))
    })
}

/// All stores, in the order in which they were made.
///
/// # Errors
/// As for [`find`].
pub(crate) fn list<P: Pages>(pages: &P) -> Result<Vec<StoreEntry>, Error> {
    list_any(AnyPages::of(pages))
}

fn list_any(pages: AnyPages<'_>) -> Result<Vec<StoreEntry>, Error> {
    let mut all = Vec::new();
    for_each_page(&pages, |at, page| {
        for index in 0..change::entries(page) {
            all.push(decode(at, page, index)?);
        }
        Ok(None::<()>)
    })?;
    Ok(all)
}

/// The pages of the directory, in their order.
///
/// # Errors
/// As for [`find`].
pub(crate) fn pages<P: Pages>(pages: &P) -> Result<Vec<PageId>, Error> {
    pages_any(AnyPages::of(pages))
}

fn pages_any(pages: AnyPages<'_>) -> Result<Vec<PageId>, Error> {
    let mut all = Vec::new();
    for_each_page(&pages, |at, _| {
        all.push(at);
        Ok(None::<()>)
    })?;
    Ok(all)
}

fn for_each_page<P: Pages, R>(
    pages: &P,
    mut each: impl FnMut(PageId, &[u8]) -> Result<Option<R>, Error>,
) -> Result<Option<R>, Error> {
    let mut at = VOLUME_PAGE;
    for _ in 0..MAX_PAGES {
        let page = pages.fix_shared(at)?;
        volume::check(at, &page)?;
        if let Some(found) = each(at, &page)? {
            return Ok(Some(found));
        }
        match change::next(&page) {
            PageId::NONE => return Ok(None),
            next => at = next,
        }
    }
    Err(page::damaged(at, pages.page_bytes(), "the directory does not end"))
}

/// An entry of a page of the directory.
pub(super) fn decode(at: PageId, page: &[u8], index: usize) -> Result<StoreEntry, Error> {
    let damaged = || page::damaged(at, page.len(), format!("entry {index} of the directory is none"));
    StoreEntry::decode(change::entry(page, index)).ok_or_else(damaged)
}
