//! What does not wait for a transaction that runs for long, and calls that would wait for themselves.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use glassbox::io::MemoryFiles;
use glassbox::{Database, Error, Transaction};

use crate::{Count, Item, engines, insert, open};

/// Runs `meanwhile` while a transaction runs that has inserted item 1000 on every partition it can.
fn while_a_transaction_runs(db: &Database, meanwhile: impl FnOnce()) {
    let (begun, has_begun) = channel();
    let (end, ends) = channel::<()>();
    let ends = std::sync::Mutex::new(ends);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            db.transaction(|tx| {
                for id in 1000..1008 {
                    tx.insert(&Item { id, count: 0 })?;
                }
                begun.send(()).unwrap();
                // Ends with the sender, also if what runs meanwhile panics.
                let _ = ends.lock().unwrap().recv();
                Ok(())
            })
            .unwrap();
        });
        let end = end;
        has_begun.recv().unwrap();
        meanwhile();
        drop(end);
    });
}

#[test]
fn statistics_do_not_wait_for_a_transaction() {
    for (engine, config) in engines() {
        let db = open(&MemoryFiles::new(), &config).unwrap();
        insert(&db, 0..20);
        let before = (db.counts().committed, db.stats());
        while_a_transaction_runs(&db, || {
            let began = Instant::now();
            assert_eq!(db.counts().committed, before.0, "{engine}");
            let stats = db.stats();
            let took = began.elapsed();
            assert!(took < Duration::from_secs(2), "{engine}: {took:?}");
            if stats.classic.is_none() {
                assert_eq!(stats.tables, before.1.tables, "{engine}: the space known last");
            }
        });
        let after = db.stats();
        assert_eq!((after.committed, after.tables[0].rows), (before.0 + 1, 28), "{engine}");
    }
}

/// Before, each of them waited for itself for ever.
#[test]
fn a_call_inside_a_transaction_of_the_same_database_is_an_error() {
    for (engine, config) in engines() {
        let db = open(&MemoryFiles::new(), &config).unwrap();
        let other = open(&MemoryFiles::new(), &config).unwrap();
        insert(&db, 0..8);
        insert(&other, 0..8);
        let before = db.counts().committed;
        let errors = db.transaction(|tx| {
            tx.get::<Item>(&0)?;
            // Of several partitions this one holds one, and not the others.
            let mut errors: Vec<Error> = (0..8).filter_map(|id| db.call(&Count { id }).err()).collect();
            errors.extend((0..8).filter_map(|id| db.submit(Count { id }).err()));
            errors.extend(db.dry_run(&Count { id: 0 }).err());
            errors.extend(db.transaction(|_| Ok(())).err());
            errors.extend([db.checkpoint(), db.close(), db.bulk_load().map(drop)].into_iter().filter_map(Result::err));
            // These answer.
            assert_eq!(db.counts().committed, before, "{engine}");
            assert_eq!(db.stats().committed, before, "{engine}");
            assert!(other.call(&Count { id: 0 }).unwrap(), "{engine}: another database is not this one");
            assert!(db.verify()[0].contains("inside one of its own transactions"), "{engine}");
            Ok(errors)
        });
        let errors = errors.unwrap();
        assert_eq!(errors.len(), 8 + 8 + 5, "{engine}: {errors:?}");
        assert!(errors.iter().all(|error| matches!(error, Error::Nested)), "{engine}: {errors:?}");
        assert!(db.call(&Count { id: 0 }).unwrap(), "{engine}: the database goes on");
        db.close().unwrap();
    }
}

#[test]
fn space_is_told_of_the_same_indexes_on_both_engines() {
    for (engine, config) in engines() {
        let db = open(&MemoryFiles::new(), &config).unwrap();
        insert(&db, 0..20);
        let stats = db.stats();
        let names: Vec<_> = stats.tables[0].index_bytes.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["item", "item.by_count"], "{engine}");
    }
}
