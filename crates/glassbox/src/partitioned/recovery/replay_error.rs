//! Why a log record cannot be replayed.
//!
//! An operator does what the message says, so it tells apart a directory whose files do not belong together from a
//! healthy database that this program cannot open as it is: with too little memory, or with other code than wrote the
//! log. Only the first one is restored from a copy.

use crate::partitioned::log_records::values::BadLogRecord;
use crate::partitioned::storage::table::ReadOfNewIndex;
use crate::procedure::TableFull;

/// A log record that cannot be replayed, by the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplayError {
    /// The replay of another partition failed, and says why.
    #[error("the replay of another partition failed")]
    OtherPartition,
    /// A call needs a partition that its procedure did not declare. Where all its keys were on one partition, that went
    /// unnoticed; with other partitions it has to be run with all of them.
    #[error("the call needs a partition that its procedure did not declare")]
    Undeclared,
    /// The catalog does not have the version of the procedure that was called: its number in the manifest.
    #[error("the catalog does not have procedure {0} of the manifest")]
    OtherVersion(usize),
    /// A call, and the rows are converted to another version of the schema.
    #[error("it is a call of another version of the schema")]
    OtherSchema,
    /// The procedure does not do what it did when it was logged.
    #[error(
        "procedure `{procedure}` of version {version} {what}, which it did not when it was logged; {remedy}",
        remedy = OPEN_WITH_FORMER
    )]
    ProcedureDiffers {
        /// Its name.
        procedure: &'static str,
        /// Its version.
        version: u32,
        /// What it does now.
        what: String,
    },
    /// The procedure cannot read its logged arguments.
    #[error(
        "procedure `{procedure}` cannot read its arguments ({problem}), so their type changed; {remedy}",
        remedy = OPEN_WITH_FORMER
    )]
    Arguments {
        /// Its name.
        procedure: &'static str,
        /// The defect of the bytes.
        problem: String,
    },
    /// The rows do not fit into memory.
    #[error("{0}")]
    Full(TableFull),
    /// The record fits neither the rows nor the schema, though its checksum is right: the files are not of one
    /// database.
    #[error("{0}: the log does not belong to these rows; restore the whole directory from a copy")]
    Foreign(String),
    /// The engine panicked.
    #[error("its replay panicked: {0}; this is a mistake of the engine, so keep the directory and report it")]
    Panicked(String),
}

/// The remedy where code changed.
const OPEN_WITH_FORMER: &str = "open the database with the program as it was and close it; \
     give changed code a new VERSION; and let a procedure depend on nothing but its arguments, rows, and its \
     transaction's time and random numbers. If the program is as it was, the procedure is not deterministic, and the \
     log cannot be replayed beyond this call: keep the directory, read the rows of the last checkpoint with `glassbox \
     dump --as-of-checkpoint`, and go on with the newest copy of the directory that was made before the call";

impl ReplayError {
    /// A procedure that panicked, or was stopped by what it reads.
    #[cold]
    pub(crate) fn of_procedure((procedure, version): (&'static str, u32), panic: &(dyn std::any::Any + Send)) -> Self {
        let what = match panic.downcast_ref::<ReadOfNewIndex>() {
            Some(ReadOfNewIndex { table, index }) => format!("reads the new index {table}.{index}"),
            None => format!("panicked: {}", message_of(panic)),
        };
        Self::ProcedureDiffers { procedure, version, what }
    }

    #[cold]
    pub(crate) fn of_engine(panic: &(dyn std::any::Any + Send)) -> Self {
        Self::Panicked(message_of(panic).to_owned())
    }
}

fn message_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

impl From<BadLogRecord> for ReplayError {
    fn from(bad: BadLogRecord) -> Self {
        match bad {
            BadLogRecord::Full(full) => Self::Full(full),
            bad => Self::Foreign(bad.to_string()),
        }
    }
}
