//! Transactions as a partition receives them.

use glassbox::research::shard::{Kept, PartitionSet};

use crate::protocol::address::{Address, TxnId};
use crate::protocol::entry::Part;
use crate::protocol::message::{Fragment, FragmentEnd, Undecided};

/// A single-partition call of a client.
#[derive(Debug)]
pub(crate) struct LocalTxn {
    pub(crate) client: Address,
    pub(crate) id: u64,
    pub(crate) call: glassbox::research::shard::Call,
}

impl LocalTxn {
    /// The run as backups repeat it. `partition`: its number.
    pub(crate) fn part(&self, partition: usize) -> Part {
        let (participants, origin) = (PartitionSet::of(partition), Some((self.client, self.id)));
        Part { call: self.call.clone(), participants, given: Vec::new(), origin }
    }

    /// The call of such a run.
    pub(crate) fn of_part(part: Part) -> Option<Self> {
        let (client, id) = part.origin?;
        Some(Self { client, id, call: part.call })
    }
}

/// A call that backups hold before it is run.
#[derive(Debug)]
pub(crate) struct Announced {
    pub(crate) single: LocalTxn,
    /// Its entry in the stream.
    pub(crate) sequence: u64,
}

/// This partition's part of a distributed transaction.
#[derive(Debug)]
pub(crate) struct DistributedTxn {
    /// The latest fragment.
    pub(crate) fragment: Fragment,
    /// The undo buffer of the run, once it has ended.
    pub(crate) kept: Option<Kept>,
    /// The result of the latest fragment.
    pub(crate) end: Option<FragmentEnd>,
    /// Whether the run is replicated.
    pub(crate) prepared: bool,
}

impl DistributedTxn {
    pub(crate) fn new(fragment: Fragment) -> Self {
        Self { fragment, kept: None, end: None, prepared: false }
    }

    /// The report for a new coordinator.
    pub(crate) fn undecided(&self) -> Undecided {
        let Fragment { txn, participants, .. } = self.fragment;
        Undecided { sequence: txn.sequence, participants, prepared: matches!(self.end, Some(FragmentEnd::Done(_))) }
    }

    pub(crate) fn txn(&self) -> TxnId {
        self.fragment.txn
    }

    /// Whether only the decision is missing here: the run has ended or failed.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.end, Some(FragmentEnd::Done(_) | FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)))
    }
}

/// A transaction.
#[derive(Debug)]
pub(crate) enum Txn {
    Local(LocalTxn),
    Distributed(DistributedTxn),
}

impl Txn {
    pub(crate) fn multi(&self) -> Option<&DistributedTxn> {
        match self {
            Self::Distributed(multi) => Some(multi),
            Self::Local(_) => None,
        }
    }

    pub(crate) fn is(&self, txn: TxnId) -> bool {
        matches!(self, Self::Distributed(multi) if multi.txn() == txn)
    }
}
