//! Opening a directory to look into it, and reading its files.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::io::{BatchedReads, DirectoryLock, Files, RealFiles};
use crate::log::{self, LogFound, look_into_log, refused};
use crate::partitioned::CommandHead;
use crate::partitioned::log_records::row_change::RowChange;
use crate::partitioned::log_records::values::{COMMAND, COMMAND_WITHOUT_DIGEST, VALUES};
use crate::record::TableSchema;

use crate::research::inspect::contents::{Contents, each_change};
use crate::research::inspect::volume::Recovered;
use crate::store::{
    CHECKPOINTS, CheckpointBlock, CheckpointFile, MANIFEST, Manifest, NEW_MANIFEST, VolumeEntry, damaged,
};

/// Which state of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Of the last checkpoint.
    Checkpoint,
    /// After everything in the log.
    Now,
}

/// A database directory under inspection. It cannot be opened meanwhile, but inspected by others too. Nothing in it is
/// changed or needs to be writable.
pub struct Inspector {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) manifest: Manifest,
    /// The pages of the classic engine after recovery, from the first access on.
    pub(crate) recovered: OnceLock<Recovered>,
    _lock: DirectoryLock,
}

/// A decoded record of the log.
pub(crate) enum LogEntry<'a> {
    Change(usize, RowChange<'a>),
    /// A call of the procedure with this number.
    Call(usize),
    /// An entry of a replica's journal.
    Entry,
}

impl Inspector {
    /// Opens a directory that holds a database.
    ///
    /// # Errors
    /// When there is none, it is in use, or its manifest is damaged.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref();
        Self::open_files(Arc::new(RealFiles::read_only(directory)?), &directory.display().to_string())
    }

    /// Opens any implementation of files: for tests. Messages call them `directory`.
    ///
    /// # Errors
    /// As for [`Inspector::open`].
    pub fn open_files(files: Arc<dyn Files>, directory: &str) -> Result<Self, Error> {
        let absent = || Error::Directory {
            path: directory.to_owned(),
            problem: "it holds no manifest, so it is not a Glassbox database".to_owned(),
        };
        // Asked before locking, which may leave a file behind in a directory that is none of ours.
        if !files.exists(MANIFEST)? {
            return Err(absent());
        }
        let lock = files.lock()?;
        let manifest = Manifest::read(&*files)?.ok_or_else(absent)?;
        Ok(Self { files, manifest, recovered: OnceLock::new(), _lock: lock })
    }

    /// How reads of many pages at the same time are done here.
    pub fn batched_reads(&self) -> BatchedReads {
        self.files.batched_reads()
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// A manifest that was to replace the current one, if a process that was killed, or a power failure, has left it.
    pub fn new_manifest(&self) -> Option<Manifest> {
        Manifest::read_file(&*self.files, NEW_MANIFEST).ok().flatten()
    }

    /// The names and lengths of the files, in bytes.
    ///
    /// # Errors
    /// When a directory or a length cannot be read.
    pub fn files(&self) -> Result<Vec<(String, u64)>, Error> {
        let mut found = Vec::new();
        for directory in ["", CHECKPOINTS, log::DIRECTORY] {
            for name in self.files.list(directory)? {
                let bytes = self.files.open(&name)?.len()?;
                found.push((name, bytes));
            }
        }
        Ok(found)
    }

    /// The rows of one table.
    ///
    /// # Errors
    /// When there is no such table, files are damaged, or the log since the checkpoint holds calls of procedures, which
    /// only the program that has their code can replay.
    pub fn contents(&self, table: &str, moment: Moment) -> Result<Contents, Error> {
        let number = self.number_of(table)?;
        let mut contents = Contents::new(&self.manifest.tables[number]);
        if self.volume().is_some() {
            let bad = |problem| Error::Damaged { file: "pages".to_owned(), offset: 0, problem };
            self.rows_on_pages(number, moment, |row| contents.insert(row).map_err(bad))?;
            return Ok(contents);
        }
        if let Some(file) = self.checkpoint()? {
            let mut buffer = Vec::new();
            for block in file.blocks.iter().filter(|block| usize::from(block.table) == number) {
                self.each_row_of(&file, block, &mut buffer, |row| contents.insert(row))?;
            }
        }
        if moment == Moment::Now {
            self.each_record(|record| match record {
                LogEntry::Change(at, change) if at == number => contents.apply(change),
                LogEntry::Change(..) => Ok(()),
                LogEntry::Call(procedure) => {
                    let name = self.manifest.procedures.get(procedure).map_or("?", |entry| &entry.name);
                    Err(format!(
                        "it is a call of procedure `{name}`, which only the program that has its code can replay: \
                         open the database with that program and make a checkpoint, or, if it refuses the call, look \
                         at the last checkpoint (--as-of-checkpoint)"
                    ))
                }
                LogEntry::Entry => Err("it is an entry of a replica's journal, which only the replica can replay: \
                                        look at the last checkpoint (--as-of-checkpoint)"
                    .to_owned()),
            })?;
        }
        Ok(contents)
    }

    /// Gives every row of a table, in its stored form, to `each`, in the order of their keys.
    ///
    /// # Errors
    /// Those of `each`, and as for [`Inspector::contents`].
    pub fn each_row<E: From<Error>>(
        &self,
        table: &str,
        moment: Moment,
        each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.number_of(table)?;
        if self.volume().is_some() {
            return self.rows_on_pages(number, moment, each);
        }
        self.contents(table, moment)?.rows().try_for_each(each)
    }

    /// The schema of a table.
    ///
    /// # Errors
    /// When there is no such table.
    pub fn schema(&self, table: &str) -> Result<&TableSchema, Error> {
        Ok(&self.manifest.tables[self.number_of(table)?])
    }

    fn number_of(&self, table: &str) -> Result<usize, Error> {
        let number = self.manifest.tables.iter().position(|schema| schema.name == table);
        number.ok_or_else(|| Error::Catalog(self.no_table(table)))
    }

    /// Rows of the classic engine, without keeping them.
    fn rows_on_pages<E: From<Error>>(
        &self,
        number: usize,
        moment: Moment,
        each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        if moment == Moment::Checkpoint {
            let problem = "pages are written in place, so the rows of the last checkpoint are not kept: ask for those \
                           of now (leave out --as-of-checkpoint)";
            return Err(Error::Config(problem.to_owned()).into());
        }
        let Some(recovered) = self.recovered()? else { return Ok(()) };
        recovered.engine.each_row(&self.manifest.tables[number].name, each)
    }

    fn no_table(&self, wanted: &str) -> String {
        let names: Vec<_> = self.manifest.tables.iter().map(|schema| &*schema.name).collect();
        let near = names.iter().map(|name| (edits(name, wanted), name)).min();
        let near = near.filter(|&(edits, _)| edits <= wanted.len().div_ceil(3));
        let near = near.map_or(String::new(), |(_, name)| format!("did you mean `{name}`? "));
        format!("there is no table `{wanted}`; {near}there are {}", names.join(", "))
    }

    /// The checkpoint's file, its headers read; `None` before the first checkpoint.
    pub(crate) fn checkpoint(&self) -> Result<Option<CheckpointFile>, Error> {
        CheckpointFile::of(&*self.files, &self.manifest)
    }

    /// What the manifest says about pages, if it is a database of the classic engine.
    pub(crate) fn volume(&self) -> Option<&VolumeEntry> {
        self.manifest.volume.as_ref()
    }

    /// Whether the pages mean nothing yet: the database is being made, or a bulk load has not ended.
    pub(crate) fn is_unfinished(&self) -> bool {
        !self.manifest.log_created || self.volume().is_some_and(|volume| volume.loading)
    }

    /// The pages after recovery, which happens when this is called for the first time; `None` when they mean nothing.
    pub(crate) fn recovered(&self) -> Result<Option<&Recovered>, Error> {
        let Some(entry) = self.volume().filter(|_| !self.is_unfinished()) else { return Ok(None) };
        if self.recovered.get().is_none() {
            let recovered = Recovered::recover(Arc::clone(&self.files), &self.manifest, entry)?;
            // Another thread may have been quicker; one of them is as good as the other.
            let _ = self.recovered.set(recovered);
        }
        Ok(self.recovered.get())
    }

    /// Checks a block and gives its rows.
    pub(crate) fn each_row_of(
        &self,
        file: &CheckpointFile,
        block: &CheckpointBlock,
        buffer: &mut Vec<u8>,
        mut row: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Error> {
        file.rows(block, buffer)?;
        let bad = |problem| damaged(&*file.file, block.at, problem);
        let table = self.manifest.tables.get(usize::from(block.table));
        let table = table.ok_or_else(|| bad("it holds a table that the manifest does not name".to_owned()))?;
        if buffer.len() != table.row_width * block.rows as usize {
            return Err(bad(format!(
                "it has {} bytes for {} rows of table `{}`",
                buffer.len(),
                block.rows,
                table.name
            )));
        }
        buffer.chunks_exact(table.row_width).try_for_each(&mut row).map_err(bad)
    }

    /// Reads and checks the log since the checkpoint; `None` when there is no log yet.
    pub(crate) fn each_record(
        &self,
        mut found: impl FnMut(LogEntry<'_>) -> Result<(), String>,
    ) -> Result<Option<LogFound>, Error> {
        if !self.manifest.log_created {
            return Ok(None);
        }
        let mut read =
            |lsn, record: &[u8]| self.take_apart(record, &mut found).map_err(|why| refused(&*self.files, lsn, why));
        Ok(Some(look_into_log(&*self.files, &self.manifest.expected_log(), &mut read)?))
    }

    fn take_apart(
        &self,
        record: &[u8],
        found: &mut impl FnMut(LogEntry<'_>) -> Result<(), String>,
    ) -> Result<(), String> {
        match record.split_first() {
            Some(_) if self.manifest.journal_of.is_some() => found(LogEntry::Entry),
            Some((&VALUES, changes)) => {
                each_change(&self.manifest.tables, changes, |table, it| found(LogEntry::Change(table, it)))
            }
            Some((&kind @ (COMMAND | COMMAND_WITHOUT_DIGEST), call)) => match CommandHead::split(kind, call) {
                Some((head, _)) if usize::from(head.procedure) < self.manifest.procedures.len() => {
                    found(LogEntry::Call(head.procedure.into()))
                }
                Some((head, _)) => Err(format!("procedure number {} is unknown", head.procedure)),
                None => Err("it ends in the middle of a call".to_owned()),
            },
            Some((kind, _)) => Err(format!("a record of kind {kind} is unknown")),
            None => Err("it is empty".to_owned()),
        }
    }
}

impl std::fmt::Debug for Inspector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspector").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

/// How many letters have to be added, removed or replaced to make one word the other (Levenshtein's distance).
fn edits(one: &str, other: &str) -> usize {
    // For each beginning of `other`, the edits from the letters of `one` so far.
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut replaced = std::mem::replace(&mut row[0], at + 1);
        for (to, wanted) in other.chars().enumerate() {
            let least = (replaced + usize::from(letter != wanted)).min(row[to] + 1).min(row[to + 1] + 1);
            replaced = std::mem::replace(&mut row[to + 1], least);
        }
    }
    row[row.len() - 1]
}
