//! A locked directory, and its current manifest.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::checkpoint_writer::{DIRECTORY as CHECKPOINTS, Written};
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

/// The current manifest. While one thread has it, others that would replace it wait.
pub(crate) struct Current<'a> {
    files: &'a dyn Files,
    manifest: MutexGuard<'a, Manifest>,
}

impl Store {
    /// Locks a directory and reads its manifest; `new` is that of an empty directory.
    ///
    /// # Errors
    /// When it is in use, or holds something that is no database, or damage.
    pub(crate) fn open(files: Arc<dyn Files>, new: impl FnOnce() -> Manifest) -> Result<Self, Error> {
        // Asked before locking, which leaves a file behind, in a directory that may be none of ours.
        refuse_foreign(&*files)?;
        let lock = files.lock()?;
        let found = Manifest::read(&*files)?;
        let is_new = found.is_none();
        let manifest = match found {
            Some(manifest) => manifest,
            None => {
                // Again, now that no other process changes it.
                refuse_foreign(&*files)?;
                let manifest = new();
                manifest.write(&*files)?;
                manifest
            }
        };
        Ok(Self { files, manifest: Mutex::new(manifest), is_new, lock: Mutex::new(Some(lock)) })
    }

    /// Lets other processes use the directory. No file is written from then on.
    pub(crate) fn unlock(&self) {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The current manifest.
    pub(crate) fn manifest(&self) -> Current<'_> {
        // It is changed only after it is written: a panic between leaves the older one, which is right.
        let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        Current { files: &*self.files, manifest }
    }

    /// Makes the log ready to be written; without one, a new log. What an interrupted creation or checkpoint left is
    /// removed.
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

impl Current<'_> {
    /// Changes the manifest without writing it: the next replacement, which must follow, writes both changes.
    pub(crate) fn assume(&mut self, manifest: Manifest) {
        *self.manifest = manifest;
    }

    /// Replaces the manifest by a changed one, durably, and removes what only the older one needed. Nothing happens if
    /// it stays the same.
    ///
    /// # Errors
    /// When it cannot be written: the older one still counts.
    pub(crate) fn replace(&mut self, log: Option<&Log>, change: impl FnOnce(&mut Manifest)) -> Result<(), Error> {
        let mut next = self.manifest.clone();
        change(&mut next);
        if next == *self.manifest {
            return Ok(());
        }
        // A program that did not count may have come between: the log knows better.
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
            // What cannot be removed now, the next opening removes.
            let _ = self.files.remove(&unused.file);
        }
        Ok(())
    }

    /// Makes a checkpoint file count: the log before it is given up.
    ///
    /// # Errors
    /// When the log cannot be forced or the manifest not be written: the older checkpoint and the log still count.
    pub(crate) fn adopt(&mut self, written: Written, log: Option<&Log>) -> Result<(), Error> {
        // The file holds what the log may not yet: a crash must not find it ahead of what the log can continue,
        // whatever the durability.
        if let Err(error) = log.map_or(Ok(()), Log::force) {
            // It would be one more at each attempt; what cannot be removed now, the next opening removes.
            let _ = self.files.remove(&written.entry.file);
            return Err(error.into());
        }
        self.replace(log, |manifest| {
            manifest.log_start = written.lsn.0;
            manifest.checkpoint = Some(written.entry);
        })
    }

    /// Forces everything and ends the log for certain; the manifest says where, so that an older copy of the log is
    /// noticed.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub(crate) fn close(&mut self, log: &Log) -> Result<(), Error> {
        log.force()?;
        let end = log.appended();
        // On a full disk, say, the end that it names is an earlier one, which is true as well.
        let _ = self.replace(Some(log), |manifest| manifest.log_end = end.0);
        Ok(log.close()?)
    }
}

impl Deref for Current<'_> {
    type Target = Manifest;

    fn deref(&self) -> &Manifest {
        &self.manifest
    }
}

/// Refuses a directory that holds something, but no database.
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
