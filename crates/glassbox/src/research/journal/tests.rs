//! Recovery, and refused journals.

use std::sync::Arc;

use crate::io::{Crash, Files, MemoryFiles};
use crate::partitioned::shard::Shard;
use crate::research::journal::{Journal, JournalConfig};
use crate::{Catalog, Config, Database, Error, Record};

#[derive(Record, Clone, Copy, PartialEq, Debug)]
#[record(table = "account", key = id, partition_by = id)]
struct Account {
    id: u16,
    balance: i32,
}

#[derive(Record, Clone, Copy)]
#[record(table = "branch", key = id, partition_by = id)]
struct Branch {
    id: u16,
}

fn catalog() -> Catalog {
    Catalog::new().table::<Account>()
}

fn shard() -> Shard {
    Shard::new(&catalog(), 0, 1, 1 << 22).unwrap()
}

fn config(threads: bool) -> JournalConfig {
    JournalConfig { owner: "a test".to_owned(), segment_bytes: 8192, log_buffer_bytes: 8192, threads }
}

/// A journal, what it recovers of rows, and the records behind them.
type Opened = (Journal, Option<Shard>, Vec<Vec<u8>>);

fn open(files: &MemoryFiles, threads: bool) -> Result<Opened, Error> {
    let mut found = Journal::find_in(Arc::new(files.clone()), &catalog(), shard(), config(threads))?;
    let (rows, mut records) = (found.rows(), Vec::new());
    let journal = found.replay(|record| {
        records.push(record.to_vec());
        Ok(())
    })?;
    Ok((journal, rows, records))
}

fn put(shard: &mut Shard, id: u16, balance: i32) {
    shard.load(&Account { id, balance }).unwrap();
}

fn rows(shard: &mut Shard) -> Vec<Account> {
    let mut rows = Vec::new();
    shard.rows(|row: &Account| rows.push(*row));
    rows.sort_by_key(|row| row.id);
    rows
}

/// Makes a base of the rows as they are.
fn base(journal: &mut Journal, shard: &mut Shard) {
    shard.fix();
    journal.begin_base().unwrap();
    while !journal.copy(shard).unwrap() {}
}

#[test]
fn without_a_base_nothing_is_recovered() {
    let files = MemoryFiles::new();
    let (mut journal, rows, _) = open(&files, false).unwrap();
    assert!(rows.is_none() && !journal.is_based());
    journal.append(b"one").unwrap();
    journal.forcer().force().unwrap();
    drop(journal);
    let (_, rows, records) = open(&files.after_kill(), false).unwrap();
    assert!(rows.is_none() && records.is_empty());
}

#[test]
fn the_base_is_of_its_moment_and_what_follows_is_in_the_log() {
    for threads in [false, true] {
        let files = MemoryFiles::new();
        let (mut journal, _, _) = open(&files, threads).unwrap();
        let mut shard = shard();
        (0..5_000).for_each(|id| put(&mut shard, id, 1));
        journal.append(b"before").unwrap();
        shard.fix();
        journal.begin_base().unwrap();
        journal.append(b"with it").unwrap();
        let mut steps = 0;
        while !journal.copy(&mut shard).unwrap() {
            if steps < 10_000 {
                put(&mut shard, 5_000 + steps, 2);
                steps += 1;
            }
        }
        assert!(steps > 0 && journal.is_based() && !journal.makes_base());
        let end = journal.append(b"after").unwrap();
        journal.forcer().force().unwrap();
        assert!(journal.durable() >= end);
        let left = files.after_crash(Crash::Torn, 7);
        let (mut again, found, records) = open(&left, threads).unwrap();
        let mut found = found.unwrap();
        assert_eq!(rows(&mut found), (0..5_000).map(|id| Account { id, balance: 1 }).collect::<Vec<_>>());
        assert_eq!(records, [b"with it".to_vec(), b"after".to_vec()]);
        // It goes on, and a second base takes the first's place.
        put(&mut found, 60_000, 3);
        base(&mut again, &mut found);
        again.close().unwrap();
        drop(again);
        assert_eq!(left.list("checkpoint").unwrap().len(), 1);
        let (_, found, records) = open(&left, threads).unwrap();
        assert_eq!(rows(&mut found.unwrap()).len(), 5_001);
        assert!(records.is_empty());
    }
}

#[test]
fn what_was_forgotten_or_given_up_is_not_recovered() {
    let files = MemoryFiles::new();
    let (mut journal, _, _) = open(&files, true).unwrap();
    let mut shard = shard();
    put(&mut shard, 1, 1);
    base(&mut journal, &mut shard);
    // One that is given up leaves the one before.
    (2..2_000).for_each(|id| put(&mut shard, id, 1));
    shard.fix();
    journal.begin_base().unwrap();
    drop(journal);
    let (mut journal, found, _) = open(&files, true).unwrap();
    assert_eq!(rows(&mut found.unwrap()).len(), 1);
    journal.append(b"lost").unwrap();
    journal.forget().unwrap();
    assert!(!journal.is_based());
    drop(journal);
    let left = files.after_crash(Crash::Torn, 1);
    let (mut journal, found, records) = open(&left, true).unwrap();
    assert!(found.is_none() && records.is_empty());
    base(&mut journal, &mut shard);
    journal.append(b"kept").unwrap();
    journal.close().unwrap();
    drop(journal);
    let (_, found, records) = open(&left, true).unwrap();
    assert_eq!((rows(&mut found.unwrap()).len(), records), (1_999, vec![b"kept".to_vec()]));
}

/// Whenever it stops: all that was forced, in order, or more of it; with the rows that go with it.
#[test]
fn every_crash_leaves_what_was_forced() {
    let whole = {
        let files = MemoryFiles::new();
        work(&files, u64::MAX);
        files.operations()
    };
    assert!(whole > 30, "{whole}");
    for at in 0..whole {
        for crash in [Crash::Lost, Crash::Torn] {
            let files = MemoryFiles::new();
            let forced = work(&files, at);
            let (_, found, records) = open(&files.after_crash(crash, at), false).unwrap();
            let base = found.map_or(0, |mut found| rows(&mut found).len());
            let last = records.last().map_or(0, |record| record[0]);
            // A base of n rows was made when n records were there.
            assert!(base == 0 || records.first().is_none_or(|record| usize::from(record[0]) == base + 1), "{at}");
            assert!(usize::from(forced) <= base.max(usize::from(last)), "{at}: {forced} {base} {last}");
        }
    }
}

/// Until so many operations are done: the last record that was forced while there was a base.
fn work(files: &MemoryFiles, operations: u64) -> u8 {
    files.set_faults(crate::io::Faults { stop_at: Some(operations), ..Default::default() });
    let mut forced = 0;
    let mut attempt = || -> Result<(), Error> {
        let (mut journal, _, _) = open(files, false)?;
        let mut shard = shard();
        for number in 1..=40_u8 {
            put(&mut shard, number.into(), 1);
            journal.append(&[number; 300])?;
            if number % 7 == 0 {
                shard.fix();
                journal.begin_base()?;
                while !journal.copy(&mut shard)? {}
            }
            if number % 3 == 0 {
                journal.forcer().force()?;
                forced = if journal.is_based() { number } else { 0 };
            }
            if number == 30 {
                forced = 0;
                journal.forget()?;
            }
        }
        journal.close()
    };
    let _ = attempt();
    forced
}

#[test]
fn a_journal_of_another_owner_is_refused() {
    let files = MemoryFiles::new();
    drop(open(&files, false).unwrap());
    let other = |catalog: &Catalog, owner: &str| {
        let config = JournalConfig { owner: owner.to_owned(), ..config(false) };
        let shard = Shard::new(catalog, 0, 1, 1 << 22).unwrap();
        Journal::find_in(Arc::new(files.clone()), catalog, shard, config)
            .map(drop)
            .expect_err("it is not its")
            .to_string()
    };
    assert!(other(&catalog(), "another").contains("it holds the journal of a test, not of another"));
    assert!(other(&Catalog::new().table::<Branch>(), "a test").contains("other tables"));
    let refused = Database::open_files(
        Arc::new(files.clone()),
        Box::new(crate::io::ManualClock::default()),
        Config { log_threads: false, ..Config::default() },
        catalog(),
    );
    let refused = refused.map(drop).expect_err("it is no database").to_string();
    assert!(refused.contains("it holds the journal of a test, which only that can open"), "{refused}");
    let files = MemoryFiles::new();
    let database = Database::open_files(
        Arc::new(files.clone()),
        Box::new(crate::io::ManualClock::default()),
        Config { log_threads: false, segment_bytes: 8192, log_buffer_bytes: 8192, ..Config::default() },
        catalog(),
    );
    database.unwrap().close().unwrap();
    let refused = open(&files, false).map(drop).expect_err("it is a database").to_string();
    assert!(refused.contains("it holds a database and no journal"), "{refused}");
}
