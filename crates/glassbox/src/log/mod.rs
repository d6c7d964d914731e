//! The log as a device: it stores records, which are bytes, in order, and never looks inside them.
//!
//! Problem: a transaction may be answered only when its effects survive a crash; a force costs a hundred microseconds,
//! a transaction one or two. The naive way, one force for each transaction, leaves the machine idle 99 % of the time. A
//! group commit timer adds its period to every answer and has to be tuned. Here:
//!
//! 1. An append copies the record into a ring in memory ([`ring`]): one atomic exchange gives it its position, its
//!    [`Lsn`]. No lock, no allocation, no system call.
//! 2. A thread that needs durability flushes ([`flush`]): it writes everything complete as one block, forces it, and
//!    moves `durable`. There is one flusher at a time; callers that arrive meanwhile wait, and the next force covers
//!    all of them. So a single caller pays one force and no thread switch, many callers share forces, and no parameter
//!    is tuned: the force itself is the timer. A log thread does the same for callers that do not wait.
//! 3. On disk the log is a chain of preallocated segments of blocks ([`format`], drawn in `docs/formats/log.md`):
//!    extending a file makes a force three to ten times dearer. Segments no longer needed are renamed and reused.
//! 4. Reading ([`reader`]) tells a torn tail, which is the end of the log, from damage, which is an error.
//! 5. An append gets a position only if the existing files have room for it ([`room`]): on a full disk a record is
//!    refused while its transaction can still roll back.
//! 6. A failed write or force poisons the log for good: the contents of the disk are unknown then, so no further
//!    transaction is acknowledged.

mod config;
mod error;
mod flush;
mod format;
#[expect(clippy::module_inception, reason = "the file holds the type of that name")]
mod log;
mod look;
mod lsn;
mod order;
mod reader;
mod ring;
mod room;
mod segments;
#[cfg(test)]
mod tests;
mod threads;
mod writer;

pub(crate) use config::LogConfig;
pub use error::LogError;
pub(crate) use log::{Appender, Log};
pub(crate) use look::{ExpectedLog, LogFound, look_into_log, older_or, refused};
pub use lsn::Lsn;
pub(crate) use room::BLOCK_COST;
pub(crate) use segments::{DIRECTORY, is_log_file};
