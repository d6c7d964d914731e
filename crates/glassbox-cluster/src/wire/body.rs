//! What frames say besides messages.

use serde::{Deserialize, Serialize};

use crate::address::Address;

/// The first thing that is said on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Who calls.
    pub from: Address,
    /// Who is called.
    pub to: Address,
}

/// What somebody who looks after a cluster may ask a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Question {
    /// How it is.
    State,
    /// Some rows of a table, in their stored form, from a place on; and where the next begin.
    Rows {
        /// The table's number in the catalog.
        table: u16,
        /// How many rows are passed over.
        from: u64,
    },
}

/// The answer to a [`Question`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
}
