//! The classic engine: its parts, how they are put together for any stack, and how a recovered volume is started.
//!
//! A table is a heap file for its rows, a tree for its primary key and one for each secondary index. Tools that have
//! only the schema read rows without their types. Undo of a tree's entry searches the tree: the entry may have moved to
//! another page. Stores that contradict each other are damage that no checksum has found. How a procedure is run stands
//! in [`run`](crate::classic::engine::run).

pub(crate) mod conversion;
pub(crate) mod log_ahead;
pub(crate) mod open;
pub(crate) mod owners;
pub(crate) mod prepared;
pub(crate) mod run;
pub(crate) mod sessions;
pub(crate) mod stores;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use super::buffer::{BackgroundWriter, SessionRead};
use super::change::{Change, PageLog};
use super::directory::{self, Directory, StoreEntry, create_volume};
use super::heap::HeapFile;
use super::ids::{PageId, Rid, StoreId};
use super::lock::{LockConfig, LockGranularity, Locks};
use super::page::{self, damaged};
use super::recovery::Losers;
use super::space::{LIMIT_PAGES, SpaceMap};
use super::stack::{
    self, AheadOf, PageStore, Session, Stack, StackLocks, StackLogs, StackSessions, Standard, WriterOf,
};
use super::tree::{Cursor, Definition, KeyPart, NodeChange, Step, Tree};
use super::two_stage::{CLASSES, ClassCosts, PinBudget, ProcedureStages, StageCounts, StageSums};
use super::wal::forms::{Logs, Unlogged, Wal};
use super::wal::rollback::Undoer;
use super::wal::table::TransactionTable;
use super::wal::transaction::TransactionLog;
use crate::classic::engine::open::{OpenedVolume, PAGES_PER_SESSION};
use crate::classic::engine::owners::StoreUsage;
use crate::classic::engine::prepared::PreparedTransactions;
use crate::classic::engine::sessions::Sessions;
use crate::classic::lock::WaitUnderWay;
use crate::classic::page::any_pages::AnyPages;
use crate::classic::page::pages::Pages;
use crate::config::{self, ClassicConfig, FetchMethod, Granularity};
use crate::error::Error;
use crate::executed::{Counters, SharedCounters};
use crate::health::Health;
use crate::io::{Clock, Files};
use crate::log::{Log, Lsn};
use crate::record::{BadRow, Direction, Record, TableSchema, mix};

/// A database of pages, its log, and its state of health.
pub(crate) struct Engine<S: Stack = Standard> {
    pub(super) logs: S::Logs,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) health: Health,
    pub(super) pages: S::Pages,
    pub(super) space: SpaceMap<S::Pages>,
    pub(super) locks: S::Locks,
    /// Lock granularity, and that of tables with their own.
    pub(super) granularity: Granularity,
    pub(super) granularity_of: BTreeMap<String, Granularity>,
    pub(super) directory: S::Directory,
    pub(super) sessions: S::Sessions,
    /// Those of all sessions.
    pub(super) counters: Vec<Arc<SharedCounters>>,
    pub(super) transactions: Arc<TransactionTable>,
    /// By [`TableId`](crate::record::TableId); `None` for records that this database's catalog does not name.
    pub(super) tables: Vec<Option<TableStores<S>>>,
    /// The procedures of the catalog, and what stands for closures.
    pub(super) procedures: Vec<ProcedureStages>,
    /// What the sessions have counted of each procedure, in their order.
    pub(super) stage_counts: Vec<Arc<[StageCounts]>>,
    /// How many pages transactions may pin.
    pub(super) pin_budget: PinBudget,
    pub(super) fetch: FetchMethod,
    /// Behind the last commit record.
    pub(super) last_commit: AtomicU64,
    pub(super) loading: Loading,
    pub(super) prepared: PreparedTransactions<<S::Logs as Logs>::Device>,
    /// While losers are rolled back: all trees, by what the directory says of them.
    pub(super) recovered: Vec<Definition<S::Keys>>,
    /// Ends with the engine.
    pub(super) writer: WriterOf<S>,
}

/// A tree of an engine with this stack.
pub(super) type TreeOf<'a, S> = Tree<'a, <S as Stack>::Pages, SpaceMap<<S as Stack>::Pages>, <S as Stack>::Keys>;

impl<S: Stack> Engine<S> {
    /// The procedures of the catalog, and what stands for closures.
    pub(crate) fn procedures(&self) -> &[ProcedureStages] {
        &self.procedures
    }

    /// The most pages that an execution of the procedure at this position has pinned.
    pub(crate) fn most_pinned(&self, at: usize) -> u64 {
        self.stage_counts.iter().map(|session| session[at].most_pinned.get()).max().unwrap_or(0)
    }

    /// What all sessions have counted of the procedure at this position.
    pub(crate) fn stage_sums(&self, at: usize) -> StageSums {
        StageSums::of(self.stage_counts.iter().map(|session| &session[at]))
    }

    /// The costs of the classes of the procedure at this position, of all sessions.
    pub(crate) fn class_costs(&self, at: usize) -> [ClassCosts; CLASSES] {
        StageCounts::costs_of(self.stage_counts.iter().map(|session| &session[at]))
    }

    /// The table of a record.
    ///
    /// # Panics
    /// When the database's catalog does not name it.
    #[inline(always)]
    pub(super) fn table<R: Record>(&self) -> &TableStores<S> {
        match self.tables.get(R::table_id().get()) {
            Some(Some(table)) => table,
            _ => unknown_table(R::TABLE),
        }
    }

    /// The tree of an index, for one access of a transaction: looked up in the directory as the stack does it.
    #[inline(always)]
    pub(super) fn look_up<'a>(&'a self, index: &'a IndexStore<S>) -> Result<TreeOf<'a, S>, Error> {
        self.directory.access(&self.pages, &index.entry)?;
        Ok(self.tree(index))
    }

    /// The tree of an index.
    #[inline(always)]
    pub(super) fn tree<'a>(&'a self, index: &'a IndexStore<S>) -> TreeOf<'a, S> {
        Tree::new(&self.pages, &self.space, &index.tree)
    }

    /// The tree of this number.
    pub(super) fn tree_of(&self, store: StoreId) -> Option<TreeOf<'_, S>> {
        let mut trees = self.tables.iter().flatten().flat_map(TableStores::trees);
        let known = trees.find(|index| index.store() == store).map(|index| &index.tree);
        let known = known.or_else(|| self.recovered.iter().find(|tree| tree.store() == store));
        known.map(|tree| Tree::new(&self.pages, &self.space, tree))
    }

    pub(super) fn page_bytes(&self) -> usize {
        self.pages.page_bytes()
    }

    /// The lock granularity of a table.
    pub(super) fn granularity(&self, table: &str) -> Granularity {
        self.granularity_of.get(table).copied().unwrap_or(self.granularity)
    }

    /// Whether it takes work.
    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Refuses all further work.
    #[cold]
    pub(crate) fn stop(&self, reason: String) {
        self.health.stop(reason);
    }

    /// Returns when what was appended up to `lsn` may be told.
    #[inline(always)]
    pub(crate) fn wait(&self, lsn: Lsn) -> Result<(), Error> {
        self.logs.wait(lsn).inspect_err(|error| self.health.stop(error.to_string()))
    }

    /// Announces a later wait for the log to the thread that forces it.
    #[inline(always)]
    pub(crate) fn nudge(&self) {
        self.logs.nudge();
    }

    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.health.check()
    }

    /// Counts of transactions.
    pub(crate) fn counters(&self) -> Counters {
        Counters::sum(self.counters.iter().map(|counters| &**counters).chain([self.prepared.counters()]))
    }
}

#[cold]
fn unknown_table(table: &str) -> ! {
    panic!("table `{table}` is not in this database's catalog: add `.table::<...>()` for its record where it is opened")
}

impl<S: Stack> Engine<S> {
    /// The result of reading or changing a row, when it is not the row.
    #[cold]
    pub(super) fn no_row(&self, table: &str, rid: Rid, failed: Result<Option<Result<(), BadRow>>, Error>) -> Error {
        match failed {
            Err(error) => error,
            Ok(Some(Err(bad))) => damaged(rid.page, self.page_bytes(), format!("record {rid}: {bad}")),
            Ok(_) => self.missing_record(table, rid),
        }
    }

    #[cold]
    pub(super) fn missing_record(&self, table: &str, rid: Rid) -> Error {
        let problem = format!("an index of table `{table}` leads to record {rid}, which is not there");
        damaged(rid.page, self.page_bytes(), problem)
    }

    #[cold]
    pub(super) fn missing_entry(&self, index: &IndexStore<S>) -> Error {
        let problem = format!("index `{}` lacks the entry of a row", index.name);
        damaged(index.tree.root(), self.page_bytes(), problem)
    }
}

/// What an engine is given beside its pages and its log.
pub(super) struct Wishes<'a> {
    pub(super) config: &'a ClassicConfig,
    pub(super) clock: Arc<dyn Clock>,
    /// The procedures of the catalog, and what stands for closures.
    pub(super) procedures: Vec<ProcedureStages>,
    /// Transactions that recovery may find prepared.
    pub(super) in_doubt: usize,
    /// Whether one of them has locked a page.
    pub(super) lock_pages: bool,
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
        procedures: Vec<ProcedureStages>,
        open_log: impl FnOnce() -> Result<Log, Error>,
    ) -> Result<Self, Error> {
        const { stack::check::<S>() };
        let logs = S::Logs::open(open_log)?;
        let count = config.pool_bytes / S::PAGE_BYTES;
        let pages = <S::Pages as PageStore<AheadOf<S>>>::make(&**files, S::PAGE_BYTES, count, logs.ahead(files))?;
        let engine =
            Self::assemble(pages, logs, Wishes { config, clock, procedures, in_doubt: 0, lock_pages: false, seed: 0 })?;
        let mut journal = TransactionLog::unlogged(&TransactionTable::new(1))?;
        create_volume(&engine.pages, &engine.space, &mut journal, 0)?;
        journal.commit()?;
        Ok(engine)
    }

    /// An engine without tables on pages that hold a volume, or will.
    ///
    /// # Errors
    /// When there are too many sessions.
    pub(super) fn assemble(pages: S::Pages, logs: S::Logs, wishes: Wishes<'_>) -> Result<Self, Error> {
        let Wishes { config, clock, procedures, in_doubt, lock_pages, seed } = wishes;
        let sessions = S::Sessions::count(config.sessions);
        // One more for the journal that ends prepared transactions.
        let transactions = TransactionTable::new(sessions + in_doubt + config.prepared_transactions + 1);
        let locks = S::Locks::make(lock_config(config, lock_pages), &clock);
        let uncounted = || procedures.iter().map(|_| StageCounts::default()).collect::<Arc<[_]>>();
        let stage_counts: Vec<_> = (0..sessions).map(|_| uncounted()).collect();
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
                pins: Default::default(),
                stage_counts: Arc::clone(&stage_counts[at]),
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
            granularity: config.granularity,
            granularity_of: config.granularity_of.clone(),
            directory: S::Directory::default(),
            sessions,
            counters,
            transactions,
            tables: Vec::new(),
            procedures,
            stage_counts,
            pin_budget: PinBudget::default(),
            fetch: FetchMethod::default(),
            last_commit: AtomicU64::new(0),
            loading: Default::default(),
            prepared: PreparedTransactions::new(config.prepared_transactions),
            recovered: Vec::new(),
            writer: Default::default(),
        })
    }
}

fn lock_config(config: &ClassicConfig, lock_pages: bool) -> LockConfig {
    let limit = |count| u32::try_from(count).unwrap_or(u32::MAX);
    let chosen = [&config.granularity].into_iter().chain(config.granularity_of.values());
    LockConfig {
        granularity: granularity(config.granularity),
        // If nothing locks pages, by the configuration or because it is prepared, records need no intents on theirs.
        lock_pages: lock_pages
            || config.escalate_page_at > 0
            || chosen.into_iter().any(|chosen| *chosen != config::Granularity::Record),
        escalate_store_at: limit(config.escalate_at),
        escalate_page_at: limit(config.escalate_page_at),
        broken_s_beside_x: config.broken_locks,
        timeout_ns: config.lock_timeout_ms.map(|ms| ms.saturating_mul(1_000_000)),
        detect_every_ns: config.detect_deadlocks_every_ms.filter(|ms| *ms > 0).map(|ms| ms.saturating_mul(1_000_000)),
        ..LockConfig::default()
    }
}

/// The configured granularity, as the lock manager calls it.
pub(super) fn granularity(chosen: config::Granularity) -> LockGranularity {
    match chosen {
        config::Granularity::Record => LockGranularity::Record,
        config::Granularity::Page | config::Granularity::PageAndLeaf => LockGranularity::Page,
    }
}

/// Undoes what transactions of an engine have changed.
pub(super) struct TreeUndo<'e, S: Stack>(pub(super) &'e Engine<S>);

impl<S: Stack> Undoer for TreeUndo<'_, S> {
    fn undo(
        &mut self,
        journal: &mut impl PageLog,
        store: StoreId,
        page: PageId,
        change: Change<'_>,
    ) -> Result<(), Error> {
        let damaged = |problem| Err(page::damaged(page, self.0.page_bytes(), problem));
        let Some(tree) = self.0.tree_of(store) else {
            return damaged(format!("a change is to be undone in store {store}, which is no tree of this volume"));
        };
        let entry = match change {
            Change::Node(NodeChange::Insert { entry, .. } | NodeChange::Remove { entry, .. }) => entry,
            other => return damaged(format!("a change of a tree is to be undone that is no entry's: {other:?}")),
        };
        match (NodeChange::leaf_entry(entry), change) {
            (Some((key, _)), _) if key.len() != tree.definition().key_width() => {
                damaged(format!("a key of {} bytes is to be undone in a tree of others", key.len()))
            }
            (Some((key, _)), Change::Node(NodeChange::Insert { .. })) => tree.undo_insert(journal, key),
            (Some((key, rid)), _) => tree.undo_remove(journal, key, rid),
            (None, _) => damaged("an entry is to be undone that is none".to_owned()),
        }
    }
}

impl<S: Stack> Engine<S> {
    /// Gives every row of a table, in its stored form, to `each`, in the order of the primary key. The row's page is
    /// latched meanwhile. No transaction runs.
    ///
    /// # Errors
    /// Those of `each`, and when a page is damaged or cannot be read.
    pub(crate) fn each_row<E: From<Error>>(
        &self,
        table: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(table) = self.stores_of(table) else { return Ok(()) };
        let tree = self.tree(&table.primary);
        let width = table.primary.key_width();
        let mut cursor = Cursor::new(Direction::Forward, &vec![0; width], &vec![u8::MAX; width]);
        while let Step::Got(rid) = cursor.step(&tree, |_| true)? {
            let read = table.heap.read(&self.pages, rid, &mut each)?;
            read.ok_or_else(|| self.missing_record(&table.schema.name, rid))??;
        }
        Ok(())
    }

    fn stores_of(&self, table: &str) -> Option<&TableStores<S>> {
        self.tables.iter().flatten().find(|known| known.schema.name == table)
    }

    /// All stores, in the order in which they were made.
    ///
    /// # Errors
    /// When the directory is damaged or cannot be read.
    pub(crate) fn stores(&self) -> Result<Vec<StoreEntry>, Error> {
        directory::list(&self.pages)
    }

    /// Whether a store is in use: others were left by what was interrupted or given up.
    pub(crate) fn is_in_use(&self, entry: &StoreEntry) -> bool {
        let mut tables = self.tables.iter().flatten();
        tables.any(|table| table.heap.store() == entry.store || table.trees().any(|index| index.store() == entry.store))
    }
}

impl Engine<Standard> {
    /// Writes all pages to the file.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        self.pages.flush_all().map(drop)
    }
}

/// Where the rows of a table are, and how they are found.
pub(crate) struct TableStores<S: Stack> {
    pub(crate) schema: TableSchema,
    pub(crate) heap: HeapFile,
    pub(crate) primary: IndexStore<S>,
    /// In the order of [`Index::POSITION`](crate::record::Index::POSITION).
    pub(crate) indexes: Vec<IndexStore<S>>,
}

/// A tree, and what it is the index of.
pub(crate) struct IndexStore<S: Stack> {
    /// What people call it: `district`, or `customer.by_name`.
    pub(crate) name: String,
    pub(crate) tree: Definition<S::Keys>,
    /// What the directory said of it when it was opened.
    pub(crate) entry: StoreEntry,
    /// Positions of its key's columns in the table.
    pub(crate) columns: Vec<usize>,
    /// Whether an access locks the leaf that it reads or changes.
    pub(crate) locks_leaves: bool,
}

impl<S: Stack> IndexStore<S> {
    pub(crate) fn store(&self) -> StoreId {
        self.tree.store()
    }

    #[inline(always)]
    pub(crate) fn key_width(&self) -> usize {
        self.tree.key_width()
    }
}

impl<S: Stack> TableStores<S> {
    /// All trees, that of the primary key first.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &IndexStore<S>> {
        std::iter::once(&self.primary).chain(&self.indexes)
    }
}

/// The columns of a key, for comparing.
pub(crate) fn key_parts(schema: &TableSchema, columns: &[usize]) -> Vec<KeyPart> {
    let part = |&at: &usize| KeyPart { kind: schema.columns[at].kind.clone(), nullable: schema.columns[at].nullable };
    columns.iter().map(part).collect()
}

/// Threads that may load at once.
const LOADERS: usize = 256;

/// The journals of a load, handed out to the threads that add rows.
#[derive(Default)]
pub(super) struct Loading {
    table: Mutex<Option<Arc<TransactionTable>>>,
    idle: Mutex<Vec<TransactionLog<Unlogged>>>,
}

impl Loading {
    pub(super) fn take(&self) -> Result<TransactionLog<Unlogged>, Error> {
        if let Some(journal) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(journal);
        }
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        TransactionLog::unlogged(table.get_or_insert_with(|| TransactionTable::new(LOADERS)))
    }

    pub(super) fn give_back(&self, journal: TransactionLog<Unlogged>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(journal);
    }
}

impl Engine<Standard> {
    /// An engine on a volume and its log, which is open for appending from now on. The transactions that had not ended
    /// when the log ended are rolled back, except prepared ones. Its tables are added by [`Engine::add_table`]; then
    /// [`Engine::lock_prepared`] is due.
    ///
    /// # Errors
    /// When pages are damaged or cannot be had, or the log fails; it can be begun again then.
    pub(crate) fn start(
        volume: OpenedVolume,
        log: Log,
        clock: Arc<dyn Clock>,
        config: &crate::config::Config,
        procedures: Vec<ProcedureStages>,
    ) -> Result<Self, Error> {
        let OpenedVolume { pool, losers, .. } = volume;
        let pin_budget = PinBudget::new(pool.frames(), config.classic.sessions, PAGES_PER_SESSION);
        let log = Arc::new(log);
        pool.wal().set(Arc::clone(&log));
        pool.set_clock(Arc::clone(&clock));
        let writer = config.log_threads.then(|| BackgroundWriter::start(Arc::clone(&pool))).transpose()?;
        let wishes = Wishes {
            config: &config.classic,
            in_doubt: losers.as_ref().map_or(0, Losers::len),
            lock_pages: losers.as_ref().is_some_and(Losers::lock_pages),
            // Other random numbers than before the log ended.
            seed: mix(log.appended().0 ^ clock.wall_us() as u64),
            clock,
            procedures,
        };
        let mut engine = Self::assemble(pool, Wal(log), wishes)?;
        engine.writer = writer;
        engine.pin_budget = pin_budget;
        engine.fetch = config.classic.fetch;
        if let Some(losers) = losers {
            engine.recovered = engine.all_trees()?;
            engine.roll_back_losers(losers)?;
            engine.recovered.clear();
        }
        Ok(engine)
    }

    /// Waits for locks under way; and sessions that read a page now.
    pub(crate) fn waits_and_reads(&self) -> (Vec<WaitUnderWay>, Vec<SessionRead>) {
        (self.locks.waiting(), self.pages.reading())
    }

    /// Of each session, whether it has no transaction.
    pub(crate) fn idle_sessions(&self) -> Vec<bool> {
        (0..self.counters.len()).map(|at| self.sessions.is_free(at)).collect()
    }

    fn roll_back_losers(&self, losers: Losers) -> Result<(), Error> {
        let mut session = self.sessions.take()?;
        let in_doubt = losers.undo(&mut session.journal, &self.pages, &mut TreeUndo(self))?;
        drop(session);
        self.add_in_doubt(in_doubt)
    }
}

impl<S: Stack> Engine<S> {
    /// What a store of the directory has. Reads all of it.
    ///
    /// # Errors
    /// When a page is damaged or cannot be read.
    pub(crate) fn usage_of_store(&self, entry: &StoreEntry) -> Result<StoreUsage, Error> {
        owners::usage_of_store(AnyPages::of(&self.pages), entry)
    }

    /// The tree of an entry, whatever it is of: the stored form of keys orders as bytes do. `None` for a heap file.
    ///
    /// # Errors
    /// When no tree can be so.
    pub(super) fn any_tree(&self, entry: &StoreEntry) -> Result<Option<Definition<S::Keys>>, Error> {
        owners::any_tree(entry, self.page_bytes())
    }

    /// How many pages are in use, as the space map says, those of the volume itself among them. Its faults,
    /// compared with all owners of pages, are added to `wrong`. Nothing may be changed meanwhile.
    ///
    /// # Errors
    /// When a page is damaged or cannot be read.
    pub(crate) fn verify_space(&self, wrong: &mut Vec<String>) -> Result<u64, Error> {
        owners::verify_space(AnyPages::of(&self.pages), wrong)
    }
}
