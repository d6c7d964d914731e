//! The coordinator of distributed transactions: two-phase commit, termination after failures, batches of several
//! coordinators.

mod batch;
pub(crate) mod commit;
pub(crate) mod deadlocks;
mod recovery;
mod termination;
pub(crate) mod tick;
mod unacked_decisions;
