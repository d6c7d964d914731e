//! Bringing pages back after a crash: checkpoints, analysis, redo, undo.
//!
//! Problem: after a crash the pages on disk are each as of some moment of their own, with changes of transactions that
//! did not commit, without those of some that did. The log has everything. ARIES (see `wal`) reads it three times:
//!
//! 1. [`Analysis`] finds the losers, which of their changes are to be undone, and which pages may be older than the
//!    log.
//! 2. [`Redo`](redo::Redo) repeats history: every change that a page does not have yet, losers' too. Then
//!    all pages are as at the moment of the crash, so that undo works as in a rollback during normal work.
//! 3. [`Losers::undo`] rolls back the losers, appending as a rollback does.
//!
//! Neither of the first two changes the log, and redo does nothing to a page that has it already: so a crash in them
//! changes nothing. After a crash in the third the log says which changes are undone, and the next recovery goes on
//! from there.
//!
//! How much is read is bounded by [`checkpoint`](checkpoint::checkpoint)s. They are fuzzy: nothing stops and no page is
//! written. A checkpoint writes to the log which pages are dirty since when; from this, and from the oldest
//! transaction, follows from where on the log is needed.
//!
//! What differs from the paper: analysis begins where redo does, not at the checkpoint, because it collects the changes
//! that may have to be undone; so the third pass reads no log. Transactions are found by their records, since all of a
//! running one's are needed in any case. And losers' unfinished nested actions are undone before everything else:
//! the trees must be whole before an entry is looked up in them. That is right out of order, because the pages they
//! changed were latched up to the crash, so that no other transaction has changed them since.

mod analysis;
pub(crate) mod checkpoint;
mod redo;
#[cfg(test)]
mod tests;
mod undo;

pub(crate) use analysis::Analysis;
pub(crate) use checkpoint::{CheckpointLsns, checkpoint};
pub(crate) use undo::{InDoubt, Losers};

use crate::error::Error;
use crate::io::Files;
use crate::log::{ExpectedLog, LogFound, Lsn, look_into_log, refused};

/// Gives every record that is expected, with the position behind it, to `each`, whose error ends the reading and is
/// passed on.
///
/// # Errors
/// That of `each`, and when the log is damaged or cannot be read.
pub(crate) fn read_log(
    files: &dyn Files,
    expected: &ExpectedLog,
    mut each: impl FnMut(Lsn, &[u8]) -> Result<(), Error>,
) -> Result<LogFound, Error> {
    let mut failed = None;
    let read = look_into_log(files, expected, &mut |lsn, record| {
        each(lsn, record).map_err(|error| {
            failed = Some(error);
            refused(files, lsn, String::new())
        })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}

/// A record that cannot be right.
fn damaged(lsn: Lsn, problem: impl std::fmt::Display) -> Error {
    let problem = format!("the record that ends at position {lsn} {problem}");
    Error::Damaged { file: "log".into(), offset: lsn.0, problem }
}
