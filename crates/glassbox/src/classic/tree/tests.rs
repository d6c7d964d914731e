//! Trees against models: what the tests of this room share.

mod damage;
mod evaluators;
mod guesses;
mod model;
mod next_keys;
mod recovery;
mod shape;
mod threads;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::pages::Pages;
use crate::classic::space::Space;
use crate::classic::testing::{MemoryJournal, MemoryLog, MemoryPages};
use crate::error::Error;
use crate::io::Dice;

pub(super) const STORE: StoreId = StoreId(7);
pub(super) const ROOT: PageId = PageId(3);
pub(super) const PAGE_BYTES: usize = 4096;

/// Pages from a counter; one that was given back is the next to be given out.
pub(super) struct TestSpace {
    next: AtomicU32,
    free: Mutex<Vec<PageId>>,
}

impl TestSpace {
    fn new() -> Self {
        Self { next: AtomicU32::new(ROOT.0), free: Mutex::default() }
    }

    fn in_use(&self) -> usize {
        (self.next.load(Ordering::Relaxed) - ROOT.0) as usize - self.free.lock().unwrap().len()
    }
}

impl Space for TestSpace {
    fn allocate<J: PageLog>(&self, _journal: &mut J) -> Result<PageId, Error> {
        let free = self.free.lock().unwrap().pop();
        Ok(free.unwrap_or_else(|| PageId(self.next.fetch_add(1, Ordering::Relaxed))))
    }

    type Freeing<'a> = Vec<PageId>;

    fn fix_for_freeing(&self, pages: &[PageId]) -> Result<Vec<PageId>, Error> {
        Ok(pages.to_vec())
    }

    fn end_nested_freeing<J: PageLog>(
        &self,
        journal: &mut J,
        begun: J::Nested,
        pages: Vec<PageId>,
    ) -> Result<(), Error> {
        let mut free = self.free.lock().unwrap();
        assert!(pages.iter().all(|page| !free.contains(page)), "freed twice");
        free.extend(pages);
        journal.end_nested(begun)
    }
}

/// An empty tree, its pages and its log.
pub(super) struct Fixture<K> {
    pub(super) pages: MemoryPages,
    pub(super) space: TestSpace,
    pub(super) log: MemoryLog,
    pub(super) definition: Definition<K>,
}

impl<K: Keys> Fixture<K> {
    /// With at most so many entries in a node; `usize::MAX`: as many as fit.
    pub(super) fn new(keys: K, entries: usize) -> Self {
        let pages = MemoryPages::new(PAGE_BYTES);
        let log = MemoryLog::default();
        let mut journal = log.journal();
        let space = TestSpace::new();
        assert_eq!(create(&pages, &space, &mut journal, STORE, keys.width()).unwrap(), ROOT);
        let definition = Definition::new(STORE, ROOT, keys, PAGE_BYTES).with_capacity(entries);
        Self { pages, space, log, definition }
    }

    pub(super) fn tree(&self) -> Tree<'_, MemoryPages, TestSpace, K> {
        Tree::new(&self.pages, &self.space, &self.definition)
    }

    /// Checks the structure, that no page is lost, and that the entries are those of the model, both ways.
    pub(super) fn agrees(&self, model: &BTreeMap<Vec<u8>, Rid>) {
        let tree = self.tree();
        assert_eq!(tree.check().unwrap(), []);
        assert_eq!(tree.pages().unwrap().len(), self.space.in_use(), "pages in the tree and pages in use");
        assert_eq!(tree.len().unwrap(), model.len() as u64);
        assert!(self.walk(crate::record::Direction::Forward).into_iter().eq(model.clone()));
        assert!(self.walk(crate::record::Direction::Backward).into_iter().eq(model.clone().into_iter().rev()));
    }

    /// Doing all changes again from the log gives the same pages.
    pub(super) fn replays(&self) {
        let replayed = self.log.replay(PAGE_BYTES).contents();
        let pages = self.pages.contents();
        assert!(replayed.keys().eq(pages.keys()));
        for (id, page) in pages {
            assert!(replayed[&id] == page, "page {id} differs");
        }
    }

    fn walk(&self, direction: crate::record::Direction) -> Vec<(Vec<u8>, Rid)> {
        let width = self.definition.key_width();
        let mut cursor = Cursor::new(direction, &vec![0; width], &vec![255; width]);
        let mut found = Vec::new();
        while let Step::Got(rid) = cursor.step(&self.tree(), |_| true).unwrap() {
            found.push((cursor.key().to_vec(), rid));
        }
        found
    }

    /// Undoes what the journal did, as the owner of the trees would.
    pub(super) fn roll_back(&self, journal: MemoryJournal) {
        journal.roll_back(&self.pages, |journal, _, change| match change {
            Change::Node(NodeChange::Insert { store: STORE, entry, .. }) => {
                let (key, _) = NodeChange::leaf_entry(entry).unwrap();
                self.tree().undo_insert(journal, key).unwrap();
            }
            Change::Node(NodeChange::Remove { store: STORE, entry, .. }) => {
                let (key, rid) = NodeChange::leaf_entry(entry).unwrap();
                self.tree().undo_remove(journal, key, rid).unwrap();
            }
            other => panic!("{other:?} is not undone logically"),
        });
    }
}

/// A key of `width` bytes for a number.
pub(super) fn key(number: u64, width: usize) -> Vec<u8> {
    let mut key = vec![0; width];
    let bytes = number.to_be_bytes();
    let used = width.min(8);
    // The number stands at the end of wide keys, so that comparing their beginnings is not enough.
    key[width - used..].copy_from_slice(&bytes[8 - used..]);
    key
}

pub(super) fn rid(number: u64) -> Rid {
    Rid { page: PageId(number as u32), slot: (number >> 32) as u16 ^ 0x55 }
}

pub(super) fn insert<K: Keys>(fixture: &Fixture<K>, journal: &mut MemoryJournal, key: &[u8], rid: Rid) -> Inserted {
    fixture.tree().insert(journal, key, rid, Undo::Logical, |_| true).unwrap()
}

pub(super) fn remove<K: Keys>(fixture: &Fixture<K>, journal: &mut MemoryJournal, key: &[u8]) -> Removed {
    fixture.tree().remove(journal, key, Undo::Logical, |_| true).unwrap()
}
