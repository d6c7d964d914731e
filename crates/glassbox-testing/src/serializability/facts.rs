//! What the answers of a transaction say about versions: the one reading of them that all checks share.

use std::fmt;

use super::history::{History, List, Member, Predicate, ReadVersion, Seen, Step, Transaction, Value};

/// A thing with versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Item {
    /// A list; version *n* has *n* elements.
    List(List),
    /// A member; versions are counted in its row, one more when it has left.
    Member(Member),
}

/// What one step says.
#[derive(Debug, Clone, Copy)]
pub enum Fact<'a> {
    /// It made a version of an item.
    Wrote {
        /// Of which.
        item: Item,
        /// Its place in the order.
        version: u32,
        /// Its value.
        value: Value,
        /// The value of the version before.
        over: Value,
        /// The rank of a member; `None`: it has left.
        rank: Option<u8>,
    },
    /// It read a list.
    List {
        /// Which.
        item: Item,
        /// All elements.
        values: &'a [Value],
    },
    /// It read a member by its key.
    Row {
        /// Which.
        item: Item,
        /// `None`: it was not there.
        row: Option<&'a ReadVersion>,
    },
    /// These rows, and no others, were what a predicate asks for.
    Range {
        /// The predicate.
        predicate: Predicate,
        /// The rows it had.
        rows: &'a [ReadVersion],
    },
}

/// A version that a step has seen.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// The step.
    pub step: usize,
    /// Of this item.
    pub item: Item,
    /// Which version.
    pub version: u32,
    /// Its value.
    pub value: Value,
    /// Whether this was the item's newest version then. The elements of a list before its last are older ones.
    pub newest: bool,
}

/// What each step of a transaction says; nothing if it aborted.
pub fn facts(transaction: &Transaction) -> impl Iterator<Item = (usize, Fact<'_>)> {
    transaction.answers().filter_map(|(at, step, seen)| Some((at, fact(step, seen)?)))
}

fn fact<'a>(step: &Step, seen: &'a Seen) -> Option<Fact<'a>> {
    let item = item_of(step);
    match (*step, seen) {
        (Step::Append(_, value) | Step::Leave(_, value), &Seen::Wrote { version, over }) => {
            Some(Fact::Wrote { item: item?, version, value, over, rank: None })
        }
        (Step::Join(_, rank, value) | Step::Rank(_, rank, value), &Seen::Wrote { version, over }) => {
            Some(Fact::Wrote { item: item?, version, value, over, rank: Some(rank) })
        }
        (Step::Rank(..) | Step::Leave(..), Seen::Nothing) => Some(Fact::Row { item: item?, row: None }),
        (Step::Read(_), Seen::Values(values)) => Some(Fact::List { item: item?, values }),
        (Step::Look(_), Seen::Rows(rows)) => Some(Fact::Row { item: item?, row: rows.first() }),
        (Step::Scan(predicate), Seen::Rows(rows)) => Some(Fact::Range { predicate, rows }),
        _ => None,
    }
}

/// What a step reads or writes, if it is one item.
pub fn item_of(step: &Step) -> Option<Item> {
    match *step {
        Step::Append(list, _) | Step::Read(list) => Some(Item::List(list)),
        Step::Join(member, ..) | Step::Rank(member, ..) | Step::Leave(member, _) | Step::Look(member) => {
            Some(Item::Member(member))
        }
        Step::Scan(_) | Step::Found(_) | Step::Abort => None,
    }
}

/// Whether a step writes, if it does anything, and what.
pub fn value_of(step: &Step) -> Option<Value> {
    match *step {
        Step::Append(_, value) | Step::Join(_, _, value) | Step::Rank(_, _, value) | Step::Leave(_, value) => {
            Some(value)
        }
        _ => None,
    }
}

/// Every version that a transaction has seen, those included that it wrote over.
pub fn readings(transaction: &Transaction) -> impl Iterator<Item = Reading> {
    facts(transaction).flat_map(|(step, fact)| -> Box<dyn Iterator<Item = Reading>> {
        match fact {
            Fact::Wrote { item, version, over, .. } => Box::new(std::iter::once(Reading {
                step,
                item,
                version: version.saturating_sub(1),
                value: over,
                newest: true,
            })),
            Fact::List { item, values } => Box::new((1..).zip(values).map(move |(version, &value)| Reading {
                step,
                item,
                version,
                value,
                newest: version as usize == values.len(),
            })),
            Fact::Row { item, row } => Box::new(row.into_iter().map(move |row| reading(step, item, row))),
            Fact::Range { predicate, rows } => Box::new(rows.iter().map(move |row| {
                let item = Item::Member(Member { club: predicate.club(), id: row.id });
                reading(step, item, row)
            })),
        }
    })
}

fn reading(step: usize, item: Item, row: &ReadVersion) -> Reading {
    Reading { step, item, version: row.version, value: row.value, newest: true }
}

/// Every version that a transaction wrote: step, item, version, value.
pub fn writings(transaction: &Transaction) -> impl Iterator<Item = (usize, Item, u32, Value)> {
    facts(transaction).filter_map(|(step, fact)| match fact {
        Fact::Wrote { item, version, value, .. } => Some((step, item, version, value)),
        _ => None,
    })
}

/// The version of `item` that a committed transaction wrote with this value, by its own word.
pub fn version_written(history: &History, item: Item, value: Value) -> Option<u32> {
    let writer = history.get(value.writer())?;
    writings(writer).find(|&(step, wrote, ..)| step == value.step() && wrote == item).map(|(_, _, version, _)| version)
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(list) => list.fmt(f),
            Self::Member(member) => member.fmt(f),
        }
    }
}
