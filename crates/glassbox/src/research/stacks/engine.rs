//! What a stack must have to be a database: an engine that is made for it.

use std::path::Path;

use super::typed::StackConfig;
use crate::catalog::Catalog;
use crate::error::Error;
use crate::io::Clock;
use crate::log::Lsn;
use crate::procedure::Procedure;
use crate::record::Record;

/// A stack that has a name.
pub(crate) trait NamedStack {
    /// What runs its transactions.
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

    /// Runs a procedure, whose output or abort becomes the `answer`: durable at the position that this gives.
    ///
    /// # Errors
    /// When the engine fails.
    fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Result<P::Output, Error>) -> Result<Lsn, Error>;

    /// Returns when what was logged up to `lsn` may be told.
    ///
    /// # Errors
    /// When the log fails.
    fn wait(&self, lsn: Lsn) -> Result<(), Error>;

    /// Lets whoever forces the log know that somebody will wait for it.
    fn nudge(&self);

    /// A number that all rows of all tables give, wherever they are.
    ///
    /// # Errors
    /// When they cannot be read.
    fn digest(&self) -> Result<u64, Error>;

    /// What is wrong with the data; empty when nothing is.
    fn verify(&self) -> Vec<String>;
}
