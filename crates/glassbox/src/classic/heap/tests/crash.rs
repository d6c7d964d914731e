//! Crashes: for every end that the log may have, redo of what is in it, then taking back of what has not committed.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{STORE, Volume};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::heap::HeapFile;
use crate::classic::ids::{PageId, Rid, StoreId};
use crate::classic::page::PageKind;
use crate::classic::page::pages::{ExclusivePage, Pages};
use crate::classic::space::{Space, SpaceMap};
use crate::classic::testing::{MemoryJournal, MemoryLog, MemoryPages};
use crate::error::Error;
use crate::io::Dice;

const PAGE_BYTES: usize = 128;
const WIDTH: usize = 20;

/// What a transaction did to records: their bytes from then on, or none.
type Effects = Vec<(Rid, Option<Vec<u8>>)>;

/// What the log holds beside changes: each thing comes behind so many changes.
#[derive(Default)]
struct Notes {
    /// Whose changes they are.
    owners: Vec<usize>,
    /// Nested actions: their first change, and their end.
    nested: Vec<(usize, usize)>,
    /// Commits of transactions, with what they did.
    commits: Vec<(usize, usize, Effects)>,
    /// Pages outside of the heap file, taken or given back with the end of the nested action of this number.
    others: Vec<(usize, PageId)>,
}

/// A journal that takes notes.
struct Noting {
    journal: MemoryJournal,
    owner: usize,
    notes: Rc<RefCell<Notes>>,
}

impl PageLog for Noting {
    type Nested = (usize, usize);

    fn change(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, undo: Undo) -> Result<(), Error> {
        self.notes.borrow_mut().owners.push(self.owner);
        self.journal.change(page, change, undo)
    }

    fn begin_nested(&mut self) -> (usize, usize) {
        (self.journal.begin_nested(), self.notes.borrow().owners.len())
    }

    fn end_nested(&mut self, (begun, first): (usize, usize)) -> Result<(), Error> {
        let mut notes = self.notes.borrow_mut();
        let end = notes.owners.len();
        notes.nested.push((first, end));
        self.journal.end_nested(begun)
    }
}

/// Takes a page for another store.
fn take_page(volume: &Volume, journal: &mut Noting) -> PageId {
    let begun = journal.begin_nested();
    let page = volume.space.allocate(journal).unwrap();
    let node = Change::Format { kind: PageKind::Node, store: StoreId(9), body: &[] };
    journal.change(&mut volume.pages.fix_new(page).unwrap(), node, Undo::Page).unwrap();
    journal.end_nested(begun).unwrap();
    let mut notes = journal.notes.borrow_mut();
    let number = notes.nested.len() - 1;
    notes.others.push((number, page));
    page
}

/// Gives it back.
fn give_page(volume: &Volume, journal: &mut Noting, page: PageId) {
    let freeing = volume.space.fix_for_freeing(&[page]).unwrap();
    let begun = journal.begin_nested();
    volume.space.end_nested_freeing(journal, begun, freeing).unwrap();
    let mut notes = journal.notes.borrow_mut();
    let number = notes.nested.len() - 1;
    notes.others.push((number, page));
}

/// Two transactions at a time do something; returns the volume and the notes.
fn work(seed: u64) -> (Volume, Rc<RefCell<Notes>>) {
    let volume = Volume::new(PAGE_BYTES, WIDTH, 1000);
    let notes = Rc::new(RefCell::new(Notes::default()));
    let made = volume.log.0.lock().unwrap().len();
    notes.borrow_mut().owners.resize(made, usize::MAX);
    // The records that made the volume are never undone.
    notes.borrow_mut().commits.push((0, usize::MAX, Vec::new()));
    let mut dice = Dice(seed);
    let mut next = 0..;
    let mut begin = || {
        let owner = next.next().unwrap();
        (Noting { journal: volume.log.journal(), owner, notes: Rc::clone(&notes) }, Effects::new())
    };
    let mut running = [begin(), begin()];
    let mut live = BTreeMap::<Rid, Option<usize>>::new();
    let mut others = Vec::new();
    let Volume { pages, space, heap, .. } = &volume;
    for _ in 0..160 {
        let (journal, effects) = &mut running[dice.place(2)];
        let owner = journal.owner;
        let locked = |holder: &Option<usize>| holder.is_some_and(|holder| holder != owner);
        match dice.place(12) {
            0..=5 => {
                let record = dice.bytes(WIDTH);
                let lock = |rid| !live.get(&rid).is_some_and(locked);
                let rid = heap.insert(&**pages, space, journal, &record, lock).unwrap().unwrap();
                live.insert(rid, Some(owner));
                effects.push((rid, Some(record)));
            }
            kind @ 6..=8 if !live.is_empty() => {
                let rid = *live.keys().nth(dice.place(live.len())).unwrap();
                if locked(&live[&rid]) {
                    continue;
                }
                live.insert(rid, Some(owner));
                if kind == 6 {
                    if heap.delete(&**pages, journal, rid).unwrap() {
                        effects.push((rid, None));
                    }
                } else {
                    let record = dice.bytes(WIDTH);
                    if heap.update(&**pages, journal, rid, &record).unwrap() {
                        effects.push((rid, Some(record)));
                    }
                }
            }
            9 => {
                others.push(take_page(&volume, journal));
            }
            10 if !others.is_empty() => {
                give_page(&volume, journal, others.swap_remove(dice.place(others.len())));
            }
            _ => {
                let at = notes.borrow().owners.len();
                notes.borrow_mut().commits.push((at, owner, std::mem::take(effects)));
                live.values_mut().filter(|holder| **holder == Some(owner)).for_each(|holder| *holder = None);
                *running.iter_mut().find(|(journal, _)| journal.owner == owner).unwrap() = begin();
            }
        }
    }
    (volume, notes)
}

/// Recovers from a log that ends behind `changes` changes; `ends` says whether ends and commits that stand just there
/// are still in it.
fn recover(volume: &Volume, notes: &Notes, changes: usize, ends: bool) -> MemoryPages {
    let is_in = |at: usize| at < changes || at == changes && ends;
    let log = MemoryLog::default();
    log.0.lock().unwrap().extend_from_slice(&volume.log.0.lock().unwrap()[..changes]);
    let pages = log.replay(PAGE_BYTES);
    let committed: BTreeSet<_> = notes.commits.iter().filter(|commit| is_in(commit.0)).map(|commit| commit.1).collect();
    for at in (0..changes).rev() {
        let ended = notes.nested.iter().any(|(first, end)| (*first..*end).contains(&at) && is_in(*end));
        let logged = log.0.lock().unwrap()[at].clone();
        if committed.contains(&notes.owners[at]) || ended || logged.undo != Undo::Page {
            continue;
        }
        if let Some(inverse) = Change::decode(&logged.change).unwrap().inverse() {
            inverse.apply(logged.page, &mut pages.fix_exclusive(logged.page).unwrap()).unwrap();
        }
    }
    pages
}

fn check(volume: &Volume, notes: &Notes, changes: usize, ends: bool) {
    let is_in = |at: usize| at < changes || at == changes && ends;
    let pages = std::sync::Arc::new(recover(volume, notes, changes, ends));
    let heap = HeapFile::open(&pages, STORE, volume.root, WIDTH).unwrap();
    let mut expected = BTreeMap::new();
    for (_, _, effects) in notes.commits.iter().filter(|commit| is_in(commit.0)) {
        for (rid, record) in effects {
            match record {
                Some(record) => expected.insert(*rid, record.clone()),
                None => expected.remove(rid),
            };
        }
    }
    let mut found = BTreeMap::new();
    let each = |rid, record: &[u8]| {
        found.insert(rid, record.to_vec());
        Ok(())
    };
    heap.scan(&pages, each).unwrap();
    assert!(found == expected, "other records after {changes} changes, {ends}");
    let mut own = BTreeSet::from([PageId(1)]);
    heap.verify(&pages, |page| assert!(own.insert(page))).unwrap();
    for (number, page) in &notes.others {
        // Once taken, once given back, and so on.
        if is_in(notes.nested[*number].1) && !own.insert(*page) {
            own.remove(page);
        }
    }
    let mut used = BTreeSet::new();
    SpaceMap::new(std::sync::Arc::clone(&pages), 1000).for_each_used(|page| assert!(used.insert(page))).unwrap();
    assert!(own == used, "other pages in use after {changes} changes, {ends}: {own:?} {used:?}");
}

#[test]
fn wherever_the_log_ends_recovery_finds_just_what_was_committed() {
    for seed in 0..8 {
        let (volume, notes) = work(seed);
        let notes = notes.borrow();
        let made = notes.owners.iter().filter(|owner| **owner == usize::MAX).count();
        for changes in made..=notes.owners.len() {
            for ends in [false, true] {
                check(&volume, &notes, changes, ends);
            }
        }
        let mut pages = 0;
        volume.heap.verify(&*volume.pages, |_| pages += 1).unwrap();
        assert!(pages > 14, "the list has a second page");
    }
}
