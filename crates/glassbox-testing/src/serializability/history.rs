//! A recorded history: what every client asked for, when, and what it was answered.
//!
//! Nothing in here comes from inside an engine. A client knows its arguments, which hold every value that it writes,
//! so that a value names its writer even when the transaction aborted and answered nothing; and it knows the answers,
//! which hold everything that was read.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A value that is written once in a whole history, and so names its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value(pub u64);

/// One of the two forms in which a list is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Form {
    /// A row for each element, found by an ordered scan: appending is inserting into a range that others scan.
    Rows,
    /// One row with all elements: appending is updating it.
    Packed,
}

/// A list that transactions append to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct List {
    /// How it is stored.
    pub form: Form,
    /// Which.
    pub number: u32,
}

/// What a scan asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Predicate {
    /// All members of a club: a range of the primary key, entered by an insert and left by a delete.
    Members {
        /// Whose.
        club: u32,
    },
    /// Those of some ranks: a range of a secondary index, entered and left by updates too.
    Ranks {
        /// Whose.
        club: u32,
        /// The lowest.
        from: u8,
        /// The highest.
        to: u8,
    },
}

/// What a transaction does, one step of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Appends to a list.
    Append(List, Value),
    /// Reads a list whole.
    Read(List),
    /// Inserts a member of a club.
    Join(Member, u8, Value),
    /// Changes a member's rank, if there is such a member.
    Rank(Member, u8, Value),
    /// Deletes a member, if there is one.
    Leave(Member, Value),
    /// Reads a member by its key.
    Look(Member),
    /// Reads all members that a predicate asks for.
    Scan(Predicate),
    /// Inserts the first members of a club, before a history begins; never part of one.
    Found(u32),
    /// Aborts.
    Abort,
}

/// The key of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Member {
    /// Of this club.
    pub club: u32,
    /// Never used again for another member.
    pub id: u64,
}

/// What one step answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// The version that it wrote, and the value that it found there before.
    Wrote {
        /// Of a list: the number of its elements now. Of a member: counted in the row.
        version: u32,
        /// The last element before, or the value of the row.
        over: Value,
    },
    /// There was nothing to change: no such member. (Of an append: the list is full, and it says nothing of it.)
    Nothing,
    /// The elements of a list.
    Values(Vec<Value>),
    /// Rows of members, in the order of the scan.
    Rows(Vec<ReadVersion>),
    /// The answer was lost.
    Unknown,
}

/// A member as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadVersion {
    /// Who.
    pub id: u64,
    /// Decides which predicates match.
    pub rank: u8,
    /// Counted up by every change.
    pub version: u32,
    /// Who wrote it.
    pub value: Value,
}

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// With an answer of each step.
    Committed(Vec<Seen>),
    /// By its own decision or the engine's.
    Aborted,
    /// The answer was lost; it may have committed, also after its client stopped waiting. To be
    /// [settled](super::unknown::settle) before a history is checked.
    Unknown,
}

/// A transaction as its client saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Which client.
    pub client: u32,
    /// When it asked, by a clock that all clients share.
    pub invoked_ns: u64,
    /// When it was answered.
    pub completed_ns: u64,
    /// What it asked for.
    pub steps: Vec<Step>,
    /// What it was told.
    pub outcome: Outcome,
}

/// All transactions of all clients.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// Transaction *n* stands at place *n* - 1, so that values name their writers.
    pub transactions: Vec<Transaction>,
    /// The members that were there before, with their ranks. Lists begin empty.
    pub initial: BTreeMap<Member, u8>,
}

impl Value {
    /// The value before the history.
    pub const INITIAL: Self = Self(0);

    /// The value that a step of transaction `number`, counted from 1, writes.
    pub fn new(number: u32, step: usize) -> Self {
        assert!(number > 0 && step < 256, "transaction {number}, step {step}");
        Self(u64::from(number) << 8 | step as u64)
    }

    /// The transaction that wrote it; 0: it was there before.
    pub fn writer(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// The step that wrote it.
    pub fn step(self) -> usize {
        (self.0 & 255) as usize
    }
}

impl Predicate {
    /// Whose members it asks for.
    pub fn club(self) -> u32 {
        match self {
            Self::Members { club } | Self::Ranks { club, .. } => club,
        }
    }

    /// Whether it asks for a member that is in this state, `None` being not there.
    pub fn matches(self, rank: Option<u8>) -> bool {
        match self {
            Self::Members { .. } => rank.is_some(),
            Self::Ranks { from, to, .. } => rank.is_some_and(|rank| (from..=to).contains(&rank)),
        }
    }
}

impl Transaction {
    /// Each step with its answer; none of an aborted transaction.
    pub fn answers(&self) -> impl Iterator<Item = (usize, &Step, &Seen)> {
        let seen: &[Seen] = match &self.outcome {
            Outcome::Committed(seen) => seen,
            Outcome::Aborted | Outcome::Unknown => &[],
        };
        self.steps.iter().zip(seen).enumerate().map(|(at, (step, seen))| (at, step, seen))
    }

    /// Whether it counts.
    pub fn committed(&self) -> bool {
        matches!(self.outcome, Outcome::Committed(_))
    }
}

impl History {
    /// Transaction `number`, counted from 1.
    pub fn get(&self, number: u32) -> Option<&Transaction> {
        self.transactions.get((number as usize).checked_sub(1)?)
    }

    /// The committed transactions with their numbers.
    pub fn committed(&self) -> impl Iterator<Item = (u32, &Transaction)> {
        (1..).zip(&self.transactions).filter(|(_, transaction)| transaction.committed())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::INITIAL { f.write_str("nothing") } else { write!(f, "{}.{}", self.writer(), self.step()) }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.form {
            Form::Rows => write!(f, "list {}", self.number),
            Form::Packed => write!(f, "packed list {}", self.number),
        }
    }
}

impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "member {} of club {}", self.id, self.club)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Members { club } => write!(f, "members of club {club}"),
            Self::Ranks { club, from, to } => write!(f, "members of club {club} with ranks {from} to {to}"),
        }
    }
}

impl fmt::Display for ReadVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, rank, version, value } = self;
        write!(f, "{id} (rank {rank}, version {version} by {value})")
    }
}
