//! A journal: the durability of a [`Shard`](crate::research::shard::Shard) that is driven by messages.
//!
//! It is a log of records that only the driver understands, and a *base*: a checkpoint of the rows as they were at one
//! place of the log. Recovery loads the base and gives the driver the records behind it. Files, formats and the log are
//! those of a database; the manifest names the owner, and another owner cannot open it.
//!
//! A base is made while the shard goes on: its rows are [fixed](crate::research::shard::Shard::fix), copied out piece
//! by piece between the driver's other work, and written by a thread. It counts when the manifest names it. Until then
//! the base before counts, if there is one; without any, nothing is recovered, however much is logged.

mod base;
mod found;
#[expect(clippy::module_inception, reason = "the file holds the type of that name")]
mod journal;
#[cfg(test)]
mod tests;

pub use crate::log::Lsn;
pub use found::FoundJournal;
pub use journal::{Forcer, Journal, JournalConfig};
