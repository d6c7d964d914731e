//! The engine of a database: partitioned or classic. The choice costs one branch for each transaction.

use std::panic::resume_unwind;
use std::sync::atomic::Ordering;

use crate::answer::Answer;
use crate::catalog::Catalog;
use crate::classic;
use crate::config::Execution;
use crate::database::any_transaction::AnyTransaction;
use crate::error::Error;
use crate::executed::{Counters, Executed, PartitionStats, StoredAnswer, TableUsage};
use crate::health::{Health, Until};
use crate::log::{Log, Lsn};
use crate::partitioned::{self, Discovered, Submission, Take};
use crate::procedure::{MAX_ACCESSES, PartitionSet, Procedure, ReadWriteSet, Stop};
use crate::record::Record;

/// One of the two engines.
#[allow(clippy::large_enum_variant)] // there is one in a database, and it is not moved
pub(crate) enum AnyEngine {
    Partitioned(partitioned::Engine),
    Classic(classic::Engine),
}

macro_rules! on_either {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            AnyEngine::Partitioned($engine) => $call,
            AnyEngine::Classic($engine) => $call,
        }
    };
}

impl AnyEngine {
    /// Runs a procedure, whose output or abort becomes the `answer`. Its effects are visible and in the log's order
    /// when this returns, and durable at the position that it gives.
    #[inline(always)]
    pub(crate) fn execute<P: Procedure>(&self, procedure: &P, answer: &mut Answer<P::Output>) -> Result<Lsn, Error> {
        match self {
            // The engine checks for nested calls itself, where the check costs nothing.
            Self::Partitioned(engine) => engine.execute(procedure, answer),
            Self::Classic(engine) => {
                engine.health().refuse_nested()?;
                let _inside = engine.health().enter();
                engine.execute(procedure, answer)
            }
        }
    }

    /// Runs a procedure, here or in a thread on its partition's core. `take` gets what is to be kept of the
    /// output.
    #[inline(always)]
    pub(crate) fn submit<P: Procedure, N: Send + 'static, T: Take<P::Output, N>>(
        &self,
        procedure: P,
        take: T,
    ) -> Result<Submission<'_, N>, Error> {
        match self {
            Self::Partitioned(engine) => partitioned::submit(engine, procedure, take),
            Self::Classic(_) => {
                let mut answer = Answer::Empty;
                let lsn = self.execute(&procedure, &mut answer)?;
                Ok(Submission::Ran(StoredAnswer::new(take(&mut answer)), lsn))
            }
        }
    }

    /// Runs a closure as a transaction.
    pub(crate) fn execute_adhoc(
        &self,
        mut run: impl FnMut(&mut AnyTransaction<'_, '_>) -> Result<(), Stop> + Send,
    ) -> Result<Executed, Error> {
        let health = self.health();
        health.refuse_nested()?;
        on_either!(self, engine => engine.execute_adhoc(|transaction| {
            // In the thread that runs the closure, which may not be the caller's.
            let _inside = health.enter();
            run(&mut transaction.into())
        }))
    }

    /// Runs a procedure without changing anything.
    pub(crate) fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        self.health().refuse_nested()?;
        match self {
            Self::Partitioned(engine) => match engine.discover(procedure, PartitionSet::EMPTY)? {
                Discovered::All(set) => Ok(set),
                Discovered::Exhausted(_) => Err(Error::DryRunTooLong { name: P::NAME, accesses: MAX_ACCESSES }),
                Discovered::Panicked(panic) => resume_unwind(panic),
            },
            Self::Classic(engine) => {
                let _inside = engine.health().enter();
                engine.dry_run(procedure)
            }
        }
    }

    /// `None` with [`Durability::None`](crate::Durability::None).
    #[inline(always)]
    pub(crate) fn log(&self) -> Option<&Log> {
        match self {
            Self::Partitioned(engine) => engine.log.as_ref(),
            Self::Classic(engine) => Some(engine.log()),
        }
    }

    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        on_either!(self, engine => engine.stop(reason));
    }

    /// Fails with the reason if the engine accepts no work.
    pub(crate) fn check(&self) -> Result<(), Error> {
        on_either!(self, engine => engine.check())
    }

    /// The engine's health: whether it accepts work.
    pub(crate) fn health(&self) -> &Health {
        on_either!(self, engine => engine.health())
    }

    /// Waits for running transactions.
    ///
    /// # Errors
    /// [`Error::Busy`] when a transaction runs for too long, [`Error::Nested`] when it is this thread's own.
    pub(crate) fn await_transactions(&self, until: Until) -> Result<(), Error> {
        self.health().refuse_nested()?;
        on_either!(self, engine => engine.await_transactions(until))
    }

    /// Runs what was submitted, as far as partitions are free, then refuses transactions until
    /// [`AnyEngine::end_loading`]; none runs when this returns.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.health().refuse_nested()?;
        self.run_left();
        self.health().begin_loading()?;
        let ready = self.await_transactions(Until::Free).and_then(|()| match self {
            Self::Partitioned(_) => Ok(()),
            Self::Classic(engine) => engine.check_empty(),
        });
        ready.inspect_err(|_| self.end_loading())
    }

    /// Admits transactions again.
    pub(crate) fn end_loading(&self) {
        self.health().end_loading();
    }

    /// Runs the calls that were submitted and left to other threads, as far as partitions are free.
    fn run_left(&self) {
        if let Self::Partitioned(engine) = self {
            engine.run_left();
        }
    }

    /// Runs what was submitted, as far as partitions are free, then refuses all further work; no transaction runs when
    /// this returns.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.run_left();
        self.health().close()?;
        self.await_transactions(Until::Free)
    }

    /// Adds a row within a bulk load.
    pub(crate) fn load_row<R: Record>(&self, row: &R) -> Result<(), Error> {
        on_either!(self, engine => engine.load_row(row))
    }

    /// Counts of transactions. Does not wait for running ones.
    pub(crate) fn counters(&self) -> Counters {
        on_either!(self, engine => engine.counters())
    }

    /// The space of each table: cheap in the partitioned engine; the classic engine reads all their pages. Empty if the
    /// engine has stopped, because a transaction may have been interrupted half-way, and of the classic engine if it is
    /// closed, because another process may have opened the files.
    pub(crate) fn usage(&self, catalog: &Catalog) -> Vec<TableUsage> {
        match self {
            _ if self.why_stopped().is_some() => Vec::new(),
            Self::Partitioned(engine) => engine.usage(&catalog.tables),
            Self::Classic(engine) if engine.health().is_closed() => Vec::new(),
            Self::Classic(engine) => engine.usage(),
        }
    }

    /// Counts of each partition; none in the classic engine.
    pub(crate) fn partition_stats(&self) -> Vec<PartitionStats> {
        match self {
            Self::Partitioned(engine) => engine.partition_stats(),
            Self::Classic(_) => Vec::new(),
        }
    }

    /// Which thread runs submitted calls now.
    pub(crate) fn execution(&self) -> Execution {
        match self {
            Self::Partitioned(engine) => engine.execution(),
            Self::Classic(_) => Execution::Caller,
        }
    }

    /// The classic engine, if this is one.
    pub(crate) fn as_classic(&self) -> Option<&classic::Engine> {
        match self {
            Self::Partitioned(_) => None,
            Self::Classic(engine) => Some(engine),
        }
    }

    /// Runs that touched a partition missing from their declaration, although it claimed to be complete.
    pub(crate) fn misdeclared(&self) -> u64 {
        match self {
            Self::Partitioned(engine) => engine.misdeclared.load(Ordering::Relaxed),
            Self::Classic(_) => 0,
        }
    }

    /// The error that stopped the engine; of the log, also if no caller has met it yet. The transactions that it
    /// interrupted are half done in memory, and only the next opening undoes them.
    fn why_stopped(&self) -> Option<Error> {
        let log = self.log().map_or(Ok(()), Log::check).map_err(Error::from);
        self.health().check_running().and(log).err()
    }

    /// Inconsistencies of indexes and of replicated tables, one message each. Of an engine that has stopped, the only
    /// message is the reason.
    pub(crate) fn verify(&self, catalog: &Catalog) -> Vec<String> {
        let stopped = |error: Error| vec![format!("{error}; open it again, then verify")];
        if let Some(error) = self.why_stopped() {
            return stopped(error);
        }
        let closed = if self.health().is_closed() { self.check() } else { Ok(()) };
        if let Err(error) = closed.and_then(|()| self.await_transactions(Until::Progress)) {
            return vec![error.to_string()];
        }
        let wrong = match self {
            Self::Partitioned(engine) => engine.verify(&catalog.tables),
            Self::Classic(engine) => engine.verify(),
        };
        // It may have stopped meanwhile.
        self.why_stopped().map_or(wrong, stopped)
    }

    /// Number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        match self {
            Self::Partitioned(engine) => engine.cells.len(),
            Self::Classic(_) => 1,
        }
    }
}
