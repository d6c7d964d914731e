//! Tests of heap files: the slotted page, damaged bytes, histories of transactions, reuse of space, threads.

mod append;
mod concurrency;
mod crash;
mod damage;
mod difference;
mod history;
mod reuse;
mod slotted;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::HeapFile;
use crate::classic::change::PageLog;
use crate::classic::ids::{PageId, StoreId};
use crate::classic::space::SpaceMap;
use crate::classic::testing::{MemoryLog, MemoryPages};

const STORE: StoreId = StoreId(3);

/// The ranges in which two records differ.
pub(super) fn between(before: &[u8], after: &[u8]) -> Vec<u8> {
    let mut ranges = Vec::new();
    super::difference::between(before, after, &mut ranges);
    ranges
}

/// A volume with a heap file.
pub(super) struct Volume {
    pub(super) pages: Arc<MemoryPages>,
    pub(super) log: MemoryLog,
    pub(super) space: SpaceMap<Arc<MemoryPages>>,
    pub(super) heap: HeapFile,
    pub(super) root: PageId,
}

impl Volume {
    pub(super) fn new(page_bytes: usize, width: usize, limit_pages: u32) -> Self {
        let (pages, log) = (Arc::new(MemoryPages::new(page_bytes)), MemoryLog::default());
        let mut journal = log.journal();
        let space = SpaceMap::new(Arc::clone(&pages), limit_pages);
        space.create(&mut journal).unwrap();
        let begun = journal.begin_nested();
        let root = HeapFile::create(&*pages, &space, &mut journal, STORE).unwrap();
        journal.end_nested(begun).unwrap();
        let heap = HeapFile::open(&*pages, STORE, root, width).unwrap();
        Self { pages, log, space, heap, root }
    }

    /// As when the database is opened again: what was only in memory is lost.
    pub(super) fn reopen(&mut self) {
        self.heap = HeapFile::open(&*self.pages, STORE, self.root, self.heap.width()).unwrap();
    }

    /// Checks all, and returns how many pages the file has beside its root. The space map must know just these.
    pub(super) fn verify(&self) -> usize {
        let mut own = BTreeSet::from([PageId(1)]);
        self.heap.verify(&*self.pages, |page| assert!(own.insert(page), "page {page} is there twice")).unwrap();
        let mut used = BTreeSet::new();
        self.space.for_each_used(|page| assert!(used.insert(page))).unwrap();
        assert_eq!(own, used);
        used.len() - 2
    }

    /// Redo on fresh pages must give the same bytes.
    pub(super) fn check_redo(&self) {
        let again = self.log.replay(self.page_bytes());
        assert!(again.contents() == self.pages.contents(), "redo gives other pages");
    }

    fn page_bytes(&self) -> usize {
        crate::classic::page::pages::Pages::page_bytes(&*self.pages)
    }
}
