//! Opening a journal: recovery.

use std::path::Path;
use std::sync::Arc;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::io::{Files, RealFiles};
use crate::log::{look_into_log, refused};
use crate::partitioned::shard::Shard;
use crate::research::journal::base::JournalFiles;
use crate::research::journal::journal::{Journal, JournalConfig};
use crate::store::{CheckpointFile, MANIFEST, Manifest, Store, damaged};

/// A journal whose base was read, if there is one, and whose records were not yet.
pub struct FoundJournal {
    store: Store,
    config: JournalConfig,
    shard: Option<Shard>,
}

impl Journal {
    /// Looks into a directory, which is made if need be. `empty`: a shard without rows, of this catalog.
    ///
    /// # Errors
    /// When it holds something else, or the journal of another owner or of another catalog, is in use, or is damaged.
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
        let (tables, procedures) = catalog.entries();
        let store = Store::open(files, || Manifest {
            tables: tables.clone(),
            procedures: procedures.clone(),
            journal_of: Some(config.owner.clone()),
            ..Manifest::new()
        })?;
        let manifest = store.manifest().clone();
        let refuse = |problem| Error::Directory { path: MANIFEST.to_owned(), problem };
        match &manifest.journal_of {
            None => return Err(refuse("it holds a database and no journal; use another directory".to_owned())),
            Some(other) if *other != config.owner => {
                let wanted = &config.owner;
                return Err(refuse(format!("it holds the journal of {other}, not of {wanted}; use another directory")));
            }
            Some(_) => {}
        }
        if manifest.tables != tables || manifest.procedures != procedures {
            return Err(refuse(
                "it holds the journal of a program with other tables, or other procedures or versions of them, and \
                 does what that did again; use that program, or another directory"
                    .to_owned(),
            ));
        }
        let file = CheckpointFile::of(&*store.files, &manifest)?;
        let shard = file.map(|file| load(&file, &mut empty).map(|()| empty)).transpose()?;
        Ok(FoundJournal { store, config, shard })
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
        let Self { store, config, .. } = self;
        let manifest = store.manifest().clone();
        let files = &*store.files;
        let mut read = |lsn, record: &[u8]| {
            let read = if manifest.checkpoint.is_some() { each(record) } else { Ok(()) };
            read.map_err(|why| refused(files, lsn, why))
        };
        let found =
            manifest.log_created.then(|| look_into_log(files, &manifest.expected_log(), &mut read)).transpose()?;
        store.force_found()?;
        let log = Arc::new(store.open_log(config.log(), found)?);
        store.manifest().replace(Some(&log), |manifest| manifest.log_created = true)?;
        Journal::new(JournalFiles { store: Arc::new(store), log }, config.threads)
    }
}
