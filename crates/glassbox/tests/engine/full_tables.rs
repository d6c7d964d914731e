//! Tables that were full: the room of deleted rows serves others, whatever their keys, and a refused change leaves all
//! as it was.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use glassbox::{Catalog, Config, Database, Error, Record, Stop, Transaction};

/// The smallest table there is: 2 MiB for the rows and for each index.
const TABLE_BYTES: usize = 1 << 20;

/// A table of which a row is known by two numbers.
trait Numbered: Record {
    fn new(id: u64, v: i64) -> Self;
    fn id(&self) -> u64;
}

macro_rules! numbered {
    ($name:ident, $($record:tt)*) => {
        #[derive(Record, Clone, Copy)]
        #[record(key = id, $($record)*)]
        struct $name { id: u64, v: i64 }

        impl Numbered for $name {
            fn new(id: u64, v: i64) -> Self {
                Self { id, v }
            }

            fn id(&self) -> u64 {
                self.id
            }
        }
    };
}

numbered!(Ordered, table = "ordered");
numbered!(Point, table = "point", access = point);
numbered!(Indexed, table = "indexed", index(name = by_v, columns = (v, id)));
numbered!(PointIndexed, table = "point_indexed", access = point, index(name = by_v, columns = (v, id)));

fn open<R: Numbered>() -> Database {
    let config = Config::default().with_partitions(1).with_table_bytes(TABLE_BYTES);
    Database::in_memory(config, Catalog::new().table::<R>()).unwrap()
}

/// Inserts rows until one is refused; how many were inserted.
fn fill<R: Numbered<Key = u64>>(db: &Database, ids: impl Iterator<Item = u64>, v: impl Fn(u64) -> i64 + Sync) -> u64 {
    let mut count = 0;
    for id in ids {
        match db.transaction(|tx| tx.insert(&R::new(id, v(id)))) {
            Ok(()) => count += 1,
            Err(Error::TableFull(_)) => return count,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("{count} rows fit");
}

fn delete<R: Numbered<Key = u64>>(db: &Database, ids: impl Iterator<Item = u64>) -> u64 {
    ids.map(|id| u64::from(db.transaction(|tx| tx.delete::<R>(&id)).unwrap())).sum()
}

/// Fills a table, deletes, and fills it again with other keys.
fn refill<R: Numbered<Key = u64>>(deleted: impl Fn(u64) -> Box<dyn Iterator<Item = u64>>, v: fn(u64) -> i64) {
    let db = open::<R>();
    let full = fill::<R>(&db, 0.., v);
    let deleted = delete::<R>(&db, deleted(full));
    assert!(deleted >= 10_000, "of {full} rows {deleted} are deleted");
    let again = fill::<R>(&db, 10_000_000.., v);
    assert!(again >= deleted * 3 / 4, "of {full} rows {deleted} were deleted, and {again} fit again");
    assert_eq!(db.verify(), [""; 0]);
}

fn refill_all(deleted: impl Fn(u64) -> Box<dyn Iterator<Item = u64>> + Copy) {
    let down: fn(u64) -> i64 = |id| -(id as i64);
    let mixed: fn(u64) -> i64 = |id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64;
    refill::<Ordered>(deleted, down);
    refill::<Point>(deleted, down);
    for v in [down, mixed] {
        refill::<Indexed>(deleted, v);
        refill::<PointIndexed>(deleted, v);
    }
}

#[test]
fn the_room_of_the_oldest_rows_serves_new_ones() {
    refill_all(|_| Box::new(0..20_000));
}

#[test]
fn the_room_of_the_newest_rows_serves_new_ones() {
    refill_all(|full| Box::new(full - 20_000..full));
}

#[test]
fn the_room_of_scattered_rows_serves_new_ones() {
    refill_all(|full| Box::new((0..full).filter(|id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 0)));
}

#[test]
fn the_room_of_all_rows_serves_new_ones() {
    refill_all(|full| Box::new(0..full));
}

/// Transactions in a full table that delete rows and insert others until one is refused, and are rolled back.
fn roll_back<R: Numbered<Key = u64>>(step: usize) {
    let db = open::<R>();
    let full = fill::<R>(&db, 0.., |id| id.wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64);
    let next = AtomicU64::new(10_000_000);
    for round in 0..20 {
        let (deleted, from) = (10 + 200 * round, next.load(Relaxed));
        let refused: Result<(), Error> = db.transaction(|tx| {
            for id in (round..full).step_by(step).take(deleted as usize) {
                assert!(tx.delete::<R>(&id)?);
            }
            loop {
                let id = next.fetch_add(1, Relaxed);
                let inserted = tx.insert(&R::new(id, id.wrapping_mul(0xd134_2543_de82_ef95) as i64));
                if inserted.is_err() || id > from + deleted {
                    return Err(Stop::abort(1, "rolled back"));
                }
            }
        });
        assert!(matches!(refused, Err(Error::Aborted(_))), "{refused:?}");
        assert_eq!(db.verify(), [""; 0], "round {round}");
    }
    let mut there = BTreeSet::new();
    for id in (0..full).chain(10_000_000..next.into_inner()) {
        let row = db.transaction(|tx| Ok(tx.get::<R>(&id)?.map(|row| row.id()))).unwrap();
        there.extend(row);
    }
    assert!(there.into_iter().eq(0..full));
}

#[test]
fn a_refused_transaction_leaves_a_full_table_as_it_was() {
    for step in [1, 7] {
        roll_back::<Ordered>(step);
        roll_back::<Point>(step);
        roll_back::<Indexed>(step);
        roll_back::<PointIndexed>(step);
    }
}
