//! A partition: its primary, its backups, and their parts of distributed transactions.

pub(crate) mod admission;
pub(crate) mod backup;
pub(crate) mod decisions;
mod local_call;
pub(crate) mod partition;
pub(crate) mod replication;
pub(crate) mod store;
mod termination;
pub(crate) mod txn;
