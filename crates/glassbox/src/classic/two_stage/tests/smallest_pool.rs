//! The smallest pool there is, and transactions that want more pages than they may pin, or than there are: all end.
//!
//! With `GLASSBOX_LONG=1`, 100,000 for each number of sessions and each policy.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::declared::Moves;
use super::{Ends, Work, catalog, parcel};
use crate::config::{ClassRule, ClassicConfig, ExecutionPolicy, FetchMethod, HybridPolicy};
use crate::io::{Dice, MemoryFiles, RealClock};
use crate::stats::ExecutionClass;
use crate::{Architecture, Config, Database};

/// Frames that a session is given, however few are asked for.
const FRAMES: usize = 12;
/// Hybrid by the paper's rule.
const BY_RATIOS: ExecutionPolicy =
    ExecutionPolicy::Hybrid(HybridPolicy { rule: ClassRule::Ratios, ..HybridPolicy::DEFAULT });
/// By measured costs.
const MEASURED: ExecutionPolicy = ExecutionPolicy::Hybrid(HybridPolicy::DEFAULT);
/// Of so many transactions, one wants more pages than there are.
const LARGE_EVERY: u64 = 500;

fn transactions() -> u64 {
    if std::env::var_os("GLASSBOX_LONG").is_some() { 100_000 } else { 1_000 }
}

/// More rows than there are frames for their pages.
fn rows(sessions: usize) -> u64 {
    600 * sessions as u64
}

fn database(sessions: usize, policy: ExecutionPolicy, fetch: FetchMethod) -> Database {
    let config = Config {
        architecture: Architecture::Classic,
        classic: ClassicConfig {
            page_bytes: 4 << 10,
            pool_bytes: 4 << 10,
            sessions,
            execution: policy,
            fetch,
            ..ClassicConfig::default()
        },
        ..Config::default()
    };
    let db = Database::open_files(Arc::new(MemoryFiles::new()), Box::new(RealClock::new()), config, catalog()).unwrap();
    let load = db.bulk_load().unwrap();
    (0..rows(sessions)).for_each(|id| load.insert(&parcel(id)).unwrap());
    load.finish().unwrap();
    db
}

/// Runs transactions in as many threads as there are sessions.
fn all_end(sessions: usize, policy: ExecutionPolicy, fetch: FetchMethod) {
    let db = database(sessions, policy, fetch);
    let pool_pages = db.counts().classic.unwrap().pool_pages;
    assert_eq!(pool_pages, (FRAMES * sessions) as u64, "the smallest pool for {sessions} sessions");
    let next = AtomicU64::new(0);
    let client = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= transactions() {
            return;
        }
        let (rows, is_large) = (rows(sessions), seed % LARGE_EVERY == 7);
        let mut dice = Dice(seed);
        let called = if dice.one_in(3) && !is_large {
            let ids = (0..dice.below(40)).map(|_| dice.below(rows)).collect();
            db.call(&Moves { ids, undeclared: 0 })
        } else {
            let accesses = if is_large { 3 * pool_pages as u32 } else { dice.below(40) as u32 };
            db.call(&Work { seed, rows, accesses, ends: Ends::Well })
        };
        called.map_or_else(|error| panic!("{error}"), drop);
    };
    std::thread::scope(|scope| (0..sessions).for_each(|_| _ = scope.spawn(client)));
    assert_eq!(db.verify(), Vec::<String>::new());
    let engine = db.inner.engine.as_classic().unwrap();
    assert_eq!(engine.pin_budget.reserved(), 0, "{policy:?} leaves pins");
    // No page can be pinned, so that pages are missing again says nothing of what was fetched.
    if policy == BY_RATIOS {
        let given_up = engine.procedures().iter().filter(|it| it.class() == ExecutionClass::Conventional);
        assert_eq!(given_up.map(|it| it.name).collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

#[test]
fn transactions_of_4_sessions_end_in_48_frames() {
    for policy in [ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic, BY_RATIOS, MEASURED] {
        all_end(4, policy, FetchMethod::Batches);
    }
    all_end(4, ExecutionPolicy::TwoStage, FetchMethod::OneByOne);
}

#[test]
fn transactions_of_64_sessions_end_in_768_frames() {
    all_end(64, ExecutionPolicy::TwoStage, FetchMethod::Batches);
    all_end(64, BY_RATIOS, FetchMethod::Batches);
    all_end(64, MEASURED, FetchMethod::Batches);
}
