//! Opening the engine: making a volume, or bringing it back; then the stores that the program's tables need.

use std::sync::Arc;

use crate::classic::buffer::{BufferPool, DOUBLE, PAGES, PoolConfig};
use crate::classic::directory::{VOLUME_PAGE, VolumeIdentity, create_volume};
use crate::classic::engine::log_ahead::LogAhead;
use crate::classic::latch::ReadWriteLatch;
use crate::classic::page;
use crate::classic::page::pages::Pages;
use crate::classic::recovery::{Analysis, CheckpointLsns, Losers, read_log};
use crate::classic::space::{LIMIT_PAGES, SpaceMap};
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::config::ClassicConfig;
use crate::error::Error;
use crate::io::Files;
use crate::log::{ExpectedLog, LogFound, Lsn};
use crate::store::VolumeEntry;

/// The names of the files of pages.
pub(crate) const FILES: [&str; 2] = [PAGES, DOUBLE];
/// The fewest pages in memory that a transaction can do with, for each session.
pub(crate) const PAGES_PER_SESSION: usize = 12;

type StandardPool = Arc<BufferPool<ReadWriteLatch, LogAhead>>;

/// The pages of a database, as they were when the log ended.
pub(crate) struct OpenedVolume {
    pub(crate) pool: StandardPool,
    /// What had not ended then.
    pub(crate) losers: Option<Losers>,
    /// Records of the log that were read.
    pub(crate) log_records: u64,
    /// Changes of pages that were redone.
    pub(crate) redone: u64,
}

impl OpenedVolume {
    /// Makes a new volume; what an interrupted attempt left is removed.
    pub(crate) fn create(files: &Arc<dyn Files>, database_id: u128, config: &ClassicConfig) -> Result<Self, Error> {
        for name in FILES {
            if files.exists(name)? {
                files.remove(name)?;
            }
        }
        let ahead = LogAhead::new(Arc::clone(files));
        let pool = Arc::new(BufferPool::create(&**files, &pool_config(config, config.page_bytes), ahead)?);
        let space = SpaceMap::new(Arc::clone(&pool), LIMIT_PAGES);
        let mut journal = TransactionLog::unlogged(&TransactionTable::new(1))?;
        create_volume(&pool, &space, &mut journal, database_id)?;
        journal.commit()?;
        pool.flush_all()?;
        Ok(Self { pool, losers: None, log_records: 0, redone: 0 })
    }

    /// Brings the volume of this entry of the manifest to where the log ends. Nothing of the log is changed; pages may
    /// be.
    pub(crate) fn recover(
        files: &Arc<dyn Files>,
        config: &ClassicConfig,
        entry: &VolumeEntry,
        expected: &ExpectedLog,
    ) -> Result<(Self, LogFound), Error> {
        let &ExpectedLog { database_id, from: needed_from, .. } = expected;
        let page_bytes = entry.page_bytes as usize;
        let mut log_records = 0;
        let mut analysis = Analysis::new(CheckpointLsns { begin: Lsn(entry.checkpoint), needed_from });
        let found = read_log(&**files, expected, |lsn, record| {
            log_records += 1;
            analysis.read(lsn, record)
        })?;
        let (mut redo, losers) = analysis.finish()?;
        let ahead = LogAhead::new(Arc::clone(files));
        let pool_config = PoolConfig { batch: entry.batch, ..pool_config(config, page_bytes) };
        let pool = Arc::new(BufferPool::open(&**files, &pool_config, ahead)?);
        let identity = VolumeIdentity { page_bytes, database_id };
        let first = pool.fix_shared(VOLUME_PAGE)?;
        VolumeIdentity::read(&first)?.check(identity)?;
        check_age(&first, entry)?;
        drop(first);
        pool.set_recovering(true);
        read_log(&**files, expected, |lsn, record| redo.read(&pool, lsn, record))?;
        pool.set_recovering(false);
        let redone = redo.done();
        Ok((Self { pool, losers: Some(losers), log_records, redone }, found))
    }

    /// Transactions that had not ended when the log ended, and are to be rolled back.
    pub(crate) fn losers(&self) -> u64 {
        self.losers.as_ref().map_or(0, Losers::len) as u64 - self.in_doubt().count() as u64
    }

    /// The names of prepared transactions, which stay.
    pub(crate) fn in_doubt(&self) -> impl Iterator<Item = &[u8]> {
        self.losers.iter().flat_map(Losers::in_doubt)
    }
}

/// Refuses a file of pages that is older than the last checkpoint.
fn check_age(first: &[u8], entry: &VolumeEntry) -> Result<(), Error> {
    let (found, expected) = (page::lsn(first), Lsn(entry.stamp));
    if found >= expected {
        return Ok(());
    }
    let problem = format!(
        "it is an older copy: its first page is as of log position {found}, but the last checkpoint wrote it as of \
         {expected}"
    );
    Err(page::damaged(VOLUME_PAGE, 0, problem))
}

fn pool_config(config: &ClassicConfig, page_bytes: usize) -> PoolConfig {
    let frames = (config.pool_bytes / page_bytes).max(PAGES_PER_SESSION * config.sessions);
    PoolConfig { page_bytes, frames, trace: config.trace_pages, ..PoolConfig::default() }
}
