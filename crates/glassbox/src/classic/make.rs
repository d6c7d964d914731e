//! Making an engine of whatever stack: its parts, put together.

use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::directory::create_volume;
use super::engine::Engine;
use super::lock::{Granularity, LockConfig, Locks};
use super::open::{LIMIT_PAGES, unlogged};
use super::session::Session;
use super::space::SpaceMap;
use super::stack::{self, AheadOf, PageStore, Stack, StackLocks, StackLogs, StackSessions};
use super::wal::forms::Logs;
use super::wal::table::TransactionTable;
use super::wal::transaction::TransactionLog;
use crate::config::{self, ClassicConfig};
use crate::error::Error;
use crate::executed::SharedCounters;
use crate::health::Health;
use crate::io::{Clock, Files};
use crate::log::Log;
use crate::record::mix;

/// What an engine is given beside its pages and its log.
pub(super) struct Wishes<'a> {
    pub(super) config: &'a ClassicConfig,
    pub(super) clock: Arc<dyn Clock>,
    /// The procedures of the catalog.
    pub(super) procedures: Vec<TypeId>,
    /// Transactions beside those of the sessions.
    pub(super) in_doubt: usize,
    /// From which the random numbers of transactions come.
    pub(super) seed: u64,
}

impl<S: Stack> Engine<S> {
    /// An engine without tables on a new volume. Files that there are none of must be given all the same; what has none
    /// does not touch them. `open_log` is called by stacks that have a log on disk.
    ///
    /// # Errors
    /// When files cannot be made, or there is not enough memory.
    pub(crate) fn make(
        files: &Arc<dyn Files>,
        clock: Arc<dyn Clock>,
        config: &ClassicConfig,
        procedures: Vec<TypeId>,
        open_log: impl FnOnce() -> Result<Log, Error>,
    ) -> Result<Self, Error> {
        const { stack::check::<S>() };
        let logs = S::Logs::open(open_log)?;
        let count = config.pool_bytes / S::PAGE_BYTES;
        let pages = <S::Pages as PageStore<AheadOf<S>>>::make(&**files, S::PAGE_BYTES, count, logs.ahead(files))?;
        let engine = Self::assemble(pages, logs, Wishes { config, clock, procedures, in_doubt: 0, seed: 0 })?;
        let mut journal = unlogged(&TransactionTable::new(1))?;
        create_volume(&engine.pages, &engine.space, &mut journal, 0)?;
        journal.commit()?;
        Ok(engine)
    }

    /// An engine without tables on pages that hold a volume, or will.
    ///
    /// # Errors
    /// When there are too many sessions.
    pub(super) fn assemble(pages: S::Pages, logs: S::Logs, wishes: Wishes<'_>) -> Result<Self, Error> {
        let Wishes { config, clock, procedures, in_doubt, seed } = wishes;
        let sessions = S::Sessions::count(config.sessions);
        let transactions = TransactionTable::new(sessions + in_doubt);
        let locks = S::Locks::make(lock_config(config), &clock);
        let counters: Vec<_> = (0..sessions).map(|_| Arc::<SharedCounters>::default()).collect();
        let session = |at: usize| {
            Ok(Session {
                journal: TransactionLog::new(logs.device()?, transactions.slot()?),
                owner: locks.owner(),
                row: Default::default(),
                fingers: Default::default(),
                stored: Vec::new(),
                seed: mix(at as u64 ^ seed),
                counters: Arc::clone(&counters[at]),
            })
        };
        let sessions = S::Sessions::of((0..sessions).map(session).collect::<Result<Vec<_>, Error>>()?);
        Ok(Self {
            logs,
            clock,
            health: Health::default(),
            space: SpaceMap::new(pages.clone(), LIMIT_PAGES),
            pages,
            locks,
            granularity_of: config.granularity_of.clone(),
            directory: S::Directory::default(),
            sessions,
            counters,
            transactions,
            tables: Vec::new(),
            procedures,
            last_commit: AtomicU64::new(0),
            loading: Default::default(),
            recovered: Vec::new(),
            writer: Default::default(),
        })
    }
}

fn lock_config(config: &ClassicConfig) -> LockConfig {
    let chosen = [&config.granularity].into_iter().chain(config.granularity_of.values());
    LockConfig {
        granularity: granularity(config.granularity),
        // Nothing locks pages if no store is configured so, so records need no intents on theirs.
        lock_pages: chosen.into_iter().any(|chosen| *chosen == config::Granularity::Page),
        escalate_store_at: u32::try_from(config.escalate_at).unwrap_or(u32::MAX),
        broken_s_beside_x: config.broken_locks,
        timeout_ns: config.lock_timeout_ms.map(|ms| ms.saturating_mul(1_000_000)),
        ..LockConfig::default()
    }
}

/// The configured granularity, as the lock manager calls it.
pub(super) fn granularity(chosen: config::Granularity) -> Granularity {
    match chosen {
        config::Granularity::Record => Granularity::Record,
        config::Granularity::Page => Granularity::Page,
    }
}
