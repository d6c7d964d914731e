//! The pages of a database of the classic engine, brought to where its log ends, in memory.
//!
//! Pages on disk are each as of some moment; what they mean together only recovery can tell. So the engine's own
//! recovery runs here, all three passes of it, on an [`Overlay`]: what it writes, to pages and to the log, stays in
//! memory. Then the engine has the tables, by the schema in the manifest, and is asked for rows as bytes.

use std::sync::Arc;

use crate::classic::{Engine, OpenedVolume, PAGES, StoredTable};
use crate::config::{Architecture, ClassicConfig, Config};
use crate::database::claim::log_config;
use crate::error::Error;
use crate::executed::{PreparedTransaction, TableUsage};
use crate::io::{Files, Overlay, RealClock};
use crate::log::{Log, Lsn};
use crate::store::{Manifest, VolumeEntry};

/// Maximum memory for pages; other changes are in the overlay.
const MAX_POOL_BYTES: u64 = 256 << 20;
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
    /// Changes of pages that redo applies.
    pub redone: u64,
    /// Loser transactions that undo rolls back.
    pub rolled_back: u64,
    /// Prepared transactions. Rows, keys and pages are counted without their changes.
    pub prepared: Vec<PreparedTransaction>,
    /// A bulk load has not ended: the next opening creates the database from scratch, empty. Nothing else counts then.
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

/// A volume as it is after recovery, and without what is prepared.
pub(crate) struct Recovered {
    pub(crate) engine: Engine,
    /// As recovery leaves them.
    pub(crate) files: Arc<dyn Files>,
    pub(crate) log_records: u64,
    pub(crate) redone: u64,
    pub(crate) rolled_back: u64,
    pub(crate) prepared: Vec<PreparedTransaction>,
    /// The end of the log on disk, and whether it was closed there.
    pub(crate) end: Lsn,
    pub(crate) closed: bool,
}

impl Recovered {
    pub(crate) fn recover(base: Arc<dyn Files>, manifest: &Manifest, entry: &VolumeEntry) -> Result<Self, Error> {
        let files: Arc<dyn Files> = Arc::new(Overlay::new(base));
        let config = config(&*files, entry)?;
        let (volume, found) = OpenedVolume::recover(&files, &config.classic, entry, &manifest.expected_log())?;
        let (log_records, redone, rolled_back) = (volume.log_records, volume.redone, volume.losers());
        let (end, closed) = (found.end(), found.closed());
        let log = Log::open(Arc::clone(&files), log_config(&config), found)?;
        let mut engine = Engine::start(volume, log, Arc::new(RealClock::new()), &config, Vec::new())?;
        for (number, table) in manifest.tables.iter().enumerate() {
            let store = manifest.store_of(number);
            engine.add_table(number, table, store, Some(StoredTable::kept(table, store)))?;
        }
        let prepared = engine.prepared();
        for transaction in &prepared {
            engine.end_prepared(&transaction.name, false)?;
        }
        Ok(Self { engine, files, log_records, redone, rolled_back, prepared, end, closed })
    }
}

/// One session, no threads, and not more memory than there are pages.
fn config(files: &dyn Files, entry: &VolumeEntry) -> Result<Config, Error> {
    let bytes = if files.exists(PAGES)? { files.open(PAGES)?.len()? } else { 0 };
    let pool_bytes = (bytes + MORE_POOL_BYTES).min(MAX_POOL_BYTES) as usize;
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
