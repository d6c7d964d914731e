//! A locked directory, and its current manifest.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::checkpoint_writer::{DIRECTORY as CHECKPOINTS, WrittenCheckpoint, is_checkpoint_file};
use super::manifest::{MANIFEST, Manifest, TEMPORARY};
use crate::error::Error;
use crate::io::{DirectoryLock, Files};
use crate::log::{self, Log, LogConfig, LogFound, Lsn};

/// A directory that no other process uses.
pub(crate) struct Store {
    pub(crate) files: Arc<dyn Files>,
    manifest: Mutex<Manifest>,
    /// Whether the directory was empty.
    pub(crate) is_new: bool,
    /// `None` after a close.
    lock: Mutex<Option<DirectoryLock>>,
}

/// The current manifest, for one thread at a time.
pub(crate) struct CurrentManifest<'a> {
    files: &'a dyn Files,
    manifest: MutexGuard<'a, Manifest>,
}

impl Store {
    /// Locks a directory and reads its manifest; `new` is that of an empty directory.
    ///
    /// # Errors
    /// When the directory is in use, holds other files than a database's, or a damaged manifest.
    pub(crate) fn open(files: Arc<dyn Files>, new: impl FnOnce() -> Manifest) -> Result<Self, Error> {
        // Checked before locking, which creates a file in a directory that may be another program's.
        refuse_foreign(&*files)?;
        let lock = files.lock()?;
        let found = Manifest::read(&*files)?;
        let is_new = found.is_none();
        let manifest = match found {
            Some(manifest) => manifest,
            None => {
                // Checked again: no other process changes the directory any more.
                refuse_foreign(&*files)?;
                let manifest = new();
                manifest.write(&*files)?;
                manifest
            }
        };
        Ok(Self { files, manifest: Mutex::new(manifest), is_new, lock: Mutex::new(Some(lock)) })
    }

    /// Forces the manifest and the checkpoint that were read, and their names. To be called before anything is written:
    /// records that depend on these files must not outlive them, and blocks of the log contain the generation of the
    /// manifest.
    ///
    /// # Errors
    /// When a file cannot be forced.
    pub(crate) fn force_found(&self) -> Result<(), Error> {
        if self.is_new {
            // This process has written and forced the manifest.
            return Ok(());
        }
        force_named(&*self.files, MANIFEST)?;
        match &self.manifest().checkpoint {
            Some(checkpoint) => force_named(&*self.files, &checkpoint.file),
            None => Ok(()),
        }
    }

    /// Lets other processes use the directory. No file is written from then on.
    pub(crate) fn unlock(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The current manifest.
    pub(crate) fn manifest(&self) -> CurrentManifest<'_> {
        // It is changed only after it is written: a panic in between leaves the older one, which is valid.
        let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        CurrentManifest { files: &*self.files, manifest }
    }

    /// Opens the log that was `found` for appends, or creates one. Files that an interrupted creation or checkpoint
    /// left are removed.
    ///
    /// # Errors
    /// When files cannot be written.
    pub(crate) fn open_log(&self, config: LogConfig, found: Option<LogFound>) -> Result<Log, Error> {
        let (files, manifest) = (Arc::clone(&self.files), self.manifest());
        let log = match found {
            Some(found) => Log::open(files, config, found)?,
            None => {
                files.list(log::DIRECTORY)?.iter().try_for_each(|name| files.remove(name))?;
                Log::create(files, manifest.database_id, config, Lsn(manifest.log_start))?
            }
        };
        let current = manifest.checkpoint.as_ref().map(|checkpoint| &checkpoint.file);
        for name in self.files.list(CHECKPOINTS)? {
            if Some(&name) != current {
                self.files.remove(&name)?;
            }
        }
        Ok(log)
    }
}

impl CurrentManifest<'_> {
    /// Changes the manifest without writing it: the next replacement, which must follow, writes both changes.
    pub(crate) fn assume(&mut self, manifest: Manifest) {
        *self.manifest = manifest;
    }

    /// Replaces the manifest by a changed one, durably, and removes the files that only the older one needed. An equal
    /// manifest is not written.
    ///
    /// # Errors
    /// When it cannot be written: the older one is still valid.
    pub(crate) fn replace(&mut self, log: Option<&Log>, change: impl FnOnce(&mut Manifest)) -> Result<(), Error> {
        let mut next = self.manifest.clone();
        change(&mut next);
        if next == *self.manifest {
            return Ok(());
        }
        // A former program may have replaced the manifest without counting; the log contains the generation.
        next.generation = next.generation.max(log.map_or(0, Log::generation)) + 1;
        next.write(self.files)?;
        let older = std::mem::replace(&mut *self.manifest, next);
        if let Some(log) = log {
            log.set_generation(self.generation);
            if older.log_start < self.log_start {
                log.truncate(Lsn(self.log_start));
            }
        }
        if let Some(unused) = older.checkpoint.filter(|older| self.checkpoint.as_ref() != Some(older)) {
            // If this fails, the next opening removes it.
            let _ = self.files.remove(&unused.file);
        }
        Ok(())
    }

    /// Makes a checkpoint file valid: the log before it is truncated.
    ///
    /// # Errors
    /// When the log cannot be forced or the manifest cannot be written: the older checkpoint is still valid.
    pub(crate) fn adopt(&mut self, written: WrittenCheckpoint, log: Option<&Log>) -> Result<(), Error> {
        // The file may contain changes whose records are not durable yet: after a crash the log must continue from it,
        // whatever the durability.
        if let Err(error) = log.map_or(Ok(()), Log::force) {
            // Each attempt would leave one more. If this fails, the next opening removes it.
            let _ = self.files.remove(&written.entry.file);
            return Err(error.into());
        }
        self.replace(log, |manifest| {
            manifest.log_start = written.lsn.0;
            manifest.checkpoint = Some(written.entry);
        })
    }

    /// Forces the log, writes its end to the manifest, so that an older copy of the log is found, and closes it.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub(crate) fn close(&mut self, log: &Log) -> Result<(), Error> {
        log.force()?;
        let end = log.appended();
        // If this fails, on a full disk for example, the manifest contains an earlier end, a lower bound as well.
        let _ = self.replace(Some(log), |manifest| manifest.log_end = end.0);
        Ok(log.close()?)
    }
}

impl Deref for CurrentManifest<'_> {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

/// Whether every database has, or may have, a file of this name, from its directory.
pub(crate) fn is_store_file(name: &str) -> bool {
    matches!(name, "LOCK" | MANIFEST | TEMPORARY) || log::is_log_file(name) || is_checkpoint_file(name)
}

/// Forces a file that another process has written, and its name. The process may have been killed before it did so
/// itself, and a copy put there by hand was never forced.
fn force_named(files: &dyn Files, name: &str) -> Result<(), Error> {
    files.open(name)?.sync_data()?;
    let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
    Ok(files.sync_directory(directory)?)
}

/// Refuses a directory that holds other files than a database's.
fn refuse_foreign(files: &dyn Files) -> Result<(), Error> {
    if files.exists(MANIFEST)? {
        return Ok(());
    }
    let held = [files.list("")?, files.list(log::DIRECTORY)?, files.list(CHECKPOINTS)?].concat();
    let own = |name: &str| name == "LOCK" || name == MANIFEST || name == TEMPORARY;
    match held.iter().find(|name| !own(name)) {
        None => Ok(()),
        Some(name) => Err(Error::Directory {
            path: MANIFEST.to_owned(),
            problem: format!(
                "it holds `{name}` but no manifest, so it is not a Glassbox database (or its manifest was removed); \
                 use an empty directory or restore the manifest"
            ),
        }),
    }
}
