//! Errors of a database, one kind for each remedy.

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::failure::Failure;
pub use crate::failure::{BrokenPromise, Panicked, Promise};
use crate::io::IoError;
use crate::log::LogError;
use crate::procedure::{Abort, AbortReason, DuplicateKey, TableFull};
use crate::record::layout::encode;
use crate::record::{IndexSchema, TableSchema, named_values};

/// Why a call, or the opening of a database, failed.
///
/// `Display` gives the thing, its state, the cause, and what to do; `Debug` gives the same text. As JSON (by
/// [`serde::Serialize`]) an error is an object with its `kind`, which stays the same from version to version, and the
/// fields of its variant: `{"kind":"duplicate_key","table":"account","index":null,"columns":["id"],"values":["17"]}`.
///
/// These are the kinds for a call, embedded ([`Database`](crate::Database)) and on a cluster (`glassbox-cluster`). Only
/// a cluster returns `panicked` and `protocol`: embedded, the panic resumes in the caller, and there are no messages.
///
/// | kind | state of the transaction | what to do |
/// | --- | --- | --- |
/// | `aborted` | rolled back: its procedure aborted | depends on the procedure's `code` |
/// | `duplicate_key` | rolled back: a row would share a unique key with another | call with another key |
/// | `table_full` | rolled back: a table has no memory for a row | raise `table_bytes` |
/// | `panicked` | rolled back: its procedure panicked | correct the procedure |
/// | `broken_promise` | not committed; the database has stopped | open it again, correct the promise |
/// | `stopped` | did not run: the database has stopped before | what the `reason` says |
/// | `forked` | did not run: the process is a child of the one that opened the database | open it after the fork |
/// | `outcome_unknown` | committed or not: the process, or the log, failed first | look for its changes |
/// | `protocol` | not committed: a message violates the protocol | run one program and catalog everywhere |
/// | `too_large` | rolled back: its changes or arguments exceed a log record's maximum | change less in one call |
/// | `not_deterministic` | rolled back: a log of commands could not replay the call | correct the procedure |
/// | `dry_run_too_long` | a dry run did not end; nothing was changed | call the procedure, or declare its keys |
/// | `config`, `catalog` | did not run: a setting, or the catalog, is refused | change what the message names |
///
/// A procedure can match the refusal of a row ([`Stop::DuplicateKey`](crate::Stop::DuplicateKey)) and continue.
#[derive(thiserror::Error, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Error {
    /// The procedure aborted; nothing was changed.
    #[error("aborted: {0}")]
    Aborted(Abort),
    /// A row would have shared its primary key, or the key of a unique index, with another one; nothing was changed.
    #[error(transparent)]
    DuplicateKey(Box<DuplicateKey>),
    /// A table has no memory for another row, or one of its indexes for another entry; nothing was changed.
    #[error(transparent)]
    TableFull(TableFull),
    /// The procedure panicked; nothing was changed. Embedded, the panic resumes in the caller instead.
    #[error(transparent)]
    Panicked(Box<Panicked>),
    /// A page is not in memory, and must not be read now. The classic engine answers no call with this: it reads the
    /// page, and runs the procedure again.
    #[doc(hidden)]
    #[error("page {page} is not in memory; the transaction runs again")]
    NotInMemory {
        /// Its number.
        page: u32,
    },
    /// The procedure stopped after a write although it promised not to. Undo information for it need not exist, so the
    /// database has stopped; opening it again recovers the state without this call.
    #[error(transparent)]
    BrokenPromise(Box<BrokenPromise>),
    /// The transaction was committed or not: the log, or the process of a cluster that ran it, failed before the
    /// outcome was known.
    #[error("outcome unknown: {reason}; look for what the call would have changed")]
    OutcomeUnknown {
        /// Why the outcome is unknown.
        reason: String,
    },
    /// A message of a cluster violates the protocol.
    #[error("protocol violation: {problem}; run the same program with the same catalog in all processes")]
    Protocol {
        /// The violation.
        problem: String,
    },
    /// A partition of a cluster is late with its work, and the call was not begun.
    #[error("partition {partition} is overloaded: the call was not begun; call again after {retry_after_us} us")]
    Overloaded {
        /// Its number.
        partition: u8,
        /// The time, in microseconds.
        retry_after_us: u32,
    },
    /// The arguments of a call on a cluster are larger than a message may be; nothing was changed.
    #[error("the call is too large: it has {bytes} bytes, and {limit} are possible; nothing was changed, split it")]
    ArgumentsTooLarge {
        /// The size in bytes.
        bytes: u64,
        /// The maximum.
        limit: u64,
    },
    /// The output of a call on a cluster is larger than a message may be.
    #[error("the output is too large: it has {bytes} bytes, and {limit} are possible; {}", end_of(*.is_committed))]
    OutputTooLarge {
        /// The size of the message.
        bytes: u64,
        /// The maximum.
        limit: u64,
        /// Whether the transaction was committed.
        is_committed: bool,
    },
    /// The database refuses further work. Opening it again recovers every answered transaction.
    #[error("the database has stopped: {reason}")]
    Stopped {
        /// Why, and what to do.
        reason: String,
    },
    /// The process is a child, made by `fork`, of the one that opened the database. Nothing was done: the files, the
    /// locks and the threads are the parent's.
    #[error(
        "the database is open in process {opened_by}, and this is a child of that process, made by fork: nothing was \
         done; open it after the fork, in the process that uses it"
    )]
    Forked {
        /// The number of the process that opened the database.
        opened_by: u32,
    },
    /// A bulk load runs.
    #[error("a bulk load is going on; finish it first")]
    Loading,
    /// More tickets of this thread are outstanding than [`Config::in_flight`](crate::Config::in_flight) allows.
    #[error("{limit} tickets of this thread are outstanding already; wait for some of them first")]
    TooManyInFlight {
        /// The maximum.
        limit: usize,
    },
    /// Another prepared transaction has this name, or one that runs.
    #[error(
        "a transaction with the name `{}` is prepared already: end that one first, or take another name",
        name.escape_debug()
    )]
    AlreadyPrepared {
        /// The name.
        name: String,
    },
    /// No prepared transaction has this name.
    #[error("no transaction with the name `{}` is prepared: it has ended, or was never prepared", name.escape_debug())]
    NotPrepared {
        /// The name.
        name: String,
    },
    /// As many transactions are prepared as
    /// [`ClassicConfig::prepared_transactions`](crate::config::ClassicConfig::prepared_transactions) allows.
    #[error("{limit} transactions are prepared already; end some of them, or raise `classic.prepared_transactions`")]
    TooManyPrepared {
        /// The maximum.
        limit: usize,
    },
    /// The catalog does not contain this procedure.
    #[error("procedure `{name}` is not in this database's catalog: add `.procedure::<...>()` where it is opened")]
    UnknownProcedure {
        /// Its name.
        name: &'static str,
    },
    /// A dry run did not end within its accesses; nothing was changed. Calls of the procedure are not affected.
    #[error(
        "the dry run of procedure `{name}` was ended after {accesses} accesses: it has not come to its end; call the \
         procedure, or have it declare its keys"
    )]
    DryRunTooLong {
        /// The procedure.
        name: &'static str,
        /// The maximum of accesses.
        accesses: u64,
    },
    /// The catalog contradicts itself.
    #[error("catalog: {0}")]
    Catalog(#[serde(serialize_with = "problem")] String),
    /// A setting is invalid.
    #[error("configuration: {0}")]
    Config(#[serde(serialize_with = "problem")] String),
    /// The database has a newer version of the schema than the program.
    #[error(
        "the database has version {stored} of the schema, and this program has version {known}{}: use the program that \
         opened it last, or a newer one",
        if tables.is_empty() { String::new() } else { format!(" (table {tables} changed)") }
    )]
    SchemaVersion {
        /// The version that is stored.
        stored: u32,
        /// The version of the program's catalog.
        known: u32,
        /// The tables that differ.
        tables: String,
    },
    /// The log has calls that ran on an earlier version of the schema: they cannot be replayed on rows of another one.
    /// Nothing was changed.
    #[error(
        "the log has calls of version {stored} of the schema, which cannot be replayed on version {known}: open the \
         database with the program of version {stored} once and close it, then with this one"
    )]
    LoggedCalls {
        /// The version that is stored.
        stored: u32,
        /// The version of the program's catalog.
        known: u32,
    },
    /// The stored schema and the catalog's differ.
    #[error("table `{table}` was stored with another schema: {difference}")]
    SchemaMismatch {
        /// The table.
        table: String,
        /// The first difference.
        difference: String,
    },
    /// Two stored rows have one key of a unique index that the catalog adds; nothing was changed on disk. The program
    /// without the index can still open the database, to change one of the rows.
    #[error("index {index} cannot be unique: rows {first} and {second} both have {key}")]
    NotUnique {
        /// The table and the index.
        index: String,
        /// The primary key of one of the rows, with the names of its columns.
        first: String,
        /// That of the other one.
        second: String,
        /// Their key of the index.
        key: String,
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
        /// The version in the catalog.
        found: String,
    },
    /// The directory has no usable database.
    #[error("{path}: {problem}")]
    Directory {
        /// The directory.
        path: String,
        /// The problem, and what to do.
        problem: String,
    },
    /// A file is damaged.
    #[error("{file} is damaged at byte {offset}: {problem}; restore it from a copy")]
    Damaged {
        /// The file.
        file: String,
        /// The offset of the damage, in bytes.
        offset: u64,
        /// The problem.
        problem: String,
    },
    /// A file of a newer or older program.
    #[error(
        "{file}: its format, at byte {offset}, is {found}, and this program knows only {known}; use the program that \
         wrote it, or restore it from a copy"
    )]
    WrongFormat {
        /// The file.
        file: String,
        /// The offset of the format's number.
        offset: u64,
        /// That number.
        found: u32,
        /// The format that this program reads.
        known: u32,
    },
    /// No memory for the tables.
    #[error("{0}")]
    OutOfMemory(#[serde(serialize_with = "problem")] String),
    /// The classic engine's file of pages has reached its limit.
    #[error("the volume is full: it may have {limit_pages} pages; raise the limit, or delete something")]
    VolumeFull {
        /// The limit, in pages.
        limit_pages: u32,
    },
    /// A long transaction delays a checkpoint, a bulk load or a close.
    #[error(
        "{place} is busy: {running} has been running there for at least {seconds} s; repeat this when it has ended, or \
         find out why it does not end"
    )]
    Busy {
        /// The partition or session.
        place: String,
        /// The transaction that runs there: `procedure "name"`, `a closure`, or `a transaction`.
        running: String,
        /// Minimum duration of its run.
        seconds: u64,
    },
    /// The database was called inside one of its own transactions.
    #[error(
        "the database was called inside one of its own transactions, and would wait for it: call it before or after, \
         or do the work with the transaction itself"
    )]
    Nested,
    /// Two runs of one call changed rows differently, so a log of commands could not replay it; nothing was changed.
    #[error(
        "procedure \"{name}\" was refused: two runs of the same call made different changes of rows, so a log of \
         commands cannot replay it; nothing was changed, take time and random numbers from the transaction and \
         iterate over ordered collections, or use a log of values"
    )]
    NotDeterministic {
        /// The procedure.
        name: &'static str,
    },
    /// The changes of the transaction, or the arguments of the call, exceed the maximum of a log record; nothing was
    /// changed.
    #[error(
        "{name}: refused, because its log record would exceed the maximum of {max_bytes} bytes; nothing was changed, \
         change less in one transaction, or enlarge log_buffer_bytes or segment_bytes"
    )]
    TooLarge {
        /// The procedure; of a closure, `a closure`.
        name: &'static str,
        /// The maximum, in bytes.
        max_bytes: usize,
    },
    /// The disk has no room for the call. Reads continue, and so do writes once there is room: the database need not be
    /// opened again.
    #[error("the database cannot grow: {cause}; nothing was changed, free room on the disk and try again")]
    NoRoom {
        /// The file that could not grow, and the reason.
        #[serde(serialize_with = "text")]
        cause: Arc<IoError>,
    },
    /// A read or write failed.
    #[error(transparent)]
    Io(
        #[from]
        #[serde(serialize_with = "problem")]
        IoError,
    ),
    /// The log cannot be read or written.
    #[error(transparent)]
    Log(#[serde(serialize_with = "problem")] LogError),
}

/// As [`Display`](fmt::Display): `fn main() -> Result<(), Error>` prints an error this way.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<LogError> for Error {
    fn from(error: LogError) -> Self {
        match error {
            LogError::NoRoom { cause } => Self::NoRoom { cause },
            LogError::TooLarge { most, .. } => Self::TooLarge { name: "a transaction", max_bytes: most },
            LogError::Forked { opened_by } => Self::Forked { opened_by },
            other => Self::Log(other),
        }
    }
}

/// The end of a transaction whose output cannot be sent.
const fn end_of(is_committed: bool) -> &'static str {
    match is_committed {
        true => "the transaction was committed: read what it would have returned in parts",
        false => "nothing was changed, return less at once",
    }
}

/// An error that is one text, as the field `problem`.
fn problem<S: Serializer>(error: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    let mut fields = serializer.serialize_struct("Problem", 1)?;
    fields.serialize_field("problem", &error.to_string())?;
    fields.end()
}

/// An error within another one, as a text.
fn text<S: Serializer>(error: &impl ToString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&error.to_string())
}

impl From<Abort> for Error {
    #[cold]
    fn from(abort: Abort) -> Self {
        Self::Aborted(abort)
    }
}

impl From<AbortReason> for Error {
    #[cold]
    fn from(reason: AbortReason) -> Self {
        match reason {
            AbortReason::Procedure(abort) => Self::Aborted(abort),
            AbortReason::DuplicateKey(duplicate) => Self::DuplicateKey(duplicate),
            AbortReason::TableFull(full) => Self::TableFull(full),
        }
    }
}

impl From<BrokenPromise> for Error {
    #[cold]
    fn from(broken: BrokenPromise) -> Self {
        Self::BrokenPromise(Box::new(broken))
    }
}

impl From<Failure> for Error {
    #[cold]
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Panicked(panicked) => Self::Panicked(Box::new(panicked)),
            Failure::BrokenPromise(broken) => broken.into(),
            Failure::Stopped { reason } => Self::Stopped { reason },
            Failure::Protocol { problem } => Self::Protocol { problem },
            Failure::Overloaded { partition, retry_after_us } => Self::Overloaded { partition, retry_after_us },
            Failure::ArgumentsTooLarge { bytes, limit } => Self::ArgumentsTooLarge { bytes, limit },
            Failure::OutputTooLarge { bytes, limit, is_committed } => {
                Self::OutputTooLarge { bytes, limit, is_committed }
            }
        }
    }
}

impl Error {
    /// The reason why the transaction was rolled back, if the procedure itself caused it.
    ///
    /// # Errors
    /// This error, when it is of another kind.
    pub fn abort_reason(self) -> Result<AbortReason, Self> {
        match self {
            Self::Aborted(abort) => Ok(AbortReason::Procedure(abort)),
            Self::DuplicateKey(duplicate) => Ok(AbortReason::DuplicateKey(duplicate)),
            Self::TableFull(full) => Ok(AbortReason::TableFull(full)),
            other => Err(other),
        }
    }

    /// The refusal of a unique index that the catalog adds, because of two stored rows.
    pub(crate) fn not_unique(table: &TableSchema, index: &IndexSchema, rows: [&[u8]; 2]) -> Self {
        let mut rows = rows.map(|row| {
            let mut key = Vec::new();
            encode(table, &table.key, row, &mut key);
            (key, named_values(table, &table.key, row), row)
        });
        rows.sort_unstable();
        let [(_, first, row), (_, second, _)] = rows;
        let key = named_values(table, &index.columns, row);
        Self::NotUnique { index: format!("{}.{}", table.name, index.name), first, second, key }
    }
}
