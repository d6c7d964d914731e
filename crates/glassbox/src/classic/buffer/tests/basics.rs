//! What one thread sees of a pool.

use super::super::frame::{Fix, Frame};
use super::*;

#[test]
fn pages_survive_leaving_memory_and_the_pool() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    for id in 0..100 {
        make(&pool, pool.wal(), id, u64::from(id) + 1);
    }
    for id in 0..100 {
        assert_eq!(read(&pool, id).unwrap(), u64::from(id) + 1);
    }
    for id in (0..100).step_by(3) {
        change(&pool, pool.wal(), id, 1000 + u64::from(id)).unwrap();
    }
    let expected = |id: u32| if id.is_multiple_of(3) { 1000 + u64::from(id) } else { u64::from(id) + 1 };
    (0..100).for_each(|id| assert_eq!(read(&pool, id).unwrap(), expected(id)));
    pool.flush_all().unwrap();
    assert!(pool.dirty_pages().is_empty());
    drop(pool);
    let pool = open(&files, 16);
    (0..100).for_each(|id| assert_eq!(read(&pool, id).unwrap(), expected(id)));
    let stats = pool.stats();
    assert_eq!((stats.fixes, stats.hits, stats.reads, stats.evictions), (100, 0, 100, 84));
}

#[test]
fn a_changed_page_is_needed_from_its_first_change_until_it_is_written() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    (0..4).for_each(|id| make(&pool, pool.wal(), id, 1));
    let dirty: Vec<_> = (0..4).map(|id| (PageId(id), Lsn(8 * u64::from(id)))).collect();
    let sorted = |mut pages: Vec<(PageId, Lsn)>| {
        pages.sort_unstable();
        pages
    };
    assert_eq!(sorted(pool.dirty_pages()), dirty);
    change(&pool, pool.wal(), 1, 2).unwrap();
    assert_eq!(sorted(pool.dirty_pages()), dirty, "the older one counts");
    assert_eq!(pool.clean_up_to(Lsn(9)).unwrap(), 2);
    assert_eq!(sorted(pool.dirty_pages()), dirty[2..]);
    assert_eq!(pool.wal().durable(), 40, "forced up to the newest change of what was written, and no more is there");
    change(&pool, pool.wal(), 1, 3).unwrap();
    assert_eq!(sorted(pool.dirty_pages()), [(PageId(1), Lsn(40)), dirty[2], dirty[3]]);
    assert_eq!(pool.flush_all().unwrap(), 3);
    assert_eq!(pool.flush_all().unwrap(), 0);
}

#[test]
fn who_needs_a_frame_writes_for_those_who_come_next() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    (0..16).for_each(|id| make(&pool, pool.wal(), id, 1));
    (16..32).for_each(|id| make(&pool, pool.wal(), id, 1));
    let stats = pool.stats();
    assert_eq!((stats.evictions, stats.writes, stats.dirty_victims, stats.batches), (16, 16, 4, 4));
}

#[test]
fn what_is_ahead_of_the_clock_is_cleaned() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    (0..16).for_each(|id| make(&pool, pool.wal(), id, 1));
    change(&pool, pool.wal(), 2, 2).unwrap();
    assert_eq!(pool.clean_ahead().unwrap(), 3, "2 was used since it came, and will be spared");
    assert_eq!(pool.clean_ahead().unwrap(), 0);
    (16..19).for_each(|id| make(&pool, pool.wal(), id, 1));
    assert_eq!(pool.stats().dirty_victims, 0, "there were clean ones");
    assert_eq!(pool.stats().writes, 3);
}

#[test]
fn images_of_another_file_are_not_taken_for_ours() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    (0..16).for_each(|id| make(&pool, pool.wal(), id, 1));
    pool.flush_all().unwrap();
    drop(pool);
    files.remove("pages").unwrap();
    let pool = create(&files, 16);
    assert!(files.open("pages").unwrap().is_empty().unwrap());
    assert!(pool.fix_shared(PageId(12)).is_err());
}

#[test]
fn a_wait_for_a_latch_is_counted() {
    let files = MemoryFiles::new();
    let pool = create(&files, 16);
    make(&pool, pool.wal(), 1, 1);
    assert_eq!(read(&pool, 1).unwrap(), 1);
    assert_eq!(pool.stats().latch_waits, 0);
    // On a busy machine the other may come too late to wait; then once more.
    for _ in 0..100 {
        let fixed = pool.fix_exclusive(PageId(1)).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| read(&pool, 1).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(fixed);
        });
        if pool.stats().latch_waits > 0 {
            break;
        }
    }
    assert_eq!(pool.stats().latch_waits, 1);
}

#[test]
fn no_thread_waits_for_the_latch_of_another_page() {
    let frame = Frame::<ReadWriteLatch>::default();
    frame.claim().unwrap();
    frame.prepare(PageId(1));
    frame.publish();
    // Fixed to be changed by the thread that read it.
    assert_eq!(frame.fix(PageId(2), false, true), Fix::Other);
    assert_eq!(frame.fix(PageId(2), true, true), Fix::Other);
    assert_eq!(frame.fix(PageId(1), false, false), Fix::Busy);
    assert_eq!(frame.uses(), 1, "what failed does not count");
    frame.unfix_exclusive();
    assert_eq!(frame.uses_if_unfixed(), Some(1));
}
