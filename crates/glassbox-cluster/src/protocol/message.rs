//! Messages between the parties of a cluster.
//!
//! Between two parties messages arrive in the order of sending, or not at all from some point on.
//!
//! Messages are moved between owners, so large and rare contents are boxed: most messages fit into a cache line.

use std::collections::BTreeSet;

use glassbox::procedure::AbortReason;
use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, DeclaredKeys, Failure, Output, PartitionSet, RemoteRead, RemoteReadResult};
use serde::{Deserialize, Serialize};

use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{Digests, Exchange, Input, InputBatch, InputKeys};
pub use crate::protocol::input::{Outcome, Parts};

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// Client to primary: run this on your partition alone.
    Call {
        /// The client's number for it.
        id: u64,
        /// What to run.
        call: Call,
    },
    /// Client to coordinator: coordinate this distributed transaction.
    Submit(Box<Submission>),
    /// Coordinator to primary: run your part of one round.
    Fragment(Box<Fragment>),
    /// Primary to coordinator: the result of a fragment.
    Result(Box<FragmentResult>),
    /// Coordinator to primary: the decision of a transaction.
    Decide {
        /// The transaction.
        txn: TxnId,
        /// Whether it commits.
        commit: bool,
    },
    /// To a client: the outcome of its call.
    Answer {
        /// The client's number for it.
        id: u64,
        /// The outcome.
        outcome: Outcome,
    },
    /// Primary to backup: the next entry of the replication stream.
    Replicate {
        /// Its sequence number in the stream, from 1.
        sequence: u64,
        /// The entry.
        entry: Box<Entry>,
    },
    /// Backup to primary: acknowledges all entries up to here.
    Ack {
        /// The last entry's sequence number.
        sequence: u64,
    },
    /// To all parties: the configuration from now on.
    Configure(Box<Configuration>),
    /// Between members of the sequencer's group: the agreement on the log.
    Agreement {
        /// The incarnation of the sender.
        from: u64,
        /// The incarnation that it is for. Another one ignores it, because it has not voted what this is about.
        to: u64,
        /// The message.
        #[serde(with = "serde_bytes")]
        message: Vec<u8>,
    },
    /// Restarted replica or member to the sequencer's group, which agrees on configurations: give me a place.
    Returned {
        /// Tells its lives apart; a member's incarnation.
        life: u64,
        /// The epoch since which it had its role when it wrote its rows; `None`: it has none.
        kept: Option<u64>,
    },
    /// Elected coordinator to replica, under a scheme without input log: how are you?
    Probe,
    /// The answer.
    Present(Presence),
    /// Member of the sequencer's group to restarted replica: your place.
    Placed {
        /// The life that has the place.
        life: u64,
        /// Whether it has to take the rows of another replica set.
        joins: bool,
        /// The configuration.
        configuration: Box<Configuration>,
    },
    /// Member of the sequencer's group to restarted replica: no place, until an operator settles which rows are right.
    Withheld {
        /// The life that asked.
        life: u64,
        /// Why.
        why: Box<StopReason>,
    },
    /// Backup without rows to primary: send me the rows, and then the stream.
    Join {
        /// The epoch since which it is a backup.
        since: u64,
    },
    /// Primary to joining backup: some of the rows.
    Rows {
        /// The epoch of the request to join.
        since: u64,
        /// The table's number in the catalog.
        table: u16,
        /// Rows in their stored form, one after the other.
        #[serde(with = "serde_bytes")]
        rows: Vec<u8>,
    },
    /// Primary to joining backup: some of the state besides the rows.
    Remember {
        /// The epoch of the request to join.
        since: u64,
        /// Entries, in order.
        entries: Vec<Entry>,
    },
    /// Primary to joining backup: all rows have been sent.
    State {
        /// The epoch of the request to join.
        since: u64,
        /// The number of messages with rows and entries.
        pieces: u64,
        /// The state besides the rows, without the entries.
        base: Box<Base>,
    },
    /// Joining replica to the sender of the rows: so many messages with rows and entries have arrived.
    Arrived {
        /// The epoch or number of the request to join.
        since: u64,
        /// How many.
        pieces: u64,
    },
    /// Replica to joining one: I have no rows either.
    NoRows {
        /// The number of the request to join.
        since: u64,
    },
    /// Coordinator to primary: how many of my decisions have you received?
    QueryAcks,
    /// Primary to coordinator: the answer.
    DecisionAcks {
        /// The coordinator's session, if it is a client.
        session: u64,
        /// Decisions received.
        received: u64,
    },
    /// Coordinator to primary: report the transactions of my predecessor, or of this session of a client. I decide them
    /// now.
    Recover(Option<Session>),
    /// Primary to coordinator: the report.
    Recovered(Box<Recovered>),
    /// Primary to coordinator: the results of this transaction and of your later ones are withdrawn; I run them again.
    Withdrawn(TxnId),
    /// Coordinator to coordinator: requests the turn.
    AskTurn {
        /// Counts the sender's requests.
        number: u64,
    },
    /// Coordinator to coordinator: hands over the turn.
    Turn(Box<Turn>),
    /// Client to primary or primary to client: the client's session with this number is over.
    SessionOver(u64),
    /// Primary to coordinator: this client's session is over, and left transactions here.
    SessionOrphaned(Session),
    /// Coordinator to primary: all participants know the outcome of every transaction of this session.
    SessionForgotten(Session),
    /// Sequencer to partition: the next inputs.
    Inputs(Box<InputBatch>),
    /// Partition to sequencer or to another partition: I have executed the inputs up to this epoch. Send me again what
    /// you have for later ones. From a restarted sequencer: say what you need.
    ResumeAfter(u64),
    /// Partition to sequencer or to another partition: my disk has the rows as they were after this epoch. I need
    /// nothing up to there any more.
    Checkpointed(u64),
    /// Participant to participant: you have what I keep for you about inputs up to this epoch. Ask for the rest once
    /// you have executed them.
    SentUpTo(u64),
    /// Sequencer, or participant, to replica: execute nothing any more.
    Stop {
        /// Why.
        why: Box<StopReason>,
        /// Whether it takes the rows of another replica set.
        joins: bool,
    },
    /// Replica to a replica of another partition in another set: those of our own sets are here.
    Unlink,
    /// Sequencer to partition: write a checkpoint, for which the log is kept.
    WriteCheckpoint,
    /// Participant to participant.
    Exchange(Box<Exchange>),
    /// Partition to sequencer: it has executed this epoch, with these digests.
    Executed(u64, Digests),
    /// Participant to client, under a deterministic scheme: its part of the outcome.
    PartialAnswer {
        /// The client's number for the call.
        id: u64,
        /// The submission that it answers.
        attempt: u32,
        /// [`Outcome::Done`] with its own output, or why the transaction has not committed.
        outcome: Outcome,
    },
    /// Client to partition: find the keys that a call would lock.
    Reconnoitre(Box<ReconnaissanceRequest>),
    /// Partition to client: the keys found.
    Reconnoitred(Box<ReconnaissanceResult>),
    /// Partition to coordinator 0, under two-phase locking: a transaction begins or ends a wait.
    Waits(Box<Wait>),
    /// Coordinator 0 to coordinator: restart this transaction, which is part of a deadlock.
    Deadlock(TxnId),
    /// Partition to sequencer: of this epoch, it has executed the inputs that are on it alone.
    ExecutedOwn(u64),
}

/// Why a replica cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// The log does not have all inputs after this epoch any more.
    Behind {
        /// The epoch that it has executed.
        after: u64,
    },
    /// Another partition does not have everything any more that it sent to this one about inputs after this epoch.
    Forgotten {
        /// The epoch that it has executed.
        after: u64,
    },
    /// It has executed what the log does not have.
    Ahead {
        /// The epoch that it has executed.
        after: u64,
        /// The last epoch of the log.
        last: u64,
    },
    /// It has changed other rows than the majority of the replica sets.
    Differs {
        /// The epoch.
        epoch: u64,
        /// The first input that differs.
        input: Input,
    },
    /// Replica sets have changed different rows, and no majority says which are right.
    Undecided {
        /// The epoch.
        epoch: u64,
        /// The first input that differs.
        input: Input,
    },
}

impl StopReason {
    /// What an operator is told at a replica of this partition. `name`: of the procedure that is called.
    pub(crate) fn text<'a>(&self, partition: usize, name: impl Fn(&Call) -> &'a str) -> String {
        let what = |epoch: &u64, input: &Input| {
            let (name, version, index) = (name(&input.call), input.version, input.index);
            format!("procedure `{name}`, version {version}, in epoch {epoch}, input {index}")
        };
        match self {
            Self::Behind { after } => format!(
                "the input log does not have what follows epoch {after} of partition {partition} any more: this \
                 replica's directory is lost or too old"
            ),
            Self::Forgotten { after } => format!(
                "partition {partition} has executed epoch {after}, and another partition does not keep any more what \
                 it sent to it after that: this replica was away for too long"
            ),
            Self::Ahead { after, last } => format!(
                "partition {partition} has executed epoch {after}, and the input log ends at epoch {last}: this \
                 replica's directory is of another cluster, or the log's directories are older copies"
            ),
            Self::Differs { epoch, input } => format!(
                "partition {partition} has changed other rows than the majority of the replica sets: {}; the procedure \
                 depends on more than its arguments and the rows, or memory or disk is damaged",
                what(epoch, input)
            ),
            Self::Undecided { epoch, input } => format!(
                "partition {partition}: the replica sets have changed different rows, and no majority says which are \
                 right: {}; compare the programs and the machines, then declare one set right: `settle {partition} \
                 SET`",
                what(epoch, input)
            ),
        }
    }
}

/// A transaction as others wait for it: by age, the oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waiter {
    /// When it was called, which remains when it is restarted.
    pub now: Timestamp,
    /// Tells apart those of the same time.
    pub seed: u64,
    /// The attempt.
    pub id: WaiterId,
}

/// An attempt of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum WaiterId {
    /// A distributed one.
    Distributed(TxnId),
    /// A call on one partition.
    Local {
        /// The client.
        client: Address,
        /// The client's number for it.
        id: u64,
    },
}

/// A report about a transaction that waits for locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// The transaction.
    pub waiter: Waiter,
    /// Those for which it waits; none: it does not wait at this partition any more.
    pub holders: Vec<Waiter>,
}

/// The token whose holder dispatches transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// For each coordinator, its last request that was served.
    pub served: Vec<u64>,
    /// Coordinators that wait for the turn, in order.
    pub queue: Vec<u16>,
    /// The place of the last transaction at each partition; the first place is 1.
    pub places: Vec<u64>,
}

/// A partition's report about transactions whose coordinator was replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Recovered {
    /// The client's session in which they began; `None`: they began under the coordinator's predecessor.
    pub session: Option<Session>,
    /// Transactions that began here and are undecided, in order of arrival.
    pub undecided: Vec<Undecided>,
    /// Committed transactions that another participant may not know of.
    pub committed: Vec<u64>,
}

/// A transaction whose decision a partition has not received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undecided {
    /// Its sequence number.
    pub sequence: u64,
    /// The participants.
    pub participants: PartitionSet,
    /// Whether this partition has voted for it.
    pub prepared: bool,
}

/// A call that needs several partitions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// The client's number for it.
    pub id: u64,
    /// What to run.
    pub call: Call,
    /// The participants.
    pub participants: PartitionSet,
    /// Remote rows that any run needs.
    pub shared: Vec<RemoteRead>,
    /// The client's session in which the client coordinated it before and aborted that attempt.
    pub before: Option<Session>,
    /// Counts the submissions of the call, from 0.
    pub attempt: u32,
    /// Under a deterministic scheme, the version of the procedure.
    pub version: u32,
    /// Under a deterministic scheme, the keys that it locks.
    pub keys: InputKeys,
}

impl Message {
    /// Whether its sender repeats it, if it is lost.
    pub(crate) fn may_be_lost(&self) -> bool {
        matches!(self, Self::Agreement { .. } | Self::Returned { .. } | Self::Probe | Self::Present(_))
    }
}

/// What a replica says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Presence {
    /// It is a primary.
    Serves,
    /// It is a backup with the rows, and could continue from its journal.
    Follows,
    /// It is a backup with the rows, and its journal has no base yet.
    Writes,
    /// It becomes a backup, and has received this number of messages with rows.
    Joins(u64),
    /// It cannot follow its primary.
    Lost,
    /// It has no place.
    Idle,
    /// A primary: this backup owes acknowledgements, and has sent none for as long as a replica may be silent.
    Unacked {
        /// The number of the backup's replica.
        backup: u8,
        /// Whether all of several backups have acknowledged nothing.
        all: bool,
    },
}

/// A change of the group that agrees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum GroupChange {
    /// The coordinators with these numbers are its members.
    Members(BTreeSet<u16>),
    /// This one leads it.
    Lead(u16),
}

/// One partition's part of one round of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fragment {
    /// The transaction.
    pub txn: TxnId,
    /// Counts from 0 within a transaction.
    pub round: u32,
    /// What to run.
    pub call: Call,
    /// The participants.
    pub participants: PartitionSet,
    /// The partition's work.
    pub work: FragmentWork,
    /// All participants have received the decisions of this coordinator's transactions before this number.
    pub settled: u64,
    /// For a first fragment of several coordinators: its place in the order of transactions at this partition, from 1.
    /// Otherwise 0: it is not ordered.
    pub place: u64,
    /// As in its [`Submission`]. If that session is over, its heir may have committed the earlier attempt.
    pub before: Option<Session>,
}

/// A partition's work in a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FragmentWork {
    /// Read these rows, as they were before the transaction.
    Find(Vec<RemoteRead>),
    /// Run the procedure with these remote rows. If the run ends, this was the last fragment, and its result is the
    /// vote.
    Run(Vec<RemoteReadResult>),
}

/// The result of a fragment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentResult {
    /// The transaction.
    pub txn: TxnId,
    /// The round.
    pub round: u32,
    /// The partition.
    pub partition: u8,
    /// The result.
    pub end: FragmentEnd,
    /// The undecided transaction on whose changes this one ran. If another coordinator decides that one, the partition
    /// sends this result again once it is decided.
    pub after: Option<TxnId>,
    /// The number of this coordinator's decisions that the partition had received when it sent this.
    pub received: u64,
}

/// How a fragment ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FragmentEnd {
    /// The run ended with this output. The partition votes for the transaction and can commit its part.
    Done(Output),
    /// The rows that were read.
    Found(Vec<RemoteReadResult>),
    /// The run needs these remote rows.
    Wants(Vec<RemoteRead>),
    /// The run needs these participants as well.
    Elsewhere(PartitionSet),
    /// The transaction aborted: its procedure decided so, or a row was refused.
    Aborted(AbortReason),
    /// The transaction must be restarted: it is a deadlock victim, or the partition changed its scheme.
    Again,
    /// The run is impossible.
    Failed(Box<Failure>),
    /// The run is refused: an earlier attempt may have committed.
    Unclear,
}

/// One partition's part of one round of a reconnaissance: the work of a [`Fragment`], without isolation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnaissanceRequest {
    /// The client's number for the call.
    pub id: u64,
    /// Counts the rounds of all reconnaissances of the call.
    pub round: u32,
    /// The call.
    pub call: Call,
    /// The participants.
    pub participants: PartitionSet,
    /// The partition's work.
    pub work: FragmentWork,
}

/// The result of a [`ReconnaissanceRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReconnaissanceResult {
    /// The client's number for the call.
    pub id: u64,
    /// The round.
    pub round: u32,
    /// The partition.
    pub partition: u8,
    /// The keys of the partition that the work touched.
    pub keys: DeclaredKeys,
    /// The end of the work.
    pub end: ReconnaissanceEnd,
}

/// How a partition's part of a round of a reconnaissance ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReconnaissanceEnd {
    /// The run ended: there are no more keys.
    Done,
    /// The rows that were read.
    Found(Vec<RemoteReadResult>),
    /// The run needs these remote rows.
    Wants(Vec<RemoteRead>),
    /// The run needs these participants as well.
    Elsewhere(PartitionSet),
    /// The keys cannot be found.
    Unknown,
}

impl Fragment {
    /// The coordinating party.
    pub fn coordinator(&self) -> Address {
        self.txn.coordinator
    }
}

/// A message with the epoch in which it was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// The sender's epoch.
    pub epoch: u64,
    /// The message.
    pub message: Message,
}

/// Packets of later epochs that a party keeps until it has received their configuration.
pub(crate) const MAX_EARLY_PACKETS: usize = 1 << 16;
