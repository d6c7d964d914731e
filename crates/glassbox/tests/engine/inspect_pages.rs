//! What looking into a database of the classic engine finds: after a crash at any moment, and with a wrong space map
//! under a right checksum.

use std::sync::Arc;

use glassbox::config::ClassicConfig;
use glassbox::io::{Crash, Files, ManualClock, MemoryFiles};
use glassbox::research::ConfigHooks;
use glassbox::research::inspect::{Inspector, Moment, Verification};
use glassbox::{Catalog, Config, Database, Record, Transaction};

const PAGE_BYTES: usize = 4096;
/// Where the bits of a page of the space map begin.
const BITS: usize = 32;

#[derive(Record, Clone, Copy)]
#[record(table = "item", key = id, partition_by = id, index(name = by_size, columns = (size, id)))]
struct Item {
    id: u32,
    size: u16,
    weight: u64,
}

fn open(files: &MemoryFiles) -> Database {
    let classic = ClassicConfig::default().with_page_bytes(PAGE_BYTES).with_pool_bytes(1 << 17).with_sessions(2);
    let config =
        Config::classic(classic).with_segment_bytes(64 << 10).with_log_buffer_bytes(64 << 10).with_log_threads(false);
    let files: Arc<dyn Files> = Arc::new(files.clone());
    Database::open_files(files, Box::new(ManualClock::default()), config, Catalog::new().table::<Item>()).unwrap()
}

fn item(id: u32) -> Item {
    Item { id: id * 7919 % 10_007, size: (id % 50) as u16, weight: u64::from(id) }
}

fn fill(db: &Database, ids: std::ops::Range<u32>) {
    for id in ids {
        db.transaction(|tx| tx.insert(&item(id))).unwrap();
    }
}

fn verify(files: &MemoryFiles) -> Verification {
    Inspector::open_files(Arc::new(files.clone()), "here").unwrap().verify().unwrap()
}

fn rows(files: &MemoryFiles) -> usize {
    let inspector = Inspector::open_files(Arc::new(files.clone()), "here").unwrap();
    let mut rows = 0;
    let each = |_: &[u8]| {
        rows += 1;
        Ok::<_, glassbox::Error>(())
    };
    inspector.each_row("item", Moment::Now, each).unwrap();
    assert_eq!(inspector.contents("item", Moment::Now).unwrap().len(), rows);
    rows
}

fn bytes(files: &MemoryFiles) -> Vec<Vec<u8>> {
    let names = ["", "log"].iter().flat_map(|directory| files.list(directory).unwrap());
    let read = |name: String| {
        let file = files.open(&name).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    names.map(read).collect()
}

#[test]
fn a_crash_at_any_moment_is_looked_into_without_a_change() {
    let files = MemoryFiles::new();
    let db = open(&files);
    let mut written = 0;
    for round in 0..12 {
        fill(&db, written..written + 60);
        written += 60;
        if round % 4 == 3 {
            db.checkpoint().unwrap();
        }
        for (seed, mode) in [Crash::Lost, Crash::Kept, Crash::Torn].into_iter().enumerate() {
            let crashed = files.after_crash(mode, round * 10 + seed as u64);
            let before = bytes(&crashed);
            let found = verify(&crashed);
            assert_eq!(found.wrong, Vec::<String>::new());
            assert_eq!((found.rows, rows(&crashed)), (written.into(), written as usize), "all was answered");
            let summary = Inspector::open_files(Arc::new(crashed.clone()), "here").unwrap().summary().unwrap();
            assert_eq!(summary.tables[0].rows, u64::from(written));
            let volume = summary.volume.unwrap();
            assert_eq!(volume.used, found.volume.unwrap().used);
            assert!(volume.stores.len() == 3 && volume.stores.iter().all(|store| store.in_use));
            assert!(before == bytes(&crashed), "looking changes nothing");
        }
    }
}

/// Changes the first page of the space map and makes its checksum right.
fn with_map(files: &MemoryFiles, change: impl FnOnce(&mut [u8])) -> MemoryFiles {
    let changed = files.after_kill();
    let file = changed.open("pages").unwrap();
    let mut map = vec![0; PAGE_BYTES];
    file.read_exact_at(&mut map, PAGE_BYTES as u64).unwrap();
    change(&mut map[BITS..]);
    let sum = crc32c::crc32c(&map[4..]);
    map[..4].copy_from_slice(&sum.to_le_bytes());
    file.write_at(&map, PAGE_BYTES as u64).unwrap();
    changed
}

#[test]
fn a_wrong_space_map_is_found() {
    let files = MemoryFiles::new();
    let db = open(&files);
    fill(&db, 0..300);
    assert_eq!(db.verify(), Vec::<String>::new());
    db.close().unwrap();
    assert_eq!(verify(&files).wrong, Vec::<String>::new());
    // Bit i speaks for page 1 + i; page 2 is the first that a store was given.
    let cleared = verify(&with_map(&files, |bits| bits[0] ^= 2)).wrong;
    assert!(
        cleared.len() == 1 && cleared[0].contains("page 2 of store \"item\" is free, as the space map says"),
        "{cleared:?}"
    );
    let set = verify(&with_map(&files, |bits| bits[5] ^= 0x80)).wrong;
    assert!(set.len() == 1 && set[0].contains("page 48"), "{set:?}");
}

#[test]
fn a_bulk_load_that_has_not_ended_is_said_to() {
    let files = MemoryFiles::new();
    let db = open(&files);
    let load = db.bulk_load().unwrap();
    (0..100).for_each(|id| load.insert(&item(id)).unwrap());
    let crashed = files.after_kill();
    let summary = Inspector::open_files(Arc::new(crashed.clone()), "here").unwrap().summary().unwrap();
    assert!(summary.volume.unwrap().loading && summary.log.is_none());
    assert_eq!((verify(&crashed).rows, rows(&crashed)), (0, 0));
    load.finish().unwrap();
    assert_eq!(rows(&files.after_kill()), 100);
}
