//! What an open database is made of, shared by its users' threads and its own.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::any_engine::AnyEngine;
use crate::catalog::Catalog;
use crate::classic;
use crate::config::{Config, Durability};
use crate::error::Error;
use crate::health::Until;
use crate::io::{DirectoryLock, Files};
use crate::log::{Log, LogError, Lsn};
use crate::store::Manifest;
use crate::partitioned::Growth;
use crate::stats::Recovery;

/// What the database's own threads share with it.
pub(crate) struct Inner {
    pub(crate) engine: AnyEngine,
    pub(crate) config: Config,
    pub(crate) catalog: Catalog,
    /// Outstanding tickets.
    pub(crate) in_flight: AtomicUsize,
    /// `None`: in memory only.
    pub(crate) storage: Option<Storage>,
    pub(crate) recovery: Recovery,
    /// Checkpoints that the database began by itself and could not finish.
    pub(crate) failed_checkpoints: AtomicU64,
    /// Where there is no log: how many transactions had committed when the last checkpoint began.
    pub(crate) kept: AtomicU64,
}

/// The database's directory.
pub(crate) struct Storage {
    pub(crate) files: Arc<dyn Files>,
    /// Also makes checkpoints wait for each other.
    pub(crate) manifest: Mutex<Manifest>,
    /// Where the log ends when it is not written (`Durability::None`): every checkpoint is of this position.
    pub(crate) log_end: Lsn,
    /// Given up by a close.
    pub(crate) lock: Mutex<Option<DirectoryLock>>,
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
    #[inline(always)]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        let Some(log) = self.engine.log() else { return Ok(()) };
        let told = if self.config.durability == Durability::Sync { log.wait(lsn) } else { log.check() };
        match told {
            Ok(()) => Ok(()),
            Err(error) => Err(self.stopped_by(error)),
        }
    }

    /// Refuses all further work because of what happened to the log. A record that was waited for when it failed may be
    /// on disk or not.
    #[cold]
    fn stopped_by(&self, error: LogError) -> Error {
        let reason = error.to_string();
        self.engine.stop(reason.clone());
        match error {
            LogError::Poisoned { .. } => Error::OutcomeUnknown { reason },
            error => error.into(),
        }
    }

    /// Makes every transaction answered before durable: by a force of the log or, where there is none, a checkpoint.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        match self.engine.log() {
            Some(log) => Ok(log.force().inspect_err(|error| self.engine.stop(error.to_string()))?),
            None => self.keep(false),
        }
    }

    /// Where there is no log: writes a checkpoint, if there are files, unless nothing has committed since the last one.
    fn keep(&self, alone: bool) -> Result<(), Error> {
        let committed = self.engine.counters().committed;
        if self.storage.is_some() && self.kept.load(Ordering::Relaxed) != committed {
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

    /// Lets the log thread know that there is work, for those who do not wait at once.
    #[inline]
    pub(crate) fn nudge(&self) {
        if self.config.durability == Durability::Sync
            && let Some(log) = self.engine.log()
        {
            log.nudge();
        }
    }

    #[inline]
    pub(crate) fn take_place(&self) -> Result<Place<'_>, Error> {
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

    /// Writes a checkpoint and names it in the manifest; `alone`: transactions are refused, because it ends a bulk load
    /// or the database.
    pub(crate) fn checkpoint(&self, alone: bool) -> Result<(), Error> {
        let Some(storage) = &self.storage else {
            return Err(Error::Config("a database in memory has no place for a checkpoint".to_owned()));
        };
        self.engine.health().refuse_nested()?;
        if let (false, AnyEngine::Partitioned(engine)) = (alone, &self.engine) {
            // Once it is in the queue for a partition it cannot leave.
            engine.await_transactions(Until::Progress)?;
        }
        let mut manifest = self.manifest(storage);
        let engine = match &self.engine {
            AnyEngine::Partitioned(engine) => engine,
            AnyEngine::Classic(engine) => return self.checkpoint_pages(engine, storage, &mut manifest, alone),
        };
        let log = Growth {
            lsn_now: &|| self.engine.log().map_or(storage.log_end, Log::appended),
            // It ends well before the next one is due.
            most: match self.config.checkpoint_log_bytes {
                0 => u64::MAX,
                bytes => bytes / 2,
            },
        };
        let written = engine.checkpoint(&*storage.files, &self.catalog.tables, &manifest, alone, &log)?;
        if let Some(log) = self.engine.log() {
            // The file holds what the log may not yet: a crash must not find it ahead of what the log can continue,
            // whatever the durability.
            if let Err(error) = log.force() {
                self.engine.stop(error.to_string());
                // It would be one more at each attempt; what cannot be removed now, the next opening removes.
                let _ = storage.files.remove(&written.entry.file);
                return Err(error.into());
            }
        }
        let older = manifest.checkpoint.take();
        let newer = Manifest { log_start: written.lsn.0, checkpoint: Some(written.entry), ..manifest.clone() };
        if let Err(error) = newer.write(&*storage.files) {
            manifest.checkpoint = older;
            return Err(error);
        }
        *manifest = newer;
        if let Some(older) = older {
            // The new one counts already; the next opening removes what is left.
            let _ = storage.files.remove(&older.file);
        }
        if let Some(log) = self.engine.log() {
            log.truncate(written.lsn);
        }
        Ok(())
    }

    /// Writes the pages that are dirty now, and notes from where on the log is needed for the rest.
    fn checkpoint_pages(
        &self,
        engine: &classic::Engine,
        storage: &Storage,
        manifest: &mut Manifest,
        alone: bool,
    ) -> Result<(), Error> {
        engine.check_whole(alone)?;
        let lsns = engine.checkpoint()?;
        let mut newer = manifest.clone();
        newer.log_start = lsns.needed_from.0;
        let volume = newer.volume.as_mut().expect("a database of this engine");
        (volume.checkpoint, volume.loading) = (lsns.begin.0, false);
        newer.write(&*storage.files)?;
        *manifest = newer;
        engine.log().truncate(lsns.needed_from);
        Ok(())
    }

    /// Refuses transactions until the load has ended.
    pub(crate) fn begin_loading(&self) -> Result<(), Error> {
        self.engine.begin_loading()?;
        let noted = self.note_loading();
        noted.inspect_err(|_| self.engine.end_loading())
    }

    /// Pages are changed without the log from now on: says so where the next opening will see it.
    fn note_loading(&self) -> Result<(), Error> {
        let Some(storage) = &self.storage else { return Ok(()) };
        let mut manifest = self.manifest(storage);
        let mut newer = manifest.clone();
        let Some(volume) = &mut newer.volume else { return Ok(()) };
        volume.loading = true;
        newer.write(&*storage.files)?;
        *manifest = newer;
        Ok(())
    }

    /// Ends the log properly, or writes a checkpoint where there is none, and unlocks the directory. The classic engine
    /// writes its pages before, so that the next opening has nothing to redo. To be called after [`AnyEngine::close`].
    ///
    /// # Errors
    /// When the log cannot be ended; and of an engine that has stopped, the reason.
    pub(crate) fn close(&self) -> Result<(), Error> {
        let mut written = Ok(());
        if let AnyEngine::Classic(engine) = &self.engine {
            // What cannot be written now is in the log. But a failed force has stopped the writing.
            let _ = self.checkpoint(true);
            written = engine.check_writing();
            engine.end_pages();
        }
        let closed = match self.engine.log() {
            Some(log) => log.close().map_err(Error::from),
            None => self.keep(true),
        };
        if closed.is_ok()
            && let Some(storage) = &self.storage
        {
            storage.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        self.engine.health().check_running()?;
        closed.and(written)
    }
}
