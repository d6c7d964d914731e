//! The parts of an open database, shared by its users' threads and its own.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::catalog::Catalog;
use crate::config::{Config, Durability, LogKind};
use crate::database::any_engine::AnyEngine;
use crate::database::ticket::InFlight;
use crate::error::Error;
use crate::health::Until;
use crate::io::OpeningProcess;
use crate::log::{Log, LogError, Lsn};
use crate::partitioned::Growth;
use crate::stats::Recovery;
use crate::store::Store;

/// The state of a database that its own threads share.
pub(crate) struct Inner {
    pub(crate) engine: AnyEngine,
    /// The process whose threads, files and locks the database uses.
    process: OpeningProcess,
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    /// Outstanding tickets.
    pub(crate) in_flight: InFlight,
    /// `None`: in memory only.
    pub(crate) store: Option<Store>,
    pub(crate) recovery: Recovery,
    /// Automatic checkpoints that failed.
    pub(crate) failed_checkpoints: AtomicU64,
    /// Without a log: the number of committed transactions when the last checkpoint began.
    pub(crate) kept: AtomicU64,
}

impl Inner {
    pub(crate) fn new(
        engine: AnyEngine,
        config: Config,
        catalog: Catalog,
        store: Option<Store>,
        recovery: Recovery,
    ) -> Self {
        let in_flight = InFlight::new(config.in_flight);
        let (failed_checkpoints, kept) = (AtomicU64::new(0), AtomicU64::new(0));
        let process = OpeningProcess::current();
        Self { engine, process, config, catalog, in_flight, store, recovery, failed_checkpoints, kept }
    }

    /// Whether this process has opened the database, and is not a child of the one that has.
    #[inline(always)]
    pub(crate) fn is_own(&self) -> bool {
        self.process.is_current()
    }

    /// Fails in a child, made by `fork`, of the process that opened the database.
    #[inline(always)]
    pub(crate) fn check_process(&self) -> Result<(), Error> {
        if self.is_own() { Ok(()) } else { Err(self.forked()) }
    }

    /// Reads memory of the engine that its threads change; nothing in a child, where a lock may stay held for ever.
    pub(crate) fn read_shared<E, T: Default>(&self, engine: &E, read: impl FnOnce(&E) -> T) -> T {
        if self.is_own() { read(engine) } else { T::default() }
    }

    #[cold]
    pub(crate) fn forked(&self) -> Error {
        Error::Forked { opened_by: self.process.id() }
    }

    /// Waits until answers up to `lsn` may be given.
    #[inline(always)]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        // The procedure may have called `fork`.
        self.check_process()?;
        let Some(log) = self.engine.log() else { return Ok(()) };
        let told = if self.config.durability == Durability::Sync { log.wait(lsn) } else { log.check() };
        match told {
            Ok(()) => Ok(()),
            Err(error) => Err(self.stopped_by(error)),
        }
    }

    /// Waits until the log is durable up to `lsn`, whatever the configured durability.
    pub(crate) fn force(&self, lsn: Lsn) -> Result<(), Error> {
        self.wait(lsn)?;
        match self.engine.log() {
            Some(log) if log.durable() < lsn => log.force().map_err(|error| self.stopped_by(error)),
            _ => Ok(()),
        }
    }

    /// Stops the engine because the log has failed. The record waited for may be on disk or not.
    #[cold]
    fn stopped_by(&self, error: LogError) -> Error {
        let reason = error.to_string();
        self.engine.stop(reason.clone());
        match error {
            LogError::Poisoned { .. } => Error::OutcomeUnknown { reason },
            error => error.into(),
        }
    }

    /// Makes every answered transaction durable: by a force of the log or, without a log, a checkpoint.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        match self.engine.log() {
            Some(log) => Ok(log.force().inspect_err(|error| self.engine.stop(error.to_string()))?),
            None => self.keep(false),
        }
    }

    /// Without a log: writes a checkpoint, if there are files, unless nothing has committed since the last one.
    fn keep(&self, alone: bool) -> Result<(), Error> {
        let committed = self.engine.counters().committed;
        if self.store.is_some() && self.kept.load(Ordering::Relaxed) != committed {
            self.checkpoint(alone)?;
            self.kept.store(committed, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Whether [`Inner::wait`] would return at once, if only with an error.
    pub(crate) fn is_told(&self, lsn: Lsn) -> bool {
        match self.engine.log() {
            Some(log) if self.config.durability == Durability::Sync => log.durable() >= lsn || log.check().is_err(),
            _ => true,
        }
    }

    /// Wakes the log thread, for callers that do not wait at once.
    #[inline]
    pub(crate) fn nudge(&self) {
        if self.config.durability == Durability::Sync
            && let Some(log) = self.engine.log()
        {
            log.nudge();
        }
    }

    /// Writes a checkpoint and names it in the manifest; `alone`: transactions are refused, because it ends a bulk load
    /// or the database.
    pub(crate) fn checkpoint(&self, alone: bool) -> Result<(), Error> {
        let Some(store) = &self.store else {
            return Err(Error::Config("a database in memory has no place for a checkpoint".to_owned()));
        };
        self.engine.health().refuse_nested()?;
        if let (false, AnyEngine::Partitioned(engine)) = (alone, &self.engine) {
            // A checkpoint in the queue of a partition cannot leave it.
            engine.await_transactions(Until::Progress)?;
        }
        // Held until the end, so that checkpoints wait for each other.
        let mut manifest = store.manifest();
        let engine = match &self.engine {
            AnyEngine::Partitioned(engine) => engine,
            AnyEngine::Classic(engine) => {
                engine.check_whole(alone)?;
                let mut volume = manifest.volume.clone().expect("a database of this engine");
                let needed_from = engine.checkpoint(&mut volume)?;
                return manifest.replace(Some(engine.log()), |manifest| {
                    (manifest.log_start, manifest.volume) = (needed_from.0, Some(volume));
                });
            }
        };
        let log = Growth {
            // Without a log that is written, it ends where it did when the database was opened.
            lsn_now: &|| self.engine.log().map_or(Lsn(manifest.log_end), Log::appended),
            // It ends well before the next one is due.
            most: match self.config.checkpoint_log_bytes {
                0 => u64::MAX,
                bytes => bytes / 2,
            },
        };
        let written = engine.checkpoint(&*store.files, &self.catalog.tables, &manifest, alone, &log)?;
        let adopted = manifest.adopt(written, self.engine.log());
        adopted.inspect_err(|error| {
            if let Error::Log(error) = error {
                self.engine.stop(error.to_string());
            }
        })
    }

    /// Refuses transactions until the load has ended.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.engine.begin_loading()?;
        // From now on pages change without the log, and the next opening must know.
        let noted = self.store.as_ref().map_or(Ok(()), |store| {
            store.manifest().replace(self.engine.log(), |manifest| {
                if let Some(volume) = &mut manifest.volume {
                    volume.loading = true;
                }
            })
        });
        noted.inspect_err(|_| self.engine.end_loading())
    }

    /// Ends the log properly, or writes a checkpoint where there is none, and unlocks the directory. The classic engine
    /// writes its pages before, so that the next opening has nothing to redo. To be called after [`AnyEngine::close`].
    ///
    /// # Errors
    /// When the log cannot be ended; and of an engine that has stopped, the reason.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let mut written = Ok(());
        if let AnyEngine::Classic(engine) = &self.engine {
            engine.end_decisions();
            // Pages that cannot be written are in the log. But a failed force has stopped the writing.
            let _ = self.checkpoint(true);
            written = engine.check_writing();
            engine.end_pages();
        }
        if self.has_calls_to_replay() {
            // A program with another version of a procedure can open the database then. Calls of which no checkpoint
            // could be written are in the log.
            let _ = self.checkpoint(true);
        }
        let closed = match (&self.store, self.engine.log()) {
            (Some(store), Some(log)) => store.manifest().close(log),
            (None, Some(log)) => log.close().map_err(Error::from),
            // A later close could not keep more. The reason follows.
            (_, None) if self.engine.health().is_stopped() => Ok(()),
            (_, None) => self.keep(true),
        };
        if let (Some(store), Ok(())) = (&self.store, &closed) {
            store.unlock();
        }
        self.engine.health().check_running()?;
        closed.and(written)
    }

    /// Whether the log has calls after the last checkpoint.
    fn has_calls_to_replay(&self) -> bool {
        let is_logged = self.config.log == LogKind::Commands && !self.engine.health().is_stopped();
        match (&self.store, self.engine.log()) {
            (Some(store), Some(log)) if is_logged => log.appended() > Lsn(store.manifest().log_start),
            _ => false,
        }
    }
}
