//! Pools with parts taken out: no latches, no log, no pool.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::super::{NoWriteAhead, Resident};
use super::*;
use crate::classic::latch::NoLatch;

/// What pages on one thread do, whatever they are made of.
fn behaves<P: Pages>(pages: &P) {
    let log = FakeLog::default();
    assert_eq!(pages.page_bytes(), PAGE);
    (0..10).for_each(|id| make(pages, &log, id, 1));
    change(pages, &log, 4, 2).unwrap();
    (0..10).for_each(|id| assert_eq!(read(pages, id).unwrap(), if id == 4 { 2 } else { 1 }));
    let first = pages.fix_shared(PageId(1)).unwrap();
    assert!(pages.try_fix_exclusive(PageId(1)).unwrap().is_none());
    let second = pages.try_fix_shared(PageId(1)).unwrap().unwrap();
    assert_eq!(version(&first), version(&second));
    drop(first);
    assert!(pages.try_fix_exclusive(PageId(1)).unwrap().is_none());
    drop(second);
    let changing = pages.try_fix_exclusive(PageId(1)).unwrap().unwrap();
    assert!(pages.try_fix_shared(PageId(1)).unwrap().is_none());
    assert!(pages.try_fix_exclusive(PageId(1)).unwrap().is_none());
    assert_eq!(changing.id(), PageId(1));
    drop(changing);
    assert_eq!(read(pages, 1).unwrap(), 1);
}

/// Without latches that wait, a self-deadlock is detected.
fn finds_out_who_fixes_twice<P: Pages>(pages: &P) {
    let fixed = pages.fix_shared(PageId(1)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pages.fix_exclusive(PageId(1))))).is_err());
    drop(fixed);
    let fixed = pages.fix_exclusive(PageId(1)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(pages.fix_shared(PageId(1))))).is_err());
    drop(fixed);
    drop(pages.fix_exclusive(PageId(1)).unwrap());
}

#[test]
fn a_pool_behaves_with_and_without_latches_and_log() {
    for frames in [3, 16] {
        let files = MemoryFiles::new();
        behaves(&BufferPool::<ReadWriteLatch, NoWriteAhead>::create(&files, &config(frames), NoWriteAhead).unwrap());
    }
    let files = MemoryFiles::new();
    let pool = BufferPool::<NoLatch, NoWriteAhead>::create(&files, &config(4), NoWriteAhead).unwrap();
    behaves(&pool);
    finds_out_who_fixes_twice(&pool);
    assert!(pool.stats().evictions > 0);
    let fixed = pool.fix_exclusive(PageId(4)).unwrap();
    pool.clean_ahead().unwrap();
    drop(fixed);
    pool.flush_all().unwrap();
    drop(pool);
    let pool = BufferPool::<NoLatch, NoWriteAhead>::open(&files, &config(4), NoWriteAhead).unwrap();
    (0..10).for_each(|id| assert_eq!(read(&pool, id).unwrap(), if id == 4 { 2 } else { 1 }));
}

#[test]
fn resident_pages_behave() {
    behaves(&Resident::<ReadWriteLatch>::new(PAGE, 10).unwrap());
    let pages = Resident::<NoLatch>::new(PAGE, 10).unwrap();
    behaves(&pages);
    finds_out_who_fixes_twice(&pages);
    let error = pages.fix_new(PageId(10)).err().unwrap().to_string();
    assert!(error.contains("memory for 10 pages"), "{error}");
}

#[test]
fn resident_pages_are_shared_by_threads() {
    let pages = Resident::<ReadWriteLatch>::new(PAGE, 4).unwrap();
    let log = FakeLog::default();
    (0..4).for_each(|id| make(&pages, &log, id, 0));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (pages, log) = (&pages, &log);
            scope.spawn(move || {
                for turn in 0..2000 {
                    let id = PageId((turn + thread) % 4);
                    version(&pages.fix_shared(id).unwrap());
                    let mut bytes = pages.fix_exclusive(id).unwrap();
                    let (from, lsn) = log.append();
                    let next = version(&bytes) + 1;
                    fill(&mut bytes, next);
                    bytes.changed(from, lsn);
                }
            });
        }
    });
    assert_eq!((0..4).map(|id| read(&pages, id).unwrap()).sum::<u64>(), 8000);
}

#[test]
fn a_pool_on_real_files_keeps_its_pages() {
    let root = std::env::temp_dir().join(format!("glassbox-pool-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&root);
    let files = crate::io::RealFiles::new(&root).unwrap();
    for page_bytes in [4 << 10, 8 << 10, 32 << 10] {
        let config = PoolConfig { page_bytes, frames: 32, batch_pages: 7, trace: false, batch: 0 };
        let pool = Pool::create(&files, &config, FakeLog::default()).unwrap();
        (0..200).for_each(|id| make(&pool, pool.wal(), id, u64::from(id)));
        pool.flush_all().unwrap();
        drop(pool);
        let pool = open_with(&files, &config);
        (0..200).for_each(|id| assert_eq!(read(&pool, id).unwrap(), u64::from(id)));
        drop(pool);
        files.open("pages").unwrap().write_at(&[1; 700], 199 * page_bytes as u64 + 100).unwrap();
        assert_eq!(read(&open_with(&files, &config), 199).unwrap(), 199, "torn, and repaired");
        files.remove("pages").unwrap();
        files.remove("pages.double").unwrap();
    }
    std::fs::remove_dir_all(&root).unwrap();
}

fn open_with(files: &dyn Files, config: &PoolConfig) -> Pool {
    Pool::open(files, config, FakeLog::default()).unwrap()
}
