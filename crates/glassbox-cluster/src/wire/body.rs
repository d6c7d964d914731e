//! What frames say besides messages.

use serde::{Deserialize, Serialize};

use crate::auto::{Seen, Tally};
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;

/// The first thing that is said on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Who calls.
    pub from: Address,
    /// Who is called.
    pub to: Address,
    /// Which process it is that calls: no other has this number.
    pub life: u64,
    /// Between members: what the caller has taken of a conversation that it knows of.
    pub heard: Option<Heard>,
}

/// How much of what a process says was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heard {
    /// Which process.
    pub life: u64,
    /// How many of its frames, the greeting included.
    pub received: u64,
}

/// The answer to [`Hello`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Which process it is that was called.
    pub life: u64,
    /// How many of the caller's frames it has taken in this conversation, the greeting included.
    pub received: u64,
}

/// What somebody who looks after a cluster may ask a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// What there is to be worried about.
    State,
    /// Some rows of a table, in their stored form, from a place on; and where the next begin.
    Rows {
        /// The table's number in the catalog.
        table: u16,
        /// How many rows are passed over.
        from: u64,
    },
    /// What its place is.
    Standing,
    /// Take your place: the configuration was made with this process in mind. Of [`Address::OPERATOR`] only.
    Begin(Configuration),
    /// This is who is who from now on. Of [`Address::OPERATOR`] only.
    Configure(Configuration),
    /// What have you counted? From then on it counts.
    Counts,
}

/// What a process is in its cluster, and who is who as far as it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It has no place: it has just been started.
    None,
    /// It runs a partition's transactions.
    Primary(Configuration),
    /// It has all that its primary has told somebody.
    Backup(Configuration),
    /// It is to be a backup, and does not have all rows yet.
    Joining(Configuration),
    /// It cannot be the backup that it should be, and why.
    Lost(Configuration, String),
    /// It coordinates.
    Coordinator(Configuration),
    /// Others have the place that it had.
    Idle(Configuration),
    /// It has no place, but its journal has rows: who was who when that was written last, and since which epoch it had
    /// its place then.
    Kept(Configuration, u64),
}

impl Standing {
    /// Who is who.
    pub fn configuration(&self) -> Option<&Configuration> {
        match self {
            Self::None => None,
            Self::Primary(it) | Self::Backup(it) | Self::Joining(it) | Self::Coordinator(it) | Self::Idle(it) => {
                Some(it)
            }
            Self::Lost(it, _) | Self::Kept(it, _) => Some(it),
        }
    }
}

/// What a process has counted since it was first asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// What it is.
    pub standing: Standing,
    /// What it saw, if it is a primary.
    pub seen: Seen,
    /// How long its work took.
    pub tally: Tally,
    /// The share of its runs that write its most wanted row, if that is known.
    pub hottest: Option<f64>,
    /// Clients that are connected to it, besides the one that asks.
    pub clients: u32,
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// How it is.
    State {
        /// What is under way or wrong; `None`: nothing.
        unfinished: Option<String>,
        /// The digest of all rows, if it has any, when their indexes agree with them; otherwise what is wrong.
        digest: Option<Result<u64, String>>,
    },
    /// Rows.
    Rows {
        /// Whether all partitions have the same of this table.
        replicated: bool,
        /// One after the other.
        rows: Vec<u8>,
        /// How many rows to pass over for the next; `None`: there are no more.
        next: Option<u64>,
    },
    /// There is no such table, or this machine has no rows.
    Nothing,
    /// What its place is, now.
    Standing(Standing),
    /// It does not do what it was told to, and why.
    Refused(String),
    /// What it has counted.
    Counts(Box<Counts>),
}
