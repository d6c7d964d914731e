//! What `flush` and `close` keep, whatever the durability.

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::{Config, Durability, Error};

use crate::{engines, insert, items, open};

const ALL: [Durability; 3] = [Durability::Sync, Durability::Async, Durability::None];

fn configs() -> impl Iterator<Item = (String, Config)> {
    engines().into_iter().flat_map(|(engine, config)| {
        ALL.map(|durability| (format!("{engine}, {durability:?}"), config.clone().with_durability(durability)))
    })
}

#[test]
fn a_clean_close_keeps_every_answered_transaction() {
    for (context, config) in configs() {
        let files = MemoryFiles::new();
        for round in 0..3 {
            let db = open(&files, &config).unwrap();
            assert_eq!(items(&db, 0..100), 20 * round, "{context}, round {round}");
            insert(&db, 20 * round as u32..20 * (round as u32 + 1));
            match round {
                0 => db.close().unwrap(),
                _ => drop(db),
            }
        }
        assert_eq!(items(&open(&files.after_crash(Crash::Lost, 1), &config).unwrap(), 0..100), 60, "{context}");
    }
}

#[test]
fn a_flush_keeps_every_answered_transaction() {
    for (context, config) in configs() {
        let files = MemoryFiles::new();
        let db = open(&files, &config).unwrap();
        for round in 1..4 {
            insert(&db, 10 * (round - 1)..10 * round);
            db.flush().unwrap();
            let found = open(&files.after_crash(Crash::Lost, 1), &config).unwrap();
            assert_eq!(items(&found, 0..100), 10 * round as usize, "{context}, round {round}");
        }
    }
}

/// Without a log the older checkpoint stays, and flush can be repeated when there is room again.
#[test]
fn a_flush_without_a_log_that_meets_a_full_disk_is_an_error_and_can_be_repeated() {
    let (_, config) = engines().swap_remove(1);
    let config = config.with_durability(Durability::None);
    let files = MemoryFiles::new();
    let db = open(&files, &config).unwrap();
    insert(&db, 0..10);
    db.flush().unwrap();
    insert(&db, 10..20);
    files.set_faults(Faults { full_from: Some(files.operations()), ..Faults::default() });
    let error = db.flush().unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
    assert_eq!(items(&open(&files.after_crash(Crash::Lost, 1), &config).unwrap(), 0..100), 10);
    files.set_faults(Faults::default());
    db.flush().unwrap();
    assert_eq!(items(&open(&files.after_crash(Crash::Lost, 1), &config).unwrap(), 0..100), 20);
}
