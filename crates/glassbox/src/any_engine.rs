//! The engine of a database, whichever it is. Choosing costs one branch for each transaction.

use std::sync::atomic::Ordering;

use crate::any_transaction::AnyTransaction;
use crate::catalog::Catalog;
use crate::classic;
use crate::error::Error;
use crate::executed::{Counters, Executed, TableUsage};
use crate::health::{Health, Until};
use crate::log::{Log, Lsn};
use crate::partitioned;
use crate::procedure::{PartitionSet, Procedure, ReadWriteSet, Stop};
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
    #[inline]
    pub(crate) fn execute<P: Procedure>(
        &self,
        procedure: &P,
        answer: &mut Result<P::Output, Error>,
    ) -> Result<Lsn, Error> {
        match self {
            // Whether the call is nested, it finds out where that costs nothing.
            Self::Partitioned(engine) => engine.execute(procedure, answer),
            Self::Classic(engine) => {
                engine.health().refuse_nested()?;
                let _inside = engine.health().enter();
                engine.execute(procedure, answer)
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
            // In the thread that runs it, which may be another's.
            let _inside = health.enter();
            run(&mut transaction.into())
        }))
    }

    /// Runs a procedure without changing anything.
    pub(crate) fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        self.health().refuse_nested()?;
        match self {
            Self::Partitioned(engine) => {
                let discovered = engine.discover(procedure, PartitionSet::EMPTY)?;
                Ok(discovered.unwrap_or_else(|| ReadWriteSet::new(engine.cells.len())))
            }
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

    /// Whether the engine takes work; why not otherwise.
    pub(crate) fn check(&self) -> Result<(), Error> {
        on_either!(self, engine => engine.check())
    }

    /// Whether it takes work.
    pub(crate) fn health(&self) -> &Health {
        on_either!(self, engine => engine.health())
    }

    /// Waits for transactions that run.
    ///
    /// # Errors
    /// [`Error::Busy`] when one takes too long, [`Error::Nested`] when it is this thread's own.
    pub(crate) fn await_transactions(&self, until: Until) -> Result<(), Error> {
        self.health().refuse_nested()?;
        on_either!(self, engine => engine.await_transactions(until))
    }

    /// Refuses transactions until [`AnyEngine::end_loading`]; none runs when this returns.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.health().refuse_nested()?;
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

    /// Refuses all further work; no transaction runs when this returns.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.health().close()?;
        self.await_transactions(Until::Free)
    }

    /// Adds a row within a bulk load.
    pub(crate) fn load_row<R: Record>(&self, row: &R) -> Result<(), Error> {
        on_either!(self, engine => engine.load_row(row))
    }

    /// Counts of transactions. Waits for none.
    pub(crate) fn counters(&self) -> Counters {
        on_either!(self, engine => engine.counters())
    }

    /// The space that tables take: cheap for one engine, while the other has to read all their pages. Nothing where
    /// the files may be another opening's.
    pub(crate) fn usage(&self, catalog: &Catalog) -> Vec<TableUsage> {
        match self {
            Self::Partitioned(engine) => engine.usage(&catalog.tables),
            Self::Classic(engine) if engine.health().is_closed() => Vec::new(),
            Self::Classic(engine) => engine.usage(),
        }
    }

    /// The classic engine, if it is that.
    pub(crate) fn as_classic(&self) -> Option<&classic::Engine> {
        match self {
            Self::Partitioned(_) => None,
            Self::Classic(engine) => Some(engine),
        }
    }

    /// Runs that touched a partition that their declaration, said to be complete, did not name.
    pub(crate) fn misdeclared(&self) -> u64 {
        match self {
            Self::Partitioned(engine) => engine.misdeclared.load(Ordering::Relaxed),
            Self::Classic(_) => 0,
        }
    }

    /// What is wrong with indexes and copies.
    pub(crate) fn verify(&self, catalog: &Catalog) -> Vec<String> {
        let closed = if self.health().is_closed() { self.check() } else { Ok(()) };
        if let Err(error) = closed.and_then(|()| self.await_transactions(Until::Progress)) {
            return vec![error.to_string()];
        }
        match self {
            Self::Partitioned(engine) => engine.verify(&catalog.tables),
            Self::Classic(engine) => engine.verify(),
        }
    }

    /// Number of partitions.
    pub(crate) fn partitions(&self) -> usize {
        match self {
            Self::Partitioned(engine) => engine.cells.len(),
            Self::Classic(_) => 1,
        }
    }
}
