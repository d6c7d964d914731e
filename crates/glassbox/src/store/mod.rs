//! A database's directory: its files, and whether they belong together.
//!
//! Problem: a database is several files, and each of them alone means nothing. Two processes must not use them at once;
//! a crash between two changes must leave an old state or a new one; and a file that was restored from an older copy
//! must be found, although every byte of it is valid. So a [`Store`] holds the lock of the directory and the one
//! current [`Manifest`], and replaces it as a whole ([`CurrentManifest::replace`](store::CurrentManifest::replace)):
//! that is the only moment at which a checkpoint, a table or another beginning of the log becomes valid. The database
//! of both engines, bulk loads and journals use it.
//!
//! *Each file says what another must be*, so that an older copy of any single file is found:
//!
//! - every block of the log contains the manifest's generation: a manifest older than the log is refused;
//! - the manifest contains the end of the log when it was closed: a log that ends before is refused;
//! - the manifest contains the checksum of the checkpoint's headers, which contain those of its rows;
//! - the manifest contains the LSN of page 0 at the last checkpoint, and the number of the doublewrite file's batch.
//!
//! The numbers are lower bounds, so a crash between two files leaves them true. After a crash the manifest does not
//! know the end of the log, and an older copy of the last segment looks like one whose end was torn.

mod checkpoint_reader;
pub(crate) mod checkpoint_writer;
mod manifest;
mod merge;
#[expect(clippy::module_inception, reason = "the file holds the type of that name")]
mod store;
#[cfg(test)]
mod tests;

pub(crate) use checkpoint_reader::{CheckpointBlock, CheckpointFile, damaged};
pub(crate) use checkpoint_writer::{CheckpointWriter, DIRECTORY as CHECKPOINTS, REPLICATED, WrittenCheckpoint};
pub use manifest::{CheckpointEntry, Manifest, ProcedureEntry, VolumeEntry};
pub(crate) use manifest::{MANIFEST, TEMPORARY as NEW_MANIFEST};
pub(crate) use merge::{MergedSchema, ProgramSchema, merge_schema};
pub(crate) use store::{Store, is_store_file};
