//! Reads a log without changing it: a torn end stays as it is.

use super::error::LogError;
use super::lsn::Lsn;
use super::reader;
use super::segments::{DIRECTORY, Named, parse_name};
use crate::io::Files;

/// The facts that another file keeps about a log. A log that contradicts them is refused: one of the two files is an
/// older copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedLog {
    pub(crate) database_id: u128,
    /// Records after this position are read: the beginning of the log, or a position that an append returned.
    pub(crate) from: Lsn,
    /// The log ends here or later.
    pub(crate) end: Lsn,
    /// The number of replacements of that file; 0: not known. Each block contains the generation of its time.
    pub(crate) generation: u64,
    /// Its name, for messages.
    pub(crate) file: &'static str,
}

impl ExpectedLog {
    /// A log of which nothing else is known.
    pub(crate) fn new(database_id: u128, from: Lsn) -> Self {
        Self { database_id, from, end: Lsn::NONE, generation: 0, file: "" }
    }
}

/// A log that was read, and can be [opened](super::Log::open).
pub(crate) struct LogFound(pub(super) reader::LogScan);

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

/// Reads and checks the log, and passes every record after `expected.from` to `read`, with the position after the
/// record. An error of `read` ends the scan and is returned. Damage is an error ([`LogError::Corrupt`] and others), and
/// so is an older copy of a file; a torn end is not.
pub(crate) fn look_into_log(
    files: &dyn Files,
    expected: &ExpectedLog,
    read: reader::OnRecord<'_>,
) -> Result<LogFound, LogError> {
    reader::read(files, expected, read).map(LogFound)
}

/// The cause of a missing or different file: `error`, unless the log shows that the file which names it is an older
/// copy.
#[cold]
pub(crate) fn older_or<E: From<LogError>>(files: &dyn Files, expected: &ExpectedLog, error: E) -> E {
    reader::check_generations(files, expected).map_or_else(E::from, |()| error)
}

/// The error for a record that ends at `lsn` and cannot be used, with the file that contains it.
pub(crate) fn refused(files: &dyn Files, lsn: Lsn, why: String) -> LogError {
    let before = |name: &String| matches!(parse_name(name), Named::Segment(first) if first < lsn);
    let segment = files.list(DIRECTORY).unwrap_or_default().into_iter().rfind(before);
    let file = files.open(segment.as_deref().unwrap_or(DIRECTORY)).map(|file| file.path().to_path_buf());
    LogError::Refused { file: file.unwrap_or_else(|_| DIRECTORY.into()), lsn, why }
}
