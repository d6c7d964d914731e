//! Histories written by hand. Unless said otherwise all transactions overlap, so that real time orders nothing.

use std::ops::Range;

use glassbox_testing::serializability::history::{
    Form, History, List, Member, Outcome, Predicate, ReadVersion, Seen, Step, Transaction, Value,
};
use glassbox_testing::serializability::{Class, check};

/// A step with its answer.
pub type Answered = (Step, Seen);

/// The value that step `s` of transaction `t` writes.
pub fn v(t: u32, s: usize) -> Value {
    Value::new(t, s)
}

pub const NOTHING: Value = Value::INITIAL;

fn list(number: u32) -> List {
    List { form: Form::Rows, number }
}

pub fn append(number: u32, value: Value, version: u32, over: Value) -> Answered {
    (Step::Append(list(number), value), Seen::Wrote { version, over })
}

pub fn read<const N: usize>(number: u32, values: [Value; N]) -> Answered {
    (Step::Read(list(number)), Seen::Values(values.to_vec()))
}

pub fn member(club: u32, id: u64) -> Member {
    Member { club, id }
}

pub fn insert(who: Member, rank: u8, value: Value) -> Answered {
    (Step::Join(who, rank, value), Seen::Wrote { version: 1, over: NOTHING })
}

pub fn update(who: Member, rank: u8, value: Value, version: u32, over: Value) -> Answered {
    (Step::Rank(who, rank, value), Seen::Wrote { version, over })
}

pub fn delete(who: Member, value: Value, version: u32, over: Value) -> Answered {
    (Step::Leave(who, value), Seen::Wrote { version, over })
}

pub fn row(id: u64, rank: u8, version: u32, value: Value) -> ReadVersion {
    ReadVersion { id, rank, version, value }
}

pub fn scan<const N: usize>(club: u32, rows: [ReadVersion; N]) -> Answered {
    (Step::Scan(Predicate::Members { club }), Seen::Rows(rows.to_vec()))
}

pub fn ranks<const N: usize>(club: u32, from: u8, to: u8, rows: [ReadVersion; N]) -> Answered {
    (Step::Scan(Predicate::Ranks { club, from, to }), Seen::Rows(rows.to_vec()))
}

pub fn committed<const N: usize>(client: u32, answered: [Answered; N]) -> Transaction {
    timed(client, 0..100, answered)
}

pub fn timed<const N: usize>(client: u32, ns: Range<u64>, answered: [Answered; N]) -> Transaction {
    let (steps, seen) = answered.into_iter().unzip();
    Transaction { client, invoked_ns: ns.start, completed_ns: ns.end, steps, outcome: Outcome::Committed(seen) }
}

pub fn aborted<const N: usize>(client: u32, answered: [Answered; N]) -> Transaction {
    let mut transaction = committed(client, answered);
    transaction.steps.push(Step::Abort);
    transaction.outcome = Outcome::Aborted;
    transaction
}

pub fn history<const M: usize, const N: usize>(initial: [(Member, u8); M], all: [Transaction; N]) -> History {
    History { transactions: all.to_vec(), initial: initial.into_iter().collect() }
}

/// The worst anomaly of the history is of this class, and explained as in `figures/<name>.txt`. `GLASSBOX_BLESS=1`
/// rewrites that file.
#[track_caller]
pub fn is(history: &History, class: Class, name: &str) {
    told(history, (class, false), name);
}

/// As [`is`], of an anomaly that real time is a part of.
#[track_caller]
pub fn is_in_real_time(history: &History, class: Class, name: &str) {
    told(history, (class, true), name);
}

#[track_caller]
fn told(history: &History, wanted: (Class, bool), name: &str) {
    let report = check(history);
    assert_eq!(report.anomalies.first().map(|it| (it.class, it.real_time)), Some(wanted), "{report}");
    assert_eq!(report.is_serializable(), wanted.1, "{report}");
    let told = report.anomalies[0].to_string();
    let path = format!("{}/tests/serializability/figures/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("GLASSBOX_BLESS").is_ok_and(|value| value == "1") {
        std::fs::write(&path, &told).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    let figure = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    assert_eq!(told.lines().collect::<Vec<_>>(), figure.lines().collect::<Vec<_>>(), "\n{told}");
}

#[track_caller]
pub fn is_right(history: &History) {
    let report = check(history);
    assert!(report.is_strictly_serializable(), "{report}");
}
