//! A directory stays the one that was opened, whatever becomes of the path that named it.

use std::path::Path;

use glassbox::config::ClassicConfig;
use glassbox::research::journal::{Journal, JournalConfig};
use glassbox::research::shard::Shard;
use glassbox::{Architecture, Catalog, Config, Database, Durability, Error, Record, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id, partition_by = id)]
struct Account {
    id: u32,
    balance: i32,
}

const BOTH: [Architecture; 2] = [Architecture::Partitioned, Architecture::Classic];

fn catalog() -> Catalog {
    Catalog::new().table::<Account>()
}

fn open(directory: impl AsRef<Path>, architecture: Architecture) -> Result<Database, Error> {
    let table_bytes = match architecture {
        Architecture::Partitioned => 1 << 20,
        Architecture::Classic => Config::default().table_bytes,
    };
    let config = Config::default()
        .with_architecture(architecture)
        .with_durability(Durability::Async)
        .with_partitions(1)
        .with_segment_bytes(16 << 10)
        .with_log_buffer_bytes(1 << 16)
        .with_table_bytes(table_bytes)
        .with_checkpoint_log_bytes(0)
        .with_classic(ClassicConfig::default().with_sessions(2).with_pool_bytes(1 << 20));
    Database::open(directory, config, catalog())
}

/// Inserts enough to need more segments of the log.
fn fill(database: &Database, from: u32) {
    for id in from..from + 600 {
        database.transaction(|tx| tx.insert(&Account { id, balance: 0 })).unwrap();
    }
}

fn rows(database: &Database) -> usize {
    let mut rows = 0;
    for id in 0..4000 {
        let found = database.transaction(|tx| Ok(tx.get::<Account>(&id)?.is_some())).unwrap();
        rows += usize::from(found);
    }
    rows
}

fn journal(directory: impl AsRef<Path>) -> (Journal, usize) {
    let shard = || Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
    let config = JournalConfig::new("a test").with_segment_bytes(8192).with_log_buffer_bytes(8192);
    let mut found = Journal::find(directory, &catalog(), shard(), config).unwrap();
    let (_, mut records) = (found.rows(), 0);
    let mut journal = found
        .replay(|_| {
            records += 1;
            Ok(())
        })
        .unwrap();
    if !journal.is_based() {
        let mut shard = shard();
        shard.fix();
        journal.begin_base().unwrap();
        while !journal.copy(&mut shard).unwrap() {}
    }
    (journal, records)
}

fn append(journal: &mut Journal) {
    for _ in 0..60 {
        journal.append(&[7; 500]).unwrap();
        journal.forcer().force().unwrap();
    }
}

/// The only test of this process that names files relative to the working directory, which is the process's.
#[test]
fn a_relative_path_is_resolved_once() {
    let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for architecture in BOTH {
        std::env::set_current_dir(home.path()).unwrap();
        let name = format!("deeper/{architecture:?}.db");
        let database = open(&name, architecture).unwrap();
        let (mut relative, _) = journal("journal");
        std::env::set_current_dir(elsewhere.path()).unwrap();
        fill(&database, 0);
        database.checkpoint().unwrap();
        fill(&database, 600);
        append(&mut relative);
        assert!(open(home.path().join(&name), architecture).is_err(), "it is locked where it is");
        database.close().unwrap();
        relative.close().unwrap();
        drop(relative);
        assert_eq!(elsewhere.path().read_dir().unwrap().count(), 0, "nothing is made elsewhere");
        assert_eq!(rows(&open(home.path().join(&name), architecture).unwrap()), 1200);
        let (mut again, records) = journal(home.path().join("journal"));
        assert_eq!(records, 60);
        again.close().unwrap();
        drop(again);
        std::fs::remove_dir_all(home.path().join("journal")).unwrap();
    }
}

#[test]
fn a_directory_that_is_renamed_and_replaced_while_open_is_followed() {
    for architecture in BOTH {
        let parent = tempfile::tempdir().unwrap();
        let (here, there) = (parent.path().join("here"), parent.path().join("there"));
        let database = open(&here, architecture).unwrap();
        fill(&database, 0);
        std::fs::rename(&here, &there).unwrap();
        let other = open(&here, architecture).unwrap();
        fill(&database, 600);
        fill(&other, 3000);
        database.checkpoint().unwrap();
        fill(&database, 1200);
        database.close().unwrap();
        other.close().unwrap();
        assert_eq!(rows(&open(&there, architecture).unwrap()), 1800);
        assert_eq!(rows(&open(&here, architecture).unwrap()), 600);
    }
}

#[test]
fn removing_the_lock_file_lets_no_other_in() {
    for architecture in BOTH {
        let directory = tempfile::tempdir().unwrap();
        let database = open(directory.path(), architecture).unwrap();
        std::fs::remove_file(directory.path().join("LOCK")).unwrap();
        let error = open(directory.path(), architecture).expect_err("it is open").to_string();
        assert!(error.contains("the database is open in"), "{error}");
        assert!(glassbox::research::inspect::Inspector::open(directory.path()).is_err());
        database.close().unwrap();
        open(directory.path(), architecture).unwrap().close().unwrap();
    }
}
