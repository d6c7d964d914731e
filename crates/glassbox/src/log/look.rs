//! Reads a log without changing it: a torn end stays as it is.

use super::error::LogError;
use super::lsn::Lsn;
use super::reader;
use super::segments::{DIRECTORY, Named, parse_name};
use crate::io::Files;

/// A log that was read, and can be [opened](super::Log::open).
pub(crate) struct LogFound(pub(super) reader::Found);

impl LogFound {
    /// The end of the log.
    pub(crate) fn end(&self) -> Lsn {
        self.0.end
    }

    /// Whether the log was closed. If not, a torn block may follow the end.
    pub(crate) fn closed(&self) -> bool {
        !self.0.torn
    }
}

/// Reads and checks the log, and passes every record after `from` to `read`, with the position after the record. `from`
/// is the beginning of the log or a position that an append returned. An error of `read` ends the scan and is returned.
/// Damage is an error ([`LogError::Corrupt`] and others), a torn end is not.
pub(crate) fn look_into_log(
    files: &dyn Files,
    database_id: u128,
    from: Lsn,
    read: reader::Read<'_>,
) -> Result<LogFound, LogError> {
    reader::read(files, database_id, from, read).map(LogFound)
}

/// The error for a record that ends at `lsn` and cannot be used, with the file that contains it.
pub(crate) fn refused(files: &dyn Files, lsn: Lsn, why: String) -> LogError {
    let before = |name: &String| matches!(parse_name(name), Named::Segment(first) if first < lsn);
    let segment = files.list(DIRECTORY).unwrap_or_default().into_iter().rfind(before);
    let file = files.open(segment.as_deref().unwrap_or(DIRECTORY)).map(|file| file.path().to_path_buf());
    LogError::Refused { file: file.unwrap_or_else(|_| DIRECTORY.into()), lsn, why }
}
