//! Random histories at 1 and 4 partitions, with both kinds of log, and on the classic engine with its kinds of locks.
//! `examples/histories.rs` is the long form.
//!
//! `GLASSBOX_SEED` repeats a failure.

use glassbox::config::{ExecutionPolicy, Granularity};
use glassbox::io::MemoryFiles;
use glassbox::{Config, LogKind};
use glassbox_testing::dice::{Dice, seed};
use glassbox_testing::history::{Op, in_short, open, tiny, tiny_classic};
use glassbox_testing::runs::{RandomHistory, Sum};
use glassbox_testing::steps::Kind;

fn runs(config: &Config) {
    let first = seed(1);
    let mut sum = Sum::default();
    for seed in first..first + 12 {
        let history = RandomHistory { seed, operations: 2_500, config: config.clone() };
        sum += history.run().unwrap_or_else(|what| panic!("{what}"));
    }
    println!("{}: {sum:?}", in_short(config));
    assert!(sum.transactions > 25_000 && sum.reopened > 60 && sum.crashed > 30, "{sum:?}");
}

#[test]
fn one_partition_values() {
    runs(&tiny(1, LogKind::Values));
}

#[test]
fn one_partition_commands() {
    runs(&tiny(1, LogKind::Commands));
}

#[test]
fn four_partitions_values() {
    runs(&tiny(4, LogKind::Values));
}

#[test]
fn four_partitions_commands() {
    runs(&tiny(4, LogKind::Commands));
}

#[test]
fn classic_record_locks() {
    runs(&tiny_classic());
}

#[test]
fn classic_in_stages() {
    for policy in [ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic, ExecutionPolicy::Hybrid(Default::default())]
    {
        let mut config = tiny_classic();
        config.classic.execution = policy;
        runs(&config);
    }
}

#[test]
fn classic_page_locks() {
    let mut config = tiny_classic();
    config.classic.granularity = Granularity::Page;
    runs(&config);
}

#[test]
fn classic_page_and_leaf_locks() {
    let mut config = tiny_classic();
    config.classic.granularity = Granularity::PageAndLeaf;
    runs(&config);
}

#[test]
fn classic_early_escalation_and_a_larger_pool() {
    let mut config = tiny_classic();
    (config.classic.escalate_at, config.classic.pool_bytes) = (2, 1 << 20);
    runs(&config);
}

/// Histories do get at what is hard about pages: leaves that split, and that are given back.
#[test]
fn floods_split_leaves_and_give_them_back() {
    let database = open(&MemoryFiles::new(), tiny_classic(), true).unwrap();
    let mut dice = Dice(1);
    let leaves = |kind, dice: &mut Dice| {
        (0..12).for_each(|_| Op::flood_of(dice, kind).on_engine(&database).1.unwrap());
        assert_eq!(database.verify(), Vec::<String>::new());
        let note = database.stats().tables.into_iter().find(|usage| usage.table == "note").unwrap();
        let pages = |bytes: u64| bytes / 4096;
        (note.rows, note.index_bytes.iter().map(|(_, bytes)| pages(*bytes)).collect::<Vec<_>>())
    };
    let (rows, many) = leaves(Kind::TryInsert, &mut dice);
    assert!(rows > 250 && many.iter().all(|pages| *pages >= 4), "{rows} rows: {many:?}");
    let (rows, few) = leaves(Kind::Delete, &mut dice);
    assert!(rows < 50 && few.iter().zip(&many).all(|(few, many)| few < many), "{rows} rows: {few:?} of {many:?}");
}

/// The canary: an engine that did not do one transaction is found out.
#[test]
fn a_forgotten_transaction_is_noticed() {
    let history = RandomHistory { seed: 1, operations: 2_500, config: tiny(2, LogKind::Values) };
    let mut found_out = 0;
    for forgotten in (50..2_500).step_by(100) {
        found_out += u64::from(history.run_forgetting(Some(forgotten)).is_err());
    }
    // Many operations only read, abort, or are undone by the next.
    assert!(found_out >= 6, "{found_out} of 25");
}
