//! The input log: transactions in the order in which every replica executes them, and what participants tell each other
//! while they do.
//!
//! An entry holds all that the execution depends on besides the rows: the procedure and its version, the arguments, the
//! assigned time and seed (VLDB 2014, section 2.1: inputs are ordered, not effects).

use glassbox::procedure::AbortReason;
use glassbox::research::shard::{
    Call, DeclaredKeys, Failure, KeyRequest, Output, PartitionSet, RemoteRead, RemoteReadResult,
};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::protocol::address::Address;
use crate::protocol::configuration::{AgreementSettings, Configuration};

/// The maximum of bytes of the arguments of a call on a cluster: with its epoch it is one frame, and one record.
pub const MAX_ARGUMENT_BYTES: usize = 8 << 20;

/// A transaction's place in the input log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InputId {
    /// The epoch, from 1: a batch of inputs that became durable together.
    pub epoch: u64,
    /// Its position within the epoch, from 0.
    pub index: u32,
}

/// An ordered transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its position within its epoch.
    pub index: u32,
    /// The client that waits for the answers.
    pub client: Address,
    /// The client's number for the call.
    pub call_id: u64,
    /// Counts the client's submissions of the call.
    pub attempt: u32,
    /// The procedure, its arguments, and the assigned time and seed.
    pub call: Call,
    /// The version of the procedure. A replica with another version refuses the entry.
    pub version: u32,
    /// The participants.
    pub participants: PartitionSet,
    /// The keys that it locks.
    pub keys: InputKeys,
}

/// How a sequencer orders inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderSettings {
    /// How long an epoch takes, in microseconds; 0, the default: until the log has the one before. The paper's: 10,000.
    pub epoch_us: u32,
    /// How late a partition may be with the inputs that it was sent, or under two-phase locking with distributed
    /// transactions, in microseconds, before calls on it alone are refused; 0, the default: no call is refused.
    pub max_lag_us: u32,
    /// Whether the cluster's coordinators are sequencers that order inputs by their clocks, each those of its clients.
    /// Otherwise one orders them all, and the others are its hot backups. An epoch takes 10,000 us if `epoch_us` is 0,
    /// and has at most 4,096 inputs or one MiB of a sequencer; more of them wait for the next one.
    pub by_clocks: bool,
    /// About how many inputs a replica that lacks some is sent before it asks for more; 0, the default: 64 while others
    /// of its partition work, and otherwise 4,096.
    pub again_at_once: u32,
    /// Inputs in the log after which the replica whose checkpoint is the oldest is asked for another one; 0, the
    /// default: 524,288. After eight times as many, a replica that has made none is left out if there is another: it
    /// takes that one's rows when it is back.
    pub logged: u32,
    /// How fast a replica that lacks rows is sent them while others of its partition work, in megabytes a second of
    /// each sender; 0, the default: 8. Inputs, which it executes too, are sent at a quarter of it, but at least a
    /// third faster than they are added to the log.
    pub catch_up_mb_s: u32,
    /// Under a scheme with a coordinator: how long it collects what it has for partitions, in microseconds, so that it
    /// leaves together; 0, the default: each message leaves at once.
    pub tick_us: u32,
    /// Under a scheme with primaries and backups: whether backups receive a call on one partition before the primary
    /// runs it, and not afterwards, where no other transaction is active. Not under forced and two-phase locking.
    /// A call that ends its process is in journals then, and does so again.
    pub overlap: bool,
    /// Under two-phase locking: whether a participant commits its part as soon as it has run it, whatever becomes of
    /// the others. A failure or an abort leaves half a transaction, so only the laboratory's simulated clusters accept
    /// it: it shows what two-phase commit costs.
    pub without_commit: bool,
    /// In replica sets: how many kibibytes of what a replica sent to another partition it keeps for replicas of that
    /// one that are away; 0, the default: 65,536. One that needs more takes the rows of another set.
    pub kept_kb: u32,
    /// How long a transaction waits for a participant of its replica set, in microseconds, before it turns to another
    /// set; 0, the default: 20,000.
    pub late_us: u32,
    /// The sequencer and its hot backups agree by majority, with these times, and members come back by themselves;
    /// `None`, the default: the log is decided when all of them have it, and an operator decides configurations.
    pub agreement: Option<AgreementSettings>,
    /// Of these, how many agree at the beginning; 0, the default: all. The others become members by a command.
    #[serde(default)]
    pub members: u16,
}

impl OrderSettings {
    /// Inputs in the log after which a checkpoint is asked for.
    pub(crate) const LOGGED: u32 = 1 << 19;

    /// One sequencer, which seals an epoch as soon as the log has the one before, and refuses no call.
    pub const fn new() -> Self {
        Self {
            epoch_us: 0,
            max_lag_us: 0,
            by_clocks: false,
            again_at_once: 0,
            logged: 0,
            catch_up_mb_s: 0,
            tick_us: 0,
            overlap: false,
            without_commit: false,
            kept_kb: 0,
            late_us: 0,
            agreement: None,
            members: 0,
        }
    }

    /// How many inputs a replica is sent again at once. `is_alone`: no other one of its partition works.
    pub(crate) const fn again_at_once(&self, is_alone: bool) -> usize {
        match (self.again_at_once, is_alone) {
            (0, true) => 4_096,
            (0, false) => 64,
            (inputs, _) => inputs as usize,
        }
    }

    /// How long the next rows wait for a replica that was sent so many bytes of them, in microseconds.
    pub(crate) fn pause_after_rows_us(&self, bytes: usize) -> u64 {
        let mb_s = if self.catch_up_mb_s == 0 { Self::CATCH_UP_MB_S } else { self.catch_up_mb_s };
        bytes as u64 / u64::from(mb_s)
    }

    /// How long the next inputs wait, likewise.
    pub(crate) fn pause_after_inputs_us(&self, bytes: usize) -> u64 {
        4 * self.pause_after_rows_us(bytes)
    }

    /// How many bytes of what it sent to another partition a replica keeps.
    pub(crate) const fn kept_bytes(&self) -> usize {
        if self.kept_kb == 0 { 64 << 20 } else { self.kept_kb as usize * 1024 }
    }

    /// A cluster's initial configuration with this number of coordinators, or of sequencers or members that order so.
    pub fn configuration(&self, first: Configuration, coordinators: u16) -> Configuration {
        let first =
            if self.by_clocks { first.with_clocks(coordinators) } else { first.with_coordinators(coordinators) };
        match self.agreement {
            Some(settings) => first.with_agreement(settings).with_members(self.members),
            None => first,
        }
    }

    /// Megabytes of rows that a replica is sent in a second.
    const CATCH_UP_MB_S: u32 = 8;
    /// The duration of the paper's epochs, in microseconds.
    pub(crate) const EPOCH_US: u32 = 10_000;
}

/// The keys that an input locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum InputKeys {
    /// Those that the procedure declares, if it declares all; otherwise the whole partition.
    Declared,
    /// Those that a reconnaissance found, for each participant.
    Found(Vec<(u8, DeclaredKeys)>),
    /// The whole partition: no reconnaissance could find them.
    All,
}

impl InputKeys {
    /// How many keys were found.
    pub(crate) fn found(&self) -> usize {
        match self {
            Self::Found(found) => found.iter().map(|(_, keys)| keys.requests().len()).sum(),
            Self::Declared | Self::All => 0,
        }
    }

    /// With at most this number of found keys, or else all keys of the tables and indexes in which there are some.
    pub(crate) fn at_most(self, most: usize) -> Self {
        let count = self.found();
        match self {
            Self::Found(found) if count > most => {
                Self::Found(found.into_iter().map(|(partition, keys)| (partition, keys.coarse())).collect())
            }
            few => few,
        }
    }
}

impl Input {
    /// About how many bytes it has.
    pub(crate) fn bytes(&self) -> usize {
        self.call.arguments.bytes().len() + size_of::<Self>() + self.keys.found() * size_of::<KeyRequest>()
    }
}

/// The inputs of an epoch in which one partition participates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputBatch {
    /// The last epoch before this one with inputs for the partition; 0: there was none.
    pub before: u64,
    /// The epoch.
    pub epoch: u64,
    /// The sequencer's configuration when it sealed the epoch; 0: a predecessor sealed it. Clients have given up inputs
    /// from before a restart of the sequencer or of a participant.
    pub sealed_in: u64,
    /// Whether there are later ones: the partition asks for them.
    pub has_more: bool,
    /// In order.
    pub inputs: Vec<Input>,
    /// If the partition has executed the epoch before: the digests of its changes.
    pub digests: Digests,
}

impl InputBatch {
    /// The inputs of an epoch in which a partition participates; `None`: there are none. `numbers`: the epoch before,
    /// the epoch, and when it was sealed.
    pub(crate) fn of(inputs: &[Input], partition: usize, numbers: (u64, u64, u64)) -> Option<Box<Self>> {
        let of_it = inputs.iter().filter(|input| input.participants.contains(partition));
        let (inputs, (before, epoch, sealed_in)) = (of_it.cloned().collect::<Vec<_>>(), numbers);
        let (has_more, digests) = (false, Digests::new());
        (!inputs.is_empty()).then(|| Box::new(Self { before, epoch, sealed_in, has_more, inputs, digests }))
    }

    /// Says that there are no inputs up to an epoch.
    pub(crate) fn empty(before: u64, epoch: u64) -> Box<Self> {
        let (inputs, digests) = (Vec::new(), Digests::new());
        Box::new(Self { before, epoch, sealed_in: 0, has_more: false, inputs, digests })
    }
}

/// The digests of the changes that a partition made in an epoch: the index of each input that has committed there, and
/// its digest.
pub type Digests = Vec<(u32, u64)>;

/// What a participant sends another one about an input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The input.
    pub input: InputId,
    /// The sender.
    pub from: u8,
    /// The content.
    pub content: ExchangeContent,
}

impl Exchange {
    /// About its size.
    pub(crate) fn bytes(&self) -> usize {
        let rows = match &self.content {
            ExchangeContent::Rows(rows) => rows.iter().map(|row| row.rows.len() + size_of_val(row)).sum(),
            ExchangeContent::Wants(wants) => wants.len() * size_of::<RemoteRead>(),
            ExchangeContent::Vote => 0,
            ExchangeContent::Refusal(_) => size_of::<Outcome>(),
        };
        rows + size_of::<Self>()
    }
}

/// The output of each participant; mostly there is one.
pub type Parts = SmallVec<[(u8, Output); 1]>;

/// The outcome of a call, for its client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Committed, with the output of each participant.
    Done(Parts),
    /// The transaction aborted: its procedure decided so, or a row was refused.
    Aborted(AbortReason),
    /// To be submitted again, for these partitions: a run needed more of them, or the coordinator is no longer
    /// responsible.
    Elsewhere(PartitionSet),
    /// The run is impossible.
    Failed(Box<Failure>),
    /// The outcome is unknown: the party that would have answered has failed.
    Unknown,
    /// To be submitted again: the run of this partition would have touched these keys, which are outside of its set.
    Undeclared(u8, Box<KeyRequest>),
}

/// The content of an [`Exchange`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExchangeContent {
    /// Rows of the sender as they were before the transaction.
    Rows(Vec<RemoteReadResult>),
    /// The sender's run needs these rows of the receiver.
    Wants(Vec<RemoteRead>),
    /// The sender can commit its part.
    Vote,
    /// The sender cannot commit its part, or another participant cannot: the transaction aborts, with this outcome.
    Refusal(Box<Outcome>),
}
