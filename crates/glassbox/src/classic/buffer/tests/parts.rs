//! The pool with the parts it will work with: the log, threads, and the background writer.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::super::{BackgroundWriter, NoWriteAhead};
use super::*;
use crate::classic::latch::NoLatch;
use crate::io::Faults;
use crate::log::{Log, LogConfig};

#[test]
fn only_a_pool_with_latches_is_shared() {
    trait NotSync<Which> {}
    impl<T: ?Sized> NotSync<()> for T {}
    struct IsSync;
    impl<T: ?Sized + Sync> NotSync<IsSync> for T {}
    fn ambiguous_if_sync<T: NotSync<Which>, Which>() {}
    fn is_sync<T: Sync>() {}
    is_sync::<BufferPool<ReadWriteLatch, NoWriteAhead>>();
    is_sync::<super::super::Resident<ReadWriteLatch>>();
    ambiguous_if_sync::<BufferPool<NoLatch, NoWriteAhead>, _>();
    ambiguous_if_sync::<super::super::Resident<NoLatch>, _>();
}

#[test]
fn the_log_is_forced_before_a_page_is_written_even_without_a_waiter() {
    let files = MemoryFiles::new();
    let wal = OnceLock::<Arc<Log>>::new();
    let pool = BufferPool::<ReadWriteLatch, _>::create(&files, &config(16), wal).unwrap();
    // As in recovery: all that pages are changed by is durable already.
    let mut bytes = pool.fix_new(PageId(0)).unwrap();
    page::format(&mut bytes, PageId(0), PageKind::Heap, StoreId(1), &[]);
    bytes.changed(Lsn(0), Lsn(0));
    drop(bytes);
    assert_eq!(pool.flush_all().unwrap(), 1);
    let settings =
        LogConfig { segment_bytes: 8192, log_buffer_bytes: 4096, threads: false, force: false, ..LogConfig::default() };
    let log = Log::create(Arc::new(files.clone()), 1, settings, Lsn::NONE).unwrap();
    assert!(pool.wal().set(Arc::new(log)).is_ok());
    let log = pool.wal().get().unwrap();
    let mut appender = log.appender().unwrap();
    let from = log.appended();
    let lsn = appender.append(b"a change").unwrap();
    let behind = appender.append(b"and another, of no page").unwrap();
    let mut bytes = pool.fix_exclusive(PageId(0)).unwrap();
    bytes.changed(from, lsn);
    drop(bytes);
    assert!(log.durable() < lsn);
    files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
    assert!(matches!(pool.flush_all(), Err(Error::Log(_))));
    assert_eq!(pool.dirty_pages(), [(PageId(0), from)]);
    assert!(behind > lsn && matches!(pool.flush_all(), Err(Error::Stopped { .. })));
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("{what}: it did not happen");
}

#[test]
fn the_background_writer_writes_ahead() {
    let files = MemoryFiles::new();
    let pool = Arc::new(create(&files, 32));
    (0..32).for_each(|id| make(&*pool, pool.wal(), id, 1));
    let writer = BackgroundWriter::start(pool.clone()).unwrap();
    until("clean ahead of the clock", || pool.stats().writes == 8);
    assert!(pool.wal().durable() > 0, "the log first");
    drop(writer);
}

#[test]
fn a_failure_of_the_background_writer_stops_the_pool() {
    let files = MemoryFiles::new();
    let pool = Arc::new(create(&files, 32));
    (0..32).for_each(|id| make(&*pool, pool.wal(), id, 1));
    files.set_faults(Faults { fail_force: Some(files.forces()), ..Faults::default() });
    let writer = BackgroundWriter::start(pool.clone()).unwrap();
    until("its failure stops the pool", || pool.stopped.get().is_some());
    assert!(matches!(pool.flush_all(), Err(Error::Stopped { .. })));
    drop(writer);
    assert_eq!(pool.dirty_pages().len(), 32);
}
