//! What a primary's stream says: to its backups, and to its journal.

use glassbox::shard::{Call, Found, PartitionSet};
use serde::{Deserialize, Serialize};

use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::scheme_kind::SchemeKind;

/// An entry of a partition's stream: what its backups do, in this order. A backup decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// Run this.
    Run(Part),
    /// Run this once the transactions before it that are not decided yet are committed; forget it if one is not.
    Speculate(Part),
    /// Hold this until its decision.
    Prepare {
        /// The transaction.
        txn: TxnId,
        /// The round that it was the vote in.
        round: u32,
        /// What is to be run.
        part: Part,
        /// All partitions have heard how its coordinator's transactions before this one ended.
        settled: u64,
    },
    /// The end of a transaction.
    Decide {
        /// Which.
        txn: TxnId,
        /// Whether it counts.
        commit: bool,
        /// Whether what came after it goes with it.
        cascade: bool,
    },
    /// Nothing is undecided, and what follows is run under this scheme.
    Under(SchemeKind),
    /// Nothing: only who is still the primary can have it held.
    Mark,
    /// What a client says in this life of its, as a coordinator, counts no more.
    Over(Life),
    /// All partitions have heard the end of everything that began in this life.
    Ended(Life),
    /// This was committed before.
    Committed(TxnId),
}

/// A run as a backup repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What is to be run.
    pub call: Call,
    /// The partitions that take part.
    pub participants: PartitionSet,
    /// Rows from elsewhere.
    pub given: Vec<Found>,
    /// Who waits for the answer, and the number of the call; of a call on one partition.
    pub origin: Option<(Address, u64)>,
}

/// The format of records. A journal says in which it is.
pub const FORMAT: u32 = 1;

/// A record of a replica's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The first of a base: its rows are as they were after this entry of the stream.
    Base {
        /// Since which epoch the replica had its role then.
        since: u64,
        /// The entry's number.
        held: u64,
        /// Under which scheme what is undecided was run.
        scheme: SchemeKind,
    },
    /// Belongs to the base: what was undecided then, or remembered.
    Remembered(Entry),
    /// The next entry of the stream.
    Entry {
        /// Its number.
        sequence: u64,
        /// What was done.
        entry: Entry,
    },
    /// Who is who from here on.
    Configuration(Box<Configuration>),
}

/// What a replica has besides rows, for a journal's base, or for a backup that joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The last entry of the stream that is in it.
    pub held: u64,
    /// Under which scheme what is undecided was run.
    pub scheme: SchemeKind,
    /// What is undecided, or remembered.
    pub remembered: Vec<Entry>,
}

impl Base {
    /// The records that begin it.
    pub fn records(self, since: u64, configuration: &Configuration) -> impl Iterator<Item = Record> {
        let Self { held, scheme, remembered } = self;
        let first = [Record::Base { since, held, scheme }, Record::Configuration(Box::new(configuration.clone()))];
        first.into_iter().chain(remembered.into_iter().map(Record::Remembered))
    }
}
