//! Opening a journal: recovery.

use std::path::Path;
use std::sync::{Arc, Mutex};

use super::base::Shared;
use super::journal::{Journal, JournalConfig};
use crate::catalog::Catalog;
use crate::claim::{random_id, refuse_foreign};
use crate::error::Error;
use crate::io::{DirectoryLock, Files, RealFiles};
use crate::log::{self, Log, Lsn, look_into_log, refused};
use crate::store::{MANIFEST, Manifest, ProcedureEntry};
use crate::partitioned;
use crate::store::{CheckpointFile, damaged};
use crate::partitioned::shard::Shard;

/// A journal whose base was read, if there is one, and whose records were not yet.
pub struct FoundJournal {
    files: Arc<dyn Files>,
    config: JournalConfig,
    manifest: Manifest,
    shard: Option<Shard>,
    lock: DirectoryLock,
}

impl Journal {
    /// Looks into a directory, which is made if need be. `empty`: a shard without rows, of this catalog.
    ///
    /// # Errors
    /// When it holds something else, or the journal of somebody else or of another catalog, is in use, or is damaged.
    pub fn find(
        directory: impl AsRef<Path>,
        catalog: &Catalog,
        empty: Shard,
        config: JournalConfig,
    ) -> Result<FoundJournal, Error> {
        Self::find_in(Arc::new(RealFiles::new(directory.as_ref())?), catalog, empty, config)
    }

    /// The same in any implementation of files: for tests.
    ///
    /// # Errors
    /// As for [`Journal::find`].
    pub fn find_in(
        files: Arc<dyn Files>,
        catalog: &Catalog,
        mut empty: Shard,
        config: JournalConfig,
    ) -> Result<FoundJournal, Error> {
        config.log().check()?;
        refuse_foreign(&*files)?;
        let lock = files.lock()?;
        let manifest = match Manifest::read(&*files)? {
            Some(manifest) => manifest,
            None => create(&*files, catalog, &config)?,
        };
        let refuse = |problem| Error::Directory { path: MANIFEST.to_owned(), problem };
        match &manifest.journal_of {
            None => return Err(refuse("it holds a database and no journal; use another directory".to_owned())),
            Some(other) if *other != config.owner => {
                let wanted = &config.owner;
                return Err(refuse(format!("it holds the journal of {other}, not of {wanted}; use another directory")));
            }
            Some(_) => {}
        }
        if manifest.tables != tables(catalog) || manifest.procedures != procedures(catalog) {
            return Err(refuse(
                "it holds the journal of a program with other tables, or other procedures or versions of them, and \
                 does what that did again; use that program, or another directory"
                    .to_owned(),
            ));
        }
        let shard = match &manifest.checkpoint {
            Some(entry) => {
                let lsn = Lsn(manifest.log_start);
                let file = CheckpointFile::open(files.open(&entry.file)?, entry.bytes, manifest.database_id, lsn)?;
                load(&file, &mut empty)?;
                Some(empty)
            }
            None => None,
        };
        Ok(FoundJournal { files, config, manifest, shard, lock })
    }
}

fn load(file: &CheckpointFile, shard: &mut Shard) -> Result<(), Error> {
    let mut rows = Vec::new();
    for block in &file.blocks {
        file.rows(block, &mut rows)?;
        shard.load_stored(block.table, &rows).map_err(|bad| damaged(&*file.file, block.at, bad))?;
    }
    Ok(())
}

fn create(files: &dyn Files, catalog: &Catalog, config: &JournalConfig) -> Result<Manifest, Error> {
    // Again, now that nobody else changes it.
    refuse_foreign(files)?;
    let manifest = Manifest {
        database_id: random_id(),
        tables: tables(catalog),
        procedures: procedures(catalog),
        checkpoint: None,
        log_start: 0,
        log_created: false,
        volume: None,
        journal_of: Some(config.owner.clone()),
    };
    manifest.write(files)?;
    Ok(manifest)
}

fn tables(catalog: &Catalog) -> Vec<crate::record::TableSchema> {
    catalog.tables.iter().map(|kind| kind.schema.clone()).collect()
}

fn procedures(catalog: &Catalog) -> Vec<ProcedureEntry> {
    let entry = |name: &str, version| ProcedureEntry { name: name.to_owned(), version };
    catalog.procedures.iter().map(|kind| entry(kind.name, kind.version)).collect()
}

impl FoundJournal {
    /// The rows of the base, if there is one.
    pub fn rows(&mut self) -> Option<Shard> {
        self.shard.take()
    }

    /// Gives all records behind the base to `each`, in their order, and opens the journal to go on behind them. Without
    /// a base there are none to be given.
    ///
    /// # Errors
    /// When the log is damaged, or `each` refuses a record: then nothing was changed.
    pub fn replay(self, mut each: impl FnMut(&[u8]) -> Result<(), String>) -> Result<Journal, Error> {
        let Self { files, config, mut manifest, lock, .. } = self;
        let (is_based, from) = (manifest.checkpoint.is_some(), Lsn(manifest.log_start));
        let log = if manifest.log_created {
            let mut read = |lsn, record: &[u8]| {
                let read = if is_based { each(record) } else { Ok(()) };
                read.map_err(|why| refused(&*files, lsn, why))
            };
            let found = look_into_log(&*files, manifest.database_id, from, &mut read)?;
            Log::open(Arc::clone(&files), config.log(), found)?
        } else {
            for name in files.list(log::DIRECTORY)? {
                files.remove(&name)?;
            }
            let log = Log::create(Arc::clone(&files), manifest.database_id, config.log(), from)?;
            manifest.log_created = true;
            manifest.write(&*files)?;
            log
        };
        let current = manifest.checkpoint.as_ref().map(|checkpoint| &checkpoint.file);
        for name in files.list(partitioned::CHECKPOINTS)? {
            if Some(&name) != current {
                files.remove(&name)?;
            }
        }
        let shared = Shared { files, log: Arc::new(log), manifest: Arc::new(Mutex::new(manifest)) };
        Journal::new(shared, config.threads, lock)
    }
}
