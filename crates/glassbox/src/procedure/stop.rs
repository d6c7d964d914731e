//! Why a run of a procedure stopped before its end: an abort, a refused row, or a restart.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::abort_reason::{DuplicateKey, TableFull};
use super::partition_set::PartitionSet;
use crate::record::Record;

/// Why a run stopped. Procedures return it with `?`.
///
/// A procedure may match the refusal of a row and continue, because nothing was changed:
///
/// ```
/// use glassbox::{Record, Stop, Transaction};
///
/// /// Whether the row was added.
/// fn insert_if_free<R: Record>(tx: &mut impl Transaction, row: &R) -> Result<bool, Stop> {
///     match tx.insert(row) {
///         Ok(()) => Ok(true),
///         Err(Stop::DuplicateKey(_)) => Ok(false),
///         Err(stop) => Err(stop),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// The procedure aborted: the run is undone, and the caller gets the abort.
    Abort(Abort),
    /// A row would share its primary key, or the key of a unique index, with another one.
    DuplicateKey(Box<DuplicateKey>),
    /// A table has no memory for another row, or one of its indexes for another entry.
    TableFull(TableFull),
    /// A restart: the run is undone, the engine brings what is missing, and the procedure restarts. Only an engine
    /// makes this.
    Retry(Retry),
}

/// A procedure's decision not to commit, sent to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message} (code {code})")]
pub struct Abort {
    /// A code for programs, chosen by the procedure.
    pub code: u32,
    /// A message for people.
    pub message: Cow<'static, str>,
}

/// The restart reason: what a run needs before it can continue. Only an engine can make one:
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

impl Stop {
    /// The procedure's decision not to commit: `return Err(Stop::abort(1, "not enough money"))`.
    #[cold]
    pub fn abort(code: u32, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Abort(Abort { code, message: message.into() })
    }

    /// The refusal of `row` by the unique secondary index at this position; `None`: by the primary key.
    #[cold]
    pub fn duplicate_key<R: Record>(row: &R, index: Option<usize>) -> Self {
        Self::DuplicateKey(Box::new(DuplicateKey::of(row, index)))
    }
}
