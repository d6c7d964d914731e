//! What one thread sees of a pool.

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
