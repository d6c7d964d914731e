//! What opening refuses, and in which words.

use std::sync::Arc;

use crate::io::{Files, ManualClock, MemoryFiles};
use crate::log::{Log, LogConfig, look_into_log};
use crate::partitioned::log_records::values::{DELETE, INSERT, UPDATE, VALUES};
use crate::store::Manifest;
use crate::{Catalog, Config, Database, Error, Record, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = (branch, id), partition_by = id)]
struct Account {
    branch: u8,
    id: u16,
    balance: i32,
}

fn open(files: &MemoryFiles, partitions: usize) -> Result<Database, Error> {
    let config = Config {
        partitions,
        segment_bytes: 4096,
        log_buffer_bytes: 4096,
        table_bytes: 1 << 20,
        log_threads: false,
        ..Config::default()
    };
    let catalog = Catalog::new().table::<Account>();
    Database::open_files(Arc::new(files.clone()), Box::new(ManualClock::default()), config, catalog)
}

/// A closed database with the accounts (1, 1) to (1, 4).
fn made() -> MemoryFiles {
    let files = MemoryFiles::new();
    let database = open(&files, 2).unwrap();
    for id in 1..5 {
        database.transaction(|tx| tx.insert(&Account { branch: 1, id, balance: 0 })).unwrap();
    }
    database.close().unwrap();
    files
}

/// Adds a record to the log of a closed database.
fn append(files: &MemoryFiles, record: &[u8]) {
    let manifest = Manifest::read(files).unwrap().unwrap();
    let config = LogConfig { segment_bytes: 4096, log_buffer_bytes: 4096, threads: false, ..LogConfig::default() };
    let found = look_into_log(files, &manifest.expected_log(), &mut |_, _| Ok(())).unwrap();
    let log = Log::open(Arc::new(files.clone()), config, found).unwrap();
    log.appender().unwrap().append(record).unwrap();
    log.close().unwrap();
}

#[test]
fn a_log_that_does_not_fit_the_rows_is_refused() {
    let missing = "(1, 7) of table `account`, which is not there";
    let there = "(1, 4) of table `account`, which is there already";
    for (operation, words) in [
        (&[UPDATE, 0, 0, 1, 0, 7, 0b100, 9, 0, 0, 0][..], format!("updates row {missing}")),
        (&[DELETE, 0, 0, 1, 0, 7], format!("deletes row {missing}")),
        (&[INSERT, 0, 0, 1, 4, 0, 9, 0, 0, 0], format!("inserts row {there}")),
    ] {
        let files = made();
        append(&files, &[&[VALUES], operation].concat());
        for partitions in 1..4 {
            let error = open(&files, partitions).expect_err("it would silently be another database").to_string();
            let file = "log/0000000000000000.log: the log record that ends at position ";
            assert!(error.starts_with(file) && error.contains(&words), "{error}");
            assert!(error.ends_with("restore the whole directory from a copy"), "{error}");
        }
    }
}

/// All files but the lock, with their bytes.
fn all(files: &MemoryFiles) -> Vec<(String, Vec<u8>)> {
    let names = ["", "log", "checkpoint"].iter().flat_map(|directory| files.list(directory).unwrap());
    let read = |name: String| {
        let file = files.open(&name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        (name, bytes)
    };
    names.map(read).collect()
}

#[test]
fn what_is_refused_is_left_as_it_was() {
    let files = made();
    append(&files, &[VALUES, DELETE, 0, 0, 1, 0, 7]);
    // A torn block, where the one that says that the log was closed stood; and files that opening would sort out.
    let log = files.open("log/0000000000000000.log").unwrap();
    let mut bytes = vec![0; log.len().unwrap() as usize];
    log.read_exact_at(&mut bytes, 0).unwrap();
    let last = bytes.chunks(512).rposition(|sector| sector[..4] == *b"GBLK").unwrap();
    log.write_at(&[7; 100], last as u64 * 512 + 20).unwrap();
    for name in ["log/spare-00000000000000ff.log", "checkpoint/0000000000000000.checkpoint.new"] {
        files.create(name).unwrap().write_at(b"half", 0).unwrap();
    }
    let (before, operations) = (all(&files), files.operations());
    open(&files, 2).expect_err("a row is not there");
    assert_eq!(all(&files), before);
    assert_eq!(files.operations(), operations, "nothing was even tried");
}
