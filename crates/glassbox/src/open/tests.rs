//! What opening refuses, and in which words.

use std::sync::Arc;

use crate::io::{ManualClock, MemoryFiles};
use crate::log::{Log, LogConfig, Lsn};
use crate::manifest::Manifest;
use crate::partitioned::values::{DELETE, INSERT, UPDATE, VALUES};
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
    let config = LogConfig { segment_bytes: 4096, buffer_bytes: 4096, threads: false, ..LogConfig::default() };
    let log = Log::open(Arc::new(files.clone()), manifest.database_id, config, Lsn::NONE, |_, _| Ok(())).unwrap();
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
