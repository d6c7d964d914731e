//! How long an operator waits for a transaction that does not end, and what the error names then.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::config::ClassicConfig;
use crate::io::{ManualClock, MemoryFiles};
use crate::{Architecture, Catalog, Config, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
}

#[derive(Record, Clone, Copy)]
#[record(table = "rate", key = id, replicated)]
struct Rate {
    id: u32,
}

/// Runs on the partition of an item until the test lets it end.
#[derive(Serialize, Deserialize)]
struct Slow {
    id: u32,
    /// The pair of channels of the test.
    test: usize,
}

/// Reports that `Slow` runs; receives until it may end.
type Channels = (Sender<()>, Receiver<()>);

/// The channels of each test.
static TESTS: [Mutex<Option<Channels>>; 2] = [const { Mutex::new(None) }; 2];

impl Procedure for Slow {
    const NAME: &'static str = "slow";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.read::<Item>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.get::<Item>(&self.id)?;
        if let Some((begun, ends)) = TESTS[self.test].lock().unwrap_or_else(PoisonError::into_inner).take() {
            begun.send(()).unwrap();
            // Ends with the sender, also if the test panics.
            let _ = ends.recv();
        }
        Ok(())
    }
}

fn opened(architecture: Architecture, partitions: usize) -> Database {
    let config = Config {
        architecture,
        classic: ClassicConfig { pool_bytes: 1 << 20, sessions: 2, ..ClassicConfig::default() },
        partitions,
        segment_bytes: 64 << 10,
        log_buffer_bytes: 64 << 10,
        log_threads: false,
        ..Config::default()
    };
    let catalog = Catalog::new().table::<Item>().table::<Rate>().procedure::<Slow>();
    let (files, clock) = (Arc::new(MemoryFiles::new()), Box::new(ManualClock::default()));
    Database::open_files(files, clock, config, catalog).unwrap()
}

/// Runs `meanwhile` while the procedure `slow` runs on the partition of item 1.
fn while_slow_runs(db: &Database, test: usize, meanwhile: impl FnOnce()) {
    let (begun, has_begun) = channel();
    let (end, ends) = channel();
    *TESTS[test].lock().unwrap() = Some((begun, ends));
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| db.call(&Slow { id: 1, test }));
        let end = end;
        has_begun.recv().unwrap();
        meanwhile();
        drop(end);
        runs.join().unwrap().unwrap();
    });
}

/// Case 45: a close named the partition that was held by a call which waited for the one that runs.
#[test]
fn a_busy_error_names_the_procedure_that_runs_and_its_partition() {
    let both = [(Architecture::Partitioned, "partition 1 is busy"), (Architecture::Classic, "session ")];
    for (architecture, place) in both {
        let db = opened(architecture, if architecture == Architecture::Classic { 1 } else { 2 });
        while_slow_runs(&db, 0, || {
            let error = db.close().unwrap_err();
            assert!(matches!(error, Error::Busy { .. }), "{error}");
            let text = error.to_string();
            assert!(text.starts_with(place), "{text}");
            assert!(text.contains("procedure \"slow\" has been running there for at least"), "{text}");
        });
        db.close().unwrap();
    }
}

/// Case 45: a call on both partitions held one of them while it waited for the other.
#[test]
fn a_call_on_several_partitions_holds_none_while_one_of_them_is_busy_for_long() {
    let db = opened(Architecture::Partitioned, 2);
    db.transaction(|tx| tx.insert(&Item { id: 0 })).unwrap();
    std::thread::scope(|scope| {
        while_slow_runs(&db, 1, || {
            let (begins, has_begun) = channel();
            let waits = scope.spawn({
                let db = &db;
                move || {
                    begins.send(()).unwrap();
                    db.transaction(|tx| tx.insert(&Rate { id: 1 }))
                }
            });
            has_begun.recv().unwrap();
            // Ends at once, or, if the partition is held, only with the slow one, which ends after this.
            let (done, is_done) = channel();
            let others = scope.spawn({
                let db = &db;
                move || {
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_millis(100) {
                        db.transaction(|tx| Ok(tx.get::<Item>(&0)?.is_some())).unwrap();
                    }
                    done.send(()).unwrap();
                }
            });
            is_done.recv_timeout(Duration::from_secs(30)).expect("partition 0 is not held meanwhile");
            others.join().unwrap();
            assert!(!waits.is_finished(), "the slow one runs");
        });
    });
    assert!(db.transaction(|tx| Ok(tx.get::<Rate>(&1)?.is_some())).unwrap());
}

#[test]
fn what_waits_for_a_transaction_gives_up_and_says_for_which() {
    for (architecture, place) in [(Architecture::Partitioned, "partition 0"), (Architecture::Classic, "session ")] {
        let db = opened(architecture, 1);
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
