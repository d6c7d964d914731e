//! A call: what is to be run, what a run of it may use, and what it came to.

use super::carried::{Arguments, Output};
use super::remote_read::{RemoteRead, RemoteReadResult};
use crate::failure::{BrokenPromise, Failure};
use crate::procedure::{AbortReason, PartitionSet, Procedure};
use crate::record::Timestamp;

/// A call of a stored procedure, and what was assigned to it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Call {
    /// The procedure's number in the catalog.
    pub procedure: u16,
    /// Its arguments.
    pub arguments: Arguments,
    /// The transaction's time.
    pub now: Timestamp,
    /// Where its random numbers begin.
    pub seed: u64,
}

/// Procedure, time and seed that were assigned to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The procedure's number in the catalog.
    pub procedure: u16,
    /// The transaction's time.
    pub now: Timestamp,
    /// Where its random numbers begin.
    pub seed: u64,
}

impl Call {
    /// A call of this procedure.
    pub fn new<P: Procedure>(procedure: P, stamp: Stamp) -> Self {
        let Stamp { procedure: number, now, seed } = stamp;
        Self { procedure: number, arguments: Arguments::of(procedure), now, seed }
    }

    /// The values that were assigned to it.
    pub fn stamp(&self) -> Stamp {
        Stamp { procedure: self.procedure, now: self.now, seed: self.seed }
    }
}

/// What a run of a call may use.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// The participants.
    pub participants: PartitionSet,
    /// Rows of other partitions.
    pub given: &'a [RemoteReadResult],
}

/// What a run came to. Of all but the first nothing is left in the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// It ended; the output.
    Done(Output),
    /// The procedure decided against it, or a row was refused.
    Aborted(AbortReason),
    /// It needs these rows of other partitions first.
    Wants(Vec<RemoteRead>),
    /// It needs these partitions as participants.
    Elsewhere(PartitionSet),
    /// The watch refused.
    Refused,
    /// The call cannot be run.
    Failed(Box<Failure>),
    /// It stopped after a write although its procedure promised not to, and could not be undone: the shard holds half
    /// a transaction and must not be used.
    Broken(Box<BrokenPromise>),
}
