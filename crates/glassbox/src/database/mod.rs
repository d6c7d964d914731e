//! The database's interface for programs: open, call, close.

pub(crate) mod any_engine;
pub(crate) mod any_transaction;
pub(crate) mod bulk_load;
pub(crate) mod checkpointer;
pub(crate) mod claim;
pub(crate) mod execution;
pub(crate) mod executors;
pub(crate) mod explain;
pub(crate) mod inner;
pub(crate) mod open;
pub(crate) mod open_classic;
pub(crate) mod plan;
pub(crate) mod prepared;
pub(crate) mod sessions;
#[cfg(test)]
mod tests;
pub(crate) mod ticket;

use std::any::TypeId;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::config::{Config, Durability, ExecutionPolicy};
use crate::database::any_transaction::AnyTransaction;
use crate::database::bulk_load::BulkLoad;
use crate::database::checkpointer::Checkpointer;
use crate::database::execution::ProcedureExecution;
use crate::database::executors::Executors;
use crate::database::explain::LockWait;
use crate::database::inner::Inner;
use crate::database::sessions::SessionState;
use crate::database::ticket::Ticket;
use crate::error::Error;
use crate::io::{Clock, Files, RealClock, RealFiles};
use crate::partitioned::Take;
use crate::procedure::{Procedure, ReadWriteSet, Stop};
use crate::stats::{PartitionStats, Recovery, SchemaPlan, SimulatedPages, Stats};

/// An open database.
///
/// Any number of threads may share it. Dropping it closes it; [`Database::close`] does the same, also for a shared
/// database, and returns errors.
pub struct Database {
    pub(crate) inner: Arc<Inner>,
    background: Mutex<Background>,
}

/// The threads that a close ends.
struct Background {
    checkpointer: Option<Checkpointer>,
    executors: Option<Executors>,
    closed: bool,
}

impl Database {
    /// Opens the database in `directory`, or creates it, and recovers every transaction answered as durable.
    ///
    /// # Errors
    /// When the directory cannot be used or is in use, its files are damaged, or the catalog does not agree with the
    /// stored schema; the error names the cause and the remedy.
    pub fn open(directory: impl AsRef<Path>, config: Config, catalog: Catalog) -> Result<Self, Error> {
        let path = directory.as_ref();
        let files = RealFiles::new(path)?;
        let opened = Self::open_files(Arc::new(files), Box::new(RealClock::new()), config, catalog);
        opened.map_err(|error| match error {
            Error::Directory { problem, .. } => Error::Directory { path: path.display().to_string(), problem },
            other => other,
        })
    }

    /// Opens the database in any implementation of files, with any clock: for tests and simulations.
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

    /// How opening would change the rows of a database: which tables it would convert, and how many rows and bytes.
    /// Nothing is changed, and the database must not be open. Counting reads the log, and all pages of the classic
    /// engine.
    ///
    /// Rows are not looked at: opening may still refuse an index that is to be unique.
    ///
    /// # Errors
    /// Those of [`Database::open`] about the catalog and the stored schema.
    pub fn plan(directory: impl AsRef<Path>, catalog: &Catalog, config: &Config) -> Result<SchemaPlan, Error> {
        plan::plan(directory.as_ref(), catalog, config)
    }

    /// A database without a directory: it ends with the program. Durability is [`Durability::None`] whatever `config`
    /// says.
    ///
    /// # Errors
    /// When the catalog or the configuration is invalid.
    pub fn in_memory(config: Config, catalog: Catalog) -> Result<Self, Error> {
        let config = Config { durability: Durability::None, ..config };
        open::open(None, Box::new(RealClock::new()), config, catalog).map(Self::new)
    }

    fn new(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        let (checkpointer, executors) = (Checkpointer::start(&inner), Executors::start(&inner));
        Self { inner, background: Mutex::new(Background { checkpointer, executors, closed: false }) }
    }

    /// Runs a procedure; with [`Durability::Sync`], returns when the transaction is durable.
    ///
    /// # Errors
    /// [`Error::Aborted`] when the procedure aborts; [`Error::DuplicateKey`] or [`Error::TableFull`] when a row was
    /// refused; others when the database has stopped.
    ///
    /// # Panics
    /// When the procedure does, after rolling it back.
    // Not inlined, so that the answer is written directly to the caller's memory.
    #[inline(never)]
    pub fn call<P: Procedure>(&self, procedure: &P) -> Result<P::Output, Error> {
        self.inner.check_process()?;
        let mut answer = Answer::Empty;
        let lsn = self.inner.engine.execute(procedure, &mut answer)?;
        self.inner.wait(lsn)?;
        answer.into_result()
    }

    /// As [`Database::call`], but passes the output to `look` by reference, which saves one move of a large output.
    /// `look` is called when `call` would return.
    ///
    /// # Errors
    /// As for [`Database::call`].
    #[inline]
    pub fn call_with<P: Procedure, N>(&self, procedure: &P, look: impl FnOnce(&P::Output) -> N) -> Result<N, Error> {
        self.inner.check_process()?;
        let mut answer = Answer::Empty;
        let lsn = self.inner.engine.execute(procedure, &mut answer)?;
        self.inner.wait(lsn)?;
        answer.look(look)
    }

    /// Runs a procedure, or leaves it for a thread on its partition's core, and returns a ticket for its outcome before
    /// it is durable: so one thread can have thousands of transactions in flight that wait for the same force.
    ///
    /// Calls of one thread that need a common partition run in the order in which it submitted them, unless
    /// [`Config::in_order`] says otherwise. [`Config::execution`] says which thread runs a call.
    ///
    /// # Errors
    /// [`Error::TooManyInFlight`] beyond [`Config::in_flight`]; others when the database has stopped.
    #[inline]
    pub fn submit<P: Procedure>(&self, procedure: P) -> Result<Ticket<'_, P::Output>, Error> {
        self.submit_taking(procedure, |answer| std::mem::replace(answer, Answer::Empty).into_result())
    }

    #[inline(always)]
    fn submit_taking<P: Procedure, N: Send + 'static>(
        &self,
        procedure: P,
        take: impl Take<P::Output, N>,
    ) -> Result<Ticket<'_, N>, Error> {
        self.inner.check_process()?;
        let place = self.inner.in_flight.take_place()?;
        let submitted = self.inner.engine.submit(procedure, take)?;
        self.inner.nudge();
        Ok(Ticket::new(&self.inner, place, submitted))
    }

    /// As [`Database::submit`], but the ticket keeps the result of `look` on the output instead of the output:
    /// thousands of large outputs would evict more useful data from the caches. `look` is called where the procedure
    /// runs, before its ticket is ready, unless the transaction aborted; it must not call the database
    /// ([`Error::Nested`]).
    ///
    /// # Errors
    /// As for [`Database::submit`].
    #[inline]
    pub fn submit_with<P: Procedure, N: Send + 'static>(
        &self,
        procedure: P,
        look: impl FnOnce(&P::Output) -> N + Send + 'static,
    ) -> Result<Ticket<'_, N>, Error> {
        self.submit_taking(procedure, |answer| answer.look(look))
    }

    /// Runs a closure as a transaction. It may be restarted several times. It needs no catalog entry; with either kind
    /// of log its changes are logged as values.
    ///
    /// If another thread holds the partition, that thread runs the closure. So the closure and its output must be
    /// `Send`:
    ///
    /// ```compile_fail,E0277
    /// let db = glassbox::Database::in_memory(glassbox::Config::default(), glassbox::Catalog::new()).unwrap();
    /// let counter = std::rc::Rc::new(1);
    /// db.transaction(|_| Ok(*counter)).unwrap();
    /// ```
    ///
    /// The closure must not call the database, which would wait for the partitions that the transaction holds: such a
    /// call returns [`Error::Nested`] at once. Only [`Database::counts`] and [`Database::stats`] work there. A call
    /// from another thread for which the closure waits is not detected.
    ///
    /// # Errors
    /// As for [`Database::call`].
    pub fn transaction<O: Send>(
        &self,
        run: impl Fn(&mut AnyTransaction<'_, '_>) -> Result<O, Stop> + Sync,
    ) -> Result<O, Error> {
        self.inner.check_process()?;
        let mut output = None;
        let executed = self.inner.engine.execute_adhoc(|transaction| {
            output = Some(run(transaction)?);
            Ok(())
        })?;
        self.inner.wait(executed.lsn)?;
        executed.outcome?;
        Ok(output.expect("a run that commits has an output"))
    }

    /// Runs a procedure without changing anything, and returns the keys that it would read and write now. The run sees
    /// its own writes, nothing else does; it is in no statistics and no log.
    ///
    /// # Errors
    /// [`Error::DryRunTooLong`] when the run has not ended after about a million accesses; when the database has
    /// stopped.
    ///
    /// # Panics
    /// When the procedure does.
    pub fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        self.inner.check_process()?;
        self.inner.engine.dry_run(procedure)
    }

    /// Fills tables without logging each row. No transaction runs meanwhile, and no row is durable before
    /// [`BulkLoad::finish`].
    ///
    /// # Errors
    /// When the database has stopped or another bulk load runs; [`Error::Busy`] when a transaction runs for more than
    /// ten seconds.
    pub fn bulk_load(&self) -> Result<BulkLoad<'_>, Error> {
        self.inner.check_process()?;
        BulkLoad::begin(&self.inner)
    }

    /// Writes all rows as of now to a checkpoint file and truncates the log before it. Transactions continue meanwhile.
    /// On the partitioned engine it waits at its beginning, and before each piece of 64 KiB, for the transaction that
    /// runs on the partition.
    ///
    /// # Errors
    /// [`Error::Busy`] when a partition has run one transaction for more than ten seconds at the beginning,
    /// [`Error::Nested`] inside a transaction. Others when the files cannot be written; then the last checkpoint and
    /// the log stay as they are.
    pub fn checkpoint(&self) -> Result<(), Error> {
        self.inner.check_process()?;
        self.inner.checkpoint(false)
    }

    /// Returns when every transaction answered before is durable, whatever the configured durability. With
    /// [`Durability::None`] the partitioned engine has no log to force and writes a checkpoint instead, which takes as
    /// long as [`Database::checkpoint`]. The rows of a bulk load are durable only when that is
    /// [finished](BulkLoad::finish); a database [in memory](Database::in_memory) has nothing to write.
    ///
    /// # Errors
    /// When the log cannot be forced: its unforced part may or may not be on disk, and the database stops. Without a
    /// log, as for [`Database::checkpoint`]: the last checkpoint stays, and `flush` may be repeated.
    pub fn flush(&self) -> Result<(), Error> {
        self.inner.check_process()?;
        self.inner.flush()
    }

    /// Counts since the database was opened, and the space of its tables. Waits for no transaction: if one runs on a
    /// partition for more than ten milliseconds, the last known space of that partition is returned. The classic engine
    /// reads all pages of all tables. A database that has stopped shows no tables.
    pub fn stats(&self) -> Stats {
        Stats::collect(&self.inner, self.inner.is_own())
    }

    /// The same without the space of tables: some numbers in memory, read without waiting, so it can be called often.
    pub fn counts(&self) -> Stats {
        Stats::collect(&self.inner, false)
    }

    /// The part of [`Database::counts`] about partitions; none on the classic engine. Cheap enough for a hundred calls
    /// a second.
    pub fn partition_stats(&self) -> Vec<PartitionStats> {
        self.inner.engine.partition_stats()
    }

    /// The last ended waits for locks, oldest first: the waiting transaction, the holders, the lock, the duration.
    /// `None`: the partitioned engine has no locks.
    pub fn explain_waits(&self) -> Option<Vec<LockWait>> {
        self.inner.engine.as_classic().map(|engine| self.inner.read_shared(engine, LockWait::last))
    }

    /// What each session does now: runs, reads a page, waits for a lock. `None`: the partitioned engine has no
    /// sessions.
    pub fn sessions(&self) -> Option<Vec<SessionState>> {
        self.inner.engine.as_classic().map(|engine| self.inner.read_shared(engine, SessionState::all))
    }

    /// How each procedure of the catalog is executed, in the catalog's order, and what its stages were like; closures
    /// come last, as one. `None`: the partitioned engine has no stages.
    pub fn explain_execution(&self) -> Option<Vec<ProcedureExecution>> {
        self.inner.engine.as_classic().map(ProcedureExecution::all)
    }

    /// Executes a procedure under another policy from now on. The configuration of the next opening decides again.
    ///
    /// # Errors
    /// [`Error::UnknownProcedure`] when the catalog does not have it, and [`Error::Config`] on the partitioned engine,
    /// which has no stages.
    pub fn set_execution<P: Procedure>(&self, policy: ExecutionPolicy) -> Result<(), Error> {
        self.inner.check_process()?;
        let Some(engine) = self.inner.engine.as_classic() else {
            let message = "transactions of the partitioned engine have no stages: open the database with \
                           Architecture::Classic";
            return Err(Error::Config(message.to_owned()));
        };
        let known = engine.procedures().iter().position(|known| known.id == TypeId::of::<P>());
        let at = known.ok_or(Error::UnknownProcedure { name: P::NAME })?;
        engine.procedures()[at].set_policy(policy, engine.stage_sums(at), engine.class_costs(at));
        Ok(())
    }

    /// Reads and writes of a simulated buffer pool with the same replacement policy, given the recorded fixes one after
    /// the other. `None` unless `trace_pages` was configured.
    #[doc(hidden)]
    pub fn simulated_pages(&self) -> Option<SimulatedPages> {
        let simulated = self.inner.engine.as_classic().filter(|_| self.inner.is_own())?.simulated()?;
        Some(SimulatedPages { missed: simulated.misses, written: simulated.writes })
    }

    /// Result of recovery at the opening.
    pub fn recovery(&self) -> &Recovery {
        &self.inner.recovery
    }

    /// Checks, in memory, every index against its table, and the copies of replicated tables against each other.
    /// Returns the inconsistencies, one message each. No transaction runs meanwhile; if one runs for more than ten
    /// seconds, the result is a message about it instead. A database that has stopped is not checked: the only message
    /// is the error that stopped it.
    pub fn verify(&self) -> Vec<String> {
        match self.inner.check_process() {
            Ok(()) => self.inner.engine.verify(&self.inner.catalog),
            Err(error) => vec![error.to_string()],
        }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.inner.engine.partitions()
    }

    /// Refuses further calls, waits for running ones, forces the log and writes its closing block, whatever the
    /// durability. Without a log (partitioned, [`Durability::None`]), or with calls in a log of commands, it writes a
    /// checkpoint: no call is replayed at the next opening, so procedures may have other versions then. The next
    /// opening, which may be in the same process, finds every answered transaction. Tickets can still be waited for; a
    /// second close has no effect.
    ///
    /// A log of values is kept: each opening after a close replays the records since the last checkpoint, the same ones
    /// until there is a new checkpoint. [`Database::checkpoint`] before the close makes the next opening fast.
    ///
    /// # Errors
    /// [`Error::Busy`], with the name of the procedure, when a transaction runs for more than ten seconds: the database
    /// refuses calls nevertheless, and can be closed again when the transaction has ended. [`Error::Loading`] during a
    /// bulk load, [`Error::Nested`] inside a transaction. Others when the log cannot be forced (transactions answered
    /// as durable stay durable), a checkpoint cannot be written, or the database has stopped: without a log the next
    /// opening finds the last checkpoint.
    pub fn close(&self) -> Result<(), Error> {
        self.inner.check_process()?;
        self.inner.engine.health().refuse_nested()?;
        let mut background = self.background.lock().unwrap_or_else(PoisonError::into_inner);
        if background.closed {
            return Ok(());
        }
        self.inner.engine.close()?;
        // The checkpointer waits for no transaction now, so its end takes no longer than a checkpoint in progress.
        background.checkpointer.take();
        background.executors.take();
        self.inner.close()?;
        background.closed = true;
        Ok(())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if !self.inner.is_own() {
            // The threads, the files and the locks are the parent's, and another thread of the parent may have held
            // any lock of memory at the fork. So nothing is dropped.
            std::mem::forget(Arc::clone(&self.inner));
            let background = self.background.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget((background.checkpointer.take(), background.executors.take()));
            return;
        }
        // No caller can receive an error here; every transaction answered as durable was forced before.
        let _ = self.close();
    }
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").field("config", &self.inner.config).field("catalog", &self.inner.catalog).finish()
    }
}
