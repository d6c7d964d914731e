//! How much there is, without keeping any row.

use super::changes::Change;
use super::inspector::{Inspector, LogRecord};
use super::volume::VolumeSummary;
use crate::error::Error;
use crate::log;

/// What a database directory holds, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// In the manifest's order.
    pub tables: Vec<TableSummary>,
    /// `None` before the first log was made.
    pub log: Option<LogSummary>,
    /// The pages of a database of the classic engine.
    pub volume: Option<VolumeSummary>,
}

/// A table, counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableSummary {
    /// Rows in the checkpoint.
    pub checkpoint_rows: u64,
    /// Rows now; without what calls in the log did.
    pub rows: u64,
}

/// The log since the checkpoint, counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogSummary {
    /// Position where it begins.
    pub start: u64,
    /// Position where it ends.
    pub end: u64,
    /// Changes of rows; not counted for the classic engine.
    pub changes: u64,
    /// Calls of each procedure, in the manifest's order.
    pub calls: Vec<u64>,
    /// Entries of a replica's journal.
    pub entries: u64,
    /// Whether it was closed; else the program that wrote it was ended in the midst of things.
    pub closed: bool,
    /// Files of the log, spare ones included.
    pub files: u64,
    /// Bytes of these files.
    pub file_bytes: u64,
}

impl Inspector {
    /// Counts rows and log records. The headers of the checkpoint and all of the log are read and checked; rows of the
    /// checkpoint are not. Of the classic engine, all pages in use are read.
    ///
    /// # Errors
    /// When files are damaged.
    pub fn summary(&self) -> Result<Summary, Error> {
        if let Some(entry) = self.volume() {
            return self.volume_summary(entry);
        }
        let mut tables = vec![TableSummary::default(); self.manifest.tables.len()];
        for block in self.checkpoint()?.iter().flat_map(|file| &file.blocks) {
            if let Some(table) = tables.get_mut(usize::from(block.table)) {
                table.checkpoint_rows += u64::from(block.rows);
            }
        }
        for table in &mut tables {
            table.rows = table.checkpoint_rows;
        }
        let mut summary = LogSummary { calls: vec![0; self.manifest.procedures.len()], ..LogSummary::default() };
        let found = self.each_record(|record| {
            match record {
                LogRecord::Change(table, change) => {
                    summary.changes += 1;
                    // Only what is there is deleted, and only what is not is inserted, so counting is enough.
                    let rows = &mut tables[table].rows;
                    match change {
                        Change::Insert { .. } => *rows += 1,
                        Change::Delete { .. } => *rows = rows.saturating_sub(1),
                        Change::Update { .. } => {}
                    }
                }
                LogRecord::Call(procedure) => summary.calls[procedure] += 1,
                LogRecord::Entry => summary.entries += 1,
            }
            Ok(())
        })?;
        let Some(found) = found else { return Ok(Summary { tables, log: None, volume: None }) };
        summary.start = self.manifest.log_start;
        (summary.end, summary.closed) = (found.end().0, found.closed());
        for name in self.files.list(log::DIRECTORY)? {
            summary.files += 1;
            summary.file_bytes += self.files.open(&name)?.len()?;
        }
        Ok(Summary { tables, log: Some(summary), volume: None })
    }
}
