//! A history of one application's schema: each version opens what the one before has left, and the newest one opens
//! each of them in one leap; with both logs, after a crash, a checkpoint and a clean close.

use std::ops::ControlFlow;
use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{Crash, Faults, Files, ManualClock, MemoryFiles};
use glassbox::record::{Decimal, Direction, Text};
use glassbox::research::ConfigHooks;
use glassbox::{
    Architecture, Catalog, Config, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction,
};
use serde::{Deserialize, Serialize};

/// A row as every version sees it: a column that it does not have yet has the value that it gets later.
#[derive(Debug, Clone, PartialEq)]
struct Account {
    id: u64,
    holder: String,
    balance: Decimal<2>,
    limit: Option<Decimal<2>>,
    note: Option<String>,
}

/// Holders and balances, written by changes in place, insertions and deletions.
const ROUNDS: u32 = 3;

macro_rules! version {
    (
        $module:ident, $version:literal, id: $id:ty, holder: $holder:ident, limit: $limit:expr, note: $note:expr,
        new: $new:expr, $record:item
    ) => {
        mod $module {
            use super::*;

            $record

            pub fn catalog() -> Catalog {
                Catalog::new().version($version).table::<Row>().procedure::<Work>()
            }

            /// Inserts three accounts of a round, changes those of the one before, and deletes one of them.
            #[derive(Serialize, Deserialize)]
            pub struct Work(pub u32);

            impl Procedure for Work {
                const NAME: &'static str = "work";
                const VERSION: u32 = $version;
                type Output = ();

                fn declare(&self, set: &mut impl KeySet) -> Declared {
                    let first = 3 * <$id>::try_from(self.0).unwrap();
                    (first..first + 3).for_each(|id| set.write::<Row>(&id));
                    (first.saturating_sub(3)..first).for_each(|id| set.write::<Row>(&id));
                    Declared::Complete
                }

                fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
                    let first = 3 * <$id>::try_from(self.0).unwrap();
                    for id in first..first + 3 {
                        let new: fn($id) -> Row = $new;
                        tx.insert(&new(id))?;
                    }
                    if self.0 > 0 {
                        tx.update::<Row, _>(&(first - 3), |row| row.balance = Decimal::from_units(i64::from(self.0)))?;
                        tx.update::<Row, _>(&(first - 2), |row| row.$holder = Text::new("moved").unwrap())?;
                        tx.delete::<Row>(&(first - 1))?;
                    }
                    Ok(())
                }
            }

            pub fn rows(db: &Database) -> Vec<Account> {
                assert_eq!(db.verify(), [""; 0]);
                let scanned = db.transaction(|tx| {
                    let mut rows = Vec::new();
                    tx.scan::<Row>(.., Direction::Forward, |row| {
                        let limit: fn(&Row) -> _ = $limit;
                        let note: fn(&Row) -> _ = $note;
                        rows.push(Account {
                            id: row.id.into(),
                            holder: row.$holder.to_string(),
                            balance: row.balance,
                            limit: limit(row),
                            note: note(row),
                        });
                        ControlFlow::Continue(())
                    })?;
                    Ok(rows)
                });
                scanned.unwrap()
            }
        }
    };
}

const LIMIT: Decimal<2> = Decimal::from_units(-50);

version! {
    first, 1, id: u16, holder: owner, limit: |_| Some(LIMIT), note: |_| None,
    new: |id| Row { id, owner: Text::new("someone").unwrap(), balance: Decimal::ONE, flags: 7 },
    #[derive(Record, Clone, Copy)]
    #[record(table = "konto", key = id)]
    pub struct Row {
        pub id: u16,
        pub owner: Text<8>,
        pub balance: Decimal<2>,
        pub flags: u32,
    }
}

version! {
    second, 2, id: u16, holder: owner, limit: |row| Some(row.limit), note: |_| None,
    new: |id| Row { id, limit: LIMIT, owner: Text::new("someone").unwrap(), balance: Decimal::ONE, flags: 7 },
    #[derive(Record, Clone, Copy)]
    #[record(table = "konto", key = id, index(name = by_owner, columns = owner))]
    pub struct Row {
        pub id: u16,
        #[record(added = 2, default = -0.5)]
        pub limit: Decimal<2>,
        pub owner: Text<8>,
        pub balance: Decimal<2>,
        pub flags: u32,
    }
}

version! {
    third, 3, id: u32, holder: holder, limit: |row| row.limit, note: |_| None,
    new: |id| Row { balance: Decimal::ONE, holder: Text::new("someone").unwrap(), limit: Some(LIMIT), id },
    #[derive(Record, Clone, Copy)]
    #[record(table = "account", key = id, access = ordered, replicated, was("konto", 3))]
    #[record(dropped("flags", u32, at = 3))]
    pub struct Row {
        pub balance: Decimal<2>,
        #[record(was("owner", 3))]
        pub holder: Text<12>,
        #[record(added = 2, default = -0.5)]
        pub limit: Option<Decimal<2>>,
        pub id: u32,
    }
}

version! {
    fourth, 4, id: u64, holder: holder, limit: |row| row.limit, note: |row| row.note.map(|note| note.to_string()),
    new: |id| Row {
        note: None,
        holder: Text::new("someone").unwrap(),
        id,
        balance: Decimal::ONE,
        limit: Some(LIMIT),
    },
    #[derive(Record, Clone, Copy)]
    #[record(table = "account", key = id, index(name = by_balance, columns = (balance, holder)), was("konto", 3))]
    #[record(dropped("flags", u32, at = 3))]
    pub struct Row {
        #[record(added = 4)]
        pub note: Option<Text<20>>,
        #[record(was("owner", 3))]
        pub holder: Text<12>,
        pub id: u64,
        pub balance: Decimal<2>,
        #[record(added = 2, default = -0.5)]
        pub limit: Option<Decimal<2>>,
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    architecture: Architecture,
    log: LogKind,
    partitions: usize,
    end: End,
}

/// How a version leaves the database.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Crash,
    CheckpointAndCrash,
    Close,
}

fn cases() -> impl Iterator<Item = Case> {
    const ENDS: [End; 3] = [End::Crash, End::CheckpointAndCrash, End::Close];
    let of = |architecture, log, partitions, ends: &'static [End]| {
        ends.iter().map(move |&end| Case { architecture, log, partitions, end })
    };
    // Calls of the version before cannot be replayed.
    let commands = [1, 3].map(|partitions| of(Architecture::Partitioned, LogKind::Commands, partitions, &ENDS[1..]));
    let values = [1, 3].map(|partitions| of(Architecture::Partitioned, LogKind::Values, partitions, &ENDS));
    let classic = [of(Architecture::Classic, LogKind::Values, 1, &ENDS)];
    commands.into_iter().chain(values).chain(classic).flatten()
}

fn open(files: &MemoryFiles, case: Case, catalog: Catalog) -> Result<Database, Error> {
    let config = Config::default()
        .with_architecture(case.architecture)
        .with_partitions(case.partitions)
        .with_log(case.log)
        .with_segment_bytes(64 << 10)
        .with_log_buffer_bytes(64 << 10)
        .with_log_threads(false)
        .with_classic(ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 20).with_sessions(2));
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(ManualClock::default()), config, catalog)
}

/// Does the rounds from `first` on, and leaves the database; the rows.
macro_rules! live {
    ($module:ident, $files:ident, $case:ident, $first:expr) => {{
        let db = open(&$files, $case, $module::catalog()).unwrap();
        (0..ROUNDS).for_each(|round| db.call(&$module::Work($first + round)).unwrap());
        let rows = $module::rows(&db);
        leave(db, &mut $files, $case);
        rows
    }};
}

fn leave(db: Database, files: &mut MemoryFiles, case: Case) {
    match case.end {
        End::Close => db.close().unwrap(),
        End::CheckpointAndCrash => {
            db.checkpoint().unwrap();
            *files = files.after_crash(Crash::Lost, 1);
        }
        End::Crash => {
            db.flush().unwrap();
            *files = files.after_crash(Crash::Lost, 1);
        }
    }
}

#[test]
fn each_version_opens_the_one_before_and_the_newest_opens_all() {
    for case in cases() {
        let mut files = MemoryFiles::default();
        let mut before = live!(first, files, case, 0);
        let leap = |files: &MemoryFiles, before: &[Account]| {
            let db = open(&files.after_crash(Crash::Lost, 1), case, fourth::catalog()).unwrap();
            assert_eq!(fourth::rows(&db), before, "{case:?}: in one leap");
        };
        leap(&files, &before);
        let db = open(&files, case, second::catalog()).unwrap();
        assert_eq!(second::rows(&db), before, "{case:?}");
        leave(db, &mut files, case);
        before = live!(second, files, case, ROUNDS);
        leap(&files, &before);
        let db = open(&files, case, third::catalog()).unwrap();
        assert_eq!(third::rows(&db), before, "{case:?}");
        leave(db, &mut files, case);
        before = live!(third, files, case, 2 * ROUNDS);
        leap(&files, &before);
        let after = live!(fourth, files, case, 3 * ROUNDS);
        assert_eq!(after.len(), 2 * 4 * ROUNDS as usize + 1, "{case:?}");
        let db = open(&files, case, fourth::catalog()).unwrap();
        assert_eq!(fourth::rows(&db), after, "{case:?}");
        db.close().unwrap();
        let older = open(&files, case, third::catalog()).unwrap_err();
        let Error::SchemaVersion { stored: 4, known: 3, ref tables } = older else { panic!("{older}") };
        assert_eq!(tables, "`account`");
    }
}

/// Nothing is changed by a refusal: the program of the version before still opens the database.
#[test]
fn calls_of_the_version_before_are_not_replayed_on_another_one() {
    let log = LogKind::Commands;
    let case = Case { architecture: Architecture::Partitioned, log, partitions: 2, end: End::Crash };
    let mut files = MemoryFiles::default();
    let before = live!(first, files, case, 0);
    let refused = open(&files, case, second::catalog()).unwrap_err();
    assert!(matches!(refused, Error::LoggedCalls { stored: 1, known: 2 }), "{refused}");
    let db = open(&files, case, first::catalog()).unwrap();
    assert_eq!(first::rows(&db), before);
    db.close().unwrap();
    assert_eq!(second::rows(&open(&files, case, second::catalog()).unwrap()), before);
}

/// A crash at any write, force or rename is as if the step had not begun, or had ended.
#[test]
fn a_crash_during_a_step_leaves_one_version_or_the_other() {
    let kinds = [(Architecture::Partitioned, 1), (Architecture::Partitioned, 3), (Architecture::Classic, 1)];
    for (architecture, partitions) in kinds {
        let case = Case { architecture, log: LogKind::Values, partitions, end: End::Crash };
        let mut files = MemoryFiles::default();
        let before = live!(second, files, case, 0);
        let open_after = |at: u64, mode| {
            let mut interrupted = files.after_crash(Crash::Lost, 1);
            interrupted.set_faults(Faults { stop_at: Some(at), ..Faults::default() });
            let opened = open(&interrupted, case, fourth::catalog());
            let is_over = opened.is_ok() && !interrupted.is_stopped();
            drop(opened);
            interrupted = interrupted.after_crash(mode, at);
            let rows = match open(&interrupted, case, second::catalog()) {
                Ok(db) => second::rows(&db),
                Err(Error::SchemaVersion { .. }) => fourth::rows(&open(&interrupted, case, fourth::catalog()).unwrap()),
                Err(other) => panic!("{case:?}, operation {at}: {other}"),
            };
            assert_eq!(rows, before, "{case:?}, operation {at}");
            is_over
        };
        for mode in [Crash::Lost, Crash::Kept, Crash::Torn] {
            let count = (0..10_000).take_while(|at| !open_after(*at, mode)).count();
            assert!((10..10_000).contains(&count), "{count} operations");
        }
    }
}

mod by_balance {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "item", key = id, index(name = by_it, columns = balance))]
    pub struct Item {
        pub id: u32,
        pub balance: u16,
        pub size: u16,
    }
}

mod by_size {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "item", key = id, index(name = by_it, columns = size))]
    pub struct Item {
        pub id: u32,
        pub balance: u16,
        pub size: u16,
    }
}

/// The classic engine may have made and filled an index of the same name when the crash came.
#[test]
fn a_crash_while_an_index_gets_other_columns_leaves_the_former_one() {
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let case = Case { architecture, log: LogKind::Values, partitions: 1, end: End::Close };
        let files = MemoryFiles::default();
        let former = || Catalog::new().table::<by_balance::Item>();
        let db = open(&files, case, former()).unwrap();
        let insert = |id: u32| {
            let item = by_balance::Item { id, balance: 100 - id as u16, size: id as u16 };
            db.transaction(|tx| tx.insert(&item)).unwrap();
        };
        (0..50).for_each(insert);
        db.close().unwrap();
        let is_over = |at: u64| {
            let interrupted = files.after_crash(Crash::Lost, 1);
            interrupted.set_faults(Faults { stop_at: Some(at), ..Faults::default() });
            let later = Catalog::new().table::<by_size::Item>();
            let is_over = open(&interrupted, case, later).is_ok() && !interrupted.is_stopped();
            let interrupted = interrupted.after_crash(Crash::Kept, at);
            let db = open(&interrupted, case, former()).unwrap();
            assert_eq!(db.verify(), [""; 0], "{case:?}, operation {at}");
            let first = db.transaction(|tx| tx.first_by::<by_balance::ItemByIt>(.., Direction::Forward));
            assert_eq!(first.unwrap().map(|item| item.id), Some(49), "{case:?}, operation {at}");
            is_over
        };
        assert!((0..10_000).any(is_over), "{case:?}");
    }
}
