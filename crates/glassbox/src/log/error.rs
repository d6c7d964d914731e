//! Errors of a log; each message says what to do.

use std::path::PathBuf;
use std::sync::Arc;

use super::lsn::Lsn;
use crate::io::IoError;

/// Why an operation on the log failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum LogError {
    /// An operation on a file failed while opening or creating.
    #[error(transparent)]
    Io(#[from] IoError),
    /// A write or force failed earlier.
    #[error(
        "the log stopped after a failure and answers nothing more, because what is on disk is unknown: {cause}; \
         remove the cause and open the database again"
    )]
    Poisoned { cause: Arc<IoError> },
    /// There is no room for a record, nor for another segment. Nothing was appended.
    #[error("the log cannot grow: {cause}; nothing was changed, free room on the disk and try again")]
    NoRoom { cause: Arc<IoError> },
    /// The process is a child, made by `fork`, of the one that opened the log.
    #[error("the log is open in process {opened_by}, and this is a child of that process; open it after the fork")]
    Forked { opened_by: u32 },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// A record is larger than the log's maximum.
    #[error(
        "a log record of {bytes} bytes is larger than the {most} bytes this log takes; enlarge log_buffer_bytes \
         or segment_bytes"
    )]
    TooLarge { bytes: usize, most: usize },
    /// All appenders are in use.
    #[error("all {0} appenders of the log are in use; it was opened for fewer partitions or sessions")]
    NoAppender(usize),
    /// A setting is invalid, or impossible on this machine.
    #[error("{setting} is {value}: it must be {possible}")]
    BadConfig { setting: &'static str, value: u64, possible: String },
    /// A log exists where a new one was to be created.
    #[error("{file} exists: there is a log already; open it, or choose an empty directory")]
    Exists { file: String },
    /// A needed segment is missing.
    #[error(
        "the log segment that holds position {wanted} is missing ({why}); restore {file}, or the one before it, from a \
         backup"
    )]
    MissingSegment { wanted: Lsn, file: String, why: &'static str },
    /// A file that is not a log segment, or one whose header is damaged.
    #[error("{}: the segment header at offset 0 is damaged ({why}); restore the file from a backup", file.display())]
    BadHeader { file: PathBuf, why: &'static str },
    /// A segment of a newer or older program.
    #[error(
        "{}: log format version {found}, but this program reads version {known}; use the program that wrote \
         it",
        file.display()
    )]
    WrongVersion { file: PathBuf, found: u32, known: u32 },
    /// A segment of another database.
    #[error(
        "{}: belongs to database {found:032x}, not {wanted:032x}; a file was put into the wrong \
         directory",
        file.display()
    )]
    Foreign { file: PathBuf, found: u128, wanted: u128 },
    /// A segment under another segment's name.
    #[error(
        "{}: its header says that it begins at {found}, not at {wanted} as its name does; files were swapped \
         or renamed",
        file.display()
    )]
    Misplaced { file: PathBuf, found: Lsn, wanted: Lsn },
    /// A file shorter than its header says.
    #[error(
        "{}: {bytes} bytes long where at least {wanted} belong; the file was cut off, restore it from a \
         backup",
        file.display()
    )]
    Truncated { file: PathBuf, bytes: u64, wanted: u64 },
    /// Damage before the end of the log.
    #[error(
        "{}: the log is damaged at offset {offset} (position {lsn}): {why}; this is not a torn end, restore \
         from a backup",
        file.display()
    )]
    Corrupt { file: PathBuf, offset: u64, lsn: Lsn, why: &'static str },
    /// The first position to read is inside a record, or after the end of the log.
    #[error(
        "{}: position {from} is not the boundary of a record in this log, which ends at {end}; the \
         checkpoint and the log do not belong together",
        file.display()
    )]
    NoSuchPosition { file: PathBuf, from: Lsn, end: Lsn },
    /// The log ends earlier than it once did.
    #[error(
        "{}: an older copy: the log ends in it at position {end}, but {by} says that it reaches {expected}; restore \
         the file that belongs here",
        file.display()
    )]
    OlderLog { file: PathBuf, end: Lsn, expected: Lsn, by: &'static str },
    /// A block of the log was written after the copy of the file that names the beginning of the log.
    #[error(
        "{by}: an older copy: it is generation {known}, but the block at offset {offset} of {} was written with \
         generation {found}; restore the {by} that belongs here. After a power failure that may be `{by}.new`: copy \
         the directory, rename the file in the copy to `{by}`, and run `glassbox verify`. If there is no other {by}, \
         restore a backup of the whole directory",
        file.display()
    )]
    OlderGeneration { file: PathBuf, offset: u64, found: u64, known: u64, by: &'static str },
    /// The consumer of the records refused one.
    #[error("{}: the log record that ends at position {lsn} cannot be used: {why}", file.display())]
    Refused { file: PathBuf, lsn: Lsn, why: String },
}
