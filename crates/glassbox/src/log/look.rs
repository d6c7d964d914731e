//! Looking into a log without opening it: nothing is changed, and a torn end stays as it is.

use super::error::LogError;
use super::lsn::Lsn;
use super::reader;
use super::segments::{DIRECTORY, Named, parse_name};
use crate::io::Files;

/// Where a log ends.
pub(crate) struct LogFound {
    pub(crate) end: Lsn,
    /// Whether it was closed; else what follows the end may be torn.
    pub(crate) closed: bool,
}

/// Reads and checks the log from `from` on, giving every record to `read`, as [`Log::open`](super::Log::open) does.
pub(crate) fn look_into_log(
    files: &dyn Files,
    database_id: u128,
    from: Lsn,
    read: reader::Read<'_>,
) -> Result<LogFound, LogError> {
    let found = reader::read(files, database_id, from, read)?;
    Ok(LogFound { end: found.end, closed: !found.torn })
}

/// That the record which ends at `lsn` cannot be used, and which file it is in.
pub(crate) fn refused(files: &dyn Files, lsn: Lsn, why: String) -> LogError {
    let before = |name: &String| matches!(parse_name(name), Named::Segment(first) if first < lsn);
    let segment = files.list(DIRECTORY).unwrap_or_default().into_iter().rfind(before);
    let file = files.open(segment.as_deref().unwrap_or(DIRECTORY)).map(|file| file.path().to_path_buf());
    LogError::Refused { file: file.unwrap_or_else(|_| DIRECTORY.into()), lsn, why }
}
