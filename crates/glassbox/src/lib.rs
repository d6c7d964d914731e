//! Glassbox: an OLTP database one can see through.

// The derive writes `::glassbox::record::…`; in here that name must mean this crate.
extern crate self as glassbox;

mod bulk_load;
mod catalog;
mod checkpointer;
mod config;
mod database;
mod error;
pub mod inspect;
pub mod io;
mod log;
mod manifest;
mod open;
mod partitioned;
pub mod procedure;
pub mod record;
mod stats;
mod ticket;

pub use bulk_load::BulkLoad;
pub use catalog::Catalog;
pub use config::{Config, Durability, LogKind};
pub use database::Database;
pub use error::Error;
pub use glassbox_derive::Record;
pub use manifest::{CheckpointEntry, Manifest, ProcedureEntry};
pub use partitioned::{PartitionedTransaction, TableUsage};
pub use procedure::{Abort, Aborts, Declared, Procedure, ReadWriteSet, Stop, Transaction};
pub use record::Record;
pub use stats::{Recovery, Stats};
pub use ticket::Ticket;
