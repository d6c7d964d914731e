//! The model does what a transaction promises.

use std::ops::ControlFlow;

use glassbox::Record;
use glassbox::procedure::{AbortReason, Aborts, Procedure, Stop, Transaction};
use glassbox::record::{Direction, Prefix, Text, Timestamp};
use glassbox_testing::ModelDatabase;
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "person", key = (town, id), partition_by = town,
         index(name = by_name, columns = (town, name)), index(name = by_mail, columns = (town, mail), unique))]
struct Person {
    town: u8,
    id: u16,
    name: Text<4>,
    mail: u32,
}

fn person(id: u16, name: &str, mail: u32) -> Person {
    Person { town: 1, id, name: Text::new(name).unwrap(), mail }
}

fn filled() -> ModelDatabase {
    let mut database = ModelDatabase::new();
    let people = [person(1, "bob", 10), person(2, "ann", 20), person(3, "ann", 30)];
    database.transaction(|tx| people.iter().try_for_each(|person| tx.insert(person))).unwrap();
    database
}

fn contents(database: &ModelDatabase) -> Vec<Vec<u8>> {
    database.contents().map(|(table, key, row)| [table.as_bytes(), key, row].concat()).collect()
}

fn by_name(tx: &mut impl Transaction, direction: Direction) -> Result<Vec<u16>, Stop> {
    let mut ids = Vec::new();
    tx.scan_index::<PersonByName>(Prefix(1), direction, |person| {
        ids.push(person.id);
        ControlFlow::Continue(())
    })?;
    Ok(ids)
}

#[test]
fn indexes_follow_rows() {
    let mut database = filled();
    database
        .transaction(|tx| {
            assert_eq!(by_name(tx, Direction::Forward)?, [2, 3, 1]);
            assert_eq!(by_name(tx, Direction::Backward)?, [1, 3, 2]);
            tx.update::<Person, _>(&(1, 2), |person| person.name = Text::new("zoe").unwrap())?;
            tx.delete::<Person>(&(1, 3))?;
            assert_eq!(by_name(tx, Direction::Forward)?, [1, 2]);
            assert_eq!(tx.first_by::<PersonByMail>(Prefix(1), Direction::Backward)?.map(|row| row.id), Some(2));
            Ok(())
        })
        .unwrap();
}

#[test]
fn scans_keep_to_their_bounds_and_stop_when_told() {
    let mut database = filled();
    let mut seen = Vec::new();
    database
        .transaction(|tx| {
            tx.scan::<Person>((1, 1)..(1, 3), Direction::Backward, |person| {
                seen.push(person.id);
                ControlFlow::Continue(())
            })?;
            tx.scan::<Person>(.., Direction::Forward, |person| {
                seen.push(person.id);
                ControlFlow::Break(())
            })
        })
        .unwrap();
    assert_eq!(seen, [2, 1, 1]);
}

#[test]
fn an_abort_puts_everything_back() {
    let mut database = filled();
    let before = contents(&database);
    let abort = database.transaction(|tx| {
        tx.update::<Person, _>(&(1, 1), |person| person.mail = 11)?;
        tx.delete::<Person>(&(1, 1))?;
        tx.insert(&person(1, "eve", 10))?;
        tx.insert(&person(4, "eve", 40))?;
        Err::<(), _>(Stop::abort(3, "enough"))
    });
    assert!(matches!(abort, Err(AbortReason::Procedure(abort)) if abort.code == 3));
    assert_eq!(contents(&database), before);
    assert_eq!(database.transaction(|tx| by_name(tx, Direction::Forward)).unwrap(), [2, 3, 1]);
}

#[test]
fn unique_keys_stay_unique() {
    let mut database = filled();
    let before = contents(&database);
    let mut refused = |index, stop: fn(&mut glassbox_testing::ModelTransaction<'_>) -> Result<(), Stop>| {
        let reason = database.transaction(stop).unwrap_err();
        assert!(matches!(&reason, AbortReason::DuplicateKey(key) if key.index.as_deref() == index), "{reason}");
    };
    refused(None, |tx| tx.insert(&person(1, "eve", 99)));
    refused(Some("by_mail"), |tx| tx.insert(&person(9, "eve", 10)));
    refused(Some("by_mail"), |tx| tx.update::<Person, _>(&(1, 1), |person| person.mail = 20).map(drop));
    assert_eq!(contents(&database), before);
    // Its own key is no other row's.
    database.transaction(|tx| tx.update::<Person, _>(&(1, 1), |person| person.mail = 10)).unwrap();
    assert_eq!(database.rows::<Person>()[0].key(), (1, 1));
}

#[derive(Serialize, Deserialize)]
struct Liar;

impl Procedure for Liar {
    const NAME: &'static str = "liar";
    const ABORTS: Aborts = Aborts::BeforeFirstWrite;
    type Output = ();
    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.delete::<Person>(&(1, 1))?;
        Err(Stop::abort(1, "after a write"))
    }
}

#[test]
#[should_panic(expected = "liar stopped after a write")]
fn a_broken_promise_is_noticed() {
    let _ = filled().run(&Liar, Timestamp::from_micros(0), 0);
}
