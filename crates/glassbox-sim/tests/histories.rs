//! Random histories: every answer of the engine is the model's, and so are the contents after every way to come back.
//!
//! `GLASSBOX_LONG=1` runs a million operations; `GLASSBOX_SEED` repeats a failure.

use glassbox::LogKind;
use glassbox::io::{Crash, MemoryFiles};
use glassbox_sim::ModelDatabase;
use glassbox_sim::check::{difference, of_engine, of_model, stamps};
use glassbox_sim::dice::{Dice, long, seed};
use glassbox_sim::history::{End, Op, open, tiny};

const ENDS: [End; 5] =
    [End::Closed, End::Killed, End::Crashed(Crash::Lost), End::Crashed(Crash::Kept), End::Crashed(Crash::Torn)];

fn next(dice: &mut Dice, partitions: usize) -> Op {
    match dice.below(150) {
        0 => Op::Checkpoint,
        1 if dice.one_in(6) => Op::load(dice),
        2 if dice.one_in(2) => Op::Reopen {
            end: ENDS[dice.below(5) as usize],
            // Mostly the usual number, sometimes another.
            partitions: if dice.one_in(2) { partitions } else { 1 + dice.below(5) as usize },
        },
        _ => Op::transaction(dice),
    }
}

/// Returns the number of transactions.
fn run(seed: u64, operations: usize, partitions: usize, log: LogKind) -> u64 {
    let mut dice = Dice(seed);
    let mut files = MemoryFiles::new();
    let mut model = ModelDatabase::new();
    let mut database = open(&files, tiny(partitions, log), true).unwrap();
    let (mut transactions, mut trace) = (0, Vec::new());
    for number in 0..operations {
        let op = next(&mut dice, partitions);
        let context =
            |what: String| format!("seed {seed}, {partitions} partitions, {log:?}, operation {number}: {what}");
        if let Op::Reopen { end, partitions } = op {
            let before = database.transaction(|tx| stamps(tx)).unwrap();
            let crashed = match end {
                End::Closed => {
                    database.close().unwrap();
                    files.after_kill()
                }
                End::Killed => files.after_kill(),
                End::Crashed(mode) => files.after_crash(mode, number as u64),
            };
            files = crashed;
            database = open(&files, tiny(partitions, log), true)
                .unwrap_or_else(|error| panic!("{}", context(format!("{op:?} gives {error}; last: {trace:#?}"))));
            assert_eq!(database.verify(), Vec::<String>::new(), "{}", context(format!("{op:?}")));
            let found = of_engine(&database).unwrap();
            if let Some(what) = difference(&found, &of_model(&mut model)) {
                panic!("{}", context(format!("after {op:?} {what}; last: {trace:#?}")));
            }
            assert_eq!(database.transaction(|tx| stamps(tx)).unwrap(), before, "{}", context(format!("{op:?}")));
            continue;
        }
        let wanted = op.on_model(&mut model, |_| ());
        let (found, done) = op.on_engine(&database);
        transactions += wanted.len() as u64;
        if let Err(error) = done {
            panic!("{}", context(format!("{op:?} gives {error}")));
        }
        assert_eq!(found, wanted, "{}", context(format!("{op:?}")));
        if trace.len() > 5 {
            trace.remove(0);
        }
        trace.push(op);
    }
    assert_eq!(database.verify(), Vec::<String>::new());
    transactions
}

fn runs(partitions: usize, log: LogKind) {
    let (seeds, operations) = if long() { (50, 6_000) } else { (12, 2_500) };
    let first = seed(1);
    let sum: u64 = (0..seeds).map(|at| run(first + at, operations, partitions, log)).sum();
    println!("{sum} transactions at {partitions} partitions, {log:?}");
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
