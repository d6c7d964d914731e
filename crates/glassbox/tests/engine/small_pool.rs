//! A buffer pool that is far too small for its clients: slow, never stuck.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use glassbox::config::{ClassicConfig, ExecutionPolicy, HybridPolicy};
use glassbox::record::Bytes;
use glassbox::stats::ExecutionClass;
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction};

/// Four to a page.
#[derive(Record, Clone, Copy)]
#[record(table = "wide", key = id)]
struct Wide {
    id: u32,
    value: u64,
    filler: Bytes<1800>,
}

const ROWS: u32 = 8_000;
const THREADS: u64 = 24;

fn next(random: &mut u64) -> u32 {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*random >> 33) as u32
}

#[test]
fn many_threads_make_progress_with_the_smallest_pool() {
    let directory = tempfile::tempdir().unwrap();
    let classic = ClassicConfig::default().with_pool_bytes(4 << 10);
    let config = Config::classic(classic);
    let database = Database::open(directory.path(), config, Catalog::new().table::<Wide>()).unwrap();
    let load = database.bulk_load().unwrap();
    for id in 0..ROWS {
        load.insert(&Wide { id, value: 0, filler: Bytes([1; 1800]) }).unwrap();
    }
    load.finish().unwrap();
    let committed: Vec<_> = (0..THREADS).map(|_| AtomicU64::new(0)).collect();
    let seconds: u64 = std::env::var("SMALL_POOL_SECONDS").map_or(2, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (database, committed) = (&database, &committed[thread as usize]);
            scope.spawn(move || {
                let mut random = thread + 1;
                while Instant::now() < end {
                    let ids = [(); 4].map(|()| next(&mut random) % ROWS);
                    let changed = database.transaction(|tx| {
                        ids.iter().try_for_each(|id| tx.update::<Wide, _>(id, |row| row.value += 1).map(drop))
                    });
                    changed.unwrap();
                    committed.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        scope.spawn(|| {
            while Instant::now() < end && std::env::var("SMALL_POOL_SECONDS").is_ok() {
                std::thread::sleep(Duration::from_secs(1));
                let counts: Vec<_> = committed.iter().map(|count| count.load(Ordering::Relaxed)).collect();
                eprintln!("{} {counts:?}", counts.iter().sum::<u64>());
            }
        });
    });
    let late = end.elapsed();
    assert!(late < Duration::from_secs(20), "the last transaction ended {late:?} late");
    let counts: Vec<_> = committed.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let sum = database
        .transaction(|tx| {
            let mut sum = 0;
            tx.scan::<Wide>(.., glassbox::record::Direction::Forward, |row| {
                sum += row.value;
                std::ops::ControlFlow::Continue(())
            })?;
            Ok(sum)
        })
        .unwrap();
    assert_eq!(sum, 4 * counts.iter().sum::<u64>());
    database.close().unwrap();
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Touch {
    id: u32,
}

impl Procedure for Touch {
    const NAME: &'static str = "touch";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Wide>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.update::<Wide, _>(&self.id, |row| row.value += 1).map(drop)
    }
}

#[test]
fn the_policy_of_a_procedure_changes_on_an_open_database() {
    let catalog = || Catalog::new().table::<Wide>().procedure::<Touch>();
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(directory.path(), Config::classic(ClassicConfig::default()), catalog()).unwrap();
    database.transaction(|tx| tx.insert(&Wide { id: 1, value: 0, filler: Bytes([1; 1800]) })).unwrap();
    let hybrid = ExecutionPolicy::Hybrid(HybridPolicy::default());
    let mut calls = 0;
    for (policy, class, counted) in [
        (ExecutionPolicy::Conventional, ExecutionClass::Conventional, 0),
        (ExecutionPolicy::TwoStage, ExecutionClass::TwoStage, 10),
        (ExecutionPolicy::Optimistic, ExecutionClass::Optimistic, 20),
        (hybrid, ExecutionClass::TwoStage, 30),
        (ExecutionPolicy::Conventional, ExecutionClass::Conventional, 30),
    ] {
        database.set_execution::<Touch>(policy).unwrap();
        (0..10).for_each(|_| database.call(&Touch { id: 1 }).unwrap());
        calls += 10;
        let touch = &database.explain_execution().unwrap()[0];
        assert_eq!((touch.policy, touch.class, touch.executions), (policy, class, counted));
    }
    assert_eq!(database.transaction(|tx| Ok(tx.get::<Wide>(&1)?.unwrap().value)).unwrap(), calls);
    let config = Config::classic(ClassicConfig::default());
    let other = Database::open(directory.path().join("other"), config, Catalog::new().table::<Wide>()).unwrap();
    let unknown = other.set_execution::<Touch>(hybrid).unwrap_err();
    assert!(matches!(unknown, Error::UnknownProcedure { name: "touch" }), "{unknown}");
    let partitioned = Database::in_memory(Config::default(), catalog()).unwrap();
    let refused = partitioned.set_execution::<Touch>(hybrid).unwrap_err();
    assert!(matches!(&refused, Error::Config(why) if why.contains("Architecture::Classic")), "{refused}");
}
