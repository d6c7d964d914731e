//! What the classic engine tells of waiting: counts, and who waited for whom on what.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use glassbox::config::{ClassicConfig, Granularity};
use glassbox::io::{Files, MemoryFiles, RealClock};
use glassbox::record::{Direction, Prefix};
use glassbox::stats::{LockWait, LockWaitEnd};
use glassbox::{Aborts, Architecture, Catalog, Config, Database, Error, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
    count: u64,
}

#[derive(Record, Clone, Copy)]
#[record(table = "part", key = id, partition_by = id, index(name = by_size, columns = (id, size)))]
struct Part {
    id: u32,
    size: u32,
    count: u64,
}

/// Writes, and panics if it does not get a row then.
#[derive(Serialize, Deserialize)]
struct Insist;

impl Procedure for Insist {
    const NAME: &'static str = "insist";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&Item { id: 3, count: 0 })?;
        assert!(tx.get::<Item>(&1).is_ok(), "the row must be there");
        Ok(())
    }
}

fn open(architecture: Architecture) -> Database {
    try_open(architecture, BTreeMap::new()).unwrap()
}

fn try_open(architecture: Architecture, granularity_of: BTreeMap<String, Granularity>) -> Result<Database, Error> {
    open_with(architecture, ClassicConfig::default().with_granularity_of(granularity_of))
}

fn open_with(architecture: Architecture, classic: ClassicConfig) -> Result<Database, Error> {
    let config = Config::default()
        .with_architecture(architecture)
        .with_classic(classic.with_pool_bytes(1 << 20).with_sessions(4))
        .with_segment_bytes(64 << 10)
        .with_log_buffer_bytes(64 << 10);
    let files: Arc<dyn Files> = Arc::new(MemoryFiles::new());
    let catalog = Catalog::new().table::<Item>().table::<Part>().procedure::<Insist>();
    let db = Database::open_files(files, Box::new(RealClock::new()), config, catalog)?;
    db.transaction(|tx| (1..=2).try_for_each(|id| tx.insert(&Item { id, count: 0 })))?;
    Ok(db)
}

/// Long enough for another thread to come to its wait, usually.
fn let_the_other_wait() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Lets two transactions meet until so many waits are over: on a busy machine the second may come too late to wait.
fn until_waits(db: &Database, count: usize, mut meet: impl FnMut()) -> LockWait {
    for _ in 0..100 {
        meet();
        let mut waits = db.explain_waits().unwrap();
        if waits.len() == count {
            return waits.pop().unwrap();
        }
    }
    panic!("no transaction waits");
}

fn count(db: &Database, id: u32) {
    db.transaction(|tx| tx.update::<Item, _>(&id, |item| item.count += 1)).unwrap().unwrap();
}

#[test]
fn a_wait_names_who_was_in_the_way() {
    let db = open(Architecture::Classic);
    let before = db.counts();
    assert!(before.tables.is_empty() && before.committed == 1 && db.stats().tables[0].rows == 2);
    assert_eq!(db.explain_waits(), Some(Vec::new()));
    let wait = until_waits(&db, 1, || {
        let (held, is_held) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                db.transaction(|tx| {
                    tx.update::<Item, _>(&1, |item| item.count += 1)?;
                    held.send(()).unwrap();
                    let_the_other_wait();
                    Ok(())
                })
            });
            is_held.recv().unwrap();
            count(&db, 1);
        });
    });
    assert_eq!((&*wait.wanted, wait.end), ("X", LockWaitEnd::Granted));
    assert!(wait.on.starts_with("row ") && wait.on.ends_with(" of table `item`"), "{wait}");
    assert!(wait.waited_ns > 0 && wait.behind.len() == 1, "{wait}");
    assert_eq!(wait.behind[0].held.as_deref(), Some("X"));
    // The number of a transaction that is over must not stand for the next one in its session, which has none yet.
    let wait = until_waits(&db, 2, || {
        let (held, is_held) = channel();
        std::thread::scope(|scope| {
            let db = &db;
            scope.spawn(move || {
                db.transaction(|tx| tx.update::<Item, _>(&2, |item| item.count += 1)).unwrap();
                is_held.recv().unwrap();
                count(db, 1);
            });
            db.transaction(|tx| {
                tx.get::<Item>(&1)?;
                held.send(()).unwrap();
                let_the_other_wait();
                Ok(())
            })
            .unwrap();
        });
    });
    assert_eq!((wait.behind[0].held.as_deref(), wait.behind[0].transaction), (Some("S"), 0), "{wait}");
    assert!(
        wait.to_string().contains(", behind session ") && wait.to_string().ends_with(" (holds S): granted"),
        "{wait}"
    );
    let classic = db.counts().classic.unwrap();
    assert!(classic.lock_waits == 2 && classic.deadlocks == 0 && classic.lock_waited_ns > 0, "{classic:?}");
    assert!(classic.fixes >= classic.hits && classic.hits > 0 && classic.pool_pages > 0, "{classic:?}");
}

#[test]
fn what_a_lock_is_of_can_be_chosen_for_a_table() {
    let pages_of = |table: &str| BTreeMap::from([(table.to_owned(), Granularity::Page)]);
    let db = try_open(Architecture::Classic, pages_of("item")).unwrap();
    let wait = until_waits(&db, 1, || {
        let (held, is_held) = channel();
        std::thread::scope(|scope| {
            let db = &db;
            scope.spawn(move || {
                is_held.recv().unwrap();
                count(db, 2);
            });
            db.transaction(|tx| {
                tx.update::<Item, _>(&1, |item| item.count += 1)?;
                held.send(()).unwrap();
                let_the_other_wait();
                Ok(())
            })
            .unwrap();
        });
    });
    assert!(wait.on.starts_with("page ") && wait.on.contains("`item`"), "{wait}");
    let refused = try_open(Architecture::Classic, pages_of("itme")).map(drop).unwrap_err();
    assert!(matches!(&refused, Error::Config(why) if why.contains("`itme`")), "{refused}");
}

#[test]
fn many_locks_of_rows_become_one_of_their_page_or_table() {
    let usual = || ClassicConfig::default().with_escalate_at(0);
    for (classic, whole) in [
        (usual().with_escalate_page_at(2), "page "),
        (usual().with_escalate_at(2), "table `item`"),
        (usual().with_escalate_page_at(2).with_escalate_at(2), "table `item`"),
    ] {
        let db = open_with(Architecture::Classic, classic).unwrap();
        db.transaction(|tx| (3..=9).try_for_each(|id| tx.insert(&Item { id, count: 0 }))).unwrap();
        let before = db.counts().classic.unwrap().escalations;
        let wait = until_waits(&db, 1, || {
            let (held, is_held) = channel();
            std::thread::scope(|scope| {
                let db = &db;
                scope.spawn(move || {
                    is_held.recv().unwrap();
                    count(db, 9);
                });
                db.transaction(|tx| {
                    (1..=4).try_for_each(|id| tx.update::<Item, _>(&id, |item| item.count += 1).map(drop))?;
                    held.send(()).unwrap();
                    let_the_other_wait();
                    Ok(())
                })
                .unwrap();
            });
        });
        assert!(wait.on.starts_with(whole), "{wait}");
        assert!(db.counts().classic.unwrap().escalations > before, "{whole}");
    }
}

#[test]
fn a_deadlock_is_counted_and_explained() {
    let db = open(Architecture::Classic);
    let both = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for (first, second) in [(1, 2), (2, 1)] {
            let (db, both) = (&db, &both);
            scope.spawn(move || {
                db.transaction(|tx| {
                    tx.update::<Item, _>(&first, |item| item.count += 1)?;
                    both.fetch_add(1, Ordering::SeqCst);
                    // Until both hold one, the first time.
                    while both.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    tx.update::<Item, _>(&second, |item| item.count += 1)
                })
                .unwrap();
            });
        }
    });
    let counts = db.counts();
    let classic = counts.classic.unwrap();
    assert!(classic.deadlocks >= 1 && counts.rerun == classic.deadlocks, "{counts:?}");
    let waits = db.explain_waits().unwrap();
    let given_up = waits.iter().find(|wait| wait.end == LockWaitEnd::Deadlock).unwrap();
    assert!(given_up.to_string().ends_with(": given up, to end a deadlock"), "{given_up}");
    assert_eq!(db.transaction(|tx| Ok(tx.get::<Item>(&1)?.map(|item| item.count))).unwrap(), Some(2));
}

type Read = fn(&mut glassbox::AnyTransaction<'_, '_>) -> Result<Option<u64>, Stop>;

/// Two transactions read a row, and then change it; deadlocks between them.
fn deadlocks(architecture: Architecture, read: Read) -> u64 {
    let db = open(architecture);
    db.transaction(|tx| tx.insert(&Part { id: 1, size: 7, count: 0 })).unwrap();
    let before = db.counts();
    let have_read = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                db.transaction(|tx| {
                    let was = read(tx)?.expect("there is such a row");
                    have_read.fetch_add(1, Ordering::SeqCst);
                    // The other one cannot read if it waits for a lock.
                    let until = Instant::now() + Duration::from_millis(200);
                    while have_read.load(Ordering::SeqCst) < 2 && Instant::now() < until {
                        std::thread::yield_now();
                    }
                    tx.update::<Part, _>(&1, |part| part.count = was + 1)
                })
                .unwrap();
            });
        }
    });
    let counts = db.counts();
    assert_eq!(db.transaction(|tx| Ok(tx.get::<Part>(&1)?.map(|part| part.count))).unwrap(), Some(2));
    assert_eq!(counts.committed - before.committed, 2);
    // The partitioned engine runs a closure again when it knows the closure's partition.
    counts.classic.map_or(0, |classic| {
        assert_eq!(counts.rerun - before.rerun, classic.deadlocks);
        classic.deadlocks
    })
}

#[test]
fn rows_read_for_update_cause_no_deadlock() {
    let reads: [(Read, Read); 4] = [
        (
            |tx| Ok(tx.get::<Part>(&1)?.map(|part| part.count)),
            |tx| Ok(tx.get_for_update::<Part>(&1)?.map(|part| part.count)),
        ),
        (
            |tx| Ok(tx.first::<Part>(1..=1, Direction::Forward)?.map(|part| part.count)),
            |tx| Ok(tx.first_for_update::<Part>(1..=1, Direction::Forward)?.map(|part| part.count)),
        ),
        (
            |tx| {
                let mut count = None;
                tx.scan::<Part>(1..=1, Direction::Backward, |part| {
                    count = Some(part.count);
                    ControlFlow::Continue(())
                })?;
                Ok(count)
            },
            |tx| {
                let mut count = None;
                tx.scan_for_update::<Part>(1..=1, Direction::Backward, |part| {
                    count = Some(part.count);
                    ControlFlow::Continue(())
                })?;
                Ok(count)
            },
        ),
        (
            |tx| Ok(tx.first_by::<PartBySize>(Prefix(1), Direction::Forward)?.map(|part| part.count)),
            |tx| {
                let mut count = None;
                tx.scan_index_for_update::<PartBySize>(Prefix(1), Direction::Forward, |part| {
                    count = Some(part.count);
                    ControlFlow::Break(())
                })?;
                Ok(count)
            },
        ),
    ];
    for (read, read_for_update) in reads {
        let of_reads: u64 = (0..100).map(|_| deadlocks(Architecture::Classic, read)).find(|&met| met > 0).unwrap_or(0);
        assert!(of_reads > 0, "two that only read and then write wait for each other");
        assert_eq!(deadlocks(Architecture::Classic, read_for_update), 0);
        assert_eq!(deadlocks(Architecture::Partitioned, read_for_update), 0);
    }
}

#[test]
fn the_partitioned_engine_has_no_locks() {
    let db = open(Architecture::Partitioned);
    assert!(db.explain_waits().is_none() && db.counts().classic.is_none() && db.counts().committed == 1);
}

#[test]
fn a_panic_after_a_lock_timeout_breaks_no_promise() {
    let classic = ClassicConfig::default().with_lock_timeout_ms(Some(20));
    let db = open_with(Architecture::Classic, classic).unwrap();
    let hold = |tx: &mut glassbox::AnyTransaction<'_, '_>| {
        tx.update::<Item, _>(&1, |item| item.count += 1)?;
        std::thread::scope(|scope| {
            let insisting = scope.spawn(|| catch_unwind(AssertUnwindSafe(|| db.call(&Insist))));
            assert!(insisting.join().unwrap().is_err(), "the panic goes on in the caller");
        });
        Ok(())
    };
    db.transaction(hold).unwrap();
    db.call(&Insist).unwrap();
}
