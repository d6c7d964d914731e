//! Why a run of a procedure stopped before its end: what must happen next, not what went wrong inside.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::partition_set::PartitionSet;

/// Why a run stopped. Procedures pass it on with `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The procedure decided against it: undo, and tell the caller.
    Abort(Abort),
    /// The engine needs something first: undo, fetch it, and run again from the start. Only an engine makes this.
    Retry(Retry),
}

/// A procedure's decision not to commit, told to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message} (code {code})")]
pub struct Abort {
    /// For programs. The procedure's own, below [`Abort::RESERVED`].
    pub code: u32,
    /// For people.
    pub message: Cow<'static, str>,
}

/// What a run needs before it can go on. Only an engine can make one:
///
/// ```compile_fail,E0451
/// use glassbox::{Stop, procedure::Retry};
/// let stop = Stop::Retry(Retry { partitions: Default::default() });
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Partitions in addition to those that the run holds.
    pub(crate) partitions: PartitionSet,
}

impl Abort {
    /// Codes from here on are the engine's.
    pub const RESERVED: u32 = u32::MAX - 255;
    /// A row with the same primary key or the same key of a unique index exists.
    pub const DUPLICATE_KEY: u32 = u32::MAX;
}

impl Stop {
    /// The procedure's decision not to commit: `return Err(Stop::abort(1, "not enough money"))`.
    #[cold]
    pub fn abort(code: u32, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Abort(Abort { code, message: message.into() })
    }

    /// What an insert or update says that would make two rows share a unique key.
    #[cold]
    pub(crate) fn duplicate_key(table: &'static str) -> Self {
        // The table's name is all that can be said without allocating.
        Self::Abort(Abort { code: Abort::DUPLICATE_KEY, message: Cow::Borrowed(table) })
    }
}
