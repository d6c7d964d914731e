//! The pages of a database of the classic engine, brought to where its log ends, in memory.
//!
//! Pages on disk are each as of some moment; what they mean together only recovery can tell. So the engine's own
//! recovery runs here, all three passes of it, on an [`Overlay`]: what it writes, to pages and to the log, stays in
//! memory. Then the engine has the tables, by the schema in the manifest, and is asked for rows as bytes.

use std::sync::Arc;

use super::inspector::Inspector;
use super::summary::{LogSummary, Summary, TableSummary};
use crate::claim::log_config;
use crate::classic::{Engine, PAGES, StoreKind, Volume};
use crate::config::{Architecture, ClassicConfig, Config};
use crate::error::Error;
use crate::executed::TableUsage;
use crate::io::{Files, Overlay, RealClock};
use crate::log::{self, Log, Lsn};
use crate::store::{Manifest, VolumeEntry};

/// Most memory for pages; what else is changed is in the overlay.
const MOST_POOL_BYTES: u64 = 256 << 20;
/// Some more than there are pages, for what recovery makes.
const MORE_POOL_BYTES: u64 = 1 << 20;
/// Recovery logs no record longer than a few pages.
const LOG_BUFFER_BYTES: usize = 512 << 10;

/// A volume, counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeSummary {
    /// Size of a page, bytes.
    pub page_bytes: u64,
    /// Pages that the file has.
    pub pages: u64,
    /// Pages in use, as the space map says.
    pub used: u64,
    /// Where the last checkpoint begins in the log; 0: there was none.
    pub checkpoint: u64,
    /// Records of the log that recovery reads.
    pub log_records: u64,
    /// Changes of pages that recovery does again.
    pub redone: u64,
    /// Transactions that had not ended, which recovery takes back.
    pub taken_back: u64,
    /// A bulk load has not ended: opening the database makes it anew, empty. Then nothing else counts.
    pub loading: bool,
    /// The space of each table on pages, in the manifest's order.
    pub tables: Vec<TableUsage>,
    /// All heap files and trees.
    pub stores: Vec<StoreSummary>,
}

/// A heap file or a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSummary {
    /// Its number.
    pub number: u32,
    /// Its name in the directory.
    pub name: String,
    /// Whether it is a tree; else it is a heap file.
    pub is_tree: bool,
    /// Bytes of a record, or of a key.
    pub width: u64,
    /// Its pages.
    pub pages: u64,
    /// Its records or keys.
    pub items: u64,
    /// Whether a table of the manifest uses it; else it was left by something interrupted or given up.
    pub in_use: bool,
}

/// A volume as it is after recovery.
pub(super) struct Recovered {
    pub(super) engine: Engine,
    /// As recovery leaves them.
    pub(super) files: Arc<dyn Files>,
    pub(super) log_records: u64,
    pub(super) redone: u64,
    pub(super) taken_back: u64,
    /// Where the log ends on disk, and whether it was closed there.
    end: Lsn,
    closed: bool,
}

impl Inspector {
    /// What the manifest says about pages, if it is a database of the classic engine.
    pub(super) fn volume(&self) -> Option<&VolumeEntry> {
        self.manifest.volume.as_ref()
    }

    /// Whether the pages mean nothing yet: the database is being made, or a bulk load has not ended.
    pub(super) fn is_unfinished(&self) -> bool {
        !self.manifest.log_created || self.volume().is_some_and(|volume| volume.loading)
    }

    /// The pages after recovery, which happens when this is called for the first time; `None` when they mean nothing.
    pub(super) fn recovered(&self) -> Result<Option<&Recovered>, Error> {
        let Some(entry) = self.volume().filter(|_| !self.is_unfinished()) else { return Ok(None) };
        if self.recovered.get().is_none() {
            let recovered = Recovered::recover(Arc::clone(&self.files), &self.manifest, entry)?;
            // Another thread may have been quicker; one of them is as good as the other.
            let _ = self.recovered.set(recovered);
        }
        Ok(self.recovered.get())
    }

    /// Counts rows, pages and log records.
    pub(super) fn volume_summary(&self, entry: &VolumeEntry) -> Result<Summary, Error> {
        let mut volume = VolumeSummary {
            page_bytes: entry.page_bytes.into(),
            pages: 0,
            used: 0,
            checkpoint: entry.checkpoint,
            log_records: 0,
            redone: 0,
            taken_back: 0,
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
        // What is wrong is said by `verify`.
        volume.used = engine.verify_space(&mut Vec::new())?;
        volume.pages = self.files.open(PAGES)?.len()? / volume.page_bytes;
        let Recovered { log_records, redone, taken_back, end, closed, .. } = *recovered;
        (volume.log_records, volume.redone, volume.taken_back) = (log_records, redone, taken_back);
        let mut log = LogSummary { start: self.manifest.log_start, end: end.0, closed, ..LogSummary::default() };
        for name in self.files.list(log::DIRECTORY)? {
            log.files += 1;
            log.file_bytes += self.files.open(&name)?.len()?;
        }
        Ok(Summary { tables, log: Some(log), volume: Some(volume) })
    }
}

impl Recovered {
    fn recover(base: Arc<dyn Files>, manifest: &Manifest, entry: &VolumeEntry) -> Result<Self, Error> {
        let files: Arc<dyn Files> = Arc::new(Overlay::new(base));
        let config = config(&*files, entry)?;
        let (volume, found) = Volume::recover(&files, &config.classic, entry, &manifest.expected_log())?;
        let (log_records, redone, taken_back) = (volume.log_records, volume.redone, volume.losers());
        let (end, closed) = (found.end(), found.closed());
        let log = Log::open(Arc::clone(&files), log_config(&config), found)?;
        let mut engine = Engine::start(volume, log, Arc::new(RealClock::new()), &config, Vec::new())?;
        for (number, table) in manifest.tables.iter().enumerate() {
            engine.add_table(number, table, Some(table))?;
        }
        Ok(Self { engine, files, log_records, redone, taken_back, end, closed })
    }
}

/// One session, no threads, and not more memory than there are pages.
fn config(files: &dyn Files, entry: &VolumeEntry) -> Result<Config, Error> {
    let bytes = if files.exists(PAGES)? { files.open(PAGES)?.len()? } else { 0 };
    let pool_bytes = (bytes + MORE_POOL_BYTES).min(MOST_POOL_BYTES) as usize;
    let page_bytes = entry.page_bytes as usize;
    Ok(Config {
        architecture: Architecture::Classic,
        classic: ClassicConfig { page_bytes, pool_bytes, sessions: 1, ..ClassicConfig::default() },
        log_threads: false,
        log_buffer_bytes: LOG_BUFFER_BYTES,
        ..Config::default()
    })
}

impl std::fmt::Debug for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovered").field("end", &self.end).finish_non_exhaustive()
    }
}
