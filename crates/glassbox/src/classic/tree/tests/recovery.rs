//! Redo gives the same pages; transactions can be rolled back at any time, whatever others did to the pages meanwhile;
//! and after a crash at any record of the log, recovery gives what was committed, and no page is lost.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::classic::page::pages::ExclusivePage;
use crate::classic::space::SpaceMap;
use crate::log::Lsn;

/// What a log holds, in order.
#[derive(Clone)]
enum Event {
    Change {
        txn: usize,
        page: PageId,
        undo: Undo,
        compensates: Option<usize>,
        change: Vec<u8>,
    },
    BeginNested {
        txn: usize,
    },
    EndNested {
        txn: usize,
    },
    /// Committed, or wholly rolled back.
    Ended {
        txn: usize,
    },
}

type Events = Arc<Mutex<Vec<Event>>>;

/// A journal that also keeps where nested actions begin and end, and what compensates what.
struct Recorder {
    events: Events,
    txn: usize,
    compensates: Option<usize>,
}

impl Recorder {
    fn push(&self, event: Event) -> Lsn {
        let mut events = self.events.lock().unwrap();
        events.push(event);
        Lsn(8 * events.len() as u64)
    }
}

impl PageLog for Recorder {
    type Nested = ();

    fn change(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, undo: Undo) -> Result<(), Error> {
        let mut bytes = Vec::new();
        change.encode(&mut bytes);
        change.apply(page.id(), page).expect("the change fits the page");
        let compensates = self.compensates.filter(|_| undo == Undo::Nothing);
        let event = Event::Change { txn: self.txn, page: page.id(), undo, compensates, change: bytes };
        let lsn = self.push(event);
        page.changed(Lsn(lsn.0 - 8), lsn);
        Ok(())
    }

    fn begin_nested(&mut self) {
        self.push(Event::BeginNested { txn: self.txn });
    }

    fn end_nested(&mut self, (): ()) -> Result<(), Error> {
        self.push(Event::EndNested { txn: self.txn });
        Ok(())
    }
}

type Definite = Definition<IntegerKeys>;
type Map = SpaceMap<Arc<MemoryPages>>;

/// The places of what a transaction has to undo logically, in a log that ends here; newest last.
fn to_undo(events: &[Event], of: usize) -> Vec<usize> {
    let mut places = Vec::new();
    for (at, event) in events.iter().enumerate() {
        match event {
            Event::Change { txn, undo: Undo::Logical, .. } if *txn == of => places.push(at),
            Event::Change { txn, compensates: Some(place), .. } if *txn == of => places.retain(|at| at != place),
            _ => {}
        }
    }
    places
}

/// Takes one change of an entry back.
fn compensate(tree: &Tree<'_, MemoryPages, Map, IntegerKeys>, events: &Events, txn: usize, place: usize) {
    let Event::Change { change, .. } = events.lock().unwrap()[place].clone() else { panic!("a change") };
    let mut journal = Recorder { events: events.clone(), txn, compensates: Some(place) };
    match Change::decode(&change).unwrap() {
        Change::Node(NodeChange::Insert { entry, .. }) => {
            tree.undo_insert(&mut journal, NodeChange::leaf_entry(entry).unwrap().0).unwrap();
        }
        Change::Node(NodeChange::Remove { entry, .. }) => {
            let (key, rid) = NodeChange::leaf_entry(entry).unwrap();
            tree.undo_remove(&mut journal, key, rid).unwrap();
        }
        other => panic!("{other:?} is not undone logically"),
    }
}

/// Redo, then undo: first the unfinished nested actions of all transactions, page by page, then the rest logically.
fn recover(log: &[Event], definition: &Definite) -> (Arc<MemoryPages>, Map) {
    let pages = Arc::new(MemoryPages::new(PAGE_BYTES));
    for (at, event) in log.iter().enumerate() {
        if let Event::Change { page, change, .. } = event {
            let mut fixed = pages.fix_exclusive(*page).unwrap();
            Change::decode(change).unwrap().apply(*page, &mut fixed).unwrap();
            fixed.changed(Lsn(8 * at as u64), Lsn(8 * (at as u64 + 1)));
        }
    }
    let ended = |of: usize| log.iter().any(|event| matches!(event, Event::Ended { txn } if *txn == of));
    let losers: Vec<usize> = (0..TRANSACTIONS).filter(|txn| !ended(*txn)).collect();
    for loser in &losers {
        undo_nested(&pages, log, *loser);
    }
    let space = SpaceMap::new(Arc::clone(&pages), MAX_PAGES);
    let events = Events::new(Mutex::new(log.to_vec()));
    let tree = Tree::new(&*pages, &space, definition);
    assert_eq!(tree.check().unwrap(), [], "before logical undo");
    let mut all: Vec<(usize, usize)> =
        losers.iter().flat_map(|txn| to_undo(log, *txn).into_iter().map(|place| (place, *txn))).collect();
    all.sort_unstable();
    for (place, txn) in all.into_iter().rev() {
        compensate(&tree, &events, txn, place);
    }
    (pages, space)
}

fn undo_nested(pages: &MemoryPages, log: &[Event], of: usize) {
    for event in log.iter().rev() {
        match event {
            Event::EndNested { txn } if *txn == of => return,
            Event::BeginNested { txn } if *txn == of => return,
            Event::Change { txn, undo: Undo::Logical | Undo::Nothing, .. } if *txn == of => return,
            Event::Change { txn, page, change, .. } if *txn == of => {
                if let Some(inverse) = Change::decode(change).unwrap().inverse() {
                    inverse.apply(*page, &mut pages.fix_exclusive(*page).unwrap()).unwrap();
                }
            }
            _ => {}
        }
    }
}

const TRANSACTIONS: usize = 60;
const ACTIVE: usize = 4;
/// Who made the tree.
const MAKER: usize = usize::MAX;
const MAX_PAGES: u32 = 1000;

/// The committed state at each length of the log.
type Committed = Vec<(usize, BTreeMap<Vec<u8>, Rid>)>;

/// A transaction: its number, which keys are its own, and what it made of them.
struct Active {
    txn: usize,
    part: u64,
    own: BTreeMap<Vec<u8>, Option<Rid>>,
}

/// A history of interleaved transactions, each with its own keys while it lives, as locks would have it.
fn history(seed: u64) -> (Vec<Event>, usize, Committed, Definite) {
    let (events, pages) = (Events::default(), Arc::new(MemoryPages::new(PAGE_BYTES)));
    let space = SpaceMap::new(Arc::clone(&pages), MAX_PAGES);
    let mut maker = Recorder { events: events.clone(), txn: MAKER, compensates: None };
    space.create(&mut maker).unwrap();
    let root = create(&*pages, &space, &mut maker, STORE, 4).unwrap();
    let definition = Definition::new(STORE, root, IntegerKeys::new(4), PAGE_BYTES).with_capacity(4);
    let (tree, made) = (Tree::new(&*pages, &space, &definition), events.lock().unwrap().len());
    let mut dice = Dice(seed);
    let mut committed = BTreeMap::new();
    let mut points = vec![(0, BTreeMap::new())];
    let mut active: Vec<Active> = Vec::new();
    let mut begun = 0;
    while begun < TRANSACTIONS || !active.is_empty() {
        if begun < TRANSACTIONS && active.len() < ACTIVE {
            let part = (0..).find(|part| active.iter().all(|other| other.part != *part)).unwrap();
            active.push(Active { txn: begun, part, own: BTreeMap::new() });
            begun += 1;
        }
        let at = dice.below(active.len() as u64) as usize;
        let Active { txn, part, own } = &mut active[at];
        let mut journal = Recorder { events: events.clone(), txn: *txn, compensates: None };
        if dice.below(8) > 0 {
            let key = key(dice.below(40) * ACTIVE as u64 + *part, 4);
            let shadowed = own.get(&key).copied().unwrap_or_else(|| committed.get(&key).copied());
            // More insertions in the first half of the history.
            if dice.below(10) < if begun < TRANSACTIONS / 2 { 7 } else { 2 } {
                let rid = rid(dice.below(1 << 20));
                let done = tree.insert(&mut journal, &key, rid, Undo::Logical, |_| true).unwrap();
                assert_eq!(done, shadowed.map_or(Inserted::Done, Inserted::Exists));
                own.insert(key, Some(shadowed.unwrap_or(rid)));
            } else {
                let done = tree.remove(&mut journal, &key, Undo::Logical, |_| true).unwrap();
                assert_eq!(done, shadowed.map_or(Removed::Missing, Removed::Done));
                own.insert(key, None);
            }
            continue;
        }
        let Active { txn, own, .. } = active.swap_remove(at);
        if dice.below(3) == 0 {
            let places = to_undo(&events.lock().unwrap(), txn);
            for place in places.into_iter().rev() {
                compensate(&tree, &events, txn, place);
            }
        } else {
            for (key, rid) in own {
                match rid {
                    Some(rid) => committed.insert(key, rid),
                    None => committed.remove(&key),
                };
            }
        }
        let at = events.lock().unwrap().len() + 1;
        events.lock().unwrap().push(Event::Ended { txn });
        points.push((at, committed.clone()));
    }
    check(&tree, &committed, "at the end");
    let events = events.lock().unwrap().clone();
    (events, made, points, definition)
}

/// The tree is whole, has these entries, and every page in use is its own.
fn check(tree: &Tree<'_, MemoryPages, Map, IntegerKeys>, expected: &BTreeMap<Vec<u8>, Rid>, when: &str) {
    assert_eq!(tree.check().unwrap(), [], "{when}");
    let mut cursor = Cursor::new(crate::record::Direction::Forward, &[0; 4], &[255; 4]);
    let mut found = BTreeMap::new();
    while let Step::Got(rid) = cursor.step(tree, |_| true).unwrap() {
        found.insert(cursor.key().to_vec(), rid);
    }
    assert_eq!(found, *expected, "{when}");
    let mut used = BTreeSet::new();
    tree.space.for_each_used(|page| assert!(used.insert(page))).unwrap();
    let mut own = BTreeSet::from([PageId(1)]);
    own.extend(tree.pages().unwrap());
    assert_eq!(used, own, "pages in use, and pages of the map and the tree, {when}");
}

#[test]
fn a_crash_at_any_record_leaves_what_was_committed() {
    for seed in 1..4 {
        let (events, made, points, definition) = history(seed);
        assert!(events.len() > 400, "{}", events.len());
        for end in made..=events.len() {
            let (pages, space) = recover(&events[..end], &definition);
            let (_, expected) = points.iter().rev().find(|(at, _)| *at <= end).unwrap();
            let when = format!("seed {seed}, a crash after {end} records");
            check(&Tree::new(&*pages, &space, &definition), expected, &when);
        }
    }
}
