//! Addresses of parties, sessions of coordinating parties, and ids of distributed transactions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A party of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// A user's program.
    Client(u32),
    /// Orders and decides distributed transactions.
    Coordinator(u16),
    /// Replica `replica` of partition `partition`. The configuration says which replica is the primary.
    Replica {
        /// The partition's number.
        partition: u8,
        /// The replica's number, from 0.
        replica: u8,
    },
}

/// The client number of the first monitor.
const FIRST_MONITOR: u32 = u32::MAX - (1 << 17);

impl Address {
    /// The operator, which decides configurations.
    pub const OPERATOR: Self = Self::Client(u32::MAX);
    /// The watcher, which advises the operator on the scheme.
    pub const WATCHER: Self = Self::Client(u32::MAX - 1);
    /// The checker, which verifies a cluster after its clients have disconnected.
    pub const CHECKER: Self = Self::Client(u32::MAX - 2);

    /// A monitor, which asks for the state of processes and decides nothing. Several may ask at the same time, each
    /// with a number of its own, such as that of its process.
    pub const fn monitor(number: u16) -> Self {
        Self::Client(FIRST_MONITOR + number as u32)
    }

    /// Whether this party observes the cluster only.
    pub fn is_monitor(self) -> bool {
        matches!(self, Self::Client(number) if (FIRST_MONITOR..=FIRST_MONITOR + u32::from(u16::MAX)).contains(&number))
    }

    /// The partition that it is a replica of.
    pub fn partition(self) -> Option<u8> {
        match self {
            Self::Replica { partition, .. } => Some(partition),
            _ => None,
        }
    }

    /// The group that it is a replica of; `None`: it is a client.
    pub fn group(self) -> Option<Group> {
        match self {
            Self::Replica { partition, .. } => Some(Group::Partition(partition)),
            Self::Coordinator(_) => Some(Group::Sequencer),
            Self::Client(_) => None,
        }
    }

    /// Whether it is a member of the cluster, that is, no client.
    pub fn is_member(self) -> bool {
        !matches!(self, Self::Client(_))
    }
}

/// The name of the coordinator in its transactions, where one is elected, whichever member it is.
pub(crate) const COORDINATOR: Address = Address::Coordinator(0);

/// Members of which each can take over what one of them, the primary, does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// The replicas of a partition.
    Partition(u8),
    /// The sequencer and its hot backups, under a deterministic scheme.
    Sequencer,
}

impl Group {
    /// What all of its members have.
    pub(crate) fn state(self) -> &'static str {
        match self {
            Self::Partition(_) => "the rows",
            Self::Sequencer => "the log",
        }
    }

    /// A member of the group.
    pub fn member(self, number: u8) -> Address {
        match self {
            Self::Partition(partition) => Address::Replica { partition, replica: number },
            Self::Sequencer => Address::Coordinator(number.into()),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Partition(partition) => write!(f, "partition {partition}"),
            Self::Sequencer => f.write_str("the sequencer"),
        }
    }
}

/// `sequencer`, or the number of a partition.
impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sequencer" => Ok(Self::Sequencer),
            number => match number.parse() {
                Ok(partition) => Ok(Self::Partition(partition)),
                Err(_) => Err("give the number of a partition, or `sequencer`".to_owned()),
            },
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            &Self::OPERATOR => write!(f, "the operator"),
            &Self::WATCHER => write!(f, "the watcher"),
            &Self::CHECKER => write!(f, "the checker"),
            Self::Client(number) if self.is_monitor() => write!(f, "monitor {}", number - FIRST_MONITOR),
            Self::Client(number) => write!(f, "client {number}"),
            Self::Coordinator(number) => write!(f, "coordinator {number}"),
            Self::Replica { partition, replica } => write!(f, "partition {partition} replica {replica}"),
        }
    }
}

/// Low bits of a transaction's sequence number, which count; the bits above them are the coordinator's session.
const COUNT_BITS: u32 = 40;
/// The number of sessions that sequence numbers can distinguish.
const SESSIONS: u64 = 1 << (64 - COUNT_BITS);

/// A session of a coordinating party: a span of time in which it knows the outcome of each transaction that it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Session {
    /// The coordinating party.
    pub of: Address,
    /// For a coordinator, the epoch before the one in which it began. A client draws its first number at random, which
    /// distinguishes a restarted program from its predecessor, and then counts.
    pub number: u64,
}

impl Session {
    /// A session; the number is reduced to the range that sequence numbers can hold.
    pub(crate) fn new(of: Address, number: u64) -> Self {
        Self { of, number: number % SESSIONS }
    }

    /// The following session.
    pub(crate) fn next(self) -> Self {
        Self::new(self.of, self.number + 1)
    }

    /// The sequence number of its first transaction.
    pub(crate) fn first(self) -> u64 {
        self.number << COUNT_BITS
    }

    /// The highest sequence number that it can assign.
    pub(crate) fn last(self) -> u64 {
        self.first() | ((1 << COUNT_BITS) - 1)
    }
}

/// A distributed transaction's id, assigned by its coordinator: a coordinator process, or under locking and OCC a
/// client. Within one coordinator the order of ids is the global order. A restarted transaction gets a new id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxnId {
    /// The coordinating party.
    pub coordinator: Address,
    /// Counts from the first number of a [`Session`].
    pub sequence: u64,
}

impl TxnId {
    /// The coordinator's session in which it began.
    pub(crate) fn session(self) -> Session {
        Session { of: self.coordinator, number: self.sequence >> COUNT_BITS }
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {} of {}", self.sequence, self.coordinator)
    }
}
