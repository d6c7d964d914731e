//! Bulk loads: rows into tables without a log record each, made durable by one checkpoint at the end.
//!
//! Before that checkpoint no row is durable: after a crash, or if the load is dropped unfinished, the next opening
//! finds the database as it was before the load. Transactions are refused during the load, because their log records
//! could not be replayed without its rows.

use crate::database::inner::Inner;
use crate::error::Error;
use crate::record::Record;

/// A running bulk load. Many threads may use it at once.
#[must_use = "nothing counts before `finish`"]
pub struct BulkLoad<'a> {
    inner: &'a Inner,
    finished: bool,
}

impl<'a> BulkLoad<'a> {
    pub(crate) fn begin(inner: &'a Inner) -> Result<Self, Error> {
        inner.begin_loading()?;
        Ok(Self { inner, finished: false })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] when a row has its primary key or a unique key already, [`Error::TableFull`] when memory
    /// is exhausted.
    pub fn insert<R: Record>(&self, row: &R) -> Result<(), Error> {
        self.inner.check_process()?;
        self.inner.engine.load_row(row)
    }

    /// Makes the rows durable, with a checkpoint, and accepts transactions again.
    ///
    /// # Errors
    /// When the checkpoint cannot be written; the database then has to be opened again, without the rows.
    pub fn finish(mut self) -> Result<(), Error> {
        self.inner.check_process()?;
        if self.inner.store.is_some() {
            self.inner.checkpoint(true)?;
        }
        self.finished = true;
        self.inner.engine.end_loading();
        Ok(())
    }
}

impl Drop for BulkLoad<'_> {
    fn drop(&mut self) {
        if !self.finished && self.inner.is_own() {
            self.inner
                .engine
                .stop("a bulk load was given up; open the database again to have it as it was before".to_owned());
        }
    }
}
