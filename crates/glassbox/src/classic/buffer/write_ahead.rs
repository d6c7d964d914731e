//! The write-ahead rule for the pool: no page is written before the log of its changes is durable.

use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::log::{Log, Lsn};

/// A log that can be made durable.
pub(crate) trait WriteAhead {
    /// Returns when the log is durable up to `lsn`, whatever its configuration says about waiting.
    ///
    /// # Errors
    /// When the log cannot be forced; then the page must not be written.
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error>;
}

impl WriteAhead for Log {
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        Ok(Log::force_up_to(self, lsn)?)
    }
}

impl<W: WriteAhead> WriteAhead for Arc<W> {
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        W::force_up_to(self, lsn)
    }
}

/// Set once there is something to wait for. Until then, as in recovery, all of the log that pages were changed by has
/// been read from disk.
impl<W: WriteAhead> WriteAhead for OnceLock<W> {
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        self.get().map_or(Ok(()), |log| log.force_up_to(lsn))
    }
}

/// For a stack without a log: there is no recovery after a crash, so no order is needed.
pub(crate) struct NoWriteAhead;

impl WriteAhead for NoWriteAhead {
    fn force_up_to(&self, _lsn: Lsn) -> Result<(), Error> {
        Ok(())
    }
}
