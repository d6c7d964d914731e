//! The database as its users see it: opened on a directory, called, closed.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::any_transaction::AnyTransaction;
use crate::bulk_load::BulkLoad;
use crate::catalog::Catalog;
use crate::checkpointer::Checkpointer;
use crate::config::{Config, Durability};
use crate::error::{Error, NOT_ANSWERED, look_at};
use crate::explain::LockWait;
use crate::inner::Inner;
use crate::io::{Clock, Files, RealClock, RealFiles};
use crate::open;
use crate::procedure::{Procedure, ReadWriteSet, Stop};
use crate::stats::{Recovery, SimulatedPages, Stats};
use crate::ticket::Ticket;

/// An open database.
///
/// It may be shared by any number of threads. Dropping it closes it; [`Database::close`] does the same, also where the
/// database is shared, and says whether it went well.
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    life: Mutex<Life>,
}

/// What a close ends.
struct Life {
    checkpointer: Option<Checkpointer>,
    closed: bool,
}

impl Database {
    /// Opens the database in `directory`, making it if there is none, and recovers what was answered.
    ///
    /// # Errors
    /// When the directory cannot be used or is in use, its files are damaged, or the catalog does not fit what is
    /// stored; the error says which and what to do.
    pub fn open(directory: impl AsRef<Path>, config: Config, catalog: Catalog) -> Result<Self, Error> {
        let path = directory.as_ref();
        let files = RealFiles::new(path)?;
        let opened = Self::open_files(Arc::new(files), Box::new(RealClock::new()), config, catalog);
        opened.map_err(|error| match error {
            Error::Directory { problem, .. } => Error::Directory { path: path.display().to_string(), problem },
            other => other,
        })
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
        Self { inner, life: Mutex::new(Life { checkpointer, closed: false }) }
    }

    /// Runs a procedure; returns when its outcome may be told: with [`Durability::Sync`], when it is durable.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure decided so; [`Error::DuplicateKey`] or [`Error::TableFull`] when a row was
    /// refused; others when the database cannot go on.
    ///
    /// # Panics
    /// When the procedure does, after rolling it back.
    // Not inlined: the answer is then written where the caller wants it, instead of being moved there.
    #[inline(never)]
    pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
        let mut answer = Err(NOT_ANSWERED);
        let told = self.inner.engine.execute(procedure, &mut answer).and_then(|lsn| self.inner.wait(lsn));
        if let Err(error) = told {
            answer = Err(error);
        }
        answer
    }

    /// As [`Database::call`], and lets `look` see the output where it is, instead of handing it over: what is large is
    /// moved once less. `look` is called when the outcome may be told.
    ///
    /// # Errors
    /// As for [`Database::call`].
    #[inline]
    pub fn call_with<P: Procedure, N>(&self, procedure: &P, look: impl FnOnce(&P::Output) -> N) -> Result<N, Error> {
        let mut answer = Err(NOT_ANSWERED);
        let lsn = self.inner.engine.execute(procedure, &mut answer)?;
        self.inner.wait(lsn)?;
        look_at(&mut answer, look)
    }

    /// Runs a procedure now and gives a ticket for its outcome, to be waited for later: so one thread can have
    /// thousands of transactions waiting for the same force.
    ///
    /// # Errors
    /// [`Error::TooManyInFlight`] beyond [`Config::in_flight`]; others when the database cannot go on.
    #[inline]
    pub fn submit<P: Procedure>(&self, procedure: &P) -> Result<Ticket<'_, P::Output>, Error> {
        let place = self.inner.take_place()?;
        let mut answer = Err(NOT_ANSWERED);
        let lsn = self.inner.engine.execute(procedure, &mut answer)?;
        self.inner.nudge();
        Ok(Ticket::new(place, lsn, answer))
    }

    /// As [`Database::submit`], with a ticket for what `look` makes of the output, which is not kept: thousands of
    /// large ones would push more useful things out of the caches. `look` is called at once, unless the transaction
    /// aborted.
    ///
    /// # Errors
    /// As for [`Database::submit`].
    #[inline]
    pub fn submit_with<P: Procedure, N>(
        &self,
        procedure: &P,
        look: impl FnOnce(&P::Output) -> N,
    ) -> Result<Ticket<'_, N>, Error> {
        let place = self.inner.take_place()?;
        let mut answer = Err(NOT_ANSWERED);
        let lsn = self.inner.engine.execute(procedure, &mut answer)?;
        self.inner.nudge();
        Ok(Ticket::new(place, lsn, look_at(&mut answer, look)))
    }

    /// Runs a closure as a transaction. It may run several times before one run counts. Needs no catalog entry; with
    /// either kind of log its changes are logged as values.
    ///
    /// When the partition is taken, its holder runs the closure in another thread. So it and its output must be able to
    /// go there:
    ///
    /// ```compile_fail,E0277
    /// let db = glassbox::Database::in_memory(glassbox::Config::default(), glassbox::Catalog::new()).unwrap();
    /// let counter = std::rc::Rc::new(1);
    /// db.transaction(|_| Ok(*counter)).unwrap();
    /// ```
    ///
    /// It must not call the database itself, for it would wait for the partitions that it holds: such a call is
    /// [`Error::Nested`] at once. Only [`Database::counts`] and [`Database::stats`] answer there. A thread that the
    /// closure starts and waits for is not recognised.
    ///
    /// # Errors
    /// As for [`Database::call`].
    pub fn transaction<O: Send>(
        &self,
        run: impl Fn(&mut AnyTransaction<'_, '_>) -> Result<O, Stop> + Sync,
    ) -> Result<O, Error> {
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
        self.inner.engine.dry_run(procedure)
    }

    /// Fills tables without logging each row; no transaction runs meanwhile, and nothing counts before
    /// [`BulkLoad::finish`].
    ///
    /// # Errors
    /// When the database has stopped or another bulk load is going on; [`Error::Busy`] when a transaction goes on for
    /// more than ten seconds.
    pub fn bulk_load(&self) -> Result<BulkLoad<'_>, Error> {
        BulkLoad::begin(&self.inner)
    }

    /// Writes all rows as of now to a checkpoint file and drops the log before it. Transactions go on meanwhile; on the
    /// partitioned engine it waits at its beginning, and again at each piece of 64 KiB, for the transaction that runs
    /// on the partition.
    ///
    /// # Errors
    /// [`Error::Busy`] when a partition has run one transaction for more than ten seconds at the beginning,
    /// [`Error::Nested`] inside a transaction. When the files cannot be written. The older checkpoint and the log then
    /// stay as they are.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.inner.checkpoint(false)
    }

    /// Returns when everything answered before is durable, whatever the durability: then a crash loses none of it. With
    /// [`Durability::None`] the partitioned engine has no log to force and writes a checkpoint instead, which takes as
    /// long as [`Database::checkpoint`]. The rows of a bulk load are durable only when that is
    /// [finished](BulkLoad::finish); a database [in memory](Database::in_memory) has nothing to write.
    ///
    /// # Errors
    /// When the log cannot be forced: the rest of it may or may not be on disk, and the database stops. Without a log,
    /// as for [`Database::checkpoint`]: the older checkpoint stays, and `flush` may be repeated.
    pub fn flush(&self) -> Result<(), Error> {
        self.inner.flush()
    }

    /// What the database did since it was opened, and the space it uses. Waits for no transaction: where one runs on a
    /// partition at that moment, and goes on for more than ten milliseconds, the space of the partition is that of the
    /// last time. The classic engine reads all pages of all tables.
    pub fn stats(&self) -> Stats {
        Stats::collect(&self.inner, true)
    }

    /// The same without the space of tables: some numbers read from memory, without waiting for anything. To be asked
    /// often.
    pub fn counts(&self) -> Stats {
        Stats::collect(&self.inner, false)
    }

    /// The last waits for locks that are over, oldest first: who waited for whom, on what, for how long. `None`: the
    /// partitioned engine has no locks.
    pub fn explain_waits(&self) -> Option<Vec<LockWait>> {
        self.inner.engine.as_classic().map(LockWait::last)
    }

    /// What the replacement policy alone would have done so far: what a simulator says to which the recorded fixes are
    /// given, one after the other. `None` unless `trace_pages` was configured.
    #[doc(hidden)]
    pub fn simulated_pages(&self) -> Option<SimulatedPages> {
        let simulated = self.inner.engine.as_classic()?.simulated()?;
        Some(SimulatedPages { missed: simulated.misses, written: simulated.writes })
    }

    /// What opening found and did.
    pub fn recovery(&self) -> &Recovery {
        &self.inner.recovery
    }

    /// Checks every index against its table, and the copies of replicated tables against each other, in memory; what is
    /// wrong, empty when nothing is. No transaction runs meanwhile; one that goes on for more than ten seconds is told
    /// instead.
    pub fn verify(&self) -> Vec<String> {
        self.inner.engine.verify(&self.inner.catalog)
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.inner.engine.partitions()
    }

    /// Refuses all further calls, waits for those that run, forces the log and ends it properly, whatever the
    /// durability; without a log (partitioned, [`Durability::None`]), writes a checkpoint. The next opening, which may
    /// be in the same process, finds every answered transaction. Tickets can still be waited for; closing again does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Busy`] when a transaction goes on for more than ten seconds: the database refuses calls all the same,
    /// and can be closed again when it has ended. [`Error::Loading`] during a bulk load, [`Error::Nested`] inside a
    /// transaction. When the log cannot be forced; what was answered before as durable is durable all the same. When a
    /// checkpoint cannot be written, or the database has stopped: without a log the next opening finds the older
    /// checkpoint.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.engine.health().refuse_nested()?;
        let mut life = self.life.lock().unwrap_or_else(PoisonError::into_inner);
        if life.closed {
            return Ok(());
        }
        self.inner.engine.close()?;
        // It waits for no transaction any more, so this takes no longer than the checkpoint that it may be writing.
        life.checkpointer.take();
        self.inner.close()?;
        life.closed = true;
        Ok(())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // There is no caller to give an error to; what was answered as durable was forced before.
        let _ = self.close();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("config", &self.inner.config).field("catalog", &self.inner.catalog).finish()
    }
}

#[cfg(test)]
mod tests;
