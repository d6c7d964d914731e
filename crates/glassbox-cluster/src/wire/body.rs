//! The contents of frames besides messages.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::auto::{Counters, Tally};
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::message::GroupChange;

/// The first frame on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The dialing party.
    pub from: Address,
    /// The dialed party.
    pub to: Address,
    /// The incarnation of the dialing process, a number that no other process has.
    pub incarnation: u64,
    /// Between members: what the dialing party has received of a channel that it knows.
    pub heard: Option<Received>,
}

/// How much of a process's frames was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Received {
    /// The incarnation of that process.
    pub incarnation: u64,
    /// The number of its frames, the greeting included.
    pub received: u64,
}

/// The answer to [`Hello`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The incarnation of the dialed process.
    pub incarnation: u64,
    /// The number of the dialing party's frames that were received on this channel, the greeting included.
    pub received: u64,
}

/// Questions of an operator, watcher or checker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// Unfinished work and the digest of the rows.
    State,
    /// Rows of a table in their stored form, from a position on.
    Rows {
        /// The table's number in the catalog.
        table: u16,
        /// The number of rows to skip.
        from: u64,
    },
    /// The process's place.
    Standing,
    /// Take your place: the configuration was made for this process. From [`Address::OPERATOR`] only.
    Begin(Configuration),
    /// Adopt this configuration. From [`Address::OPERATOR`] only.
    Configure(Configuration),
    /// The process's counters. It begins to count when it is first asked.
    Counts,
    /// Under a deterministic scheme: how far it is in the input log.
    Progress,
    /// Change the group that agrees. From [`Address::OPERATOR`] only.
    ChangeGroup(GroupChange),
    /// The rows of this replica are right, and the others of its partition take them. From [`Address::OPERATOR`] only.
    Settle(Address),
}

/// The place of a process in its cluster, with the configuration that it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It has no place: it was just started.
    None,
    /// It is a primary.
    Primary(Configuration),
    /// It is a backup with all rows that its primary has reported on.
    Backup(Configuration),
    /// It is about to be a backup, and does not have all rows yet.
    Joining(Configuration),
    /// It should be a backup and cannot, for this reason.
    Lost(Configuration, String),
    /// It is a coordinator.
    Coordinator(Configuration),
    /// It was replaced.
    Idle(Configuration),
    /// It has no place, but its journal has rows: the last configuration in it, and the epoch since which it had its
    /// role.
    Kept(Configuration, u64),
    /// A primary that executes the input log, and has not executed all of it yet.
    CatchesUp(Configuration),
}

impl Standing {
    /// The configuration.
    pub fn configuration(&self) -> Option<&Configuration> {
        match self {
            Self::None => None,
            Self::Primary(it) | Self::Backup(it) | Self::Joining(it) | Self::Coordinator(it) | Self::Idle(it) => {
                Some(it)
            }
            Self::Lost(it, _) | Self::Kept(it, _) | Self::CatchesUp(it) => Some(it),
        }
    }
}

/// The counters of a process since it was first asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Its place.
    pub standing: Standing,
    /// Its workload counters, if it is a primary.
    pub seen: Counters,
    /// The durations of its work.
    pub tally: Tally,
    /// The share of its runs that write its hottest row, if that is known.
    #[serde(deserialize_with = "share")]
    pub hottest: Option<f64>,
    /// Clients that are connected to it, without the one that asks.
    pub clients: u32,
}

/// A share of something, if it is known: a number from 0 to 1, so never NaN.
fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let share = Option::<f64>::deserialize(from)?;
    match share {
        Some(share) if !(0.0..=1.0).contains(&share) => Err(D::Error::custom("a share is not between 0 and 1")),
        _ => Ok(share),
    }
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Unfinished work and the digest of the rows.
    State {
        /// Unfinished work or a failure; `None`: neither.
        unfinished: Option<String>,
        /// The digest of all rows, if it has any and their indexes agree with them; otherwise the damage.
        digest: Option<Result<u64, String>>,
    },
    /// Rows.
    Rows {
        /// Whether the table is replicated to all partitions.
        replicated: bool,
        /// Rows in their stored form, one after the other.
        rows: Vec<u8>,
        /// The number of rows to skip for the next ones; `None`: these were the last.
        next: Option<u64>,
    },
    /// There is no such table, or this member has no rows.
    Nothing,
    /// The process's place now.
    Standing(Standing),
    /// The request is refused, for this reason.
    Refused(String),
    /// The counters.
    Counts(Box<Counts>),
    /// The last epoch of the input log that a partition has executed, or that a sequencer's log has; `None`: it has no
    /// part in a log. And how many bytes it has written into its journal, bases not counted.
    Progress(Option<u64>, u64),
}
