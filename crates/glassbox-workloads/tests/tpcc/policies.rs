//! TPC-C under each policy of execution, with locks of pages and of records, and 1, 4 and 16 sessions, in a pool of a
//! tenth of the data: all conditions hold after the run, after a clean reopening and after a crash.

use std::sync::atomic::Ordering;
use std::time::Duration;

use glassbox::config::{ClassicConfig, ExecutionPolicy, Granularity, HybridPolicy};
use glassbox::io::{Crash, MemoryFiles};
use glassbox::{Architecture, LogKind};
use glassbox_workloads::tpcc::load;

use super::crash::{SCALE, check, open, partitioned, work_of};

const POLICIES: [ExecutionPolicy; 4] = [
    ExecutionPolicy::Conventional,
    ExecutionPolicy::TwoStage,
    ExecutionPolicy::Optimistic,
    ExecutionPolicy::Hybrid(HybridPolicy::DEFAULT),
];

/// The files of a loaded database, and the bytes of its pages.
fn loaded() -> (MemoryFiles, usize) {
    let files = MemoryFiles::new();
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(32 << 20);
    let config = partitioned(LogKind::Values).with_partitions(1).with_architecture(Architecture::Classic);
    let database = open(&files, &config.with_classic(classic));
    let bulk = database.bulk_load().unwrap();
    load(&SCALE, 1, 2, || &bulk).unwrap();
    bulk.finish().unwrap();
    let bytes = database.stats().memory_bytes() as usize;
    database.close().unwrap();
    (files.after_kill(), bytes)
}

#[test]
fn the_conditions_hold_under_each_policy() {
    let (loaded, bytes) = loaded();
    for policy in POLICIES {
        for granularity in [Granularity::Record, Granularity::Page, Granularity::PageAndLeaf] {
            for sessions in [1, 4, 16] {
                let classic = ClassicConfig::default()
                    .with_page_bytes(4096)
                    .with_pool_bytes(bytes / 10)
                    .with_sessions(sessions)
                    .with_granularity(granularity)
                    .with_execution(policy);
                let config = partitioned(LogKind::Values)
                    .with_partitions(1)
                    .with_architecture(Architecture::Classic)
                    .with_classic(classic);
                survives(&loaded, &config, sessions as u64);
            }
        }
    }
}

fn survives(loaded: &MemoryFiles, config: &glassbox::Config, sessions: u64) {
    let when = format!("{:?}, {:?}, {sessions} sessions", config.classic.execution, config.classic.granularity);
    let files = loaded.after_kill();
    let database = open(&files, config);
    let (orders, failures) = work_of(&database, (sessions, 1), 1, Duration::from_millis(80), |_| ());
    assert!(orders > 0 && failures.is_empty(), "{when}: {orders} orders, {failures:?}");
    assert_eq!(check(&database, &when), orders);
    database.close().unwrap();
    let files = files.after_kill();
    let database = open(&files, config);
    assert_eq!(check(&database, &format!("{when}, opened again")), orders);
    let (mut found, mut answered) = (MemoryFiles::new(), 0);
    work_of(&database, (sessions, 1), 2, Duration::from_millis(50), |count| {
        files.stop();
        found = files.after_crash(Crash::Torn, sessions);
        answered = count.load(Ordering::SeqCst);
    });
    drop(database);
    let there = check(&open(&found, config), &format!("{when}, after a crash"));
    assert!(there >= orders + answered, "{when}: {there} orders, {orders} + {answered} were answered");
}
