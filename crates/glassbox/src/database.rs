//! The database as its users see it: opened on a directory, called, closed.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::bulk_load::BulkLoad;
use crate::catalog::Catalog;
use crate::checkpointer::Checkpointer;
use crate::config::{Config, Durability};
use crate::error::Error;
use crate::io::{Clock, DirectoryLock, Files, RealClock, RealFiles};
use crate::log::{Log, Lsn};
use crate::manifest::Manifest;
use crate::open;
use crate::partitioned::{Engine, PartitionedTransaction};
use crate::procedure::{Procedure, ReadWriteSet, Stop};
use crate::stats::{Recovery, Stats};
use crate::ticket::Ticket;

/// An open database.
///
/// It may be shared by any number of threads. Dropping it closes it; [`Database::close`] does the same and says whether
/// it went well.
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    checkpointer: Option<Checkpointer>,
}

/// What the database's own threads share with it.
pub(crate) struct Inner {
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    /// Outstanding tickets.
    pub(crate) in_flight: AtomicUsize,
    /// `None`: in memory only.
    pub(crate) storage: Option<Storage>,
    pub(crate) recovery: Recovery,
    /// Checkpoints that the database began by itself and could not finish.
    pub(crate) failed_checkpoints: AtomicU64,
}

/// The database's directory.
pub(crate) struct Storage {
    pub(crate) files: Arc<dyn Files>,
    /// Also makes checkpoints wait for each other.
    pub(crate) manifest: Mutex<Manifest>,
    /// Where the log ends when it is not written (`Durability::None`).
    pub(crate) log_end: Lsn,
    pub(crate) _lock: DirectoryLock,
}

impl Database {
    /// Opens the database in `directory`, making it if there is none, and recovers what was answered.
    ///
    /// # Errors
    /// When the directory cannot be used or is in use, its files are damaged, or the catalog does not fit what is
    /// stored; the error says which and what to do.
    pub fn open(directory: impl AsRef<Path>, config: Config, catalog: Catalog) -> Result<Self, Error> {
        let files = RealFiles::new(directory.as_ref())?;
        Self::open_files(Arc::new(files), Box::new(RealClock::new()), config, catalog)
    }

    /// Opens the database in any implementation of files, with any clock: for tests and simulation.
    ///
    /// # Errors
    /// As for [`Database::open`].
    pub fn open_files(
        files: Arc<dyn Files>,
        clock: Box<dyn Clock>,
        config: Config,
        catalog: Catalog,
    ) -> Result<Self, Error> {
        open::open(Some(files), clock, config, catalog).map(Self::new)
    }

    /// A database without a directory: it ends with the program. Durability is [`Durability::None`] whatever `config`
    /// says.
    ///
    /// # Errors
    /// When the catalog or the configuration cannot be.
    pub fn in_memory(config: Config, catalog: Catalog) -> Result<Self, Error> {
        let config = Config { durability: Durability::None, ..config };
        open::open(None, Box::new(RealClock::new()), config, catalog).map(Self::new)
    }

    fn new(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        let checkpointer = Checkpointer::start(&inner);
        Self { inner, checkpointer }
    }

    /// Runs a procedure; returns when its outcome may be told: with [`Durability::Sync`], when it is durable.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure decided so; others when the database cannot go on.
    #[inline]
    pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
        let mut output = None;
        let executed = self.inner.engine.execute(procedure, &mut output)?;
        self.inner.wait(executed.lsn)?;
        executed.outcome?;
        Ok(output.expect("a run that commits has an output"))
    }

    /// Runs a procedure now and gives a ticket for its outcome, to be waited for later: so one thread can have
    /// thousands of transactions waiting for the same force.
    ///
    /// # Errors
    /// [`Error::TooManyInFlight`] beyond [`Config::in_flight`]; others when the database cannot go on.
    #[inline]
    pub fn submit<P: Procedure>(&self, procedure: &P) -> Result<Ticket<'_, P::Output>, Error> {
        let place = self.inner.take_place()?;
        let mut output = None;
        let executed = self.inner.engine.execute(procedure, &mut output)?;
        self.inner.nudge();
        Ok(Ticket::new(place, executed, output))
    }

    /// Runs a closure as a transaction. It may run several times before one run counts. Needs no catalog entry; with
    /// either kind of log its changes are logged as values.
    ///
    /// # Errors
    /// As for [`Database::call`].
    pub fn transaction<O>(&self, run: impl Fn(&mut PartitionedTransaction<'_>) -> Result<O, Stop>) -> Result<O, Error> {
        let mut output = None;
        let executed = self.inner.engine.execute_adhoc(|transaction| {
            output = Some(run(transaction)?);
            Ok(())
        })?;
        self.inner.wait(executed.lsn)?;
        executed.outcome?;
        Ok(output.expect("a run that commits has an output"))
    }

    /// Runs a procedure without changing anything: what it would read and write, as far as it can be known.
    ///
    /// # Errors
    /// When the database cannot go on.
    pub fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        let engine = &self.inner.engine;
        engine.discover(procedure, ReadWriteSet::new(engine.cells.len()))
    }

    /// Fills tables without logging each row; no transaction runs meanwhile, and nothing counts before
    /// [`BulkLoad::finish`].
    ///
    /// # Errors
    /// When the database has stopped or another bulk load is going on.
    pub fn bulk_load(&self) -> Result<BulkLoad<'_>, Error> {
        BulkLoad::begin(&self.inner)
    }

    /// Writes all rows as of now to a checkpoint file and drops the log before it. Transactions go on meanwhile.
    ///
    /// # Errors
    /// When the files cannot be written; the older checkpoint and the log then stay as they are.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.inner.checkpoint(false)
    }

    /// What the database did since it was opened, and the memory it uses.
    pub fn stats(&self) -> Stats {
        Stats::collect(&self.inner)
    }

    /// What opening found and did.
    pub fn recovery(&self) -> &Recovery {
        &self.inner.recovery
    }

    /// Checks every index against its table, and the copies of replicated tables against each other, in memory; what is
    /// wrong, empty when nothing is.
    pub fn verify(&self) -> Vec<String> {
        self.inner.engine.verify(&self.inner.catalog.tables)
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.inner.engine.cells.len()
    }

    /// Forces the log and ends it properly.
    ///
    /// # Errors
    /// When the log cannot be forced; what was answered before as durable is durable all the same.
    pub fn close(mut self) -> Result<(), Error> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<(), Error> {
        self.checkpointer.take();
        self.inner.engine.log.as_ref().map_or(Ok(()), Log::close)?;
        Ok(())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // There is nobody to tell; what was answered as durable was forced before.
        let _ = self.shut_down();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("config", &self.inner.config).field("catalog", &self.inner.catalog).finish()
    }
}

/// A place among the tickets that may be outstanding.
pub(crate) struct Place<'a>(pub(crate) &'a Inner);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Inner {
    /// Waits until what is before `lsn` may be told.
    #[inline]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        if self.config.durability == Durability::Sync
            && let Some(log) = &self.engine.log
        {
            log.wait(lsn).inspect_err(|error| self.engine.stop(error.to_string()))?;
        }
        Ok(())
    }

    /// Whether [`Inner::wait`] would return at once, if only with an error.
    pub(crate) fn is_told(&self, lsn: Lsn) -> bool {
        match &self.engine.log {
            Some(log) if self.config.durability == Durability::Sync => log.durable() >= lsn || log.check().is_err(),
            _ => true,
        }
    }

    /// Lets the log thread know that there is work, for those who do not wait at once.
    #[inline]
    fn nudge(&self) {
        if self.config.durability == Durability::Sync
            && let Some(log) = &self.engine.log
        {
            log.nudge();
        }
    }

    #[inline]
    fn take_place(&self) -> Result<Place<'_>, Error> {
        let place = Place(self);
        if self.in_flight.fetch_add(1, Ordering::Relaxed) >= self.config.in_flight {
            return Err(Error::TooManyInFlight { limit: self.config.in_flight });
        }
        Ok(place)
    }

    pub(crate) fn manifest<'a>(&self, storage: &'a Storage) -> MutexGuard<'a, Manifest> {
        storage.manifest.lock().unwrap_or_else(|poisoned| {
            // The manifest is changed only after it is written; a panic between leaves the older one, which is right.
            poisoned.into_inner()
        })
    }

    /// Writes a checkpoint and names it in the manifest; `loading`: it ends a bulk load.
    pub(crate) fn checkpoint(&self, loading: bool) -> Result<(), Error> {
        let Some(storage) = &self.storage else {
            return Err(Error::Config("a database in memory has no place for a checkpoint".to_owned()));
        };
        let mut manifest = self.manifest(storage);
        let lsn_now = || self.engine.log.as_ref().map_or(storage.log_end, Log::appended);
        let written = self.engine.checkpoint(&*storage.files, &self.catalog.tables, &manifest, loading, lsn_now)?;
        if let Some(log) = &self.engine.log {
            // The file holds what the log may not yet: a crash must not find it ahead of what the log can continue,
            // whatever the durability.
            log.force()?;
        }
        let older = manifest.checkpoint.take();
        let newer = Manifest { log_start: written.lsn.0, checkpoint: Some(written.entry), ..manifest.clone() };
        if let Err(error) = newer.write(&*storage.files) {
            manifest.checkpoint = older;
            return Err(error);
        }
        *manifest = newer;
        if let Some(older) = older {
            storage.files.remove(&older.file)?;
        }
        if let Some(log) = &self.engine.log {
            log.truncate(written.lsn);
        }
        Ok(())
    }
}
