//! Reading a log without changing anything: a torn end stays as it is.

use super::error::LogError;
use super::lsn::Lsn;
use super::reader;
use super::segments::{DIRECTORY, Named, parse_name};
use crate::io::Files;

/// A log that was read, to be [opened](super::Log::open) or not.
pub(crate) struct LogFound(pub(super) reader::Found);

impl LogFound {
    /// Where it ends.
    pub(crate) fn end(&self) -> Lsn {
        self.0.end
    }

    /// Whether it was closed; else what follows the end may be torn.
    pub(crate) fn closed(&self) -> bool {
        !self.0.torn
    }
}

/// Reads and checks the log, and gives every record behind `from` to `read` with the position behind it. `from` is the
/// beginning of the log or what an append returned. An error of `read` ends the reading and is passed on; damage is an
/// error ([`LogError::Corrupt`] and others), a torn end is not.
pub(crate) fn look_into_log(
    files: &dyn Files,
    database_id: u128,
    from: Lsn,
    read: reader::Read<'_>,
) -> Result<LogFound, LogError> {
    reader::read(files, database_id, from, read).map(LogFound)
}

/// That the record which ends at `lsn` cannot be used, and which file it is in.
pub(crate) fn refused(files: &dyn Files, lsn: Lsn, why: String) -> LogError {
    let before = |name: &String| matches!(parse_name(name), Named::Segment(first) if first < lsn);
    let segment = files.list(DIRECTORY).unwrap_or_default().into_iter().rfind(before);
    let file = files.open(segment.as_deref().unwrap_or(DIRECTORY)).map(|file| file.path().to_path_buf());
    LogError::Refused { file: file.unwrap_or_else(|_| DIRECTORY.into()), lsn, why }
}
