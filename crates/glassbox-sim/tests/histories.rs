//! Random histories at 1 and 4 partitions, with both kinds of log. `examples/histories.rs` is the long form.
//!
//! `GLASSBOX_SEED` repeats a failure.

use glassbox::LogKind;
use glassbox_sim::dice::seed;
use glassbox_sim::runs::{History, Sum};

fn runs(partitions: usize, log: LogKind) {
    let first = seed(1);
    let mut sum = Sum::default();
    for seed in first..first + 12 {
        let history = History { seed, operations: 2_500, partitions, log };
        sum += history.run().unwrap_or_else(|what| panic!("{what}"));
    }
    println!("{partitions} partitions, {log:?}: {sum:?}");
    assert!(sum.transactions > 25_000 && sum.reopened > 60 && sum.crashed > 30, "{sum:?}");
}

#[test]
fn one_partition_values() {
    runs(1, LogKind::Values);
}

#[test]
fn one_partition_commands() {
    runs(1, LogKind::Commands);
}

#[test]
fn four_partitions_values() {
    runs(4, LogKind::Values);
}

#[test]
fn four_partitions_commands() {
    runs(4, LogKind::Commands);
}

/// The canary: an engine that did not do one transaction is found out.
#[test]
fn a_forgotten_transaction_is_noticed() {
    let history = History { seed: 1, operations: 2_500, partitions: 2, log: LogKind::Values };
    let mut found_out = 0;
    for forgotten in (50..2_500).step_by(100) {
        found_out += u64::from(history.run_forgetting(Some(forgotten)).is_err());
    }
    // Many operations only read, abort, or are undone by the next.
    assert!(found_out >= 6, "{found_out} of 25");
}
