//! A database of cells that works, crashes and is recovered, beside a model that knows what must be there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cells::{Cells, FIRST_REGISTER, REGISTER_COUNT};
use super::store::DiskPages;
use crate::classic::recovery::{Analysis, CheckpointLsns, InDoubt, checkpoint, read_log};
use crate::classic::wal::forms::{Logs, Wal, WalDevice};
use crate::classic::wal::table::TransactionTable;
use crate::classic::wal::transaction::TransactionLog;
use crate::error::Error;
use crate::io::{Dice, Files, MemoryFiles};
use crate::log::{ExpectedLog, Log, LogConfig, Lsn};

const ID: u128 = 77;
pub type State = BTreeMap<u64, u64>;
/// What a transaction has set.
pub type Changes = BTreeMap<u64, Option<u64>>;

pub fn config() -> LogConfig {
    LogConfig {
        segment_bytes: 16 << 10,
        log_buffer_bytes: 16 << 10,
        force: true,
        appenders: 8,
        threads: false,
        undo_room: true,
        spare_segments: 1,
        ..LogConfig::default()
    }
}

/// A running database.
pub struct World {
    pub files: MemoryFiles,
    pub logs: Wal,
    pub table: Arc<TransactionTable>,
    pub pages: DiskPages,
    device: WalDevice,
    /// Whether the log is forced in the middle of actions.
    mischief: RefCell<Dice>,
}

/// What recovery gave beside the database.
pub struct Recovered {
    pub world: World,
    pub in_doubt: Vec<InDoubt>,
    /// Where the log ended that the crash left; recoveries that crashed have appended to it.
    pub end: Lsn,
    pub redone: u64,
    pub losers: usize,
    /// Of these, how many were in the middle of a nested action.
    pub unfinished: usize,
}

impl World {
    pub fn create(files: &MemoryFiles) -> Result<Self, Error> {
        let log = Log::create(Arc::new(files.clone()), ID, config(), Lsn::NONE)?;
        let pages = DiskPages::create(files)?;
        files.create("manifest")?;
        files.sync_directory("")?;
        let mut world = Self::of(files, log, pages)?;
        world.write_manifest(CheckpointLsns::default())?;
        let mut journal = world.journal()?;
        world.with_cells(|cells| cells.create(&mut journal))?;
        world.logs.wait(journal.commit()?)?;
        world.checkpoint()?;
        Ok(world)
    }

    fn of(files: &MemoryFiles, log: Log, pages: DiskPages) -> Result<Self, Error> {
        let logs = Wal(Arc::new(log));
        let device = logs.device()?;
        let mischief = RefCell::new(Dice(logs.0.appended().0));
        Ok(Self { files: files.clone(), logs, table: TransactionTable::new(8), pages, device, mischief })
    }

    pub fn with_cells<T>(&self, act: impl FnOnce(&mut Cells<'_, DiskPages>) -> T) -> T {
        let between = || {
            let force = self.mischief.borrow_mut().below(6) == 0;
            if force { self.logs.force(self.logs.0.appended()) } else { Ok(()) }
        };
        act(&mut Cells { pages: &self.pages, between: &between })
    }

    pub fn journal(&self) -> Result<TransactionLog<WalDevice>, Error> {
        Ok(TransactionLog::new(self.logs.device()?, self.table.slot()?))
    }

    fn write_manifest(&self, lsns: CheckpointLsns) -> Result<(), Error> {
        let bytes = (u128::from(lsns.needed_from.0) << 64 | u128::from(lsns.begin.0)).to_le_bytes();
        let file = self.files.open("manifest")?;
        file.write_at(&bytes, 0)?;
        Ok(file.sync_data()?)
    }

    pub fn checkpoint(&mut self) -> Result<(), Error> {
        let lsns = checkpoint(&self.logs, &mut self.device, &self.table, || self.pages.dirty_pages())?;
        self.write_manifest(lsns)?;
        self.logs.0.truncate(lsns.needed_from);
        Ok(())
    }

    /// Writes some pages and forgets them; forces them now and then.
    pub fn write_pages(&self, dice: &mut Dice) -> Result<(), Error> {
        let resident = self.pages.resident();
        for _ in 0..dice.below(4) {
            if let Some(page) = dice.pick(&resident) {
                self.pages.write(*page, &self.logs)?;
            }
        }
        if dice.below(3) == 0 { self.pages.sync() } else { Ok(()) }
    }

    fn read_manifest(files: &MemoryFiles) -> Result<CheckpointLsns, Error> {
        let mut bytes = [0; 16];
        files.open("manifest")?.read_exact_at(&mut bytes, 0)?;
        let numbers = u128::from_le_bytes(bytes);
        Ok(CheckpointLsns { begin: Lsn(numbers as u64), needed_from: Lsn((numbers >> 64) as u64) })
    }

    /// Where the log ends that a crash has left.
    pub fn log_end(files: &MemoryFiles) -> Result<Lsn, Error> {
        let mut end = Self::read_manifest(files)?.needed_from;
        read_log(files, &ExpectedLog::new(ID, end), |lsn, _| {
            end = lsn;
            Ok(())
        })?;
        Ok(end)
    }

    /// What a new process does with the files it finds. Pages are written meanwhile as `dice` has it.
    pub fn recover(files: &MemoryFiles, dice: &mut Dice) -> Result<Recovered, Error> {
        let lsns = Self::read_manifest(files)?;
        let mut analysis = Analysis::new(lsns);
        let expected = ExpectedLog::new(ID, lsns.needed_from);
        let found = read_log(files, &expected, |lsn, record| analysis.read(lsn, record))?;
        let (mut redo, losers) = analysis.finish()?;
        let end = redo.end();

        // The log is made certain before pages are written that rest on it.
        let log = Log::open(Arc::new(files.clone()), config(), found)?;
        let world = Self::of(files, log, DiskPages::open(files)?)?;
        read_log(files, &expected, |lsn, record| {
            redo.read(&world.pages, lsn, record)?;
            if dice.below(8) == 0 { world.write_pages(dice) } else { Ok(()) }
        })?;
        let (count, unfinished) = (losers.len(), losers.unfinished());
        let in_doubt = world.with_cells(|cells| losers.undo(&mut world.journal()?, &world.pages, cells))?;
        Ok(Recovered { world, in_doubt, end, redone: redo.done(), losers: count, unfinished })
    }
}

/// A transaction that had made its promise.
#[derive(Clone, Debug)]
pub struct Promised {
    pub changes: Changes,
    pub prepared: Lsn,
    pub committed: Option<Lsn>,
    pub aborted: bool,
}

/// What must be there.
#[derive(Clone)]
pub struct Model {
    /// As of the beginning.
    base: State,
    /// Commits since, in the order of the log.
    pub commits: Vec<(Lsn, Changes)>,
    /// By the coordinator's name, which is the number of a transaction.
    pub promised: BTreeMap<u64, Promised>,
    /// The log is known to be durable up to here.
    pub durable: Lsn,
}

pub fn apply(state: &mut State, changes: &Changes) {
    for (key, value) in changes {
        match value {
            Some(value) => state.insert(*key, *value),
            None => state.remove(key),
        };
    }
}

impl Model {
    pub fn new() -> Self {
        let base = (0..REGISTER_COUNT).map(|number| (FIRST_REGISTER + number, 0)).collect();
        Self { base, commits: Vec::new(), promised: BTreeMap::new(), durable: Lsn::NONE }
    }

    /// With all commits up to `end`.
    pub fn state(&self, end: Lsn) -> State {
        let mut state = self.base.clone();
        self.commits.iter().filter(|(lsn, _)| *lsn <= end).for_each(|(_, changes)| apply(&mut state, changes));
        state
    }

    /// Names of prepared transactions that must be in doubt when the log ends at `end`; and of those that may be,
    /// because their rollback had begun.
    fn promises(&self, end: Lsn) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let open = self.promised.iter().filter(|(_, promised)| {
            promised.prepared <= end && promised.committed.is_none_or(|committed| committed > end)
        });
        let (maybe, sure): (Vec<_>, Vec<_>) = open.partition(|(_, promised)| promised.aborted);
        let names = |found: Vec<(&u64, &Promised)>| found.into_iter().map(|(name, _)| *name).collect();
        (names(sure), names(maybe))
    }

    /// Compares with what recovery has brought back; lets the coordinator decide about promises; compares again. From
    /// then on the model is about the recovered database.
    pub fn check(&mut self, recovered: &mut Recovered, dice: &mut Dice, what: &str) {
        let Recovered { world, in_doubt, end, .. } = recovered;
        assert!(self.durable <= *end, "{what}: the log ends at {end} and was durable up to {}", self.durable);
        let mut state = self.state(*end);
        let (sure, maybe) = self.promises(*end);
        let found: BTreeMap<u64, InDoubt> = in_doubt.drain(..).map(|it| (it.transaction.0, it)).collect();
        assert!(sure.iter().all(|name| found.contains_key(name)), "{what}: {sure:?} of {:?}", found.keys());
        let mut journal = world.journal().unwrap();
        let running = world.table.running();
        assert_eq!(running.len(), found.len(), "{what}: {running:?}");
        let mut visible = world_contents(world);
        for (name, it) in found {
            assert!(sure.contains(&name) || maybe.contains(&name), "{what}: {name} was never prepared");
            let promised = &self.promised[&name];
            assert_eq!(it.global, name.to_le_bytes(), "{what}");
            assert_eq!(it.locks, locks(&promised.changes), "{what}");
            journal.resume(it.suspended);
            if maybe.contains(&name) || dice.below(2) == 0 {
                world.with_cells(|cells| journal.abort(&world.pages, cells)).unwrap();
            } else {
                apply(&mut state, &promised.changes);
                journal.commit().unwrap();
            }
            visible = world_contents(world);
        }
        // The next crash does not bring back what was decided here.
        world.logs.0.force().unwrap();
        assert_eq!(visible, state, "{what}");
        *self = Self { base: state, durable: *end, ..Self::new() };
    }
}

/// What a promise says about its locks.
pub fn locks(changes: &Changes) -> Vec<u8> {
    changes.keys().flat_map(|key| key.to_le_bytes()).collect()
}

pub fn world_contents(world: &World) -> State {
    world.with_cells(|cells| cells.contents()).unwrap_or_else(|error| panic!("{error}"))
}
