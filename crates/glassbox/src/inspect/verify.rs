//! Checking everything that can be checked without the procedures' code.

use super::contents::Contents;
use super::inspector::{Inspector, LogRecord};
use super::verify_volume::VolumeVerification;
use crate::error::Error;

/// What was checked and what is wrong.
#[derive(Debug, Default)]
pub struct Verification {
    /// Blocks of the checkpoint whose checksums match.
    pub blocks: u64,
    /// Rows at the last moment that could be found again, all tables together.
    pub rows: u64,
    /// Log records' changes that were done again.
    pub changes: u64,
    /// Calls of procedures in the log, or entries of a journal: whole, as their checksums say, but not done again.
    pub calls: u64,
    /// Whether rows were compared with each other: not when a file is damaged.
    pub compared: bool,
    /// The pages of a database of the classic engine.
    pub volume: Option<VolumeVerification>,
    /// Damage to files, and contradictions between rows.
    pub wrong: Vec<String>,
}

impl Inspector {
    /// Reads every file in use and checks every checksum, every row against its schema, that keys are unique, and that
    /// every index can be built.
    ///
    /// # Errors
    /// When files cannot be read. Damage is no error but in what is given back.
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
            LogRecord::Change(table, change) if sound && calls == 0 => {
                changes += 1;
                tables[table].apply(change)
            }
            LogRecord::Change(..) => Ok(()),
            LogRecord::Call(_) | LogRecord::Entry => {
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
}

/// Notes damage; passes on that files cannot be read.
pub(super) fn damage(error: Error, found: &mut Verification) -> Result<(), Error> {
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
