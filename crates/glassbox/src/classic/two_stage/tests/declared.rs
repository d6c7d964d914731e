//! Fetch stages by declaration: what is missing of all keys is read level by level.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Parcel, ROWS, SESSIONS, parcel, traces_of_fetch};
use crate::classic::transaction::{DeclaredPart, FetchStage};
use crate::config::{ClassicConfig, ExecutionPolicy, FetchMethod};
use crate::io::{Clock, Dice, DiskModel, Files, ManualClock, MemoryFiles, SlowFiles};
use crate::procedure::{Declared, KeySet, Procedure, Stop, Transaction};
use crate::{Architecture, Catalog, Config, Database};

pub(super) const DISK: DiskModel = DiskModel::fixed("1 ms", 64, 1_000_000);

/// Moves parcels, of which it declares all but the last ones.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(super) struct Moves {
    pub(super) ids: Vec<u64>,
    pub(super) undeclared: usize,
}

impl Moves {
    /// Of random parcels.
    pub(super) fn random(dice: &mut Dice, count: usize, undeclared: usize) -> Self {
        Self { ids: (0..count).map(|_| dice.below(ROWS)).collect(), undeclared }
    }
}

impl Procedure for Moves {
    const NAME: &'static str = "moves";
    type Output = u64;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        let (known, _) = self.ids.split_at(self.ids.len() - self.undeclared);
        set.write_each::<Parcel>(known.iter().copied());
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let mut seen = 0;
        for id in &self.ids {
            let moved = tx.update::<Parcel, _>(id, |row| {
                row.moves += 1;
                row.moves
            })?;
            seen += moved.unwrap_or(0);
        }
        Ok(seen)
    }
}

/// A database of which nothing is in memory. The pool has room for half of it.
fn cold(files: &Arc<dyn Files>, clock: &ManualClock, policy: ExecutionPolicy, fetch: FetchMethod) -> Database {
    cold_in_pool(96, files, clock, policy, fetch)
}

/// The same with a pool of this size.
pub(super) fn cold_in_pool(
    pool_pages: usize,
    files: &Arc<dyn Files>,
    clock: &ManualClock,
    policy: ExecutionPolicy,
    fetch: FetchMethod,
) -> Database {
    let config = Config {
        architecture: Architecture::Classic,
        classic: ClassicConfig {
            page_bytes: 4 << 10,
            pool_bytes: pool_pages * (4 << 10),
            sessions: SESSIONS,
            execution: policy,
            fetch,
            ..ClassicConfig::default()
        },
        log_threads: false,
        ..Config::default()
    };
    let catalog = || Catalog::new().table::<Parcel>().procedure::<Moves>();
    let open = |config| Database::open_files(Arc::clone(files), Box::new(clock.clone()), config, catalog()).unwrap();
    if files.list("").unwrap().is_empty() {
        let db = open(config.clone());
        let load = db.bulk_load().unwrap();
        (0..ROWS).for_each(|id| load.insert(&parcel(id)).unwrap());
        load.finish().unwrap();
        db.close().unwrap();
    }
    open(config)
}

/// Time of a call of 20 keys far apart, nothing of which is in memory, milliseconds; and pages read under locks.
fn cold_call(policy: ExecutionPolicy, fetch: FetchMethod) -> (f64, f64) {
    let clock = ManualClock::default();
    let slow: Arc<dyn Files> = Arc::new(SlowFiles::new(Arc::new(MemoryFiles::new()), DISK, Arc::new(clock.clone()), 1));
    let db = cold(&slow, &clock, policy, fetch);
    let ids = (0..20).map(|at| at * (ROWS / 20)).collect();
    let began_ns = clock.monotonic_ns();
    db.call(&Moves { ids, undeclared: 0 }).unwrap();
    let took_ms = (clock.monotonic_ns() - began_ns) as f64 / 1e6;
    (took_ms, db.explain_execution().unwrap()[0].operate_reads)
}

#[test]
fn a_cold_transaction_reads_one_batch_for_each_level() {
    let (batches_ms, under_locks) = cold_call(ExecutionPolicy::TwoStage, FetchMethod::Batches);
    // The root, the leaves, the rows; each page at once, unless two are on the same server.
    assert!((3.0..=9.0).contains(&batches_ms) && under_locks == 0.0, "{batches_ms} ms");
    let (single_ms, under_locks) = cold_call(ExecutionPolicy::TwoStage, FetchMethod::OneByOne);
    assert!(under_locks == 0.0);
    let (locked_ms, _) = cold_call(ExecutionPolicy::Conventional, FetchMethod::Batches);
    assert_eq!(single_ms, locked_ms, "the same pages, one after the other");
    assert!(single_ms > 4.0 * batches_ms, "{single_ms} ms against {batches_ms} ms");
}

#[test]
fn a_conversion_of_what_is_declared_reads_in_batches() {
    let (batches_ms, _) = cold_call(ExecutionPolicy::Optimistic, FetchMethod::Batches);
    assert!((3.0..=9.0).contains(&batches_ms), "{batches_ms} ms");
}

#[test]
fn a_declared_fetch_leaves_no_trace() {
    let (files, clock): (Arc<dyn Files>, _) = (Arc::new(MemoryFiles::new()), ManualClock::default());
    let db = cold(&files, &clock, ExecutionPolicy::Conventional, FetchMethod::Batches);
    let engine = db.inner.engine.as_classic().unwrap();
    let mut dice = Dice(3);
    for _ in 0..100 {
        let moves = Moves::random(&mut dice, 6, 0);
        let mut is_complete = false;
        let left = traces_of_fetch(engine, |transaction| {
            is_complete = FetchStage(transaction).declared(&|set: &mut _| moves.declare(set)) == DeclaredPart::All;
        });
        assert!(left.is_empty() && is_complete, "{moves:?} leaves {left:?}");
    }
    // More than may be pinned.
    let moves = Moves::random(&mut dice, 60, 0);
    let mut part = DeclaredPart::All;
    let left = traces_of_fetch(engine, |transaction| {
        part = FetchStage(transaction).declared(&|set: &mut _| moves.declare(set));
    });
    assert!(left.is_empty() && part == DeclaredPart::TooMuch, "{part:?}, {left:?}");
}

#[test]
fn a_declaration_that_leaves_out_much_is_not_trusted() {
    let (files, clock): (Arc<dyn Files>, _) = (Arc::new(MemoryFiles::new()), ManualClock::default());
    for (undeclared, most) in [(0, 0.0), (5, 0.05)] {
        let db = cold(&files, &clock, ExecutionPolicy::TwoStage, FetchMethod::Batches);
        let mut dice = Dice(4);
        for _ in 0..400 {
            db.call(&Moves::random(&mut dice, 10, undeclared)).unwrap();
        }
        let executed = &db.explain_execution().unwrap()[0];
        assert!(executed.two_stage_ratio > 0.9, "{executed:?}");
        assert!(executed.missed_executions_ratio <= most, "{executed:?}");
    }
}

#[cfg(all(target_os = "linux", feature = "io-uring"))]
#[test]
fn threads_fetch_the_same_where_io_uring_is_refused() {
    use crate::io::tests::refused::without_io_uring;
    use crate::io::{BatchedReads, RealFiles};

    let root = std::env::temp_dir().join(format!("glassbox-fetch-refused-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let run = |expected: Option<BatchedReads>| {
        let files = RealFiles::new(&root).unwrap();
        assert!(expected.is_none_or(|expected| files.batched_reads() == expected));
        let files: Arc<dyn Files> = Arc::new(files);
        let db = cold(&files, &ManualClock::default(), ExecutionPolicy::TwoStage, FetchMethod::Batches);
        let mut dice = Dice(5);
        let seen: u64 = (0..200).map(|_| db.call(&Moves::random(&mut dice, 10, 0)).unwrap()).sum();
        let moved: u64 =
            (0..ROWS).map(|id| db.transaction(|tx| Ok(tx.get::<Parcel>(&id)?.unwrap().moves)).unwrap()).sum();
        let executed = db.explain_execution().unwrap().swap_remove(0);
        std::fs::remove_dir_all(&root).unwrap();
        (seen, moved, executed.fetch_reads, executed.operate_reads)
    };
    let here = run(None);
    let refused = without_io_uring(|| run(Some(BatchedReads::Threads)));
    assert_eq!(here, refused);
    assert!(here.1 == 2_000 && here.2 > 4.0 && here.3 == 0.0, "{here:?}");
}
