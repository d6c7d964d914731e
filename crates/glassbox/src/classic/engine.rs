//! The classic engine: what it is made of. How it runs a procedure is told in [`run`](super::run).

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::directory::Directory;
use super::ids::StoreId;
use super::load::Loading;
use super::pages::Pages;
use super::space::SpaceMap;
use super::stack::{Stack, Standard, WriterOf};
use super::table::{IndexStore, TableStores};
use super::tree::{Definition, Tree};
use super::wal::forms::Logs;
use super::wal::table::TransactionTable;
use crate::config::Granularity;
use crate::error::Error;
use crate::executed::{Counters, SharedCounters};
use crate::health::Health;
use crate::io::Clock;
use crate::log::Lsn;
use crate::record::Record;

/// A database of pages, its log, and its state of health.
pub(crate) struct Engine<S: Stack = Standard> {
    pub(super) logs: S::Logs,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) health: Health,
    pub(super) pages: S::Pages,
    pub(super) space: SpaceMap<S::Pages>,
    pub(super) locks: S::Locks,
    /// What a lock is of in tables of which something is said.
    pub(super) granularity_of: BTreeMap<String, Granularity>,
    pub(super) directory: S::Directory,
    pub(super) sessions: S::Sessions,
    /// Those of all sessions.
    pub(super) counters: Vec<Arc<SharedCounters>>,
    pub(super) transactions: Arc<TransactionTable>,
    /// By [`TableId`](crate::record::TableId); `None` for records that this database's catalog does not name.
    pub(super) tables: Vec<Option<TableStores<S>>>,
    /// The procedures of the catalog.
    pub(super) procedures: Vec<TypeId>,
    /// Behind the last commit record.
    pub(super) last_commit: AtomicU64,
    pub(super) loading: Loading,
    /// While losers are rolled back: all trees, by what the directory says of them.
    pub(super) recovered: Vec<Definition<S::Keys>>,
    /// Ends with the engine.
    pub(super) writer: WriterOf<S>,
}

/// A tree of an engine with this stack.
pub(super) type TreeOf<'a, S> = Tree<'a, <S as Stack>::Pages, SpaceMap<<S as Stack>::Pages>, <S as Stack>::Keys>;

impl<S: Stack> Engine<S> {
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
        Counters::sum(self.counters.iter().map(|counters| &**counters))
    }
}

#[cold]
fn unknown_table(table: &str) -> ! {
    panic!("table `{table}` is not in this database's catalog: add `.table::<...>()` for its record where it is opened")
}
