//! The life of a database as an operator sees it, on both engines: settings, flush, statistics, nested calls, close.

mod durability;

use std::sync::Arc;

use glassbox::io::{ManualClock, MemoryFiles};
use glassbox::{Architecture, Catalog, ClassicConfig, Config, Database, Error, Record, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id)]
struct Item {
    id: u32,
    count: u64,
}

/// A small database of each engine, whose log writes only while a caller waits.
fn engines() -> Vec<(&'static str, Config)> {
    let partitioned = |partitions| Config {
        partitions,
        segment_bytes: 64 << 10,
        log_buffer_bytes: 64 << 10,
        table_bytes: 2 << 20,
        log_threads: false,
        ..Config::default()
    };
    let classic = ClassicConfig { page_bytes: 4096, pool_bytes: 1 << 20, sessions: 4, ..ClassicConfig::default() };
    let classic = Config {
        architecture: Architecture::Classic,
        classic,
        table_bytes: Config::default().table_bytes,
        ..partitioned(1)
    };
    vec![("one partition", partitioned(1)), ("two partitions", partitioned(2)), ("classic", classic)]
}

fn open(files: &MemoryFiles, config: &Config) -> Result<Database, Error> {
    let catalog = Catalog::new().table::<Item>();
    Database::open_files(Arc::new(files.clone()), Box::new(ManualClock::default()), config.clone(), catalog)
}

fn insert(db: &Database, ids: std::ops::Range<u32>) {
    for id in ids {
        db.transaction(|tx| tx.insert(&Item { id, count: 0 })).unwrap();
    }
}

/// How many of the items with these numbers there are.
fn items(db: &Database, ids: std::ops::Range<u32>) -> usize {
    db.transaction(|tx| {
        let mut found = 0;
        for id in ids.clone() {
            found += usize::from(tx.get::<Item>(&id)?.is_some());
        }
        Ok(found)
    })
    .unwrap()
}
