//! A history of one application's schema: each version opens what the one before has left, and the newest one opens
//! each of them in one leap; with both logs, after a crash, a checkpoint and a clean close.

use std::ops::ControlFlow;

use glassbox::io::{Crash, Faults, MemoryFiles};
use glassbox::record::{Decimal, Direction, Text};
use glassbox::{
    Architecture, Catalog, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction,
};
use serde::{Deserialize, Serialize};

use super::small;

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
    super::open(files, small(case.architecture, case.partitions, case.log), catalog)
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

#[test]
fn a_plan_says_how_opening_would_change_rows_and_changes_nothing() {
    for (architecture, bytes) in [(Architecture::Partitioned, 7 * 58), (Architecture::Classic, 7 * (58 + 8 + 28))] {
        let dir = tempfile::tempdir().unwrap();
        let config = || small(architecture, 2, LogKind::Values);
        let plan = |catalog: Catalog| Database::plan(dir.path(), &catalog, &config());
        assert_eq!(plan(fourth::catalog()).unwrap().to_string(), "a new database of version 4");
        let db = Database::open(dir.path(), config(), first::catalog()).unwrap();
        (0..ROUNDS).for_each(|round| db.call(&first::Work(round)).unwrap());
        let before = first::rows(&db);
        assert!(plan(fourth::catalog()).is_err(), "it is open");
        db.close().unwrap();
        assert_eq!(plan(first::catalog()).unwrap().to_string(), "version 1: no table changes");
        let steps = "\
            table `konto` is renamed
            column `note` is added
            column `owner` Text(8) becomes `holder` Text(12)
            column `id` U16 becomes `id` U64
            column `limit` is added
            column `flags` is dropped
            columns are in another order
            index `by_balance` is added";
        let steps: Vec<_> = steps.lines().map(str::trim).collect();
        let planned = plan(fourth::catalog()).unwrap();
        assert_eq!((planned.stored_version, planned.version, planned.bytes_written), (Some(1), 4, bytes));
        let [account] = &planned.tables[..] else { panic!("{planned}") };
        assert_eq!((account.table.as_str(), account.rows), ("account", 7));
        assert_eq!(account.steps, steps, "{architecture:?}");
        assert_eq!(account.indexes_built, ["by_balance"]);
        let db = Database::open(dir.path(), config(), first::catalog()).unwrap();
        assert_eq!(first::rows(&db), before);
        db.close().unwrap();
        let db = Database::open(dir.path(), config(), fourth::catalog()).unwrap();
        assert_eq!(fourth::rows(&db), before);
        db.close().unwrap();
        let older = plan(first::catalog()).unwrap_err();
        assert!(matches!(older, Error::SchemaVersion { stored: 4, known: 1, .. }), "{older}");
    }
}

mod swapped_before {
    #[derive(glassbox::Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "item", key = (id, town))]
    pub struct Item {
        pub id: u32,
        pub town: u16,
    }

    #[derive(glassbox::Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "other", key = id, replicated)]
    pub struct Other {
        pub id: u32,
        pub town: u16,
    }
}

mod swapped_after {
    #[derive(glassbox::Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "item", key = id, was("other", 2))]
    pub struct Other {
        pub id: u32,
        pub town: u16,
    }

    #[derive(glassbox::Record, Clone, Copy, Debug, PartialEq)]
    #[record(table = "other", key = (id, town), partition_by = town, was("item", 2))]
    pub struct Item {
        pub id: u32,
        pub town: u16,
    }
}

/// The rows of two tables that change their names, and whose rows go to other partitions; they stay as they are.
#[test]
fn tables_swap_names_and_rows_move_to_other_partitions() {
    for case in cases().filter(|case| case.log == LogKind::Values) {
        let mut files = MemoryFiles::default();
        let before = Catalog::new().table::<swapped_before::Item>().table::<swapped_before::Other>();
        let db = open(&files, case, before).unwrap();
        for id in 0..40 {
            let town = id as u16 % 7;
            let inserted = db.transaction(|tx| {
                tx.insert(&swapped_before::Item { id, town })?;
                tx.insert(&swapped_before::Other { id, town: town + 100 })
            });
            inserted.unwrap();
        }
        leave(db, &mut files, case);
        for time in 0..2 {
            let after = Catalog::new().version(2).table::<swapped_after::Other>().table::<swapped_after::Item>();
            let db = open(&files, case, after).unwrap();
            assert_eq!(db.verify(), [""; 0], "{case:?}");
            let read = db.transaction(|tx| {
                let mut found = Vec::new();
                for id in 0..40 {
                    let item = tx.get::<swapped_after::Item>(&(id, id as u16 % 7))?.copied();
                    found.push((item, tx.get::<swapped_after::Other>(&id)?.copied()));
                }
                Ok(found)
            });
            for (id, (item, other)) in (0..).zip(read.unwrap()) {
                let town = id as u16 % 7;
                assert_eq!(item, Some(swapped_after::Item { id, town }), "{case:?}, time {time}");
                assert_eq!(other, Some(swapped_after::Other { id, town: town + 100 }), "{case:?}, time {time}");
            }
            db.close().unwrap();
        }
    }
}

mod short_names {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "town", key = name)]
    pub struct Town {
        pub name: glassbox::record::Text<8>,
        pub size: u32,
    }
}

mod long_names {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "town", key = name)]
    pub struct Town {
        pub name: Option<glassbox::record::Text<12>>,
        pub size: u32,
    }
}

/// A longer text has another placement number.
#[test]
fn rows_whose_key_is_a_longer_text_move_to_other_partitions() {
    for case in cases().filter(|case| case.log == LogKind::Values) {
        let mut files = MemoryFiles::default();
        let db = open(&files, case, Catalog::new().table::<short_names::Town>()).unwrap();
        let name = |size: u32| format!("town{size}");
        for size in 0..60 {
            let town = short_names::Town { name: Text::new(&name(size)).unwrap(), size };
            db.transaction(|tx| tx.insert(&town)).unwrap();
        }
        leave(db, &mut files, case);
        let db = open(&files, case, Catalog::new().version(2).table::<long_names::Town>()).unwrap();
        assert_eq!(db.verify(), [""; 0], "{case:?}");
        for size in 0..60 {
            let key = Some(Text::new(&name(size)).unwrap());
            let found = db.transaction(|tx| Ok(tx.get::<long_names::Town>(&key)?.map(|town| town.size)));
            assert_eq!(found.unwrap(), Some(size), "{case:?}");
        }
        db.close().unwrap();
    }
}

mod two_tables {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(key = id)]
    pub struct Konto {
        pub id: u32,
    }

    #[derive(glassbox::Record, Clone, Copy)]
    #[record(key = id)]
    pub struct Account {
        pub id: u32,
    }
}

mod one_table {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(key = id, was("konto", 2))]
    pub struct Account {
        pub id: u32,
    }
}

/// Neither table becomes the other one, and none is forgotten.
#[test]
fn a_table_whose_name_is_given_away_is_refused() {
    for case in cases() {
        let files = MemoryFiles::default();
        let before = || Catalog::new().table::<two_tables::Konto>().table::<two_tables::Account>();
        open(&files, case, before()).unwrap().close().unwrap();
        let refused = open(&files, case, Catalog::new().version(2).table::<one_table::Account>()).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.starts_with("table `account` was stored with another schema: the catalog"), "{refused}");
        let not_raised = Catalog::new().table::<one_table::Account>().table::<two_tables::Konto>();
        assert!(open(&files, case, not_raised).unwrap_err().to_string().contains("add `.version(2)`"), "{case:?}");
        open(&files, case, before()).unwrap().close().unwrap();
    }
}
