//! A database's directory: what it holds, and that its files belong together.
//!
//! Problem: a database is several files, and each of them alone means nothing. Two processes must not use them at once;
//! a crash between two changes must leave an old state or a new one; and a file that was put back from an older copy
//! must be noticed, though every byte of it is sound. So a [`Store`] is made only with the lock of the directory, holds
//! the one current [`Manifest`], and replaces it as a whole (`Current::replace`): that is the only moment at which a
//! checkpoint, a table or the place where the log begins comes to count. The database of both engines, bulk loads and
//! journals go through it.
//!
//! *Each file says what another must be*, so that an older copy of any single one is found:
//!
//! - the manifest's generation is in every block of the log: a manifest older than the log is refused;
//! - the manifest says to where the log reached when it was closed: a log that ends before is refused;
//! - the manifest has the checksum of the checkpoint's headers, which have those of its rows;
//! - the manifest has the LSN that page 0 had at the last checkpoint, and the number of the doublewrite file's batch.
//!
//! All of these are lower bounds, so a crash between two files leaves them true. After a crash the end of the log is
//! not known to the manifest, and an older copy of the last segment looks as one whose end was torn.

mod checkpoint_reader;
pub(crate) mod checkpoint_writer;
mod manifest;
mod merge;
#[expect(clippy::module_inception, reason = "the file holds the type of that name")]
mod store;
#[cfg(test)]
mod tests;

pub(crate) use checkpoint_reader::{Block, CheckpointFile, damaged};
pub(crate) use checkpoint_writer::{CheckpointWriter, REPLICATED, Written};
pub(crate) use manifest::MANIFEST;
pub use manifest::{CheckpointEntry, Manifest, ProcedureEntry, VolumeEntry};
pub(crate) use merge::merge_catalog;
pub(crate) use store::Store;
