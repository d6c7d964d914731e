//! The interface of a stack's engine: the operations that a database needs.

use std::path::Path;

use super::typed::StackConfig;
use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::io::Clock;
use crate::log::Lsn;
use crate::procedure::Procedure;
use crate::record::Record;

/// A stack that has a name.
pub(crate) trait NamedStack {
    /// The engine that runs its transactions.
    type Engine: StackEngine;
}

/// An engine of which some components may be left out.
pub(crate) trait StackEngine: Sized {
    /// An engine with the tables and procedures of the catalog and no rows; in an empty directory, if it writes a log.
    ///
    /// # Errors
    /// When the directory is missing or not empty, or the system does not give files or memory.
    fn make(
        directory: Option<&Path>,
        config: &StackConfig,
        clock: impl Clock + 'static,
        catalog: &Catalog,
    ) -> Result<Self, Error>;

    /// Adds a row without log and locks, before the first call.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`]; without pages [`Error::TableFull`]; others when pages fail.
    fn load<R: Record>(&self, row: &R) -> Result<(), Error>;

    /// Runs a procedure, whose output or abort becomes the `answer`. The transaction is durable once the log is durable
    /// up to the returned position.
    ///
    /// # Errors
    /// When the engine fails.
    fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error>;

    /// Returns when answers that depend on the log up to `lsn` may be given.
    ///
    /// # Errors
    /// When the log fails.
    fn wait(&self, lsn: Lsn) -> Result<(), Error>;

    /// Wakes the log thread, because a caller will wait for the log.
    fn nudge(&self);

    /// Digest of all rows of all tables, independent of where they are stored.
    ///
    /// # Errors
    /// When they cannot be read.
    fn digest(&self) -> Result<u64, Error>;

    /// Inconsistencies of the data, one message each; empty when there is none.
    fn verify(&self) -> Vec<String>;
}
