//! Who talks, and about which transaction.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A party of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// A user's program.
    Client(u32),
    /// Orders and decides transactions of several partitions.
    Coordinator(u16),
    /// Replica `replica` of partition `partition`. Which of them is the primary is told by the configuration.
    Replica {
        /// The partition's number.
        partition: u8,
        /// The replica's number, from 0.
        replica: u8,
    },
}

impl Address {
    /// Whoever decides who is who.
    pub const OPERATOR: Self = Self::Client(u32::MAX);
    /// Whoever watches a cluster, to advise the operator.
    pub const WATCHER: Self = Self::Client(u32::MAX - 1);
    /// Whoever checks what a cluster has, when its clients are gone.
    pub const CHECKER: Self = Self::Client(u32::MAX - 2);

    /// The partition that it is a replica of.
    pub fn partition(self) -> Option<u8> {
        match self {
            Self::Replica { partition, .. } => Some(partition),
            _ => None,
        }
    }

    /// Whether it is one of those that make up the cluster.
    pub fn is_member(self) -> bool {
        !matches!(self, Self::Client(_))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            &Self::OPERATOR => write!(f, "the operator"),
            &Self::WATCHER => write!(f, "the watcher"),
            &Self::CHECKER => write!(f, "the checker"),
            Self::Client(number) => write!(f, "client {number}"),
            Self::Coordinator(number) => write!(f, "coordinator {number}"),
            Self::Replica { partition, replica } => write!(f, "partition {partition} replica {replica}"),
        }
    }
}

/// So many bits of a transaction's number count; those above say in which life of its coordinator it began.
const COUNT_BITS: u32 = 40;
/// Lives that numbers can tell apart.
const LIVES: u64 = 1 << (64 - COUNT_BITS);

/// A stretch of time in which somebody coordinates, and knows how each of its transactions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Life {
    /// Whose.
    pub of: Address,
    /// A coordinator's counts the epochs. A client takes any number at first, so that a program that is started anew
    /// is told apart from the one before, and then the next.
    pub number: u64,
}

impl Life {
    /// A life with any of the numbers that there can be.
    pub(crate) fn new(of: Address, number: u64) -> Self {
        Self { of, number: number % LIVES }
    }

    /// The one after it.
    pub(crate) fn next(self) -> Self {
        Self::new(self.of, self.number + 1)
    }

    /// The number of its first transaction.
    pub(crate) fn first(self) -> u64 {
        self.number << COUNT_BITS
    }

    /// The number of the last one that it can have.
    pub(crate) fn last(self) -> u64 {
        self.first() | ((1 << COUNT_BITS) - 1)
    }
}

/// A transaction of several partitions. Assigned by whoever coordinates it: a coordinator, or under locking and occ a
/// client.
/// Within one coordinator the order is the global order. A transaction that is tried again gets another number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxnId {
    /// Who coordinates it.
    pub coordinator: Address,
    /// Counts from the first of a [`Life`] on.
    pub sequence: u64,
}

impl TxnId {
    /// In which life of its coordinator it began.
    pub(crate) fn life(self) -> Life {
        Life { of: self.coordinator, number: self.sequence >> COUNT_BITS }
    }
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {} of {}", self.sequence, self.coordinator)
    }
}
