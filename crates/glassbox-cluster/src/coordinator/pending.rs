//! A transaction on its way, as its coordinator sees it.

use glassbox::shard::{Call, Found, PartitionSet, Wanted};

use crate::protocol::address::{Address, Life};
use crate::protocol::message::{FragmentResult, Outcome};

/// The end of a submission, for whoever submitted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Who.
    pub client: Address,
    /// The client's number for it.
    pub id: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// A transaction on its way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) client: Address,
    pub(crate) id: u64,
    pub(crate) call: Call,
    pub(crate) participants: PartitionSet,
    /// Rows that have to be brought before any run.
    pub(crate) shared: Vec<Wanted>,
    /// The client's life in which the client tried it before.
    pub(crate) before: Option<Life>,
    pub(crate) round: u32,
    /// The latest answer of each partition to this round.
    pub(crate) answers: Vec<Option<FragmentResult>>,
    /// Rows that were found so far.
    pub(crate) given: Vec<Found>,
    /// When it was last begun, for those who wait no longer than so long.
    pub(crate) begun_us: u64,
    /// How often it was begun before.
    pub(crate) attempts: u32,
    /// If it was: its number then, and the partitions that took part in the first attempt.
    pub(crate) taken_back: Option<(u64, PartitionSet)>,
}

impl Pending {
    /// The partitions that take part.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = usize> + use<> {
        self.participants.iter()
    }

    /// Its end, when it is to be sent elsewhere.
    pub(crate) fn elsewhere(self) -> Ended {
        Ended { client: self.client, id: self.id, outcome: Outcome::Elsewhere(self.participants) }
    }
}
