//! The write-ahead rule, before and after the log is open.
//!
//! While recovery does the log again, pages get changes whose records were read from files; these may be in the
//! system's cache only, if just the process died. So before the first page is written, all files of the log are
//! forced. Once the log is open for appending it does this itself.

use std::sync::{Arc, Mutex, OnceLock};

use crate::classic::buffer::WriteAhead;
use crate::error::Error;
use crate::io::Files;
use crate::log::{self, Log, Lsn};

/// The log as the buffer pool sees it.
pub(crate) struct LogAhead {
    files: Arc<dyn Files>,
    log: OnceLock<Arc<Log>>,
    /// Whether the files were forced.
    forced: Mutex<bool>,
}

impl LogAhead {
    /// For a log that is only being read.
    pub(crate) fn new(files: Arc<dyn Files>) -> Self {
        Self { files, log: OnceLock::new(), forced: Mutex::new(false) }
    }

    /// For a log that is open.
    pub(crate) fn of(files: Arc<dyn Files>, log: Arc<Log>) -> Self {
        let ahead = Self::new(files);
        ahead.set(log);
        ahead
    }

    /// The log is open from now on.
    ///
    /// # Panics
    /// When it was already.
    pub(crate) fn set(&self, log: Arc<Log>) {
        assert!(self.log.set(log).is_ok(), "the log is opened once");
    }

    fn force_files(&self) -> Result<(), Error> {
        let mut forced = self.forced.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*forced {
            for name in self.files.list(log::DIRECTORY)? {
                self.files.open(&name)?.sync_data()?;
            }
            *forced = true;
        }
        Ok(())
    }
}

impl WriteAhead for LogAhead {
    fn force_up_to(&self, lsn: Lsn) -> Result<(), Error> {
        match self.log.get() {
            Some(log) => log.force_up_to(lsn),
            None => self.force_files(),
        }
    }
}
