//! The coordinator of distributed transactions: two-phase commit, its recovery, and the batches of several coordinators.

mod batch;
pub(crate) mod commit;
pub(crate) mod pending;
mod recovery;
mod termination;
mod unacked_decisions;
mod verdict;
