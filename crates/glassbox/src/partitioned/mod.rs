//! The main-memory engine: data in partitions, each owned at any time by the one thread that holds its token.
//!
//! This module knows records, procedures, files and the log; it knows nothing of other engines or of the
//! workloads that run on it.

mod alone;
mod calls;
mod checkpoint;
mod cores;
mod discover;
mod engine;
mod handed;
mod held;
mod inbox;
pub(crate) mod log_records;
mod lookups;
mod numbers;
mod origin;
mod pace;
mod partition;
mod prefetch;
mod procedure_kind;
mod recovery;
mod rehearsal;
mod run;
mod run_place;
pub(crate) mod shard;
mod storage;
#[cfg(test)]
mod tests;
mod token;
mod transaction;

pub(crate) use alone::Alone;
pub(crate) use discover::Discovered;
pub(crate) use engine::Engine;
pub(crate) use handed::{HandedCall, Submission, Take, submit};
pub(crate) use held::Cell;
pub(crate) use log_records::command::CommandHead;
pub use numbers::ProcedureNumbers;
pub(crate) use pace::Growth;
pub(crate) use procedure_kind::ProcedureKind;
pub(crate) use recovery::replay::{ReplayContext, ReplayFailed, replay};
pub(crate) use recovery::replay_error::ReplayError;
pub(crate) use recovery::whole::{build_indexes, defer_new_indexes, load_checkpoint, new_cells};
pub(crate) use storage::any_table::TableKind;
pub(crate) use storage::memory::RowId;
pub(crate) use transaction::PartitionedTransaction;
