//! A procedure that catches the panic of its own change: the row is as it was, or the database stops.

use std::panic::{AssertUnwindSafe, catch_unwind};

use glassbox::procedure::{Aborts, Declared, KeySet, Procedure};
use glassbox::record::Direction;
use glassbox::{Architecture, Catalog, Config, Database, Durability, Error, LogKind, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "kv", key = id, index(name = by_v, columns = (v)))]
struct Kv {
    id: u64,
    v: i64,
}

/// How the row is changed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Change {
    One,
    Each,
    Key,
}

/// Changes a row in a closure that panics, catches the panic, and commits. `ABORTS` counts the variants of [`Aborts`].
#[derive(Serialize, Deserialize)]
struct Catch<const ABORTS: u8>(Change);

impl<const ABORTS: u8> Procedure for Catch<ABORTS> {
    const NAME: &'static str = ["catch_never", "catch_before", "catch_any"][ABORTS as usize];
    const ABORTS: Aborts = [Aborts::Never, Aborts::BeforeFirstWrite, Aborts::Anytime][ABORTS as usize];
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Kv>(&1);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let half = |row: &mut Kv| {
            row.v = 9;
            panic!("half of a change");
        };
        let caught = catch_unwind(AssertUnwindSafe(|| match self.0 {
            Change::One => tx.update::<Kv, ()>(&1, half).map(drop),
            Change::Each => tx.update_each::<Kv, _>([(1, ())], |(), row| half(row)),
            // The engine's own panic: a changed primary key.
            Change::Key => tx.update::<Kv, _>(&1, |row| row.id = 2).map(drop),
        }));
        assert!(caught.is_err(), "the change did not panic");
        Ok(())
    }
}

fn catalog() -> Catalog {
    Catalog::new().table::<Kv>().procedure::<Catch<0>>().procedure::<Catch<1>>().procedure::<Catch<2>>()
}

/// The row, and the rows that its index finds.
fn rows(db: &Database) -> (Option<Kv>, Vec<Kv>) {
    let read = db.transaction(|tx| {
        let mut found = Vec::new();
        tx.scan_index::<KvByV>(.., Direction::Forward, |row| {
            found.push(*row);
            std::ops::ControlFlow::Continue(())
        })?;
        Ok((tx.get::<Kv>(&1)?.copied(), found))
    });
    read.unwrap()
}

fn check<const ABORTS: u8>(config: &Config, change: Change) {
    let dir = tempfile::tempdir().unwrap();
    let what = format!("{:?} {:?} {:?} {ABORTS} {change:?}", config.architecture, config.log, config.durability);
    let db = Database::open(dir.path().join("db"), config.clone(), catalog()).unwrap();
    let row = Kv { id: 1, v: 1 };
    db.transaction(|tx| tx.insert(&row)).unwrap();
    db.checkpoint().unwrap();
    let as_before = (Some(row), vec![row]);
    match db.call(&Catch::<ABORTS>(change)) {
        Ok(()) => {
            assert_eq!(rows(&db), as_before, "{what}");
            assert_eq!(db.verify(), [""; 0], "{what}");
        }
        Err(_) => {
            let refused = db.transaction(|tx| tx.get::<Kv>(&1).map(drop));
            assert!(matches!(refused, Err(Error::Stopped { .. })), "{what}: {refused:?}");
        }
    }
    let _ = db.close();
    drop(db);
    let db = Database::open(dir.path().join("db"), config.clone(), catalog()).unwrap();
    assert_eq!(rows(&db), as_before, "{what}, opened again");
}

#[test]
fn a_caught_panic_of_a_change_leaves_no_half_changed_row() {
    let mut configs = vec![Config::default().with_architecture(Architecture::Classic)];
    for log in [LogKind::Values, LogKind::Commands] {
        configs.push(Config::default().with_log(log));
    }
    configs.push(Config::default().with_durability(Durability::None));
    for config in configs {
        let config = config.with_partitions(1);
        for change in [Change::One, Change::Each, Change::Key] {
            check::<0>(&config, change);
            check::<1>(&config, change);
            check::<2>(&config, change);
        }
    }
}
