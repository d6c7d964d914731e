//! A full disk refuses the calls that need room, at every accepted combination of segments and sessions.

use std::io::ErrorKind;
use std::ops::ControlFlow;

use glassbox::io::{Faults, MemoryFiles};
use glassbox::record::Direction;
use glassbox::research::ConfigHooks;
use glassbox::{Architecture, Config, Database, Error, Transaction};

use crate::{Count, Item, engines, open};

/// Segments and sessions, from few sessions for a segment to more than it has room for blocks of.
const SIZES: [(u64, usize); 9] = [
    (64 << 10, 1),
    (64 << 10, 16),
    (64 << 10, 32),
    (64 << 10, 64),
    (256 << 10, 64),
    (512 << 10, 64),
    (1 << 20, 64),
    (64 << 10, 1024),
    (1 << 20, 1024),
];
/// Rows of one transaction: the first needs few records, the last a rollback of many blocks.
const ROWS: [u32; 3] = [1, 12, 60];
/// The count of the added rows: in each index after those of the prepared transaction, so that no call waits for it.
const COUNT: u64 = 10;

fn fill_up(files: &MemoryFiles) {
    files.set_faults(Faults { full_from: Some(0), ..Faults::default() });
}

fn make_room(files: &MemoryFiles) {
    files.set_faults(Faults::default());
}

fn add(db: &Database, first: u32, rows: u32) -> Result<(), Error> {
    db.transaction(|tx| (first..first + rows).try_for_each(|id| tx.insert(&Item { id, count: COUNT })))
}

/// Adds rows until one call is refused for want of room.
fn add_until_refused(db: &Database, next: &mut u32, rows: u32, context: &str) {
    loop {
        match add(db, *next, rows) {
            Ok(()) => *next += rows,
            Err(Error::NoRoom { cause }) => {
                assert_eq!(cause.kind(), ErrorKind::StorageFull, "{context}");
                return;
            }
            Err(error) => panic!("{context}, after {next} rows: {error}"),
        }
    }
}

fn count(db: &Database) -> usize {
    db.transaction(|tx| {
        let mut found = 0;
        tx.scan::<Item>(.., Direction::Forward, |_| {
            found += 1;
            ControlFlow::Continue(())
        })?;
        Ok(found)
    })
    .unwrap()
}

fn assert_refuses_only_what_needs_room(config: &Config, context: &str) {
    let files = MemoryFiles::new();
    let db = open(&files, config).unwrap_or_else(|error| panic!("{context}: {error}"));
    let is_classic = config.architecture == Architecture::Classic;
    db.transaction(|tx| tx.insert(&Item { id: 0, count: 0 })).unwrap();
    // The prepared transaction locks the key after its own, which is not the end of the index then.
    add(&db, 1, 1).unwrap();
    let mut next = 2;
    for rows in ROWS {
        let context = format!("{context}, {rows} rows in a transaction");
        if is_classic {
            db.prepare("count", &Count { id: 0 }).unwrap();
        }
        fill_up(&files);
        for _ in 0..3 {
            add_until_refused(&db, &mut next, rows, &context);
        }
        if is_classic {
            db.roll_back_prepared("count").unwrap_or_else(|error| panic!("{context}: {error}"));
        }
        assert_eq!(count(&db), next as usize, "{context}: a refused call left something");
        assert_eq!(db.verify(), Vec::<String>::new(), "{context}");
        make_room(&files);
        // The next attempt to make a segment comes at the latest when the last one is over for as long as it lasted.
        while let Err(error) = add(&db, next, rows) {
            assert!(matches!(error, Error::NoRoom { .. }), "{context}: {error}");
        }
        next += rows;
    }
    fill_up(&files);
    db.close().unwrap_or_else(|error| panic!("{context}: {error}"));
    make_room(&files);
    assert_eq!(count(&open(&files, config).unwrap()), next as usize, "{context}");
}

/// Case 26.
#[test]
fn a_full_disk_refuses_only_calls_that_need_room_whatever_segments_and_sessions() {
    for (segment_bytes, sessions) in SIZES {
        for (engine, config) in engines() {
            let classic = config.classic.clone().with_sessions(sessions);
            let config = config.with_classic(classic).with_segment_bytes(segment_bytes).with_log_threads(false);
            let context = format!("{engine}, {sessions} sessions, segments of {segment_bytes} bytes");
            assert_refuses_only_what_needs_room(&config, &context);
        }
    }
}
