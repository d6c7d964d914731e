//! Checking the pages of a database of the classic engine.

use std::sync::Arc;

use super::inspector::Inspector;
use super::verify::{Verification, damage};
use super::volume::Recovered;
use crate::classic::{PAGES, check_file, repair};
use crate::error::Error;
use crate::io::Overlay;
use crate::record::{TableSchema, Value};
use crate::store::VolumeEntry;

/// Of bad values of one table so many are told.
const MOST_BAD_ROWS: usize = 10;

/// What was checked of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VolumeVerification {
    /// Pages of the file that are whole, or were never written.
    pub pages: u64,
    /// Of the pages on disk, those that were torn when the machine stopped, and that their copies repair.
    pub repaired: u64,
    /// Pages in use after recovery, each with one owner.
    pub used: u64,
    /// Records of the log that recovery read.
    pub log_records: u64,
    /// Changes of pages that it did again.
    pub redone: u64,
    /// Transactions that had not ended, which it took back.
    pub taken_back: u64,
}

impl Inspector {
    /// Checks every page on disk, recovers, and checks every page again, whose each one is, trees, heap files, and
    /// every index against its table.
    pub(super) fn verify_volume(&self, entry: &VolumeEntry) -> Result<Verification, Error> {
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
            // What is wrong with the pages was told; but the log has not been looked at for itself.
            Ok(_) => {}
            // A damaged page stops recovery, and was told already.
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
        (volume.log_records, volume.redone, volume.taken_back) = (of.log_records, of.redone, of.taken_back);
        match of.engine.verify_space(&mut Vec::new()) {
            Ok(used) => volume.used = used,
            // It is among what is wrong.
            Err(_) => assert!(!wrong.is_empty(), "what cannot be read is told"),
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
                if bad <= MOST_BAD_ROWS {
                    wrong.push(format!("a row of table `{}`: {problem}", table.name));
                }
            }
            Ok::<_, Error>(())
        })?;
        if bad > MOST_BAD_ROWS {
            wrong.push(format!("table `{}`: {} more rows are bad", table.name, bad - MOST_BAD_ROWS));
        }
        Ok(rows)
    }
}
