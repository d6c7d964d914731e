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

/// A transaction of several partitions. Assigned by whoever coordinates it: a coordinator, or under locking and occ a
/// client.
/// Within one coordinator the order is the global order. A transaction that is tried again gets another number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TxnId {
    /// Who coordinates it.
    pub coordinator: Address,
    /// Counts from 0.
    pub sequence: u64,
}

impl fmt::Debug for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "transaction {} of {}", self.sequence, self.coordinator)
    }
}
