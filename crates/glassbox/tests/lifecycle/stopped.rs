//! A database that a failed force has stopped says so, and reads no memory that the stop left half changed.

use std::sync::atomic::{AtomicU32, Ordering};

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::research::ConfigHooks;
use glassbox::{Config, Database, Error, Transaction};

use crate::{Item, engines, open};

/// Threads that write while the force fails.
const THREADS: u32 = 4;
/// Rows of one transaction.
const ROWS: u32 = 7;
/// Forces that fail, each in a database of its own, after those of its opening.
const FAILED_FORCES: std::ops::Range<u64> = 0..25;

/// Adds rows in several threads until every one of them is refused; the number of answered transactions.
fn add_until_stopped(db: &Database, context: &str) -> u32 {
    let next = &AtomicU32::new(0);
    let answered = &AtomicU32::new(0);
    let add = || {
        loop {
            let first = next.fetch_add(ROWS, Ordering::Relaxed);
            match db.transaction(|tx| (first..first + ROWS).try_for_each(|id| tx.insert(&Item { id, count: 1 }))) {
                Ok(()) => drop(answered.fetch_add(1, Ordering::Relaxed)),
                Err(Error::Stopped { .. } | Error::OutcomeUnknown { .. } | Error::Log(_)) => return,
                Err(error) => panic!("{context}: {error}"),
            }
        }
    };
    std::thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(add))));
    answered.load(Ordering::Relaxed)
}

fn assert_says_that_it_has_stopped(config: &Config, failed_force: u64, context: &str) {
    let files = MemoryFiles::new();
    let db = open(&files, config).unwrap();
    files.set_faults(Faults { fail_force: Some(files.forces() + failed_force), ..Faults::default() });
    let answered = add_until_stopped(&db, context);
    let messages = db.verify();
    assert_eq!(messages.len(), 1, "{context}: {messages:?}");
    assert!(messages[0].ends_with("; open it again, then verify"), "{context}: {messages:?}");
    assert!(messages[0].contains("cannot force ") && messages[0].contains("injected fault"), "{context}: {messages:?}");
    assert!(db.stats().tables.is_empty(), "{context}");
    // Neither waits for a thread that the stop has ended.
    drop((db.counts(), db.prepared(), db.explain_waits(), db.sessions(), db.explain_execution()));
    assert!(db.close().is_err(), "{context}");
    drop(db);
    let again = open(&files.after_crash(Crash::Lost, 1), config).unwrap();
    assert_eq!(again.verify(), Vec::<String>::new(), "{context}");
    let found = crate::items(&again, 0..ROWS * (answered + THREADS + 1));
    assert!(found as u32 >= ROWS * answered, "{context}: {found} rows of {answered} transactions");
}

/// Case 30: the transactions that the stop interrupted were reported as damaged indexes.
#[test]
fn verify_of_a_stopped_database_is_the_error_that_stopped_it() {
    for (engine, config) in engines() {
        // No segment is needed while the force fails, so that the failed one is of records.
        let config = config.with_segment_bytes(4 << 20).with_log_threads(false);
        for failed_force in FAILED_FORCES {
            let context = format!("{engine}, force {failed_force}");
            assert_says_that_it_has_stopped(&config, failed_force, &context);
        }
    }
}
