//! Older copies of single files, and files of before.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Manifest, VolumeEntry};
use crate::config::ClassicConfig;
use crate::io::{Files, ManualClock, MemoryFiles};
use crate::research::inspect::Inspector;
use crate::{Architecture, Catalog, Config, Database, Durability, Error, Record, Transaction};

#[derive(Record, Clone, Copy)]
#[record(table = "account", key = id, partition_by = id)]
struct Account {
    id: u16,
    balance: i32,
}

fn open(files: &MemoryFiles, architecture: Architecture, durability: Durability) -> Result<Database, Error> {
    let config = Config { architecture, durability, checkpoint_log_bytes: 0, log_threads: false, ..Config::default() };
    let config = match architecture {
        Architecture::Partitioned => {
            Config { partitions: 2, table_bytes: 1 << 20, segment_bytes: 4096, log_buffer_bytes: 4096, ..config }
        }
        Architecture::Classic => {
            let classic =
                ClassicConfig { sessions: 1, page_bytes: 4096, pool_bytes: 1 << 20, ..ClassicConfig::default() };
            Config { classic, segment_bytes: 16 << 10, log_buffer_bytes: 32 << 10, ..config }
        }
    };
    let catalog = Catalog::new().table::<Account>();
    Database::open_files(Arc::new(files.clone()), Box::new(ManualClock::default()), config, catalog)
}

/// All files with their bytes.
type All = BTreeMap<String, Vec<u8>>;

fn all(files: &MemoryFiles) -> All {
    let names = ["", "log", "checkpoint"].iter().flat_map(|directory| files.list(directory).unwrap());
    let read = |name: String| {
        let file = files.open(&name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        (name, bytes)
    };
    names.filter(|name| !name.contains("spare")).map(read).collect()
}

fn of(all: &All) -> MemoryFiles {
    let files = MemoryFiles::new();
    for (name, bytes) in all {
        files.create(name).unwrap().write_at(bytes, 0).unwrap();
    }
    files
}

/// The files after each of four runs, each of which closes the database; the third makes a checkpoint.
fn runs(architecture: Architecture, durability: Durability) -> Vec<All> {
    let files = MemoryFiles::new();
    let run = |run: u16| {
        let database = open(&files, architecture, durability).unwrap();
        for id in run * 40..run * 40 + 20 {
            database.transaction(|tx| tx.insert(&Account { id, balance: 0 })).unwrap();
        }
        if run == 2 || durability == Durability::None {
            database.checkpoint().unwrap();
        }
        for id in run * 40 + 20..run * 40 + 40 {
            database.transaction(|tx| tx.insert(&Account { id, balance: 0 })).unwrap();
        }
        if durability == Durability::None {
            database.checkpoint().unwrap();
        }
        database.close().unwrap();
        all(&files)
    };
    (0..4).map(run).collect()
}

#[test]
fn an_older_copy_of_any_single_file_is_refused_by_name() {
    for (architecture, durability, at_least) in [
        (Architecture::Partitioned, Durability::Sync, 8),
        (Architecture::Partitioned, Durability::None, 6),
        (Architecture::Classic, Durability::Sync, 18),
    ] {
        let runs = runs(architecture, durability);
        let mut refused = 0;
        for (now, state) in runs.iter().enumerate() {
            drop(open(&of(state), architecture, durability).unwrap());
            for (then, older) in runs[..now].iter().enumerate() {
                let differs = |name: &&String| {
                    // Older copies of a log without records are equal in content.
                    let has_rows = durability != Durability::None || !name.starts_with("log/");
                    has_rows && state.get(*name).is_some_and(|bytes| *bytes != older[*name])
                };
                for name in older.keys().filter(differs) {
                    let mut mixed = state.clone();
                    mixed.insert(name.clone(), older[name].clone());
                    let what = format!("{architecture:?} {durability:?}: {name} of run {then} after run {now}");
                    let inspector = Inspector::open_files(Arc::new(of(&mixed)), "here").unwrap();
                    let found = inspector.verify().unwrap().wrong;
                    assert!(found.iter().any(|told| told.contains(name)), "{what}: {found:?}");
                    let error = open(&of(&mixed), architecture, durability).expect_err(&what).to_string();
                    // Without a log it is only known that a manifest and a checkpoint do not belong together.
                    assert!(
                        error.contains(name) || error.contains("one of the two is an older copy"),
                        "{what}: {error}"
                    );
                    refused += 1;
                }
            }
        }
        assert!(refused >= at_least, "{architecture:?} {durability:?}: {refused}");
    }
}

#[test]
fn files_without_these_fields_are_opened() {
    for architecture in [Architecture::Partitioned, Architecture::Classic] {
        let state = runs(architecture, Durability::Sync).pop().unwrap();
        let files = of(&state);
        let newer = Manifest::read(&files).unwrap().unwrap();
        let mut older = Manifest { generation: 0, log_end: 0, ..newer.clone() };
        if let Some(checkpoint) = &mut older.checkpoint {
            checkpoint.checksum = None;
        }
        if let Some(volume) = &mut older.volume {
            *volume = VolumeEntry { stamp: 0, batch: 0, ..volume.clone() };
        }
        older.write(&files).unwrap();
        let text = String::from_utf8_lossy(&all(&files)["manifest"]).into_owned();
        for member in ["generation", "log_end", "checksum", "stamp", "batch"] {
            assert!(!text.contains(member), "{text}");
        }
        open(&files, architecture, Durability::Sync).unwrap().close().unwrap();
        let now = Manifest::read(&files).unwrap().unwrap();
        assert!(now.generation > newer.generation && now.log_end >= newer.log_end, "{now:?}");
        let inspector = Inspector::open_files(Arc::new(files.clone()), "here").unwrap();
        assert_eq!(inspector.verify().unwrap().wrong, Vec::<String>::new());
    }
}

#[test]
fn golden_bytes_of_a_manifest() {
    let files = MemoryFiles::new();
    let volume = VolumeEntry { page_bytes: 8192, checkpoint: 16, loading: false, stamp: 24, batch: 3 };
    let manifest = Manifest { database_id: 7, log_end: 64, generation: 5, volume: Some(volume), ..Manifest::new() };
    manifest.write(&files).unwrap();
    let content = r#"{
  "database_id": 7,
  "tables": [],
  "procedures": [],
  "checkpoint": null,
  "log_start": 0,
  "log_created": false,
  "log_end": 64,
  "generation": 5,
  "volume": {
    "page_bytes": 8192,
    "checkpoint": 16,
    "loading": false,
    "stamp": 24,
    "batch": 3
  }
}"#;
    let mut golden = b"GLASSBOX\x01\0\0\0".to_vec();
    golden.extend_from_slice(&crc32c::crc32c(content.as_bytes()).to_le_bytes());
    golden.extend_from_slice(&(content.len() as u64).to_le_bytes());
    golden.extend_from_slice(content.as_bytes());
    assert_eq!(all(&files)["manifest"], golden);
    assert_eq!(Manifest::read(&files).unwrap().unwrap(), manifest);
}
