//! Each version has one writer, and each write one place.
//!
//! Two transactions that made the same version each read the one before and did not know of the other: the update of
//! one is lost. A write that stands twice, in a list or in the result of a scan, was done twice or seen twice.

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{Fact, facts};
use super::history::History;
use super::orders::Orders;

/// Finds versions with two writers, and what stands twice.
pub fn find(history: &History, orders: &Orders, findings: &mut Findings) {
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
