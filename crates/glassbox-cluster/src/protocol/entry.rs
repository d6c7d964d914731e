//! Entries of a primary's replication stream, and records of a replica's journal.

use glassbox::research::shard::{Call, PartitionSet, RemoteReadResult};
use serde::{Deserialize, Serialize};

use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::input::{Digests, Exchange, Input};

/// An entry of a partition's replication stream, which backups apply in order. A backup decides nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// Run this.
    Run(Part),
    /// Run this after the undecided transactions before it have committed; discard it if one of them aborts.
    Speculate(Part),
    /// Hold this until its decision.
    Prepare {
        /// The transaction.
        txn: TxnId,
        /// The round whose result was the vote.
        round: u32,
        /// What to run.
        part: Part,
        /// All participants have received the decisions of the coordinator's transactions before this number.
        settled: u64,
    },
    /// The decision of a transaction.
    Decide {
        /// The transaction.
        txn: TxnId,
        /// Whether it committed.
        commit: bool,
        /// Whether the undecided runs after it are discarded too.
        cascade: bool,
    },
    /// Nothing is undecided, and the following entries are run under this scheme.
    ChangeScheme(SchemeKind),
    /// No operation. Its acknowledgement proves that the sender is still the primary.
    NoOp,
    /// This session of a client is over: the client's messages as a coordinator are ignored.
    SessionOver(Session),
    /// All participants know the outcome of every transaction of this session.
    SessionForgotten(Session),
    /// This transaction committed earlier.
    Committed(TxnId),
    /// The inputs of an epoch of the input log; only a sequencer's stream has them.
    Inputs(u64, Vec<Input>),
    /// The digests of an epoch, of a replica that has executed it and has its place since this configuration.
    Digests(u64, (Address, u64), Digests),
    /// A message to the executor of this partition, which may need it again; only the base of an executor has them.
    Sent(u8, Box<Exchange>),
    /// A replica that has its place since this configuration needs no inputs up to this epoch any more; only a
    /// sequencer's stream has them.
    Checkpointed((Address, u64), u64),
    /// Inputs of this partition up to this epoch are not in the log any more, or what was sent to it about them is not
    /// kept; only the bases of a log and of an executor have them.
    Purged(u8, u64),
    /// A record of the agreement on the log; only the journal of a member that takes part in it has them.
    Agreed(AgreedRecord),
    /// Hold this call on one partition, which the primary runs next; nothing is undecided.
    Announce(Part),
    /// The primary has run the oldest announced calls.
    Ended {
        /// Their number.
        count: u32,
        /// Those among them that have not committed, by their places from 0, ascending. The others are run now.
        refused: Vec<u32>,
    },
}

/// A record of a member of the group that agrees on the input log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgreedRecord {
    /// The configuration with which the cluster began.
    First(Box<Configuration>),
    /// A record of the agreement.
    Raft(#[serde(with = "serde_bytes")] Vec<u8>),
    /// The incarnation of the member, if another one took part before it.
    Incarnation(u64),
    /// An entry of the input log that the cluster had before it agreed, until the group has decided it.
    Former(Box<Entry>),
}

/// A run as a backup repeats it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What to run.
    pub call: Call,
    /// The participants.
    pub participants: PartitionSet,
    /// Rows of other partitions.
    pub given: Vec<RemoteReadResult>,
    /// For a call on one partition: the client that waits for the answer, and the number of its call.
    pub origin: Option<(Address, u64)>,
}

/// The version of the record format, which a journal states.
pub const FORMAT: u32 = 9;

/// A record of a replica's journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The first record of a base: the rows are as they were after this entry of the stream.
    Base {
        /// The epoch since which the replica had its role.
        since: u64,
        /// The entry's sequence number.
        held: u64,
        /// The scheme under which the undecided runs were executed.
        scheme: SchemeKind,
    },
    /// A part of the base: an undecided run, or an outcome that is still needed.
    Remembered(Entry),
    /// The next entry of the stream.
    Entry {
        /// Its sequence number.
        sequence: u64,
        /// The entry.
        entry: Entry,
    },
    /// The configuration from here on.
    Configuration(Box<Configuration>),
}

/// The state of a replica besides its rows, for a journal's base or for a joining backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The last entry of the stream that it includes.
    pub held: u64,
    /// The scheme under which the undecided runs were executed.
    pub scheme: SchemeKind,
    /// Undecided runs, and outcomes that are still needed.
    pub remembered: Vec<Entry>,
}

impl Entry {
    /// About how many bytes an entry of the input log has.
    pub(crate) fn log_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Inputs(_, inputs) => inputs.iter().map(Input::bytes).sum(),
                Self::Digests(_, _, digests) => size_of_val(&digests[..]),
                _ => 0,
            }
    }
}

impl Base {
    /// The first records of a journal's base.
    pub fn records(self, since: u64, configuration: &Configuration) -> impl Iterator<Item = Record> {
        let Self { held, scheme, remembered } = self;
        let first = [Record::Base { since, held, scheme }, Record::Configuration(Box::new(configuration.clone()))];
        first.into_iter().chain(remembered.into_iter().map(Record::Remembered))
    }
}
