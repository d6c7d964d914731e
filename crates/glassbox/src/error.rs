//! What can go wrong for a user of a database, by what he has to do about it.

use crate::io::IoError;
use crate::log::LogError;
use crate::procedure::{Abort, Place};

/// Why a call, or the opening of a database, did not succeed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The procedure decided against it; nothing was changed.
    #[error("aborted: {0}")]
    Aborted(#[from] Abort),
    /// The database refuses further work. Opening it again recovers what was answered.
    #[error("the database has stopped: {reason}")]
    Stopped {
        /// Why, and what to do.
        reason: String,
    },
    /// A bulk load is going on.
    #[error("a bulk load is going on; finish it first")]
    Loading,
    /// More tickets are outstanding than [`Config::in_flight`](crate::Config::in_flight) allows.
    #[error("{limit} tickets are outstanding already; wait for some of them first")]
    TooManyInFlight {
        /// The bound.
        limit: usize,
    },
    /// The catalog does not name this procedure.
    #[error("procedure `{name}` is not in this database's catalog: add `.procedure::<...>()` where it is opened")]
    UnknownProcedure {
        /// Its name.
        name: &'static str,
    },
    /// The catalog contradicts itself.
    #[error("catalog: {0}")]
    Catalog(String),
    /// A setting that cannot be.
    #[error("configuration: {0}")]
    Config(String),
    /// Nobody can tell whether a call on a cluster counts, and why.
    #[error("{0}")]
    Uncertain(String),
    /// The stored schema and the catalog's differ.
    #[error("table `{table}` was stored with another schema: {difference}")]
    SchemaMismatch {
        /// The table.
        table: String,
        /// The first difference.
        difference: String,
    },
    /// The log holds calls of a version of a procedure that the catalog does not have.
    #[error(
        "the log holds calls of procedure `{name}` version {logged}, but the catalog has {found}; open the database \
         with that version and make a checkpoint, then upgrade"
    )]
    ProcedureVersion {
        /// The procedure.
        name: String,
        /// The version that wrote the log.
        logged: u32,
        /// What the catalog has.
        found: String,
    },
    /// The directory does not hold a database that can be used as asked.
    #[error("{path}: {problem}")]
    Directory {
        /// The directory.
        path: String,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A file holds bytes that cannot be right.
    #[error("{file} is damaged at byte {offset}: {problem}; restore it from a copy")]
    Damaged {
        /// The file.
        file: String,
        /// Where, in bytes from its beginning.
        offset: u64,
        /// What is wrong.
        problem: String,
    },
    /// A file of a newer or older program.
    #[error(
        "{file}: its format, at byte {offset}, is {found}, and this program knows only {known}; use the program that \
         wrote it, or restore it from a copy if nobody did"
    )]
    WrongFormat {
        /// The file.
        file: String,
        /// Where the number of its format stands.
        offset: u64,
        /// That number.
        found: u32,
        /// What this program reads.
        known: u32,
    },
    /// No memory for the tables.
    #[error("{0}")]
    OutOfMemory(String),
    /// The classic engine's file of pages has reached its limit.
    #[error("the volume is full: it may have {limit_pages} pages; raise the limit, or delete something")]
    VolumeFull {
        /// The limit, in pages.
        limit_pages: u32,
    },
    /// A transaction that runs for long is in the way of a checkpoint, a bulk load or a close.
    #[error(
        "{place} is busy: one transaction has been running there for {seconds} s; repeat this when it has ended, or \
         find out why it does not end"
    )]
    Busy {
        /// The partition or session.
        place: String,
        /// For how long it was waited, at least.
        seconds: u64,
    },
    /// The database was called inside one of its own transactions.
    #[error(
        "the database was called inside one of its own transactions, and would wait for it: call it before or after, \
         or do the work with the transaction itself"
    )]
    Nested,
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Why an engine stops that kept nothing to undo a run and opens no files again.
pub(crate) const BROKEN_PROMISE: &str =
    "a procedure that promised not to abort or panic behind a write did so; make the database anew";

/// In an answer's place while there is none.
pub(crate) const NOT_ANSWERED: Error = Error::Loading;

/// What `look` makes of an output, which is seen where it is; of the answer an error is taken, if it is one.
#[inline(always)]
pub(crate) fn look_at<O, N>(answer: &mut Result<O, Error>, look: impl FnOnce(&O) -> N) -> Result<N, Error> {
    match answer {
        Ok(output) => Ok(look(output)),
        Err(error) => Err(std::mem::replace(error, NOT_ANSWERED)),
    }
}

/// An answer that is [`NOT_ANSWERED`] yet, or whose run does not count: where an output can be put. What it is of is
/// large: nothing is asked or dropped on the way.
pub(crate) struct Unanswered<'a, O>(pub(crate) &'a mut Result<O, Error>);

impl<O> Place<O> for Unanswered<'_, O> {
    #[inline(always)]
    fn put(&mut self, output: O) -> &mut O {
        std::mem::forget(std::mem::replace(self.0, Ok(output)));
        match self.0 {
            Ok(output) => output,
            Err(_) => unreachable!("it was put there just now"),
        }
    }
}
