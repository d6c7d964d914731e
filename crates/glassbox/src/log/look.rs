//! Looking into a log without opening it: nothing is changed, and a torn end stays as it is.

use super::error::LogError;
use super::lsn::Lsn;
use super::reader;
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
