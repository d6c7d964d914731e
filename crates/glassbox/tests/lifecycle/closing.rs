//! Closing a database that threads share.

use std::sync::Arc;

use glassbox::io::MemoryFiles;
use glassbox::research::ConfigHooks;
use glassbox::{Durability, Error, Transaction};

use crate::{Count, Item, engines, insert, items, open};

#[test]
fn a_shared_database_can_be_closed_and_opened_again_while_others_hold_it() {
    for (engine, config) in engines() {
        for durability in [Durability::Sync, Durability::None] {
            let config = config.clone().with_durability(durability).with_log_threads(true);
            let files = MemoryFiles::new();
            let db = Arc::new(open(&files, &config).unwrap());
            let held = Arc::clone(&db);
            insert(&db, 0..20);
            let ticket = db.submit(Count { id: 7 }).unwrap();
            db.close().unwrap();
            assert!(ticket.wait().unwrap(), "{engine}: what ran before can be told");
            let errors = [
                held.call(&Count { id: 7 }).unwrap_err(),
                held.transaction(|tx| tx.insert(&Item { id: 99, count: 0 })).unwrap_err(),
                held.checkpoint().unwrap_err(),
                held.bulk_load().map(drop).unwrap_err(),
            ];
            for error in errors {
                assert!(matches!(error, Error::Stopped { .. }), "{engine}: {error}");
                assert!(error.to_string().contains("it was closed; open it again"), "{engine}: {error}");
            }
            held.close().unwrap();
            let again = open(&files, &config).unwrap();
            assert_eq!(items(&again, 0..100), 20, "{engine}");
            insert(&again, 20..30);
            // The one that was closed touches no file any more.
            held.stats();
            assert!(!held.verify().is_empty());
            drop((db, held));
            again.close().unwrap();
            assert_eq!(items(&open(&files, &config).unwrap(), 0..100), 30, "{engine}");
        }
    }
}

/// Transactions that run are waited for; all that were answered are there afterwards.
#[test]
fn a_close_beside_callers_loses_no_answer() {
    for (engine, config) in engines() {
        for durability in [Durability::Sync, Durability::None] {
            let config = config.clone().with_durability(durability).with_log_threads(true);
            let files = MemoryFiles::new();
            let db = open(&files, &config).unwrap();
            let answered: u32 = std::thread::scope(|scope| {
                let caller = |from: u32| {
                    let db = &db;
                    move || {
                        let until_refused = (from..).take_while(|&id| {
                            let inserted = db.transaction(|tx| tx.insert(&Item { id, count: 0 }));
                            assert!(matches!(inserted, Ok(()) | Err(Error::Stopped { .. })), "{inserted:?}");
                            inserted.is_ok()
                        });
                        until_refused.count() as u32
                    }
                };
                let callers = [0, 100_000, 200_000].map(|from| scope.spawn(caller(from)));
                while db.counts().committed < 100 {
                    std::thread::yield_now();
                }
                db.close().unwrap();
                callers.map(|caller| caller.join().unwrap()).iter().sum()
            });
            assert!(answered >= 100, "{engine}");
            drop(db);
            let stats = open(&files, &config).unwrap().stats();
            assert_eq!(stats.tables[0].rows, u64::from(answered), "{engine}, {durability:?}");
        }
    }
}
