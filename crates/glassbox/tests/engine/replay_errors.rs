//! A healthy database that this program cannot replay: each message says what to do, and none to restore a copy.

use std::ops::ControlFlow;
use std::sync::Arc;

use glassbox::io::{Files, ManualClock, MemoryFiles};
use glassbox::record::{Bytes, Direction};
use glassbox::research::ConfigHooks;
use glassbox::{Catalog, Config, Database, Declared, Error, KeySet, LogKind, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, replicated)]
struct Item {
    id: u64,
    filler: Bytes<120>,
}

/// The same table in a later program.
#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, replicated, index(name = by_filler, columns = filler, unique))]
struct IndexedItem {
    id: u64,
    filler: Bytes<120>,
}

fn filler(id: u64) -> Bytes<120> {
    let mut bytes = [0; 120];
    bytes[..8].copy_from_slice(&id.to_le_bytes());
    Bytes(bytes)
}

fn open(files: &MemoryFiles, log: LogKind, table_bytes: usize, catalog: Catalog) -> Result<Database, Error> {
    let config =
        Config::default().with_partitions(1).with_log(log).with_table_bytes(table_bytes).with_log_threads(false);
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(ManualClock::default()), config, catalog)
}

/// A procedure of one name, with these arguments and this body.
macro_rules! procedure {
    ($name:ident { $($field:ident: $type:ty),* }, $tx:ident, $this:ident => $body:expr) => {
        #[derive(Serialize, Deserialize)]
        struct $name { $($field: $type),* }

        impl Procedure for $name {
            const NAME: &'static str = "put";
            type Output = ();

            fn declare(&self, _: &mut impl KeySet) -> Declared {
                Declared::Unknown
            }

            fn run<T: Transaction>(&self, $tx: &mut T) -> Result<(), Stop> {
                let $this = self;
                $body
            }
        }
    };
}

procedure!(Put { id: u64 }, tx, this => tx.insert(&Item { id: this.id, filler: filler(this.id) }));
procedure!(PutTwo { id: u64, other: String }, tx, this => {
    let _ = &this.other;
    tx.insert(&Item { id: this.id, filler: filler(this.id) })
});
procedure!(Panics { id: u64 }, _tx, this => panic!("{} is one too many", this.id));
procedure!(Refuses { id: u64 }, _tx, this => Err(Stop::abort(this.id as u32, "not today")));
procedure!(Scans { id: u64 }, tx, this => {
    tx.scan_index::<IndexedItemByFiller>(.., Direction::Forward, |_| ControlFlow::Break(()))?;
    tx.insert(&IndexedItem { id: this.id, filler: filler(this.id) })
});

fn put(log: LogKind, ids: u64) -> MemoryFiles {
    let files = MemoryFiles::default();
    let db = open(&files, log, 1 << 26, Catalog::new().table::<Item>().procedure::<Put>()).unwrap();
    (1..=ids).for_each(|id| db.call(&Put { id }).unwrap());
    // Closing would leave no call to replay.
    files.after_kill()
}

/// Case 13: a new version of a procedure can be deployed after a clean close.
#[test]
fn a_closed_database_has_no_call_to_replay() {
    procedure!(PutOther { id: u64 }, tx, this => tx.insert(&Item { id: this.id * 100, filler: filler(this.id) }));
    let (files, catalog) = (MemoryFiles::default(), || Catalog::new().table::<Item>());
    let db = open(&files, LogKind::Commands, 1 << 26, catalog().procedure::<Put>()).unwrap();
    (1..=3).for_each(|id| db.call(&Put { id }).unwrap());
    db.close().unwrap();
    // Its code has changed, and its version has not.
    let db = open(&files, LogKind::Commands, 1 << 26, catalog().procedure::<PutOther>()).unwrap();
    let ids = |db: &Database| {
        let ids = db.transaction(|tx| {
            let mut ids = Vec::new();
            tx.scan::<Item>(.., Direction::Forward, |item| {
                ids.push(item.id);
                ControlFlow::Continue(())
            })?;
            Ok(ids)
        });
        ids.unwrap()
    };
    assert_eq!(ids(&db), [1, 2, 3]);
    // Nothing was called: closing writes nothing.
    let forces = files.forces();
    db.close().unwrap();
    let db = open(&files, LogKind::Commands, 1 << 26, catalog().procedure::<Put>()).unwrap();
    assert_eq!(ids(&db), [1, 2, 3]);
    drop(db);
    // The opening forces what it has read, too.
    assert!(files.forces() <= forces + 9, "{} forces", files.forces() - forces);
}

/// Case 13: changed code under the same version would rewrite rows, silently.
#[test]
fn a_procedure_that_makes_other_changes_is_named() {
    procedure!(PutOther { id: u64 }, tx, this => tx.insert(&Item { id: this.id * 100, filler: filler(this.id) }));
    procedure!(PutAnother { id: u64 }, tx, this => tx.insert(&Item { id: this.id, filler: filler(this.id + 1) }));
    procedure!(PutNothing { id: u64 }, _tx, this => { let _ = this.id; Ok(()) });
    let files = put(LogKind::Commands, 3);
    let catalog = || Catalog::new().table::<Item>();
    let expected = "procedure `put` of version 1 makes other changes of rows, which it did not when it was logged; ";
    for changed in
        [catalog().procedure::<PutOther>(), catalog().procedure::<PutAnother>(), catalog().procedure::<PutNothing>()]
    {
        let message = refusal(&files, changed);
        assert!(message.ends_with(&format!("{expected}{REMEDY}")), "{message}");
    }
}

/// Without digests, nothing is noticed, and nothing is paid for.
#[test]
fn without_digests_other_changes_are_made_silently() {
    procedure!(PutOther { id: u64 }, tx, this => tx.insert(&Item { id: this.id * 100, filler: filler(this.id) }));
    let files = MemoryFiles::default();
    let catalog = || Catalog::new().table::<Item>();
    let open = |files: &MemoryFiles, catalog| {
        let config = Config::default().with_partitions(1).with_log(LogKind::Commands).with_command_digests(false);
        let files: Arc<dyn Files> = Arc::new(files.clone());
        Database::open_files(files, Box::new(ManualClock::default()), config.with_log_threads(false), catalog)
    };
    let db = open(&files, catalog().procedure::<Put>()).unwrap();
    (1..=3).for_each(|id| db.call(&Put { id }).unwrap());
    let db = open(&files.after_kill(), catalog().procedure::<PutOther>()).unwrap();
    let has = |id: u64| db.transaction(|tx| Ok(tx.get::<Item>(&id)?.is_some())).unwrap();
    assert!(has(100) && has(300) && !has(1));
}

/// A procedure that depends on something else than its arguments: the order of a `HashMap`.
const ANY_ORDER: fn() -> u64 = || {
    let ids: std::collections::HashMap<u64, u64> = (0..1_000).map(|id| (id, id)).collect();
    ids.keys().next().copied().unwrap_or_default()
};

#[test]
fn a_procedure_that_is_not_deterministic_is_named() {
    procedure!(PutInAnyOrder { id: u64 }, tx, this => tx.insert(&Item { id: this.id, filler: filler(ANY_ORDER()) }));
    let files = MemoryFiles::default();
    let catalog = || Catalog::new().table::<Item>().procedure::<PutInAnyOrder>();
    let config = Config::default().with_partitions(1).with_log(LogKind::Commands).with_rehearsals(false);
    let opened: Arc<dyn Files> = Arc::new(files.clone());
    let db = Database::open_files(opened, Box::new(ManualClock::default()), config, catalog()).unwrap();
    (1..=8).for_each(|id| db.call(&PutInAnyOrder { id }).unwrap());
    let error = open(&files.after_kill(), LogKind::Commands, 1 << 26, catalog()).expect_err("it is refused");
    assert!(error.to_string().contains("procedure `put` of version 1 makes other changes of rows"), "{error}");
    assert!(error.to_string().contains("dump --as-of-checkpoint"), "the way to the rows: {error}");
}

/// Case 44: calls of a procedure that reads the clock were answered, and made the database unopenable.
#[test]
fn a_call_that_a_log_of_commands_could_not_replay_is_refused_when_it_is_made() {
    procedure!(PutInAnyOrder { id: u64 }, tx, this => tx.insert(&Item { id: this.id, filler: filler(ANY_ORDER()) }));
    procedure!(PutByClock { id: u64 }, tx, this => {
        // As fine as the clock is: no two readings are the same.
        let began = std::time::Instant::now();
        let mut elapsed = 0;
        while elapsed == 0 {
            elapsed = began.elapsed().as_nanos() as u64;
        }
        static READINGS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let reading = elapsed << 32 | READINGS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        tx.insert(&Item { id: this.id, filler: filler(reading) })
    });
    procedure!(PutByTransaction { id: u64 }, tx, this => {
        let stamp = tx.now().micros() as u64 ^ tx.random();
        tx.insert(&Item { id: this.id, filler: filler(stamp) })
    });
    let catalog = || Catalog::new().table::<Item>();
    for digests in [true, false] {
        let open = |files: &MemoryFiles, catalog| {
            let config = Config::default().with_partitions(2).with_log(LogKind::Commands).with_command_digests(digests);
            let files: Arc<dyn Files> = Arc::new(files.clone());
            Database::open_files(files, Box::new(ManualClock::default()), config.with_log_threads(false), catalog)
        };
        let refused = |error: Error| {
            assert!(matches!(error, Error::NotDeterministic { name: "put" }), "{error}");
            assert!(
                error.to_string().starts_with("procedure \"put\" was refused: two runs of the same call"),
                "{error}"
            );
        };
        let files = MemoryFiles::default();
        let db = open(&files, catalog().procedure::<PutByClock>()).unwrap();
        refused(db.call(&PutByClock { id: 1 }).unwrap_err());
        refused(db.submit(PutByClock { id: 2 }).and_then(|ticket| ticket.wait()).unwrap_err());
        assert_eq!(db.stats().tables[0].rows, 0, "nothing was changed");
        let db = open(&files.after_kill(), catalog().procedure::<PutInAnyOrder>()).unwrap();
        refused(db.call(&PutInAnyOrder { id: 1 }).unwrap_err());
        let files = MemoryFiles::default();
        let db = open(&files, catalog().procedure::<PutByTransaction>()).unwrap();
        (0..8).for_each(|id| db.call(&PutByTransaction { id }).unwrap());
        assert_eq!(db.counts().committed, 8, "rehearsals are not counted");
        let db = open(&files.after_kill(), catalog().procedure::<PutByTransaction>()).unwrap();
        assert_eq!(db.stats().tables[0].rows, 8);
    }
}

fn refusal(files: &MemoryFiles, catalog: Catalog) -> String {
    let error = open(files, LogKind::Commands, 1 << 26, catalog).expect_err("it is refused");
    let message = error.to_string();
    assert!(matches!(error, Error::Log(_)) && !message.contains("restore"), "{error:?}");
    let former = Catalog::new().table::<Item>().procedure::<Put>();
    assert!(open(&files.after_kill(), LogKind::Commands, 1 << 26, former).is_ok());
    message
}

const REMEDY: &str = "open the database with the program as it was and close it; \
     give changed code a new VERSION; and let a procedure depend on nothing but its arguments, rows, and its \
     transaction's time and random numbers. If the program is as it was, the procedure is not deterministic, and the \
     log cannot be replayed beyond this call: keep the directory, read the rows of the last checkpoint with `glassbox \
     dump --as-of-checkpoint`, and go on with the newest copy of the directory that was made before the call";

#[test]
fn a_changed_procedure_is_named_with_the_remedy() {
    let files = put(LogKind::Commands, 3);
    let message = refusal(&files, Catalog::new().table::<Item>().procedure::<Panics>());
    let expected = "procedure `put` of version 1 panicked: 1 is one too many, which it did not when it was logged; ";
    assert!(message.ends_with(&format!("{expected}{REMEDY}")), "{message}");
    let message = refusal(&files, Catalog::new().table::<Item>().procedure::<Refuses>());
    let expected = "procedure `put` of version 1 aborts with not today (code 1), which it did not when it was logged; ";
    assert!(message.ends_with(&format!("{expected}{REMEDY}")), "{message}");
    let message = refusal(&files, Catalog::new().table::<Item>().procedure::<PutTwo>());
    assert!(message.contains("procedure `put` cannot read its arguments ("), "{message}");
    assert!(message.ends_with(&format!("), so their type changed; {REMEDY}")), "{message}");
}

#[test]
fn a_procedure_that_reads_a_new_unique_index_is_not_replayed() {
    let files = put(LogKind::Commands, 3);
    let message = refusal(&files, Catalog::new().table::<IndexedItem>().procedure::<Scans>());
    let expected =
        "procedure `put` of version 1 reads the new index item.by_filler, which it did not when it was logged; ";
    assert!(message.ends_with(&format!("{expected}{REMEDY}")), "{message}");
}

#[test]
fn rows_that_do_not_fit_into_memory_any_more_are_no_damage() {
    for (log, checkpoint) in [(LogKind::Values, false), (LogKind::Commands, false), (LogKind::Values, true)] {
        let files = put(log, 30_000);
        let catalog = || Catalog::new().table::<Item>().procedure::<Put>();
        if checkpoint {
            open(&files, log, 1 << 26, catalog()).unwrap().checkpoint().unwrap();
        }
        let error = open(&files, log, 1 << 20, catalog()).expect_err("it is refused");
        let message = error.to_string();
        assert!(matches!(error, Error::OutOfMemory(_)), "{error:?}");
        assert!(message.starts_with("table \"item\" is full: "), "{message}");
        assert!(message.ends_with("; raise `table_bytes`"), "{message}");
        assert!(open(&files, log, 1 << 26, catalog()).is_ok());
    }
}
