//! Prepared transactions: they wait for their decision, outside any session, also after a crash.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use glassbox::config::{ClassicConfig, ExecutionPolicy, Granularity};
use glassbox::io::{Crash, Faults, MemoryFiles, RealClock};
use glassbox::record::Direction;
use glassbox::stats::SessionState;
use glassbox::{Catalog, Config, Database, Durability, Error, Procedure, Record, Stop, Transaction};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "account", key = id, index(name = by_balance, columns = balance))]
struct Account {
    id: u64,
    balance: i64,
}

/// The table of a later program, with another index.
mod later {
    #[derive(glassbox::Record, Clone, Copy)]
    #[record(table = "account", key = id)]
    pub struct Account {
        pub id: u64,
        pub balance: i64,
    }
}

/// Takes from one account, reads another one, and ends as it is told.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Take {
    from: u64,
    reads: u64,
    amount: i64,
}

const NO_MONEY: u32 = 1;
const PANICS: i64 = 1_000_000;

impl Procedure for Take {
    const NAME: &'static str = "take";
    type Output = i64;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<i64, Stop> {
        let Self { from, reads, amount } = *self;
        let other = tx.get::<Account>(&reads)?.map_or(0, |row| row.balance);
        let left = tx.update::<Account, _>(&from, |row| {
            row.balance -= amount;
            row.balance
        })?;
        assert!(amount < PANICS, "too much");
        match left {
            Some(left) if left >= 0 => Ok(left + other),
            _ => Err(Stop::abort(NO_MONEY, "not enough")),
        }
    }
}

/// Deletes an account, inserts another one.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Replace {
    old: u64,
    new: u64,
}

impl Procedure for Replace {
    const NAME: &'static str = "replace";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.delete::<Account>(&self.old)?;
        tx.insert(&Account { id: self.new, balance: 500 })
    }
}

fn classic() -> ClassicConfig {
    ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(256 << 10).with_sessions(2)
}

fn catalog() -> Catalog {
    Catalog::new().table::<Account>().procedure::<Take>().procedure::<Replace>().procedure::<Many>()
}

fn try_open(files: &MemoryFiles, classic: ClassicConfig) -> Result<Database, Error> {
    open_with(files, Config::classic(classic), catalog())
}

fn open_with(files: &MemoryFiles, config: Config, catalog: Catalog) -> Result<Database, Error> {
    let config = config.with_segment_bytes(64 << 10).with_log_buffer_bytes(64 << 10);
    Database::open_files(Arc::new(files.clone()), Box::new(RealClock::new()), config, catalog)
}

/// Ten accounts with a hundred each.
fn filled(files: &MemoryFiles, classic: ClassicConfig) -> Database {
    let db = try_open(files, classic).unwrap();
    db.transaction(|tx| (0..10).try_for_each(|id| tx.insert(&Account { id, balance: 100 }))).unwrap();
    db
}

fn take(from: u64, amount: i64) -> Take {
    Take { from, reads: from + 1, amount }
}

/// What a transaction reads that meets no prepared one, in the order of the accounts.
fn balances(db: &Database) -> Vec<(u64, i64)> {
    db.transaction(|tx| {
        let mut all = Vec::new();
        tx.scan::<Account>(.., Direction::Forward, |row| {
            all.push((row.id, row.balance));
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(all)
    })
    .unwrap()
}

fn names(db: &Database) -> Vec<String> {
    db.prepared().into_iter().map(|it| it.name).collect()
}

/// Does something in another thread, which is to wait until `end`.
fn waits_until<O: Send + 'static>(
    db: &Arc<Database>,
    work: impl FnOnce(&Database) -> O + Send + 'static,
    end: impl FnOnce(&Database),
) -> O {
    let done = begun(db, work);
    assert!(done.recv_timeout(Duration::from_millis(50)).is_err(), "it did not wait");
    end(db);
    done.recv_timeout(Duration::from_secs(20)).expect("it still waits")
}

/// Waits until so many sessions wait for a prepared transaction.
fn until_waiting(db: &Database, sessions: usize) {
    let deadline = Instant::now() + Duration::from_secs(20);
    let waits = |it: &&SessionState| it.to_string().contains("behind prepared transaction");
    while db.sessions().unwrap().iter().filter(waits).count() != sessions {
        assert!(Instant::now() < deadline, "{:?}", db.sessions());
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn begun<O: Send + 'static>(db: &Arc<Database>, work: impl FnOnce(&Database) -> O + Send + 'static) -> Receiver<O> {
    let ((done, is_done), db) = (channel(), Arc::clone(db));
    std::thread::spawn(move || done.send(work(&db)));
    is_done
}

#[test]
fn its_rows_are_hidden_until_its_decision() {
    for policy in [ExecutionPolicy::Conventional, ExecutionPolicy::TwoStage, ExecutionPolicy::Optimistic] {
        let db = Arc::new(filled(&MemoryFiles::new(), classic().with_execution(policy)));
        let balance = |db: &Database| db.transaction(|tx| Ok(tx.get::<Account>(&3)?.map(|row| row.balance))).unwrap();
        assert_eq!(db.prepare("a", &take(3, 30)).unwrap(), 170);
        assert_eq!(waits_until(&db, balance, |db| db.commit_prepared("a").unwrap()), Some(70));
        db.prepare("a", &take(3, 30)).unwrap();
        assert_eq!(waits_until(&db, balance, |db| db.roll_back_prepared("a").unwrap()), Some(70));
        // What it read stays as it was, too: the coordinator may let the rest of it run only now.
        db.prepare("b", &take(4, 1)).unwrap();
        let change = |db: &Database| db.transaction(|tx| tx.update::<Account, _>(&5, |row| row.balance = 0)).unwrap();
        waits_until(&db, change, |db| db.commit_prepared("b").unwrap());
        let listed = db.prepared();
        assert_eq!((listed.len(), db.verify()), (0, Vec::<String>::new()), "{listed:?}");
    }
}

#[test]
fn its_changes_of_all_indexes_are_rolled_back() {
    let db = filled(&MemoryFiles::new(), classic());
    let before = balances(&db);
    db.prepare("a", &Replace { old: 4, new: 40 }).unwrap();
    db.prepare("b", &take(7, 50)).unwrap();
    let listed = db.prepared();
    assert_eq!(names(&db), ["a", "b"]);
    assert!(listed.iter().all(|it| it.changes > 0 && it.locks > 0 && it.transaction > 0), "{listed:?}");
    db.roll_back_prepared("a").unwrap();
    db.commit_prepared("b").unwrap();
    let after: Vec<_> = before.iter().map(|&(id, balance)| (id, if id == 7 { 50 } else { balance })).collect();
    assert_eq!((balances(&db), db.verify()), (after, Vec::new()));
    let counts = db.counts();
    assert_eq!((counts.committed, counts.aborted), (4, 1), "{counts:?}");
}

#[test]
fn names_are_refused_where_they_mean_nothing() {
    let db = filled(&MemoryFiles::new(), classic().with_prepared_transactions(2));
    let before = balances(&db);
    assert!(matches!(db.commit_prepared("a"), Err(Error::NotPrepared { name }) if name == "a"));
    for name in ["".to_owned(), "x".repeat(201)] {
        let refused = db.prepare(&name, &take(1, 1)).unwrap_err().to_string();
        assert!(refused.contains("1 to 200"), "{refused}");
    }
    // An abort and a panic leave nothing, also no name.
    assert!(matches!(db.prepare("a", &take(1, 200)), Err(Error::Aborted(abort)) if abort.code == NO_MONEY));
    assert!(catch_unwind(AssertUnwindSafe(|| db.prepare("a", &take(1, PANICS)))).is_err());
    assert_eq!((names(&db), balances(&db)), (Vec::new(), before.clone()));
    db.prepare("a", &take(1, 1)).unwrap();
    assert!(matches!(db.prepare("a", &take(3, 1)), Err(Error::AlreadyPrepared { name }) if name == "a"));
    db.prepare(&"ä".repeat(100), &take(3, 1)).unwrap();
    assert!(matches!(db.prepare("c", &take(5, 1)), Err(Error::TooManyPrepared { limit: 2 })));
    db.roll_back_prepared("a").unwrap();
    assert!(matches!(db.roll_back_prepared("a"), Err(Error::NotPrepared { .. })));
    db.roll_back_prepared(&"ä".repeat(100)).unwrap();
    assert_eq!(balances(&db), before);
    let nested = db.transaction(|_| Ok(matches!(db.commit_prepared("a"), Err(Error::Nested))));
    assert!(nested.unwrap(), "it is called within a transaction");
    db.close().unwrap();
    assert!(matches!(db.prepare("a", &take(1, 1)), Err(Error::Stopped { .. })));
    assert!(matches!(db.commit_prepared("a"), Err(Error::Stopped { .. })));
    let partitioned = Database::in_memory(Config::default(), catalog()).unwrap();
    let refused = partitioned.prepare("a", &take(1, 1)).unwrap_err().to_string();
    assert!(refused.contains("classic") && partitioned.prepared().is_empty(), "{refused}");
    let refused = try_open(&MemoryFiles::new(), classic().with_prepared_transactions(1025)).map(drop).unwrap_err();
    assert!(refused.to_string().contains("classic.prepared_transactions is 1025"), "{refused}");
}

#[test]
fn decisions_need_no_session() {
    let db = Arc::new(filled(&MemoryFiles::new(), classic()));
    db.prepare("a", &take(3, 30)).unwrap();
    let read = |db: &Database| db.transaction(|tx| Ok(tx.get::<Account>(&3)?.map(|row| row.balance))).unwrap();
    // Both sessions wait for it.
    let readers = [begun(&db, read), begun(&db, read)];
    until_waiting(&db, 2);
    let sessions = db.sessions().unwrap();
    let say_so = |it: &SessionState| it.to_string().ends_with(" of table `account`, behind prepared transaction `a`");
    assert!(sessions.len() == 2 && sessions.iter().all(say_so), "{sessions:?}");
    db.commit_prepared("a").unwrap();
    for reader in readers {
        assert_eq!(reader.recv_timeout(Duration::from_secs(20)).unwrap(), Some(70));
    }
}

#[test]
fn it_is_there_after_a_crash_and_after_a_close() {
    for (durability, closes) in [(Durability::Sync, false), (Durability::Sync, true), (Durability::Async, false)] {
        for granularity in [Granularity::Record, Granularity::Page] {
            let config = || Config::classic(classic().with_granularity(granularity)).with_durability(durability);
            let open = |files: &MemoryFiles| Arc::new(open_with(files, config(), catalog()).unwrap());
            let files = MemoryFiles::new();
            let db = open(&files);
            db.transaction(|tx| (0..400).try_for_each(|id| tx.insert(&Account { id, balance: 100 }))).unwrap();
            db.checkpoint().unwrap();
            db.prepare("commits", &take(0, 30)).unwrap();
            db.prepare("rolls back", &Replace { old: 390, new: 1000 }).unwrap();
            db.checkpoint().unwrap();
            let listed = db.prepared();
            if closes {
                db.close().unwrap();
            }
            let files = files.after_crash(Crash::Lost, 1);
            let db = open(&files);
            assert_eq!((db.recovery().prepared, db.recovery().rolled_back), (2, 0));
            assert_eq!(db.prepared(), listed);
            // What it wrote, what it read, and the gap where it deleted.
            let read = |db: &Database| db.transaction(|tx| Ok(tx.get::<Account>(&0)?.map(|row| row.balance))).unwrap();
            let change =
                |db: &Database| db.transaction(|tx| tx.update::<Account, _>(&1, |row| row.balance += 1)).unwrap();
            let insert = |db: &Database| db.transaction(|tx| tx.insert(&Account { id: 390, balance: 5 })).map(drop);
            let (readers, writers) = (begun(&db, read), begun(&db, change));
            assert!(readers.recv_timeout(Duration::from_millis(50)).is_err() && writers.try_recv().is_err());
            // Decided in another life again.
            let db = open(&files.after_crash(Crash::Lost, 2));
            assert_eq!(db.prepared(), listed);
            assert_eq!(waits_until(&db, read, |db| db.commit_prepared("commits").unwrap()), Some(70));
            let refused = waits_until(&db, insert, |db| db.roll_back_prepared("rolls back").unwrap());
            assert!(matches!(refused, Err(Error::DuplicateKey(_))), "{refused:?}");
            let all = balances(&db);
            assert_eq!((all.len(), all[0], all[390], db.verify()), (400, (0, 70), (390, 100), Vec::new()));
            db.flush().unwrap();
            drop(db);
        }
    }
}

#[test]
fn other_indexes_and_bulk_loads_wait_for_the_decision() {
    let files = MemoryFiles::new();
    let db = filled(&files, classic());
    db.prepare("a", &Replace { old: 4, new: 40 }).unwrap();
    db.close().unwrap();
    let other = || Catalog::new().table::<later::Account>();
    let refused = open_with(&files, Config::classic(classic()), other()).map(drop).unwrap_err().to_string();
    assert!(refused.contains("`account`") && refused.contains("`a` is prepared"), "{refused}");
    let db = try_open(&files, classic()).unwrap();
    let refused = db.bulk_load().map(drop).unwrap_err().to_string();
    assert!(refused.contains("`a` is prepared"), "{refused}");
    db.roll_back_prepared("a").unwrap();
    db.close().unwrap();
    let db = open_with(&files, Config::classic(classic()), other()).unwrap();
    let sum = db.transaction(|tx| {
        let mut sum = 0;
        tx.scan::<later::Account>(.., Direction::Forward, |row| {
            sum += row.balance;
            std::ops::ControlFlow::Continue(())
        })?;
        Ok(sum)
    });
    assert_eq!((sum.unwrap(), db.verify()), (1000, Vec::new()));
}

#[test]
fn a_coarser_lock_that_two_of_them_would_need_is_refused() {
    let files = MemoryFiles::new();
    let db = filled(&files, classic());
    db.prepare("a", &Take { from: 1, reads: 1, amount: 1 }).unwrap();
    db.prepare("b", &Take { from: 5, reads: 5, amount: 1 }).unwrap();
    db.close().unwrap();
    let refused = try_open(&files, classic().with_granularity(Granularity::Page)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("lock granularity"), "{refused}");
    // But a transaction with many locks does not take the whole table from another one.
    let db = try_open(&files, classic().with_escalate_at(1)).unwrap();
    assert_eq!(names(&db), ["a", "b"]);
    db.commit_prepared("a").unwrap();
    db.commit_prepared("b").unwrap();
    assert_eq!(balances(&db).iter().map(|(_, balance)| balance).sum::<i64>(), 998);
}

#[test]
fn locks_of_pages_stay_locks_of_pages_where_rows_are_locked() {
    [Granularity::Page, Granularity::PageAndLeaf].into_iter().for_each(stay_locks_of_pages);
}

fn stay_locks_of_pages(granularity: Granularity) {
    let files = MemoryFiles::new();
    let db = try_open(&files, classic().with_granularity(granularity)).unwrap();
    db.transaction(|tx| (0..2_000).try_for_each(|id| tx.insert(&Account { id, balance: id as i64 }))).unwrap();
    for (name, id) in [("a", 10), ("b", 1_000), ("c", 1_900)] {
        db.prepare(name, &Take { from: id, reads: id, amount: 0 }).unwrap();
    }
    db.close().unwrap();
    let db = try_open(&files, classic()).unwrap();
    assert_eq!(names(&db), ["a", "b", "c"]);
    db.transaction(|tx| tx.update::<Account, _>(&500, |row| row.balance += 0)).unwrap();
    ["a", "b", "c"].iter().for_each(|name| db.commit_prepared(name).unwrap());
    assert_eq!(db.verify(), Vec::<String>::new());
}

/// The transaction that waits ends, so the close does, and no thread waits for ever.
#[test]
fn a_decision_is_carried_out_while_a_close_waits() {
    let files = MemoryFiles::new();
    let db = Arc::new(filled(&files, classic()));
    db.prepare("a", &take(3, 30)).unwrap();
    db.prepare("b", &take(7, 30)).unwrap();
    let read = |db: &Database| db.transaction(|tx| Ok(tx.get::<Account>(&3)?.map(|row| row.balance)));
    let reader = begun(&db, read);
    until_waiting(&db, 1);
    let closer = begun(&db, Database::close);
    assert!(closer.recv_timeout(Duration::from_millis(50)).is_err() && reader.try_recv().is_err());
    db.commit_prepared("a").unwrap();
    let read = reader.recv_timeout(Duration::from_secs(20)).expect("it still waits");
    assert!(matches!(read, Ok(Some(70)) | Err(Error::Stopped { .. })), "{read:?}");
    closer.recv_timeout(Duration::from_secs(20)).expect("it still waits").unwrap();
    assert!(matches!(db.commit_prepared("b"), Err(Error::Stopped { .. })));
    let db = try_open(&files, classic()).unwrap();
    assert_eq!(names(&db), ["b"]);
}

#[test]
fn who_waits_for_it_ends_when_the_database_has_stopped() {
    let files = MemoryFiles::new();
    let db = Arc::new(filled(&files, classic()));
    db.prepare("a", &take(3, 30)).unwrap();
    let read = |db: &Database| db.transaction(|tx| Ok(tx.get::<Account>(&3)?.map(|row| row.balance)));
    let reader = begun(&db, read);
    until_waiting(&db, 1);
    files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
    assert!(db.transaction(|tx| tx.update::<Account, _>(&8, |row| row.balance += 1)).is_err());
    assert!(matches!(db.commit_prepared("a"), Err(Error::Stopped { .. })));
    assert!(db.close().is_err());
    assert!(reader.recv_timeout(Duration::from_secs(20)).expect("it still waits").is_err());
    let db = try_open(&files.after_kill(), classic()).unwrap();
    assert_eq!(names(&db), ["a"]);
}

#[test]
fn a_vote_beside_a_refused_load_or_a_close_is_a_vote() {
    let files = MemoryFiles::new();
    let db = Arc::new(filled(&files, classic()));
    let counted = Arc::new(AtomicU64::new(0));
    let count = counted.clone();
    let voting = begun(&db, move |db: &Database| {
        let mut votes = 0;
        loop {
            match db.prepare(&format!("{votes}"), &take(votes % 9, 0)) {
                Ok(_) => {
                    votes += 1;
                    count.store(votes, Ordering::Relaxed);
                }
                Err(Error::Loading) => {}
                Err(error) => return (votes, error),
            }
            if votes > 0 {
                let _ = db.commit_prepared(&format!("{}", votes - 1));
            }
        }
    });
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut loads = 0;
    while loads < 200 || counted.load(Ordering::Relaxed) < 10 {
        assert!(db.bulk_load().is_err(), "there are rows");
        assert!(voting.try_recv().is_err(), "a refused load has stopped it");
        assert!(Instant::now() < deadline, "{loads} loads and {} votes", counted.load(Ordering::Relaxed));
        loads += 1;
    }
    db.close().unwrap();
    let (votes, error) = voting.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(votes > 0 && error.to_string().contains("it was closed"), "{error}");
    let db = try_open(&files, classic()).unwrap();
    assert!(names(&db).iter().all(|name| *name == format!("{}", votes - 1)), "{votes}: {:?}", names(&db));
}

/// Room for their rollbacks is kept in the log, also when others fill it.
#[test]
fn a_full_disk_does_not_keep_it_from_its_end() {
    let files = MemoryFiles::new();
    let db = try_open(&files, classic().with_pool_bytes(4 << 20)).unwrap();
    let rows = 0..2_000;
    db.transaction(|tx| rows.clone().try_for_each(|id| tx.insert(&Account { id, balance: 100 }))).unwrap();
    db.checkpoint().unwrap();
    let before = balances(&db);
    let many = Many { rows: 1_000 };
    db.prepare("many", &many).unwrap();
    files.set_faults(Faults { full_from: Some(0), ..Faults::default() });
    let change = |id: u64| db.transaction(|tx| tx.update::<Account, _>(&id, |row| row.balance += 1)).map(drop);
    let refused = (0..100_000).find_map(|at| change(1_500 + at % 400).err()).expect("the disk is full");
    assert!(matches!(refused, Error::NoRoom { .. }), "{refused}");
    // It raises the balance: a lower one would be next to keys that `many` has locked.
    assert!(matches!(db.prepare("another", &take(1_950, -1)), Err(Error::NoRoom { .. })));
    db.roll_back_prepared("many").unwrap();
    files.set_faults(Faults::default());
    change(1_999).unwrap();
    assert_eq!((&balances(&db)[..1_000], db.verify()), (&before[..1_000], Vec::new()));
}

/// Changes many rows, from the first on.
#[derive(Serialize, Deserialize)]
struct Many {
    rows: u64,
}

impl Procedure for Many {
    const NAME: &'static str = "many";
    type Output = ();

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        (0..self.rows).try_for_each(|id| tx.update::<Account, _>(&id, |row| row.balance = 0).map(drop))
    }
}
