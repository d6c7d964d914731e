//! The main-memory engine: data in partitions, each owned at any time by the one thread that holds its token.
//!
//! This module knows records, procedures, files and the log; it knows nothing of other engines or of the
//! workloads that run on it.

mod alone;
mod any_table;
mod arguments;
mod checkpoint;
mod command;
mod discover;
mod engine;
mod held;
mod indexes;
mod lookups;
mod memory;
mod numbers;
mod origin;
mod pace;
mod partition;
mod prefetch;
mod procedure_kind;
mod record_buffer;
mod replay;
mod replay_error;
mod run;
pub(crate) mod shard;
mod snapshot;
mod table;
#[cfg(test)]
mod tests;
mod token;
mod transaction;
pub(crate) mod values;
mod whole;

pub(crate) use alone::Alone;
pub(crate) use any_table::TableKind;
pub(crate) use command::CommandHead;
pub(crate) use engine::Engine;
pub(crate) use held::Cell;
pub(crate) use memory::RowId;
pub use numbers::ProcedureNumbers;
pub(crate) use pace::Growth;
pub(crate) use procedure_kind::ProcedureKind;
pub(crate) use replay::{ReplayContext, ReplayFailed, replay};
pub(crate) use replay_error::ReplayError;
pub(crate) use transaction::PartitionedTransaction;
pub(crate) use whole::{build_indexes, defer_new_indexes, load_checkpoint, new_cells};
