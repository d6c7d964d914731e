//! A partition: its primary, its backups, and their parts of distributed transactions.

pub(crate) mod arrived;
pub(crate) mod backup;
pub(crate) mod decisions;
mod local_call;
pub(crate) mod partition;
pub(crate) mod store;
pub(crate) mod stream;
mod termination;
