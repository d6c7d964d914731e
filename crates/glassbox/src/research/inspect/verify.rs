//! Checking everything that can be checked without the procedures' code.

use std::sync::Arc;

use crate::classic::{PAGES, check_file, repair};
use crate::error::Error;
use crate::io::Overlay;
use crate::record::{TableSchema, Value};
use crate::research::inspect::contents::Contents;
use crate::research::inspect::inspector::{Inspector, LogEntry};
use crate::research::inspect::volume::Recovered;
use crate::store::VolumeEntry;

/// Bad rows reported of one table.
const MAX_BAD_ROWS: usize = 10;

/// The result of a check.
#[derive(Debug, Default)]
pub struct Verification {
    /// Blocks of the checkpoint whose checksums match.
    pub blocks: u64,
    /// Rows at the last moment that could be found again, all tables together.
    pub rows: u64,
    /// Changes of the log that were applied.
    pub changes: u64,
    /// Calls of procedures in the log, or entries of a journal: their checksums match, but they were not replayed.
    pub calls: u64,
    /// Whether rows were compared with each other: not when a file is damaged.
    pub compared: bool,
    /// The pages of a database of the classic engine.
    pub volume: Option<VolumeVerification>,
    /// Damage to files, and contradictions between rows.
    pub wrong: Vec<String>,
}

/// The result of a check of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeVerification {
    /// Pages of the file that are whole, or were never written.
    pub pages: u64,
    /// Pages on disk that were torn when the machine stopped, and that their copies repair.
    pub repaired: u64,
    /// Pages in use after recovery, each with one owner.
    pub used: u64,
    /// Records of the log that recovery read.
    pub log_records: u64,
    /// Changes of pages that redo applied.
    pub redone: u64,
    /// Loser transactions that undo rolled back.
    pub rolled_back: u64,
    /// Prepared transactions, which wait for a decision. Everything was checked without their changes.
    pub prepared: u64,
}

impl Inspector {
    /// Reads every file in use and checks every checksum, every row against its schema, that keys are unique, and that
    /// every index can be built.
    ///
    /// # Errors
    /// When files cannot be read. Damage is part of the result.
    pub fn verify(&self) -> Result<Verification, Error> {
        if let Some(entry) = self.volume() {
            return self.verify_volume(entry);
        }
        let mut found = Verification::default();
        let mut tables: Vec<_> = self.manifest.tables.iter().map(Contents::new).collect();
        self.verify_checkpoint(&mut tables, &mut found)?;
        let sound = found.wrong.is_empty();
        let (mut changes, mut calls) = (0, 0);
        let read = self.each_record(|record| match record {
            // With rows missing, changes of them would seem to be wrong as well. After a call the state is unknown.
            LogEntry::Change(table, change) if sound && calls == 0 => {
                changes += 1;
                tables[table].apply(change)
            }
            LogEntry::Change(..) => Ok(()),
            LogEntry::Call(_) | LogEntry::Entry => {
                calls += 1;
                Ok(())
            }
        });
        (found.changes, found.calls) = (changes, calls);
        if let Err(error) = read {
            damage(error, &mut found)?;
        }
        found.rows = tables.iter().map(|table| table.len() as u64).sum();
        found.compared = found.wrong.is_empty();
        if found.compared {
            found.wrong = tables.iter().flat_map(Contents::verify).collect();
        }
        Ok(found)
    }

    fn verify_checkpoint(&self, tables: &mut [Contents], found: &mut Verification) -> Result<(), Error> {
        let file = match self.checkpoint() {
            Ok(None) => return Ok(()),
            Ok(Some(file)) => file,
            Err(error) => return damage(error, found),
        };
        let mut buffer = Vec::new();
        for block in &file.blocks {
            let table = usize::from(block.table);
            let checked = self.each_row_of(&file, block, &mut buffer, |row| tables[table].insert(row));
            match checked {
                Ok(()) => found.blocks += 1,
                Err(error) => damage(error, found)?,
            }
        }
        Ok(())
    }

    /// Checks every page on disk, recovers, and checks again every page and its owner, trees, heap files, and every
    /// index against its table.
    fn verify_volume(&self, entry: &VolumeEntry) -> Result<Verification, Error> {
        let mut found = Verification { volume: Some(VolumeVerification::default()), ..Verification::default() };
        if self.is_unfinished() {
            return Ok(found);
        }
        if let Err(error) = self.verify_pages_on_disk(entry, &mut found) {
            damage(error, &mut found)?;
        }
        let sound = found.wrong.is_empty();
        match self.recovered() {
            Ok(Some(recovered)) if sound => self.verify_recovered(entry, recovered, &mut found)?,
            // The damage of the pages is reported already.
            Ok(_) => {}
            // A damaged page, reported already, stops recovery.
            Err(Error::Damaged { file, .. }) if !sound && file.ends_with(PAGES) => {}
            Err(error) => damage(error, &mut found)?,
        }
        Ok(found)
    }

    fn verify_pages_on_disk(&self, entry: &VolumeEntry, found: &mut Verification) -> Result<(), Error> {
        let files = Overlay::new(Arc::clone(&self.files));
        let mut volume = VolumeVerification { repaired: repair(&files, entry.batch)?, ..VolumeVerification::default() };
        let page_bytes = entry.page_bytes as usize;
        volume.pages = check_file(&files, page_bytes, |error| found.wrong.push(error.to_string()))?;
        volume.pages -= found.wrong.len() as u64;
        found.volume = Some(volume);
        Ok(())
    }

    fn verify_recovered(&self, entry: &VolumeEntry, of: &Recovered, found: &mut Verification) -> Result<(), Error> {
        let mut wrong = of.engine.verify();
        for table in &self.manifest.tables {
            match of.verify_values(table, &mut wrong) {
                Ok(rows) => found.rows += rows,
                Err(error) => damage(error, found)?,
            }
        }
        let volume = found.volume.get_or_insert_default();
        (volume.log_records, volume.redone, volume.rolled_back) = (of.log_records, of.redone, of.rolled_back);
        volume.prepared = of.prepared.len() as u64;
        match of.engine.verify_space(&mut Vec::new()) {
            Ok(used) => volume.used = used,
            // The engine's own check has reported it.
            Err(_) => assert!(!wrong.is_empty(), "unreadable pages are reported"),
        }
        of.engine.flush()?;
        check_file(&*of.files, entry.page_bytes as usize, |error| wrong.push(error.to_string()))?;
        found.compared = wrong.is_empty() && found.wrong.is_empty();
        found.wrong.append(&mut wrong);
        Ok(())
    }
}

impl Recovered {
    /// Checks that all columns of all rows are values; says how many rows there are.
    fn verify_values(&self, table: &TableSchema, wrong: &mut Vec<String>) -> Result<u64, Error> {
        let (mut rows, mut bad) = (0, 0);
        self.engine.each_row(&table.name, |row| {
            rows += 1;
            let problem = table.columns.iter().find_map(|column| Value::read(column, row).err());
            if let Some(problem) = problem {
                bad += 1;
                if bad <= MAX_BAD_ROWS {
                    wrong.push(format!("a row of table `{}`: {problem}", table.name));
                }
            }
            Ok::<_, Error>(())
        })?;
        if bad > MAX_BAD_ROWS {
            wrong.push(format!("table `{}`: {} more rows are bad", table.name, bad - MAX_BAD_ROWS));
        }
        Ok(rows)
    }
}

/// Adds damage to the result, once; returns the errors of files that cannot be read.
fn damage(error: Error, found: &mut Verification) -> Result<(), Error> {
    match error {
        Error::Damaged { .. } | Error::WrongFormat { .. } | Error::Log(_) => {
            let told = error.to_string();
            if !found.wrong.contains(&told) {
                found.wrong.push(told);
            }
        }
        Error::Io(error) if error.kind() == std::io::ErrorKind::NotFound => found.wrong.push(error.to_string()),
        error => return Err(error),
    }
    Ok(())
}
