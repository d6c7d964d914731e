//! What a partition is asked to run.

use glassbox::shard::Kept;

use crate::protocol::address::{Address, TxnId};
use crate::protocol::message::{Fragment, FragmentEnd, Undecided};

/// A call of a client on this partition alone.
#[derive(Debug)]
pub(crate) struct Single {
    pub(crate) client: Address,
    pub(crate) id: u64,
    pub(crate) call: glassbox::shard::Call,
}

/// This partition's part of a transaction on several.
#[derive(Debug)]
pub(crate) struct Multi {
    /// The latest fragment.
    pub(crate) fragment: Fragment,
    /// What the run overwrote, once it is done.
    pub(crate) kept: Option<Kept>,
    /// What came of the latest fragment.
    pub(crate) end: Option<FragmentEnd>,
    /// Whether the backups were told to hold it.
    pub(crate) prepared: bool,
}

impl Multi {
    pub(crate) fn new(fragment: Fragment) -> Self {
        Self { fragment, kept: None, end: None, prepared: false }
    }

    /// What a new coordinator has to know of it.
    pub(crate) fn undecided(&self) -> Undecided {
        let Fragment { txn, participants, .. } = self.fragment;
        Undecided { sequence: txn.sequence, participants, prepared: matches!(self.end, Some(FragmentEnd::Done(_))) }
    }

    pub(crate) fn txn(&self) -> TxnId {
        self.fragment.txn
    }

    /// Whether there is nothing more to do here but to end it: it ran, or will not.
    pub(crate) fn is_finished(&self) -> bool {
        matches!(self.end, Some(FragmentEnd::Done(_) | FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)))
    }
}

/// Something to be run.
#[derive(Debug)]
pub(crate) enum Arrived {
    Single(Single),
    Multi(Multi),
}

impl Arrived {
    pub(crate) fn multi(&self) -> Option<&Multi> {
        match self {
            Self::Multi(multi) => Some(multi),
            Self::Single(_) => None,
        }
    }

    pub(crate) fn is(&self, txn: TxnId) -> bool {
        matches!(self, Self::Multi(multi) if multi.txn() == txn)
    }
}
