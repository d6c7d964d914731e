//! What a check finds: its class, the transactions, and why, in words.

use std::collections::BTreeMap;
use std::fmt;

/// The classes, worst first; where Adya (1999) or Kingsbury and Alvaro (2020) have a name, it is theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A read of what no step ever wrote, or of a row that was not asked for.
    Garbage,
    /// A transaction does not see its own writes.
    Internal,
    /// G1a: a read of what an aborted transaction wrote.
    AbortedRead,
    /// G1b: a read of what its writer wrote over before it committed.
    IntermediateRead,
    /// Two transactions that wrote one version, or one write that stands twice.
    LostUpdate,
    /// The versions of an item in two orders.
    IncompatibleOrder,
    /// G0, dirty write: a cycle of overwriting alone.
    G0,
    /// G1c, circular information flow: with reading what was written.
    G1c,
    /// A cycle with exactly one anti-dependency, of an item.
    GSingle,
    /// A cycle with several anti-dependencies, all of items.
    G2Item,
    /// A cycle with exactly one anti-dependency, of a predicate: a phantom.
    GSinglePredicate,
    /// A cycle with several anti-dependencies, one of a predicate at least: phantoms.
    G2,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// What it is called.
    pub class: Class,
    /// Whether it is one only because some transactions were answered before others were asked for: the history is
    /// perhaps serializable, but not strictly.
    pub real_time: bool,
    /// Which transactions, by number.
    pub transactions: Vec<u32>,
    /// What they did, and why it cannot be.
    pub text: String,
}

/// Anomalies as they are found: all are counted, some are kept.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many of each class, those of real time apart.
    pub counts: BTreeMap<(bool, Class), u64>,
    /// Some of each, worst first once all is done.
    pub kept: Vec<Anomaly>,
}

/// Kept of each class.
const KEPT: u64 = 3;

impl Findings {
    /// Counts one, and keeps it if few of its class are kept.
    pub fn add(&mut self, class: Class, transactions: &[u32], text: impl FnOnce() -> String) {
        self.add_cycle(class, false, transactions, text);
    }

    /// As [`Findings::add`], of those that real time may be a part of.
    pub fn add_cycle(&mut self, class: Class, real_time: bool, transactions: &[u32], text: impl FnOnce() -> String) {
        if self.counts.get(&(real_time, class)).is_none_or(|count| *count < KEPT) {
            let (transactions, text) = (transactions.to_vec(), text());
            self.kept.push(Anomaly { class, real_time, transactions, text });
        }
        *self.counts.entry((real_time, class)).or_default() += 1;
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Garbage => "garbage read",
            Self::Internal => "internal inconsistency",
            Self::AbortedRead => "G1a, aborted read",
            Self::IntermediateRead => "G1b, intermediate read",
            Self::LostUpdate => "lost update",
            Self::IncompatibleOrder => "incompatible version orders",
            Self::G0 => "G0, dirty write",
            Self::G1c => "G1c, circular information flow",
            Self::GSingle => "G-single, one anti-dependency",
            Self::G2Item => "G2-item, anti-dependencies of items",
            Self::GSinglePredicate => "G-single of a predicate, a phantom",
            Self::G2 => "G2, anti-dependencies with a predicate: phantoms",
        })
    }
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strictly = if self.real_time { " (in real time)" } else { "" };
        writeln!(f, "{}{strictly}", self.class)?;
        self.text.lines().try_for_each(|line| writeln!(f, "  {line}"))
    }
}
