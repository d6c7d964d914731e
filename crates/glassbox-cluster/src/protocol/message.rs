//! What the parties of a cluster say to each other.
//!
//! Between two parties messages arrive in the order in which they were sent, or not at all from some point on.
//!
//! A message is moved from hand to hand, so what is large and seldom is boxed: most fit into a cache line.

use glassbox::Abort;
use glassbox::shard::{Call, Found, Output, PartitionSet, Wanted};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{Base, Entry};

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// From a client to a primary: run this; it is on your partition alone.
    Call {
        /// The client's number for it.
        id: u64,
        /// What is to be run.
        call: Call,
    },
    /// From a client to a coordinator: have this run on several partitions.
    Submit(Box<Submission>),
    /// From a coordinator to a primary: do your part of one round.
    Fragment(Box<Fragment>),
    /// From a primary to a coordinator: what came of a fragment.
    Result(Box<FragmentResult>),
    /// From a coordinator to a primary: the end of a transaction.
    Decide {
        /// Which.
        txn: TxnId,
        /// Whether it counts.
        commit: bool,
    },
    /// To a client: the end of its call.
    Answer {
        /// The client's number for it.
        id: u64,
        /// What came of it.
        outcome: Outcome,
    },
    /// From a primary to a backup: the next entry of the partition's stream.
    Replicate {
        /// Its number in the stream, from 1.
        sequence: u64,
        /// What to do.
        entry: Box<Entry>,
    },
    /// From a backup to its primary: everything up to here is held.
    Held {
        /// The last entry's number.
        sequence: u64,
    },
    /// To everybody: who is who from now on.
    Configure(Box<Configuration>),
    /// From a backup with nothing to its primary: send me the rows, and then the stream.
    Join {
        /// Since which epoch it is a backup.
        since: u64,
    },
    /// From a primary to a joining backup: some of the rows.
    Rows {
        /// What it said when it joined.
        since: u64,
        /// The table's number in the catalog.
        table: u16,
        /// In their stored form, one after the other.
        rows: Vec<u8>,
    },
    /// The same: entries of what goes with the rows.
    Remember {
        /// What it said when it joined.
        since: u64,
        /// In their order.
        entries: Vec<Entry>,
    },
    /// From a primary to a joining backup: these were the rows.
    State {
        /// What it said when it joined.
        since: u64,
        /// How many messages they and the entries were in.
        pieces: u64,
        /// What goes with them, but for the entries.
        base: Box<Base>,
    },
    /// From a coordinator to a primary: which of my decisions have you heard?
    AskHeard,
    /// From a primary to a coordinator.
    HeardSoFar {
        /// In which life of the coordinator's, if it is a client.
        life: u64,
        /// How many.
        heard: u64,
    },
    /// From a coordinator to a primary: what do you know of the transactions of the one before, or of those of this
    /// life of a client's? It decides them now.
    Recover(Option<Life>),
    /// From a primary to such a coordinator.
    Recovered(Box<Recovered>),
    /// From a primary to a coordinator: my results of this transaction and of yours after it do not count any more. I
    /// run them again.
    Withdrawn(TxnId),
    /// From a coordinator to another: I have something to dispatch.
    AskTurn {
        /// Counts the requests of who asks.
        number: u64,
    },
    /// From a coordinator to another: dispatch what you have.
    Turn(Box<Turn>),
    /// Between a client and a primary, either way: the client's life of this number, in which it coordinated, is over.
    Over(u64),
    /// From a primary to a coordinator: this client's life is over, and it has left something here.
    Left(Life),
    /// From a coordinator to a primary: all partitions have heard the end of everything that began in this life.
    Ended(Life),
}

/// Who has it dispatches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Of each coordinator, the last request that was served.
    pub served: Vec<u64>,
    /// Coordinators that wait for it, the first first.
    pub queue: Vec<u16>,
    /// The place that the last transaction has at each partition; the first has 1.
    pub places: Vec<u64>,
}

/// What a partition knows of transactions that somebody else decides from now on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recovered {
    /// The client's life in which they began; `None`: they are those of the coordinator before.
    pub life: Option<Life>,
    /// Those that have begun here and are not decided, in the order in which they came.
    pub undecided: Vec<Undecided>,
    /// Those that are committed, as far as a partition may not have heard of it.
    pub committed: Vec<u64>,
}

/// A transaction that a partition has not heard the end of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undecided {
    /// Its number.
    pub sequence: u64,
    /// The partitions that take part.
    pub participants: PartitionSet,
    /// Whether this one has voted for it.
    pub prepared: bool,
}

/// A call that is on several partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The client's number for it.
    pub id: u64,
    /// What is to be run.
    pub call: Call,
    /// The partitions that take part, bit *i* for partition *i*.
    pub participants: PartitionSet,
    /// Rows that have to be brought before any run.
    pub shared: Vec<Wanted>,
    /// The client's life in which the client itself tried it before, and took it back.
    pub before: Option<Life>,
}

/// One partition's part of one round of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// The transaction.
    pub txn: TxnId,
    /// Counts from 0 within a transaction.
    pub round: u32,
    /// What is to be run.
    pub call: Call,
    /// The partitions that take part.
    pub participants: PartitionSet,
    /// What the partition is to do.
    pub work: FragmentWork,
    /// All partitions have heard how this coordinator's transactions before this one ended.
    pub settled: u64,
    /// Of a first fragment where there are several coordinators: its place in the order of all that begin at this
    /// partition, from 1. Otherwise 0: it comes as it arrives.
    pub place: u64,
    /// As in its [`Submission`]. If that life is over, it may have been committed by somebody else.
    pub before: Option<Life>,
}

/// What a partition is to do in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FragmentWork {
    /// Find these rows, as they were before the transaction.
    Find(Vec<Wanted>),
    /// Run the procedure with these rows from elsewhere. If it ends this was the last fragment, and its result is the
    /// partition's vote.
    Run(Vec<Found>),
}

/// What came of a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentResult {
    /// The transaction.
    pub txn: TxnId,
    /// The round.
    pub round: u32,
    /// The partition.
    pub partition: u8,
    /// What came of it.
    pub end: FragmentEnd,
    /// It was run on what this transaction left, whose end the partition did not know yet. If another coordinator
    /// decides about that one, the partition says this again when it knows.
    pub after: Option<TxnId>,
    /// How many of this coordinator's decisions the partition had heard when it sent this.
    pub heard: u64,
}

/// How a fragment ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FragmentEnd {
    /// The run ended with this output; the partition votes for the transaction and will keep its part of it.
    Done(Output),
    /// The rows asked for.
    Found(Vec<Found>),
    /// The run needs these rows.
    Wants(Vec<Wanted>),
    /// The run needs these partitions to take part.
    Elsewhere(PartitionSet),
    /// The procedure decided against it.
    Aborted(Abort),
    /// It is to be tried again: it was chosen as the victim of a deadlock, or the partition has another scheme now.
    Again,
    /// It cannot be run.
    Failed(String),
    /// It must not be run: it may have been before.
    Unclear,
}

/// What each partition answered: mostly there is one.
pub type Parts = SmallVec<[(u8, Output); 1]>;

/// The end of a call, as its client hears of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// It counts. What each partition answered.
    Done(Parts),
    /// The procedure decided against it.
    Aborted(Abort),
    /// To be sent again, for these partitions: a run on one needs others too, or who was to coordinate it does not.
    Elsewhere(PartitionSet),
    /// It cannot be run.
    Failed(String),
    /// Nobody can tell whether it counts: who would have answered is gone.
    Unknown,
}

impl Fragment {
    /// Who asked for it.
    pub fn coordinator(&self) -> Address {
        self.txn.coordinator
    }
}

/// A message with the epoch in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// The sender's.
    pub epoch: u64,
    /// The message.
    pub message: Message,
}

/// Messages of later configurations that are kept until these are here.
pub(crate) const MOST_EARLY: usize = 1 << 16;
