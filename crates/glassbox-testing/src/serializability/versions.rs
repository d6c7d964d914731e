//! The versions of an item: each has one writer and one place, in the one order that all readers see.
//!
//! Two transactions that made the same version each read the one before and did not know of the other: the update of
//! one is lost. A write that stands twice, in a list or in the result of a scan, was done twice or seen twice.
//!
//! Elle compares the lists that were read with each other: one must be the beginning of the other. Here an append
//! says where, so it is enough to compare every list with the writers' word: two lists that differ in a place cannot
//! both agree with it.

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{Fact, facts, readings, version_written};
use super::history::{History, Value};
use super::orders::Orders;

/// Finds versions with two writers, and what stands twice.
pub fn lost_updates(history: &History, orders: &Orders, findings: &mut Findings) {
    for double in &orders.doubles {
        let (first, second) = (double.first.writer(), double.second.writer());
        findings.add(Class::LostUpdate, &[first, second], || {
            let (one, other) = (told(history, first), told(history, second));
            let (item, version) = (double.item, double.version);
            format!("{one}\n{other}\nboth wrote version {version} of {item}: one of them is lost")
        });
    }
    for (number, transaction) in history.committed() {
        for (_, fact) in facts(transaction) {
            let (twice, what) = match fact {
                Fact::List { item, values } => (twice(values.iter().map(|it| it.0)), item.to_string()),
                Fact::Range { predicate, rows } => (twice(rows.iter().map(|it| it.id)), predicate.to_string()),
                Fact::Wrote { .. } | Fact::Row { .. } => continue,
            };
            if twice {
                findings.add(Class::LostUpdate, &[number], || {
                    format!("{}\nT{number} saw something twice in {what}", told(history, number))
                });
            }
        }
    }
}

fn twice(all: impl Iterator<Item = u64>) -> bool {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    all.windows(2).any(|pair| pair[0] == pair[1])
}

/// Finds values that stand elsewhere than where their writers put them.
pub fn incompatible_orders(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        for reading in readings(transaction) {
            let (item, value, version) = (reading.item, reading.value, reading.version);
            let written = if value == Value::INITIAL { Some(0) } else { version_written(history, item, value) };
            let Some(written) = written.filter(|written| *written != version) else { continue };
            let writer = value.writer();
            let both = [writer, number];
            let who = if writer == 0 { &both[1..] } else { &both[..] };
            findings.add(Class::IncompatibleOrder, who, || {
                let mut text: String = who.iter().map(|number| told(history, *number) + "\n").collect();
                let by =
                    if writer == 0 { "it was there before as".to_owned() } else { format!("T{writer} wrote it as") };
                text += &format!("T{number} saw {value} as version {version} of {item}, but {by} version {written}");
                text
            });
        }
    }
}
