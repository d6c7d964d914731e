//! For tests of what works on pages: pages in memory without a pool, and a journal that can be replayed.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::change::{Change, PageLog, Undo};
use super::ids::PageId;
use super::page;
use crate::classic::page::pages::{ExclusivePage, FixedPage, Pages};
use crate::error::Error;
use crate::log::Lsn;

type Shelf = RwLock<Vec<u8>>;

/// Pages in memory, made of zeros when first fixed. Waiting for a page is waiting for a lock of the system.
pub(crate) struct MemoryPages {
    page_bytes: usize,
    // Pages are never removed, so leaking them keeps the guards simple.
    pages: Mutex<BTreeMap<PageId, &'static Shelf>>,
}

impl MemoryPages {
    pub(crate) fn new(page_bytes: usize) -> Self {
        Self { page_bytes, pages: Mutex::default() }
    }

    fn page(&self, page: PageId) -> &'static Shelf {
        let mut pages = self.pages.lock().unwrap();
        pages.entry(page).or_insert_with(|| Box::leak(Box::new(RwLock::new(vec![0; self.page_bytes]))))
    }

    /// The bytes of all pages that were ever fixed.
    pub(crate) fn contents(&self) -> BTreeMap<PageId, Vec<u8>> {
        self.pages.lock().unwrap().iter().map(|(id, page)| (*id, page.read().unwrap().clone())).collect()
    }
}

pub(crate) struct Shared(RwLockReadGuard<'static, Vec<u8>>);
pub(crate) struct Exclusive(PageId, RwLockWriteGuard<'static, Vec<u8>>);

impl Deref for Shared {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for Exclusive {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.1
    }
}

impl DerefMut for Exclusive {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.1
    }
}

impl FixedPage for Shared {}

impl FixedPage for Exclusive {}

impl ExclusivePage for Exclusive {
    fn id(&self) -> PageId {
        self.0
    }

    fn changed(&mut self, _from: Lsn, lsn: Lsn) {
        page::set_lsn(self, lsn);
    }
}

impl Pages for MemoryPages {
    type Shared<'a> = Shared;
    type Exclusive<'a> = Exclusive;

    fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    fn fix_shared(&self, page: PageId) -> Result<Shared, Error> {
        Ok(Shared(self.page(page).read().unwrap()))
    }

    fn fix_exclusive(&self, page: PageId) -> Result<Exclusive, Error> {
        Ok(Exclusive(page, self.page(page).write().unwrap()))
    }

    fn try_fix_shared(&self, page: PageId) -> Result<Option<Shared>, Error> {
        Ok(self.page(page).try_read().ok().map(Shared))
    }

    fn try_fix_exclusive(&self, page: PageId) -> Result<Option<Exclusive>, Error> {
        Ok(self.page(page).try_write().ok().map(|guard| Exclusive(page, guard)))
    }

    fn fix_new(&self, page: PageId) -> Result<Exclusive, Error> {
        self.fix_exclusive(page)
    }
}

/// A change as it was logged.
#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) lsn: Lsn,
    pub(crate) page: PageId,
    pub(crate) undo: Undo,
    /// Whether a nested action that has ended made it.
    pub(crate) nested: bool,
    pub(crate) change: Vec<u8>,
}

/// A log in memory, shared by the journals of several transactions.
#[derive(Clone, Default)]
pub(crate) struct MemoryLog(pub(crate) Arc<Mutex<Vec<Logged>>>);

/// A journal on a [`MemoryLog`].
pub(crate) struct MemoryJournal {
    log: MemoryLog,
    /// The places in the log of this journal's own changes that would be undone.
    own: Vec<usize>,
}

impl MemoryLog {
    pub(crate) fn journal(&self) -> MemoryJournal {
        MemoryJournal { log: self.clone(), own: Vec::new() }
    }

    /// Does all changes again on fresh pages, each from its stored form.
    pub(crate) fn replay(&self, page_bytes: usize) -> MemoryPages {
        let pages = MemoryPages::new(page_bytes);
        for logged in self.0.lock().unwrap().iter() {
            let mut page = pages.fix_exclusive(logged.page).unwrap();
            Change::decode(&logged.change).unwrap().apply(logged.page, &mut page).unwrap();
            page.changed(Lsn(0), logged.lsn);
        }
        pages
    }
}

impl MemoryJournal {
    /// Undoes, newest first, what this journal changed outside of nested actions that have ended: in the page by
    /// the inverse, logically by `logical`, which is given the page and the change.
    pub(crate) fn roll_back(
        mut self,
        pages: &MemoryPages,
        mut logical: impl FnMut(&mut MemoryJournal, PageId, Change<'_>),
    ) {
        while let Some(at) = self.own.pop() {
            let logged = self.log.0.lock().unwrap()[at].clone();
            if logged.nested {
                continue;
            }
            let change = Change::decode(&logged.change).unwrap();
            let before = self.own.len();
            match logged.undo {
                Undo::Nothing => {}
                Undo::Page => {
                    if let Some(inverse) = change.inverse() {
                        let mut page = pages.fix_exclusive(logged.page).unwrap();
                        self.change(&mut page, inverse, Undo::Nothing).unwrap();
                    }
                }
                Undo::Logical => logical(&mut self, logged.page, change),
            }
            // A compensation is not undone itself.
            self.own.truncate(before);
        }
    }
}

impl PageLog for MemoryJournal {
    type Nested = usize;

    fn change(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, undo: Undo) -> Result<(), Error> {
        change.apply(page.id(), page).expect("the change fits the page");
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        assert_eq!(Change::decode(&bytes).as_ref(), Ok(&change), "the stored form gives the same change");
        let mut log = self.log.0.lock().unwrap();
        let lsn = Lsn(8 * (log.len() as u64 + 1));
        self.own.push(log.len());
        log.push(Logged { lsn, page: page.id(), undo, nested: false, change: bytes });
        page.changed(Lsn(lsn.0 - 8), lsn);
        Ok(())
    }

    fn begin_nested(&mut self) -> usize {
        self.own.len()
    }

    fn end_nested(&mut self, begun: usize) -> Result<(), Error> {
        let mut log = self.log.0.lock().unwrap();
        for at in self.own.drain(begun..) {
            log[at].nested = true;
        }
        Ok(())
    }
}
