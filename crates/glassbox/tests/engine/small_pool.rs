//! A buffer pool that is far too small for its clients: slow, never stuck.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use glassbox::config::ClassicConfig;
use glassbox::record::Bytes;
use glassbox::{Catalog, Config, Database, Record, Transaction};

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
