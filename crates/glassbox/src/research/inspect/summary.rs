//! How much there is, without keeping any row.

use crate::classic::{PAGES, StoreKind};
use crate::error::Error;
use crate::log;
use crate::partitioned::log_records::row_change::RowChange;
use crate::research::inspect::inspector::{Inspector, LogEntry};
use crate::research::inspect::volume::{Recovered, StoreSummary, VolumeSummary};
use crate::store::VolumeEntry;

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
                LogEntry::Change(table, change) => {
                    summary.changes += 1;
                    // Only what is there is deleted, and only what is not is inserted, so counting is enough.
                    let rows = &mut tables[table].rows;
                    match change {
                        RowChange::Insert { .. } => *rows += 1,
                        RowChange::Delete { .. } => *rows = rows.saturating_sub(1),
                        RowChange::Update { .. } => {}
                    }
                }
                LogEntry::Call(procedure) => summary.calls[procedure] += 1,
                LogEntry::Entry => summary.entries += 1,
            }
            Ok(())
        })?;
        let Some(found) = found else { return Ok(Summary { tables, log: None, volume: None }) };
        summary.start = self.manifest.log_start;
        (summary.end, summary.closed) = (found.end().0, found.closed());
        self.count_log_files(&mut summary)?;
        Ok(Summary { tables, log: Some(summary), volume: None })
    }

    /// Counts rows, pages and log records.
    fn volume_summary(&self, entry: &VolumeEntry) -> Result<Summary, Error> {
        let mut volume = VolumeSummary {
            page_bytes: entry.page_bytes.into(),
            pages: 0,
            used: 0,
            checkpoint: entry.checkpoint,
            log_records: 0,
            redone: 0,
            rolled_back: 0,
            prepared: Vec::new(),
            loading: self.is_unfinished(),
            tables: Vec::new(),
            stores: Vec::new(),
        };
        let mut tables = vec![TableSummary::default(); self.manifest.tables.len()];
        let Some(recovered) = self.recovered()? else { return Ok(Summary { tables, log: None, volume: Some(volume) }) };
        let engine = &recovered.engine;
        for (at, table) in self.manifest.tables.iter().enumerate() {
            let usage = engine.usage_of_table(&table.name)?;
            tables[at].rows = usage.rows;
            volume.tables.push(usage);
        }
        for entry in engine.stores()? {
            let usage = engine.usage_of_store(&entry)?;
            let (is_tree, width) = match entry.kind {
                StoreKind::Heap { record_width } => (false, record_width),
                StoreKind::Tree { key_width, .. } => (true, key_width),
            };
            volume.stores.push(StoreSummary {
                number: entry.store.0,
                name: String::from_utf8_lossy(entry.name.as_bytes()).into_owned(),
                is_tree,
                width: width.into(),
                pages: usage.pages.len() as u64,
                items: usage.items,
                in_use: engine.is_in_use(&entry),
            });
        }
        // Damage is reported by `verify`.
        volume.used = engine.verify_space(&mut Vec::new())?;
        volume.pages = self.files.open(PAGES)?.len()? / volume.page_bytes;
        let Recovered { log_records, redone, rolled_back, end, closed, .. } = *recovered;
        volume.prepared.clone_from(&recovered.prepared);
        (volume.log_records, volume.redone, volume.rolled_back) = (log_records, redone, rolled_back);
        let mut log = LogSummary { start: self.manifest.log_start, end: end.0, closed, ..LogSummary::default() };
        self.count_log_files(&mut log)?;
        Ok(Summary { tables, log: Some(log), volume: Some(volume) })
    }

    fn count_log_files(&self, log: &mut LogSummary) -> Result<(), Error> {
        for name in self.files.list(log::DIRECTORY)? {
            log.files += 1;
            log.file_bytes += self.files.open(&name)?.len()?;
        }
        Ok(())
    }
}
