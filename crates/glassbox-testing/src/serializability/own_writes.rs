//! A transaction sees its own writes, at once and wholly (Elle's internal consistency).
//!
//! The graph cannot say so: an edge from a transaction to itself means nothing. Until it commits no other transaction
//! writes what it wrote, so its later steps must see exactly its last version, in scans too, if that matches.

use super::anomaly::{Class, Findings};
use super::explain::told;
use super::facts::{Fact, Item, facts, readings};
use super::history::{History, Member, Transaction, Value};

/// What a transaction wrote last to an item.
struct Own {
    item: Item,
    value: Value,
    rank: Option<u8>,
}

/// Finds transactions that did not see what they wrote, or saw it before.
pub fn find(history: &History, findings: &mut Findings) {
    for (number, transaction) in history.committed() {
        if let Some((step, item, value)) = unseen_own(number, transaction) {
            findings.add(Class::Internal, &[number], || {
                let told = told(history, number);
                format!("{told}\nT{number} wrote {value} to {item}, but its step {step} saw otherwise")
            });
        }
    }
}

fn unseen_own(number: u32, transaction: &Transaction) -> Option<(usize, Item, Value)> {
    let early = readings(transaction).find(|it| it.value.writer() == number && it.value.step() >= it.step);
    if let Some(early) = early {
        return Some((early.step, early.item, early.value));
    }
    let mut own: Vec<Own> = Vec::new();
    for (step, fact) in facts(transaction) {
        for it in &own {
            let sees = match fact {
                Fact::Wrote { item, over, .. } => item != it.item || over == it.value,
                Fact::List { item, values } => item != it.item || values.last() == Some(&it.value),
                Fact::Row { item, row } => {
                    item != it.item || row.map(|row| (row.value, row.rank)) == it.rank.map(|rank| (it.value, rank))
                }
                Fact::Range { predicate, rows } => match it.item {
                    Item::Member(Member { club, id }) if club == predicate.club() => {
                        let row = rows.iter().find(|row| row.id == id);
                        row.map(|row| row.value) == predicate.matches(it.rank).then_some(it.value)
                    }
                    _ => true,
                },
            };
            if !sees {
                return Some((step, it.item, it.value));
            }
        }
        if let Fact::Wrote { item, value, rank, .. } = fact {
            own.retain(|it| it.item != item);
            own.push(Own { item, value, rank });
        }
    }
    None
}
