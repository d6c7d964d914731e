//! A change of many rows at once is the same as one of each: on both engines, on one partition and several,
//! undone and reopened.

use std::ops::ControlFlow;

use glassbox::io::Dice;
use glassbox::procedure::{AbortReason, Aborts, Declared, KeySet, Mode};
use glassbox::record::Direction;
use glassbox::{Architecture, Catalog, Config, Database, Durability, LogKind, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "line", key = (place, order, number), partition_by = place)]
struct Line {
    place: u16,
    order: u32,
    number: u8,
    count: u32,
}

#[derive(Record, Clone, Copy)]
#[record(table = "thing", key = (place, id), partition_by = place, access = point)]
struct Thing {
    place: u16,
    id: u32,
    count: u32,
}

#[derive(Record, Clone, Copy)]
#[record(table = "kind", key = id, replicated, access = point)]
struct Kind {
    id: u32,
    count: u32,
}

/// Adds, reads and changes rows, some of which are not there, or there already. `ONE`: one by one.
#[derive(Serialize, Deserialize)]
struct Work<const ONE: bool>(u64);

impl<const ONE: bool> Work<ONE> {
    fn things(&self) -> impl Iterator<Item = (u16, u32)> {
        let (seed, mut dice) = (self.0, Dice(self.0));
        // Mostly of one place, as an order's are.
        (0..seed % 21).map(move |_| (if dice.roll() % 8 == 0 { 2 } else { seed as u16 % 3 }, dice.roll() as u32 % 40))
    }

    fn lines(&self) -> impl Iterator<Item = Line> {
        let (seed, mut dice) = (self.0, Dice(self.0 + 1));
        let order = seed as u32 / 3 % 400;
        (0..seed % 20).map(move |at| Line {
            place: if dice.roll() % 24 == 0 { 1 } else { seed as u16 % 3 },
            order,
            number: if dice.roll() % 40 == 0 { 1 } else { at as u8 },
            count: dice.roll() as u32,
        })
    }
}

impl<const ONE: bool> Procedure for Work<ONE> {
    const NAME: &'static str = if ONE { "one" } else { "each" };
    const ABORTS: Aborts = Aborts::Anytime;
    type Output = u64;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        // Not always the keys that are looked up then, though always their partitions.
        let other = u32::from(self.0 % 7 == 2);
        set.read_each::<Kind>(self.things().map(|(_, id)| id ^ other));
        set.parts::<Thing>(self.things().map(|(place, id)| (place, id ^ other)), Mode::Write, 0..4);
        self.lines().for_each(|line| set.insert::<Line>(&(line.place, line.order, line.number)));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<u64, Stop> {
        let (mut sum, mut change) = (0, 1);
        let mut read = |at: usize, kind: Option<&Kind>| {
            sum = sum * 3 + at as u64 + kind.map_or(7, |kind| u64::from(kind.count));
        };
        let mut add = |at: usize, thing: &mut Thing| {
            change = change * 5 + at as u64 + u64::from(thing.count);
            thing.count += 1;
        };
        // Not always in the order of the declaration, nor all of it.
        let skip = if self.0.is_multiple_of(5) { 2 } else { 0 };
        let kinds = self.things().map(|(_, id)| id).zip(0..).skip(skip);
        let things = self.things().zip(0..);
        if ONE {
            for (id, at) in kinds {
                read(at, tx.get::<Kind>(&id)?);
            }
            for (key, at) in things {
                tx.update::<Thing, _>(&key, |thing| add(at, thing))?;
            }
            self.lines().try_for_each(|line| tx.insert(&line))?;
        } else {
            tx.get_each::<Kind, _>(kinds, |at, kind| {
                read(at, kind);
                Ok(())
            })?;
            tx.update_each::<Thing, _>(things, |at, thing| add(at, thing))?;
            tx.insert_each(self.lines())?;
        }
        if self.0 % 17 == 3 {
            return Err(Stop::abort(1, "this once"));
        }
        Ok(sum * 31 + change)
    }
}

/// Everything that is stored.
fn stored(db: &Database) -> Vec<(u16, u32, u8, u32)> {
    let stored = db.transaction(|tx| {
        let mut rows = Vec::new();
        tx.scan::<Line>(.., Direction::Forward, |line| {
            rows.push((line.place, line.order, line.number, line.count));
            ControlFlow::Continue(())
        })?;
        for (place, id) in (0..3).flat_map(|place| (0..40).map(move |id| (place, id))) {
            rows.extend(tx.get::<Thing>(&(place, id))?.map(|thing| (place, id, u8::MAX, thing.count)));
        }
        Ok(rows)
    });
    stored.unwrap()
}

fn catalog() -> Catalog {
    Catalog::new().table::<Line>().table::<Thing>().table::<Kind>().procedure::<Work<true>>().procedure::<Work<false>>()
}

/// What the calls answered, and the rows in the end.
type Ended = (Vec<Result<u64, AbortReason>>, Vec<(u16, u32, u8, u32)>);

fn history<const ONE: bool>(config: &Config) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    let db = Database::open(directory.path(), config.clone(), catalog()).unwrap();
    let load = db.bulk_load().unwrap();
    for id in (0..40).filter(|id| id % 7 != 0) {
        load.insert(&Kind { id, count: id * 3 }).unwrap();
        (0..3).for_each(|place| load.insert(&Thing { place, id, count: id }).unwrap());
    }
    load.finish().unwrap();
    // By all ways to call: what is answered does not depend on them.
    let call = |seed| match seed % 3 {
        0 => db.call(&Work::<ONE>(seed)),
        1 => db.call_with(&Work::<ONE>(seed), |&sum| sum),
        _ => db.submit_with(Work::<ONE>(seed), |&sum| sum)?.wait(),
    };
    let answers = (0..1_500).map(|seed| match call(seed) {
        Ok(sum) => Ok(sum),
        Err(error) => Err(error.abort_reason().unwrap()),
    });
    let answers = answers.collect();
    let before = stored(&db);
    assert!(db.verify().is_empty());
    db.close().unwrap();
    let db = Database::open(directory.path(), config.clone(), catalog()).unwrap();
    assert_eq!(stored(&db), before);
    (answers, before)
}

#[test]
fn each_is_as_one_by_one() {
    let config = |architecture, partitions, log| {
        Config::default()
            .with_architecture(architecture)
            .with_partitions(partitions)
            .with_log(log)
            .with_durability(Durability::Async)
    };
    let (mut expected, partitioned) = (None, Architecture::Partitioned);
    for config in [
        config(partitioned, 1, LogKind::Values),
        config(partitioned, 1, LogKind::Commands),
        config(partitioned, 3, LogKind::Values),
        config(Architecture::Classic, 1, LogKind::Values),
    ] {
        let one = history::<true>(&config);
        assert_eq!(history::<false>(&config), one);
        let of_first = expected.get_or_insert_with(|| one.clone());
        assert_eq!(&one, of_first);
    }
    let answers = expected.expect("there are configurations").0;
    let count =
        |is: fn(&AbortReason) -> bool| answers.iter().flat_map(|it| it.as_ref().err()).filter(|it| is(it)).count();
    let aborted = count(|reason| matches!(reason, AbortReason::Procedure(abort) if abort.code == 1));
    let duplicates = count(|reason| matches!(reason, AbortReason::DuplicateKey(_)));
    assert!(aborted > 50 && duplicates > 50, "{answers:?}");
}

/// Should rows that are drawn panic, and the procedure go on, no row is half there.
#[test]
fn rows_that_panic_leave_nothing_half_done() {
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let config = Config::default().with_architecture(architecture).with_durability(Durability::Async);
        let directory = tempfile::tempdir().unwrap();
        let db = Database::open(directory.path(), config, catalog()).unwrap();
        let lines = |panics_at: u8| {
            (0..20).map(move |number| {
                assert!(number != panics_at, "on purpose");
                Line { place: 0, order: 1, number, count: 1 }
            })
        };
        let insert = db.transaction(|tx| {
            let insert = std::panic::AssertUnwindSafe(|| tx.insert_each(lines(18)).unwrap());
            assert!(std::panic::catch_unwind(insert).is_err());
            Ok(())
        });
        insert.unwrap();
        assert_eq!(db.verify(), [""; 0], "{architecture:?}");
        let rows = stored(&db).len();
        // How many were drawn before any of them was inserted is the engine's affair.
        assert!(rows <= 18, "{architecture:?}: {rows}");
    }
}
