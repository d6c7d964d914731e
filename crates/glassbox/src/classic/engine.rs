//! The classic engine: runs procedures as transactions, each in a session, beside one another.
//!
//! A run goes: take a session; run the procedure, which locks what it touches and logs what it changes; append the
//! commit record; release the locks; give the session back. Whoever asked waits for the force after that: so a lock is
//! not held while a disk turns. That is safe because the log is one sequence: whoever has read what is not durable yet
//! has a later commit record, or, if it has only read, waits for the last commit record that there was when it ended.
//!
//! A run that was chosen to end a deadlock, or that waited too long, is taken back and run again from the start, after
//! a pause that grows with each time. A procedure is deterministic code without effects outside, so nobody can tell.

use std::any::{Any, TypeId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::directory::Directory;
use super::ids::{Rid, StoreId};
use super::load::Loading;
use super::lock::Locks;
use super::pages::Pages;
use super::session::Session;
use super::sessions::Sessions;
use super::space::SpaceMap;
use super::stack::{Stack, Standard, WriterOf};
use super::table::{IndexStore, TableStores};
use super::transaction::{Ended, StackTransaction};
use super::tree::{Definition, Tree};
use super::undo::TreeUndo;
use super::wal::forms::Logs;
use super::wal::table::TransactionTable;
use super::wal::transaction::Savepoint;
use crate::error::Error;
use crate::executed::{Counters, Executed};
use crate::health::Health;
use crate::io::Clock;
use crate::log::Lsn;
use crate::procedure::{Abort, DryRun, Procedure, ReadWriteSet, Stop};
use crate::record::{BadRow, Record, mix};

/// The pause before a run is repeated for the first time; each further one may be twice as long.
const FIRST_PAUSE_US: u64 = 20;
/// No pause is longer.
const LONGEST_PAUSE_US: u64 = 5_000;

/// A database of pages, its log, and its state of health.
pub(crate) struct Engine<S: Stack = Standard> {
    pub(super) logs: S::Logs,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) health: Health,
    pub(super) pages: S::Pages,
    pub(super) space: SpaceMap<S::Pages>,
    pub(super) locks: S::Locks,
    pub(super) directory: S::Directory,
    pub(super) sessions: S::Sessions,
    pub(super) transactions: Arc<TransactionTable>,
    /// By [`TableId`](crate::record::TableId); `None` for records that this database's catalog does not name.
    pub(super) tables: Vec<Option<TableStores<S>>>,
    /// The procedures of the catalog.
    pub(super) procedures: Vec<TypeId>,
    /// Behind the last commit record.
    pub(super) last_commit: AtomicU64,
    pub(super) loading: Loading,
    /// While what had not ended is taken back: all trees, by what the directory says of them.
    pub(super) recovered: Vec<Definition<S::Keys>>,
    /// Ends with the engine.
    pub(super) _writer: WriterOf<S>,
}

/// How a run ended.
enum Attempt {
    Done(Executed),
    Again,
    Panicked(Box<dyn Any + Send>),
    Failed(Error),
}

impl<S: Stack> Engine<S> {
    /// Runs a procedure. Its effects are visible and in the log's order when this returns, durable at `lsn`.
    #[inline]
    pub(crate) fn execute<P: Procedure>(
        &self,
        procedure: &P,
        output: &mut Option<P::Output>,
    ) -> Result<Executed, Error> {
        if !self.procedures.contains(&TypeId::of::<P>()) {
            return Err(Error::UnknownProcedure { name: P::NAME });
        }
        self.execute_adhoc(|transaction| {
            // What a run came to that did not count means nothing.
            *output = None;
            *output = Some(procedure.run(transaction)?);
            Ok(())
        })
    }

    /// Runs a closure as a transaction.
    #[inline]
    pub(crate) fn execute_adhoc(
        &self,
        mut run: impl FnMut(&mut StackTransaction<'_, S>) -> Result<(), Stop>,
    ) -> Result<Executed, Error> {
        let mut repeated = 0;
        loop {
            let mut session = self.sessions.take()?;
            self.check()?;
            let attempt = self.attempt(&mut session, repeated, &mut run);
            let seed = session.seed;
            drop(session);
            match attempt {
                Attempt::Done(executed) => return Ok(executed),
                Attempt::Again => repeated += 1,
                Attempt::Panicked(panic) => resume_unwind(panic),
                Attempt::Failed(error) => return Err(error),
            }
            pause(repeated, seed);
        }
    }

    /// Runs once, and commits or takes back.
    #[inline]
    fn attempt(
        &self,
        session: &mut Session<S>,
        repeated: u64,
        run: &mut impl FnMut(&mut StackTransaction<'_, S>) -> Result<(), Stop>,
    ) -> Attempt {
        session.seed = session.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let random = session.seed;
        let mut transaction = StackTransaction { engine: self, session, now: None, random, repeated, ended: None };
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut transaction)));
        let StackTransaction { ended, session, .. } = transaction;
        let attempt = match (result, ended) {
            (Ok(Ok(())), None) => return self.commit(session),
            (Err(panic), _) => Attempt::Panicked(panic),
            (Ok(_), Some(Ended::Again)) => Attempt::Again,
            (Ok(_), Some(Ended::Failed(error))) => Attempt::Failed(error),
            (Ok(Err(Stop::Abort(abort))), None) => Attempt::Done(self.told(Err(abort))),
            (Ok(Err(Stop::Retry(_))), None) => {
                Attempt::Panicked(Box::new("a procedure kept a `Stop::Retry` of another run and answers it"))
            }
        };
        if let Err(error) = self.take_back(session) {
            return Attempt::Failed(error);
        }
        match &attempt {
            Attempt::Done(_) => session.counters.aborted += 1,
            Attempt::Again => session.counters.rerun += 1,
            Attempt::Panicked(_) | Attempt::Failed(_) => {}
        }
        attempt
    }

    #[inline(always)]
    fn commit(&self, session: &mut Session<S>) -> Attempt {
        let committed = session.journal.commit();
        if let Ok(lsn) = committed {
            // Before the locks are released: whoever then reads what this one wrote must wait for it.
            self.last_commit.fetch_max(lsn.0, Ordering::AcqRel);
        }
        self.locks.release_all(&mut session.owner);
        match committed {
            Ok(lsn) => {
                session.counters.committed += 1;
                let executed = if lsn == Lsn::NONE { self.told(Ok(())) } else { Executed { outcome: Ok(()), lsn } };
                Attempt::Done(executed)
            }
            // What it changed is neither certain nor taken back.
            Err(error) => {
                self.health.stop(error.to_string());
                Attempt::Failed(error)
            }
        }
    }

    /// An outcome that changed nothing: to be told when all that it may have read is durable.
    fn told(&self, outcome: Result<(), Abort>) -> Executed {
        Executed { outcome, lsn: Lsn(self.last_commit.load(Ordering::Acquire)) }
    }

    /// Takes the transaction back and releases its locks.
    #[cold]
    pub(super) fn take_back(&self, session: &mut Session<S>) -> Result<(), Error> {
        let taken_back = session.journal.abort(&self.pages, &mut TreeUndo(self));
        self.locks.release_all(&mut session.owner);
        taken_back.inspect_err(|error| self.health.stop(error.to_string()))
    }

    /// Takes a part of a transaction back, which goes on.
    #[cold]
    pub(super) fn roll_back(&self, session: &mut Session<S>, to: Savepoint) -> Result<(), Error> {
        let taken_back = session.journal.roll_back(to, &self.pages, &mut TreeUndo(self));
        taken_back.inspect_err(|error| self.health.stop(error.to_string()))
    }

    /// Runs a procedure without changing anything: what it would read and write.
    pub(crate) fn dry_run<P: Procedure>(&self, procedure: &P) -> Result<ReadWriteSet, Error> {
        let mut set = ReadWriteSet::new(1);
        self.execute_adhoc(|transaction| {
            set = ReadWriteSet::new(1);
            match procedure.run(&mut DryRun::new(transaction, &mut set)) {
                // What it answers, abort included, means nothing: it does not see its own writes.
                Ok(_) | Err(Stop::Abort(_)) => Ok(()),
                Err(retry) => Err(retry),
            }
        })?;
        Ok(set)
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
    pub(super) fn look_up<'a>(
        &'a self,
        index: &'a IndexStore<S>,
    ) -> Result<Tree<'a, S::Pages, SpaceMap<S::Pages>, S::Keys>, Error> {
        self.directory.access(&self.pages, &index.entry)?;
        Ok(self.tree(index))
    }

    /// The tree of an index.
    #[inline(always)]
    pub(super) fn tree<'a>(&'a self, index: &'a IndexStore<S>) -> Tree<'a, S::Pages, SpaceMap<S::Pages>, S::Keys> {
        Tree::new(&self.pages, &self.space, &index.tree)
    }

    /// The tree of this number.
    pub(super) fn tree_of(&self, store: StoreId) -> Option<Tree<'_, S::Pages, SpaceMap<S::Pages>, S::Keys>> {
        let mut trees = self.tables.iter().flatten().flat_map(TableStores::trees);
        let known = trees.find(|index| index.store() == store).map(|index| &index.tree);
        let known = known.or_else(|| self.recovered.iter().find(|tree| tree.store() == store));
        known.map(|tree| Tree::new(&self.pages, &self.space, tree))
    }

    pub(super) fn page_bytes(&self) -> usize {
        self.pages.page_bytes()
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

    #[inline(always)]
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.health.check()
    }

    /// Counts of transactions.
    pub(super) fn counters(&self) -> Result<Counters, Error> {
        self.sessions.quietly(|sessions| {
            sessions.fold(Counters::default(), |sum, session| Counters {
                committed: sum.committed + session.counters.committed,
                aborted: sum.aborted + session.counters.aborted,
                rerun: sum.rerun + session.counters.rerun,
            })
        })
    }

    #[cold]
    pub(super) fn bad_row(&self, rid: Rid, bad: BadRow) -> Error {
        super::page::damaged(rid.page, self.page_bytes(), format!("record {rid}: {bad}"))
    }

    #[cold]
    pub(super) fn missing_record(&self, table: &str, rid: Rid) -> Error {
        let problem = format!("an index of table `{table}` leads to record {rid}, which is not there");
        super::page::damaged(rid.page, self.page_bytes(), problem)
    }

    #[cold]
    pub(super) fn missing_entry(&self, index: &IndexStore<S>) -> Error {
        let problem = format!("index `{}` lacks the entry of a row", index.name);
        super::page::damaged(index.tree.root(), self.page_bytes(), problem)
    }
}

/// Lets others get on before a run is repeated; at random, so that two do not meet again.
#[cold]
fn pause(repeated: u64, seed: u64) {
    let longest = (FIRST_PAUSE_US << repeated.min(16)).min(LONGEST_PAUSE_US);
    std::thread::sleep(Duration::from_micros(mix(seed ^ repeated) % longest));
}

#[cold]
fn unknown_table(table: &str) -> ! {
    panic!("table `{table}` is not in this database's catalog: add `.table::<...>()` for its record where it is opened")
}
