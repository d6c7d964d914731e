//! Fetch stages and the nodes of trees. In the paper (§3.1) a fetch stage locks inner nodes, so that no pointer that it
//! follows is outdated; Berkeley DB holds such locks on nodes that a transaction has changed until it ends. Here
//! latches do it, which end with the access.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use super::{Parcel, ROWS, catalog, in_fetch_stage, parcel};
use crate::classic::engine::Engine;
use crate::classic::engine::sessions::Sessions;
use crate::classic::page::pages::Pages;
use crate::config::{ClassicConfig, Granularity};
use crate::io::{Dice, ManualClock, MemoryFiles};
use crate::procedure::Transaction;
use crate::{Architecture, Config, Database};

/// Rows that split leaves, and so change inner nodes.
const MORE: u64 = 1_500;

fn database(granularity: Granularity) -> Database {
    let classic = ClassicConfig::default().with_page_bytes(4 << 10).with_pool_bytes(4 << 20).with_sessions(3);
    let classic = classic.with_granularity(granularity);
    let config = Config::default().with_architecture(Architecture::Classic).with_classic(classic);
    let (files, clock) = (Arc::new(MemoryFiles::new()), Box::new(ManualClock::default()));
    let db = Database::open_files(files, clock, config, catalog()).unwrap();
    let load = db.bulk_load().unwrap();
    (0..ROWS).for_each(|id| load.insert(&parcel(id)).unwrap());
    load.finish().unwrap();
    db
}

/// How many of these rows a fetch stage finds.
fn fetched(engine: &Engine, ids: impl Iterator<Item = u64>) -> usize {
    let mut session = engine.sessions.take().unwrap();
    let found = in_fetch_stage(engine, &mut session, u64::MAX, |transaction| {
        ids.filter(|id| transaction.get::<Parcel>(id).unwrap().is_some()).count()
    });
    assert_eq!(session.owner.count(), 0, "a fetch stage has locked");
    session.pins.release(&engine.pages, &engine.pin_budget);
    found
}

/// The root of the tree of parcels.
fn root(engine: &Engine) -> Vec<u8> {
    engine.pages.fix_shared(engine.table::<Parcel>().primary.tree.root()).unwrap().to_vec()
}

#[test]
fn a_fetch_stage_passes_nodes_that_an_open_transaction_has_split() {
    for granularity in [Granularity::Page, Granularity::Record] {
        let db = database(granularity);
        let engine = db.inner.engine.as_classic().unwrap();
        let (before, waits) = (root(engine), db.counts().classic.unwrap().lock_waits);
        let (has_split, is_split) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let ends = Mutex::new(ends);
        std::thread::scope(|scope| {
            let (db, end) = (&db, end);
            scope.spawn(move || {
                db.transaction(|tx| {
                    (ROWS..ROWS + MORE).try_for_each(|id| tx.insert(&parcel(id)))?;
                    has_split.send(()).unwrap();
                    let _ = ends.lock().unwrap().recv();
                    Ok(())
                })
                .unwrap();
            });
            is_split.recv().unwrap();
            assert!(root(engine) != before, "no leaf was split");
            // With locks of nodes that are held to the end, it would wait for that transaction here.
            assert_eq!(fetched(engine, 0..ROWS + MORE), (ROWS + MORE) as usize);
            // So would an operate stage, although no other transaction has locked this row.
            db.transaction(|tx| tx.get::<Parcel>(&0).map(drop)).unwrap();
            assert_eq!(db.counts().classic.unwrap().lock_waits, waits, "{granularity:?}");
            drop(end);
        });
    }
}

#[test]
fn a_fetch_stage_beside_splits_follows_no_outdated_pointer() {
    let db = database(Granularity::Record);
    let engine = db.inner.engine.as_classic().unwrap();
    let before = root(engine);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (ROWS..ROWS + MORE).for_each(|id| db.transaction(|tx| tx.insert(&parcel(id))).unwrap());
            is_done.store(true, Ordering::Release);
        });
        let mut dice = Dice(1);
        while !is_done.load(Ordering::Acquire) {
            let ids: Vec<u64> = (0..100).map(|_| dice.below(ROWS)).collect();
            assert_eq!(fetched(engine, ids.into_iter()), 100, "a row was not found");
        }
    });
    assert!(root(engine) != before, "no leaf was split");
}
