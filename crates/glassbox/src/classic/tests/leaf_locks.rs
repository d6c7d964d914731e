//! Locks of leaves: which transactions wait for each other that would not without them, and that nothing else changes.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use serde::{Deserialize, Serialize};

use crate::classic::engine::Engine;
use crate::classic::ids::{PageId, Rid};
use crate::classic::lock::LockName;
use crate::classic::stack::Standard;
use crate::classic::transaction::StackTransaction;
use crate::classic::tree::Find;
use crate::config::{ClassicConfig, Granularity};
use crate::io::{MemoryFiles, RealClock};
use crate::procedure::{Procedure, Stop, Transaction};
use crate::record::{Direction, Text};
use crate::{Catalog, Config, Database, Record};

/// Rows with the even numbers below twice this: in leaves that are full but for the last one, on many more pages.
const ROWS: u64 = 1_000;
const LAST: u64 = 2 * (ROWS - 1);

#[derive(Record, Clone, Copy)]
#[record(table = "wide", key = id)]
struct Wide {
    id: u64,
    changes: u64,
    rest: Text<96>,
}

fn wide(id: u64) -> Wide {
    Wide { id, changes: 0, rest: Text::new("a wide row").unwrap() }
}

/// Inserts a row; for a prepared transaction.
#[derive(Serialize, Deserialize)]
struct Insert(u64);

impl Procedure for Insert {
    const NAME: &'static str = "insert";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&wide(self.0))
    }
}

fn open(files: &MemoryFiles, granularity: Granularity) -> Database {
    let classic = ClassicConfig::default().with_page_bytes(4 << 10).with_pool_bytes(4 << 20).with_sessions(3);
    let config = Config::classic(classic.with_granularity(granularity));
    let catalog = Catalog::new().table::<Wide>().procedure::<Insert>();
    Database::open_files(Arc::new(files.clone()), Box::new(RealClock::new()), config, catalog).unwrap()
}

fn filled(granularity: Granularity) -> Database {
    let db = open(&MemoryFiles::new(), granularity);
    db.transaction(|tx| (0..ROWS).try_for_each(|n| tx.insert(&wide(2 * n)))).unwrap();
    db
}

fn engine(db: &Database) -> &Engine {
    db.inner.engine.as_classic().unwrap()
}

/// The leaf where a key belongs, and its record if it is there.
fn place(db: &Database, id: u64) -> (PageId, Option<Rid>) {
    let engine = engine(db);
    let mut leaf = PageId::NONE;
    let found = engine.tree(&engine.table::<Wide>().primary).find(&id.to_be_bytes(), |asked| {
        leaf = asked.leaf;
        true
    });
    (leaf, if let Find::Found(rid) = found.unwrap() { Some(rid) } else { None })
}

/// The lock of the leaf where a key belongs.
fn leaf_lock(db: &Database, id: u64) -> LockName {
    LockName::Page(engine(db).table::<Wide>().primary.store(), place(db, id).0)
}

type Run<'r> = &'r (dyn Fn(&mut StackTransaction<'_, Standard>) -> Result<(), Stop> + Sync);

/// The lock for which a transaction waits while another one has run and not ended; `None` if it does not wait.
fn meeting(db: &Database, first: Run<'_>, second: Run<'_>) -> Option<LockName> {
    meeting_then(db, first, second, &|_| Ok(()))
}

/// The same; the first transaction continues with `then` before it ends.
fn meeting_then(db: &Database, first: Run<'_>, second: Run<'_>, then: Run<'_>) -> Option<LockName> {
    let engine = engine(db);
    let (has_run, ran) = channel();
    let (end, ends) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let run = |tx: &mut StackTransaction<'_, Standard>| {
                first(tx)?;
                has_run.send(()).unwrap();
                let _ = ends.recv();
                then(tx)
            };
            engine.execute_adhoc(run).unwrap().outcome.unwrap();
        });
        ran.recv().unwrap();
        let second = scope.spawn(move || engine.execute_adhoc(second).unwrap().outcome.unwrap());
        let waits = loop {
            if let Some(wait) = engine.locks.waiting().first() {
                break Some(wait.name);
            }
            if second.is_finished() {
                break None;
            }
            thread::yield_now();
        };
        drop(end);
        waits
    })
}

/// With locks of leaves the second transaction waits for the lock of the leaf of `key`, as it is when it begins; with
/// locks of pages of rows it waits for nothing.
fn only_leaves_conflict(key: u64, first: Run<'_>, second: Run<'_>) {
    for granularity in [Granularity::Page, Granularity::PageAndLeaf] {
        let db = filled(granularity);
        let leaf = leaf_lock(&db, key);
        let waits = meeting(&db, first, second);
        assert_eq!(waits, (granularity == Granularity::PageAndLeaf).then_some(leaf), "{granularity:?}");
        assert_eq!(db.verify(), Vec::<String>::new());
    }
}

fn nothing_conflicts(first: Run<'_>, second: Run<'_>) {
    for granularity in [Granularity::Page, Granularity::PageAndLeaf] {
        assert_eq!(meeting(&filled(granularity), first, second), None, "{granularity:?}");
    }
}

fn get(tx: &mut StackTransaction<'_, Standard>, id: u64) -> Result<(), Stop> {
    assert!(tx.get::<Wide>(&id)?.is_some(), "row {id} is there");
    Ok(())
}

/// A row of the last leaf whose page has none of the leaf's last rows.
const IN_LAST_LEAF: u64 = LAST - 160;

#[test]
fn the_rows_of_these_tests_are_in_one_leaf_and_on_different_pages() {
    let db = filled(Granularity::Page);
    let page = |id| place(&db, id).1.unwrap().page;
    assert_eq!(place(&db, IN_LAST_LEAF).0, place(&db, LAST + 1).0);
    assert!(page(IN_LAST_LEAF) != page(LAST) && place(&db, 0).0 != place(&db, LAST).0);
    assert!(place(&db, 20).0 == place(&db, 300).0 && page(20) != page(300) && page(20) != page(200));
}

#[test]
fn an_insertion_and_a_lookup_in_one_leaf_conflict() {
    only_leaves_conflict(LAST, &|tx| tx.insert(&wide(LAST + 1)), &|tx| get(tx, IN_LAST_LEAF));
    only_leaves_conflict(LAST, &|tx| get(tx, IN_LAST_LEAF), &|tx| tx.insert(&wide(LAST + 1)));
    only_leaves_conflict(300, &|tx| get(tx, 20), &|tx| tx.delete::<Wide>(&300).map(drop));
    only_leaves_conflict(20, &|tx| tx.delete::<Wide>(&300).map(drop), &|tx| get(tx, 20));
}

#[test]
fn transactions_that_only_look_for_keys_in_a_leaf_do_not_conflict() {
    let change =
        |id| move |tx: &mut StackTransaction<'_, Standard>| tx.update::<Wide, _>(&id, |row| row.changes += 1).map(drop);
    nothing_conflicts(&|tx| get(tx, 20), &|tx| get(tx, 300));
    nothing_conflicts(&change(20), &change(300));
    nothing_conflicts(&change(300), &|tx| get(tx, 20));
    // Nor do those in different leaves.
    nothing_conflicts(&|tx| tx.insert(&wide(LAST + 1)), &|tx| get(tx, 20));
}

#[test]
fn a_scan_locks_each_leaf_that_it_reads() {
    let scan = |direction| {
        move |tx: &mut StackTransaction<'_, Standard>| {
            tx.scan::<Wide>(400..=1_200, direction, |_| ControlFlow::Continue(()))
        }
    };
    for direction in [Direction::Forward, Direction::Backward] {
        // In the first leaf of the scan and in the last one, but in no gap that it has read.
        only_leaves_conflict(201, &scan(direction), &|tx| tx.insert(&wide(201)));
        only_leaves_conflict(1_301, &scan(direction), &|tx| tx.insert(&wide(1_301)));
        nothing_conflicts(&scan(direction), &|tx| tx.insert(&wide(LAST + 1)));
    }
}

#[test]
fn a_split_locks_the_leaf_that_it_makes() {
    let db = filled(Granularity::PageAndLeaf);
    let before = [20, 300].map(|id| leaf_lock(&db, id));
    assert_eq!(before[0], before[1]);
    let split: Run<'_> = &|tx| tx.insert(&wide(101));
    let waits = meeting(&db, split, &|tx| get(tx, 20));
    assert_eq!(waits, Some(before[0]), "the leaf that was split");
    let new = leaf_lock(&db, 400);
    assert_ne!(new, before[0], "there was no split");
    // A split of its own, for the other half.
    let db = filled(Granularity::PageAndLeaf);
    assert_eq!(meeting(&db, split, &|tx| get(tx, 400)), Some(leaf_lock(&db, 400)));
    assert_eq!(leaf_lock(&db, 400), new);
}

#[test]
fn a_transaction_that_has_waited_for_a_leaf_looks_for_its_key_again() {
    let db = filled(Granularity::PageAndLeaf);
    let leaf = leaf_lock(&db, 401);
    // It is split while the second transaction waits for it.
    let split: Run<'_> = &|tx| [301, 303].into_iter().try_for_each(|id| tx.insert(&wide(id)));
    let waits = meeting_then(&db, &|tx| tx.delete::<Wide>(&300).map(drop), &|tx| tx.insert(&wide(401)), split);
    assert_eq!(waits, Some(leaf));
    assert!(leaf_lock(&db, 401) != leaf && place(&db, 401).1.is_some());
    assert_eq!(db.verify(), Vec::<String>::new());
}

#[test]
fn transactions_that_wait_for_each_others_leaves_are_a_deadlock() {
    let db = filled(Granularity::PageAndLeaf);
    let met = Barrier::new(2);
    let runs = Mutex::new(0);
    let each = |reads: u64, inserts: u64| {
        let mut is_first = true;
        let run = |tx: &mut StackTransaction<'_, Standard>| {
            get(tx, reads)?;
            *runs.lock().unwrap() += 1;
            if std::mem::replace(&mut is_first, false) {
                met.wait();
            }
            tx.insert(&wide(inserts))
        };
        engine(&db).execute_adhoc(run).unwrap().outcome.unwrap();
    };
    thread::scope(|scope| {
        scope.spawn(|| each(20, LAST + 1));
        scope.spawn(|| each(IN_LAST_LEAF, 21));
    });
    assert_eq!((*runs.lock().unwrap(), engine(&db).counters().rerun), (3, 1));
    assert!(place(&db, LAST + 1).1.is_some() && place(&db, 21).1.is_some());
}

#[test]
fn a_prepared_transaction_keeps_its_leaves_locked_after_a_crash() {
    let files = MemoryFiles::new();
    let db = open(&files, Granularity::PageAndLeaf);
    db.transaction(|tx| (0..ROWS).try_for_each(|n| tx.insert(&wide(2 * n)))).unwrap();
    db.prepare("a", &Insert(LAST + 1)).unwrap();
    // Another database opens what a crash left of this one's files.
    let db = open(&files.after_kill(), Granularity::PageAndLeaf);
    let leaf = leaf_lock(&db, IN_LAST_LEAF);
    let ended = Mutex::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            db.transaction(|tx| tx.get::<Wide>(&IN_LAST_LEAF).map(drop)).unwrap();
            *ended.lock().unwrap() = true;
        });
        let waits = loop {
            match engine(&db).locks.waiting().first() {
                Some(wait) => break wait.name,
                None => assert!(!*ended.lock().unwrap(), "it did not wait"),
            }
            thread::yield_now();
        };
        assert_eq!(waits, leaf);
        db.commit_prepared("a").unwrap();
    });
    assert!(*ended.lock().unwrap() && place(&db, LAST + 1).1.is_some());
}
