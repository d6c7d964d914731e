//! Rows whose places follow from their keys: what happens to them among rows for which that does not hold.

use glassbox::{Catalog, Config, Database, Durability, Error, Record, Stop, Transaction};

#[derive(Record, Clone, Copy, PartialEq, Debug)]
#[record(table = "thing", key = id, access = point)]
struct Thing {
    id: u64,
    what: u64,
}

fn open(dir: &tempfile::TempDir, table_bytes: usize) -> Database {
    let config = Config::default().with_partitions(1).with_durability(Durability::None).with_table_bytes(table_bytes);
    Database::open(dir.path().join("db"), config, Catalog::new().table::<Thing>()).unwrap()
}

fn put(db: &Database, keys: impl Iterator<Item = u64> + Clone + Send + Sync) {
    db.transaction(|tx| keys.clone().try_for_each(|id| tx.insert(&Thing { id, what: id }))).unwrap();
}

fn what(db: &Database, id: u64) -> Option<u64> {
    db.transaction(|tx| Ok(tx.get::<Thing>(&id)?.map(|thing| thing.what))).unwrap()
}

/// A row that is put back may not be the first on the list of free places: making room for a block puts others there.
#[test]
fn rolled_back_rows_are_where_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 1 << 24);
    // First sparse ones, which have no blocks; then dense ones, so that another block may begin.
    put(&db, (0..1_153).map(|number| number * 1_000));
    put(&db, (0..4_096).map(|number| 1 << 40 | number));
    for (deleted, fresh) in [(1_152_000, 1 << 50), (1_000, 2 << 50), (500_000, 500_000), (7_000, 7_001)] {
        let refused: Result<(), Error> = db.transaction(|tx| {
            assert!(tx.delete::<Thing>(&deleted)?);
            for id in fresh..fresh + 70 {
                tx.insert(&Thing { id, what: 1 })?;
            }
            Err(Stop::abort(1, "rolled back"))
        });
        assert!(matches!(refused, Err(Error::Aborted(_))), "{refused:?}");
        assert_eq!((what(&db, deleted), what(&db, fresh + 1)), (Some(deleted), None));
        assert_eq!(db.verify(), [""; 0]);
    }
    (0..1_153).for_each(|number| assert_eq!(what(&db, number * 1_000), Some(number * 1_000)));
}

/// Numbers that are counted up, of which the old ones go: there are never more than ten thousand, and room for six
/// times as many is enough for ever.
#[test]
fn places_of_rows_that_went_do_not_use_up_a_table() {
    let dir = tempfile::tempdir().unwrap();
    // The smallest table is of 2 MiB.
    let db = open(&dir, 60_000 * size_of::<Thing>());
    put(&db, 0..10_000);
    for next in (10_000..1_000_000).step_by(500) {
        db.transaction(|tx| {
            for id in next..next + 500 {
                assert!(tx.delete::<Thing>(&(id - 10_000))?);
                tx.insert(&Thing { id, what: id })?;
            }
            Ok(())
        })
        .unwrap();
    }
    assert_eq!((what(&db, 989_999), what(&db, 990_000), what(&db, 999_999)), (None, Some(990_000), Some(999_999)));
    assert_eq!(db.verify(), [""; 0]);
}

/// As the keys of one partition of eight are.
#[test]
fn every_eighth_key_takes_no_more_than_its_row() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir, 80_000 * size_of::<Thing>());
    for from in (0..60_000_u64).step_by(1_000) {
        put(&db, (from..from + 1_000).map(|number| number * 8));
    }
    assert_eq!(what(&db, 8 * 59_999), Some(8 * 59_999));
    assert_eq!(db.verify(), [""; 0]);
}
