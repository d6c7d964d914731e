//! How long an operator waits for a transaction that does not end, and what is said then.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use crate::config::ClassicConfig;
use crate::io::{ManualClock, MemoryFiles};
use crate::{Architecture, Catalog, Config, Database, Error, Record, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
}

fn opened(architecture: Architecture) -> Database {
    let config = Config {
        architecture,
        classic: ClassicConfig { pool_bytes: 1 << 20, sessions: 2, ..ClassicConfig::default() },
        partitions: 1,
        segment_bytes: 64 << 10,
        log_buffer_bytes: 64 << 10,
        log_threads: false,
        ..Config::default()
    };
    let catalog = Catalog::new().table::<Item>();
    let (files, clock) = (Arc::new(MemoryFiles::new()), Box::new(ManualClock::default()));
    Database::open_files(files, clock, config, catalog).unwrap()
}

#[test]
fn what_waits_for_a_transaction_gives_up_and_says_for_which() {
    for (architecture, place) in [(Architecture::Partitioned, "partition 0"), (Architecture::Classic, "session ")] {
        let db = opened(architecture);
        let (begun, has_begun) = channel();
        let (end, ends) = channel::<()>();
        let ends = Mutex::new(ends);
        std::thread::scope(|scope| {
            let runs = scope.spawn(|| {
                db.transaction(|tx| {
                    tx.insert(&Item { id: 1 })?;
                    begun.send(()).unwrap();
                    let _ = ends.lock().unwrap().recv();
                    Ok(())
                })
            });
            let end = end;
            has_begun.recv().unwrap();
            let busy = |error: &Error| {
                assert!(matches!(error, Error::Busy { .. }), "{error}");
                let text = error.to_string();
                assert!(text.starts_with(place) && text.contains("repeat this when it has ended"), "{text}");
            };
            if architecture == Architecture::Partitioned {
                busy(&db.checkpoint().unwrap_err());
            }
            busy(&db.bulk_load().map(drop).unwrap_err());
            assert!(db.verify()[0].starts_with(place));
            busy(&db.close().unwrap_err());
            assert!(matches!(db.transaction(|_| Ok(())), Err(Error::Stopped { .. })), "closed all the same");
            drop(end);
            runs.join().unwrap().unwrap();
            // It has ended.
            db.close().unwrap();
        });
    }
}
