//! The life of a database as an operator sees it, on both engines: settings, flush, statistics, nested calls, close.

mod caught_panics;
mod closing;
mod directory;
mod durability;
mod fork;
mod full_disk;
mod promises;
mod settings;
mod stopped;
mod too_large;
mod trial_runs;
mod waiting;

use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{ManualClock, MemoryFiles};
use glassbox::research::ConfigHooks;
use glassbox::{
    Architecture, Catalog, Config, Database, Declared, Error, KeySet, Procedure, Record, Stop, Transaction,
};
use serde::{Deserialize, Serialize};

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id, index(name = by_count, columns = (count, id)))]
struct Item {
    id: u32,
    count: u64,
}

/// Counts one item.
#[derive(Serialize, Deserialize)]
struct Count {
    id: u32,
}

impl Procedure for Count {
    const NAME: &'static str = "count";
    type Output = bool;

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Item>(&self.id);
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<bool, Stop> {
        Ok(tx.update::<Item, _>(&self.id, |item| item.count += 1)?.is_some())
    }
}

/// A small database of each engine, whose log writes only while a caller waits.
fn engines() -> Vec<(&'static str, Config)> {
    let partitioned = |partitions| {
        Config::default()
            .with_partitions(partitions)
            .with_segment_bytes(64 << 10)
            .with_log_buffer_bytes(64 << 10)
            .with_table_bytes(2 << 20)
            .with_log_threads(false)
    };
    let classic = ClassicConfig::default().with_page_bytes(4096).with_pool_bytes(1 << 20).with_sessions(4);
    let classic = partitioned(1)
        .with_architecture(Architecture::Classic)
        .with_classic(classic)
        .with_table_bytes(Config::default().table_bytes);
    vec![("one partition", partitioned(1)), ("two partitions", partitioned(2)), ("classic", classic)]
}

fn open(files: &MemoryFiles, config: &Config) -> Result<Database, Error> {
    let catalog = Catalog::new().table::<Item>().procedure::<Count>().procedure::<promises::Flood>();
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
