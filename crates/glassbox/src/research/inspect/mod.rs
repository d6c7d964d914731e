//! Looking into a database directory without the program that wrote it.
//!
//! Opening a database needs its record types, because the engine is compiled for them. A tool that is to show or check
//! any database has only the files. They say enough: the manifest holds the schema, the checkpoint whole rows, the
//! value log changes of rows. So the state is found again untyped, each table a sorted map from encoded key to stored
//! row, column by column as the schema says. Slower and larger than the engine by far, which does not matter to a
//! tool.
//!
//! The changes of procedures whose calls are logged cannot be found, because that takes their code. A log with calls is
//! checked and counted, and records after the first call are not applied; the caller gets an error.
//!
//! A database of the classic engine is pages, each as of some moment of its own. For it the engine's own recovery runs,
//! on files whose changes stay in memory (`volume.rs`), and rows are read from pages by the stored schema.
//!
//! Nothing is changed: the directory's lock is taken, the log is read by the reader alone, a torn end stays as it is.

mod contents;
mod inspector;
mod summary;
mod verify;
mod volume;

pub use crate::record::layout::{describe_type, encode_value};
pub use crate::record::{BadValue, Value};
pub use crate::store::{CheckpointEntry, Manifest, ProcedureEntry, VolumeEntry};
pub use contents::Contents;
pub(crate) use contents::apply_record;
pub use inspector::{Inspector, Moment};
pub use summary::{LogSummary, Summary, TableSummary};
pub use verify::{Verification, VolumeVerification};
pub use volume::{StoreSummary, VolumeSummary};

/// Whether a database has, or may have, a file of this name, relative to its directory: `manifest`,
/// `log/0000000000000000.log`.
///
/// ```
/// use glassbox::research::inspect::is_database_file;
/// assert!(is_database_file("pages.double") && is_database_file("checkpoint/00000000000a0000-2.checkpoint.new"));
/// assert!(!is_database_file("log/app.log") && !is_database_file("log"));
/// ```
pub fn is_database_file(name: &str) -> bool {
    crate::store::is_store_file(name) || [crate::classic::PAGES, crate::classic::DOUBLE].contains(&name)
}
