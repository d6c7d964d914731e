//! Calls and transactions that exceed the maximum of a log record.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use glassbox::io::{ManualClock, MemoryFiles};
use glassbox::{
    Architecture, Catalog, Config, Database, Declared, Error, KeySet, LogKind, Procedure, Stop, Transaction,
};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Item, engines, insert, items};

/// Elements that were serialized.
static SERIALIZED: AtomicUsize = AtomicUsize::new(0);

/// A number of elements.
struct Elements(usize);

impl Serialize for Elements {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut elements = serializer.serialize_seq(Some(self.0))?;
        for _ in 0..self.0 {
            SERIALIZED.fetch_add(1, Ordering::Relaxed);
            elements.serialize_element(&7_u8)?;
        }
        elements.end()
    }
}

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<u8>::deserialize(deserializer).map(|elements| Self(elements.len()))
    }
}

/// Inserts an item, with arguments of any length.
#[derive(Serialize, Deserialize)]
struct Bulk {
    id: u32,
    elements: Elements,
}

impl Procedure for Bulk {
    const NAME: &'static str = "bulk";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.insert::<Item>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.insert(&Item { id: self.id, count: 0 })
    }
}

fn open(config: &Config) -> Database {
    let files = Arc::new(MemoryFiles::new());
    let clock = Box::new(ManualClock::default());
    Database::open_files(files, clock, config.clone(), Catalog::new().table::<Item>().procedure::<Bulk>()).unwrap()
}

fn partitioned() -> impl Iterator<Item = (&'static str, Config)> {
    engines().into_iter().filter(|(_, config)| config.architecture == Architecture::Partitioned)
}

fn assert_too_large(error: &Error, name: &str) {
    let &Error::TooLarge { name: of, max_bytes } = error else { panic!("{error}") };
    assert_eq!(of, name);
    assert!((1_000..64 << 10).contains(&max_bytes), "{max_bytes}");
    let json = serde_json::to_value(error).unwrap();
    assert_eq!(json["kind"], "too_large");
}

/// Case 33: the arguments were written out whole, several times, before they were refused.
#[test]
fn serialization_of_a_call_ends_at_the_maximum_of_a_log_record() {
    for (engine, config) in partitioned() {
        let db = open(&config.with_log(LogKind::Commands));
        let bulk = |id| Bulk { id, elements: Elements(10_000_000) };
        for submits in [false, true] {
            SERIALIZED.store(0, Ordering::Relaxed);
            let refused = if submits { db.submit(bulk(1)).and_then(|ticket| ticket.wait()) } else { db.call(&bulk(1)) };
            assert_too_large(&refused.unwrap_err(), "bulk");
            let serialized = SERIALIZED.load(Ordering::Relaxed);
            assert!(serialized < 200_000, "{engine}: {serialized} elements for a record of at most 16 KiB");
        }
        assert_eq!(items(&db, 0..10), 0, "{engine}: undone");
        db.call(&Bulk { id: 1, elements: Elements(1_000) }).unwrap();
        assert_eq!(items(&db, 0..10), 1, "{engine}: the database goes on");
    }
}

/// Cases 33 and 45: a transaction of a million inserts ran to its end before it was refused.
#[test]
fn a_transaction_is_refused_at_the_change_with_which_its_record_exceeds_the_maximum() {
    for (engine, config) in partitioned() {
        let db = open(&config);
        insert(&db, 0..10);
        for swallows in [false, true] {
            let inserted = AtomicUsize::new(0);
            let refused = db.transaction(|tx| {
                inserted.store(0, Ordering::Relaxed);
                for id in 1_000..1_001_000 {
                    match tx.insert(&Item { id, count: 0 }) {
                        Ok(()) => _ = inserted.fetch_add(1, Ordering::Relaxed),
                        Err(_) if swallows => break,
                        Err(stop) => return Err(stop),
                    }
                }
                Ok(())
            });
            assert_too_large(&refused.unwrap_err(), "a closure");
            let inserted = inserted.into_inner();
            assert!((100..3_000).contains(&inserted), "{engine}: {inserted} items fit a record of 16 KiB");
        }
        let batch = (1_000..1_001_000).map(|id| Item { id, count: 0 });
        assert_too_large(&db.transaction(|tx| tx.insert_each(batch.clone())).unwrap_err(), "a closure");
        assert_eq!(items(&db, 0..20_000), 10, "{engine}: undone");
        insert(&db, 10..20);
        assert_eq!(db.verify(), [""; 0], "{engine}");
    }
}

/// Case 45: `fn main() -> Result<(), Error>` prints an error by `Debug`.
#[test]
fn an_error_reads_the_same_by_debug_and_by_display() {
    let db = open(&partitioned().next().unwrap().1);
    let error = db.transaction(|_| Err::<(), _>(Stop::abort(7, "not enough money"))).unwrap_err();
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(format!("{error:?}"), "aborted: not enough money (code 7)");
}
