//! Finding a store at each access, in the directory's pages or in memory.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use super::entry::StoreEntry;
use super::find;
use super::volume::VOLUME_PAGE;
use crate::classic::page;
use crate::classic::page::pages::Pages;
use crate::error::Error;

/// How stores are found by name.
pub(crate) trait Directory: Default {
    /// The store of this name; `None` if there is none.
    ///
    /// # Errors
    /// When a page of the directory is damaged or cannot be read.
    fn find<P: Pages>(&self, pages: &P, name: &[u8]) -> Result<Option<StoreEntry>, Error>;

    /// Looks a store up for one access, and compares what is found with what was found when the store was opened.
    ///
    /// # Errors
    /// As for [`Directory::find`], and when the directory says something else by now.
    #[inline(always)]
    fn access<P: Pages>(&self, pages: &P, opened: &StoreEntry) -> Result<(), Error> {
        match self.find(pages, opened.name.as_bytes())? {
            Some(found) if (found.store, found.root) == (opened.store, opened.root) => Ok(()),
            _ => Err(moved(pages.page_bytes(), opened)),
        }
    }
}

#[cold]
fn moved(page_bytes: usize, opened: &StoreEntry) -> Error {
    page::damaged(VOLUME_PAGE, page_bytes, format!("the directory has no store {:?} as it was opened", opened.name))
}

/// Reads the directory's pages each time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Uncached;

impl Directory for Uncached {
    fn find<P: Pages>(&self, pages: &P, name: &[u8]) -> Result<Option<StoreEntry>, Error> {
        find::find(pages, name)
    }

    // Of an entry only what an access needs is read.
    #[inline]
    fn access<P: Pages>(&self, pages: &P, opened: &StoreEntry) -> Result<(), Error> {
        // Stores get their numbers in the order of their entries, from 1 on.
        let guess = (opened.store.0 as usize).wrapping_sub(1);
        match find::find_place(pages, opened.name.as_bytes(), guess)? {
            Some(found) if found == (opened.store, opened.root) => Ok(()),
            _ => Err(moved(pages.page_bytes(), opened)),
        }
    }
}

/// Nothing is looked up: the opener of a store keeps its entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldEntry;

impl Directory for HeldEntry {
    fn find<P: Pages>(&self, pages: &P, name: &[u8]) -> Result<Option<StoreEntry>, Error> {
        find::find(pages, name)
    }

    #[inline(always)]
    fn access<P: Pages>(&self, _: &P, _: &StoreEntry) -> Result<(), Error> {
        Ok(())
    }
}

/// Reads the directory's pages once for each name that there is.
#[derive(Debug, Default)]
pub(crate) struct Cached {
    entries: RwLock<HashMap<Box<[u8]>, StoreEntry>>,
}

impl Directory for Cached {
    fn find<P: Pages>(&self, pages: &P, name: &[u8]) -> Result<Option<StoreEntry>, Error> {
        // Entries never change, so even a map whose writer panicked holds only true ones.
        if let Some(entry) = self.entries.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(Some(*entry));
        }
        // A store that is missing may be made any time: that is not kept.
        let found = find::find(pages, name)?;
        if let Some(entry) = found {
            self.entries.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), entry);
        }
        Ok(found)
    }
}
