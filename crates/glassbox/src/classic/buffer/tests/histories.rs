//! Many threads, few frames: a thread that fixes a page sees its last version whole, however often it left memory.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::super::BackgroundWriter;
use super::*;

/// Pages, and of each the version that a thread which fixes it must find. Changed and read under its latch.
struct Model {
    versions: Vec<AtomicU64>,
    lsns: Vec<AtomicU64>,
}

impl Model {
    fn make(pool: &Pool, pages: u32) -> Self {
        (0..pages).for_each(|id| make(pool, pool.wal(), id, 1));
        let all = |number: u64| (0..pages).map(|_| AtomicU64::new(number)).collect();
        Self { versions: all(1), lsns: all(0) }
    }

    fn check(&self, id: u32, bytes: &[u8]) {
        assert_eq!(page::id(bytes), PageId(id));
        assert_eq!(version(bytes), self.versions[id as usize].load(Ordering::Relaxed), "page {id}");
    }

    fn change(&self, log: &FakeLog, mut bytes: impl ExclusivePage) {
        let id = bytes.id();
        self.check(id.0, &bytes);
        let next = self.versions[id.0 as usize].fetch_add(1, Ordering::Relaxed) + 1;
        let (from, lsn) = log.append();
        fill(&mut bytes, next);
        self.lsns[id.0 as usize].store(lsn.0, Ordering::SeqCst);
        if next.is_multiple_of(8) {
            // A checkpoint may begin between the record and the note of it.
            std::thread::yield_now();
        }
        bytes.changed(from, lsn);
    }

    /// Some steps of one thread.
    fn run(&self, pool: &Pool, seed: u64, steps: u32) {
        let mut dice = Dice(seed);
        let pages = self.versions.len() as u64;
        for _ in 0..steps {
            // Half of the fixes go to a tenth of the pages.
            let below = if dice.below(2) == 0 { pages.div_ceil(10) } else { pages };
            let id = dice.below(below) as u32;
            match dice.below(10) {
                0..4 => self.check(id, &pool.fix_shared(PageId(id)).unwrap()),
                4..7 => self.change(pool.wal(), pool.fix_exclusive(PageId(id)).unwrap()),
                7 => drop(pool.try_fix_shared(PageId(id)).unwrap().map(|bytes| self.check(id, &bytes))),
                8 => drop(pool.try_fix_exclusive(PageId(id)).unwrap().map(|bytes| self.change(pool.wal(), bytes))),
                _ => {
                    // Two at a time, in order; the second perhaps missing.
                    let bytes = pool.fix_shared(PageId(id)).unwrap();
                    let next = id + 1 + dice.below(3) as u32;
                    if u64::from(next) < pages {
                        self.change(pool.wal(), pool.fix_exclusive(PageId(next)).unwrap());
                    }
                    self.check(id, &bytes);
                }
            }
        }
    }
}

/// Everything at the same time; then the pool is closed and opened again.
fn history(frames: usize, pages: u32, threads: u64, background: bool, seed: u64) {
    let files = MemoryFiles::new();
    let pool = Arc::new(create(&files, frames));
    let model = Model::make(&pool, pages);
    let writer = background.then(|| BackgroundWriter::start(pool.clone()).unwrap());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (model, pool) = (&model, &pool);
                scope.spawn(move || model.run(pool, seed * 1000 + thread, 3000))
            })
            .collect();
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                checkpoint(&pool, &model);
                std::thread::yield_now();
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Ordering::Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    drop(writer);
    pool.flush_all().unwrap();
    assert!(pool.dirty_pages().is_empty());
    let stats = pool.stats();
    assert!(stats.evictions > 100 && stats.writes >= u64::from(pages), "{stats:?}");
    assert_eq!(stats.fixes - stats.hits, stats.reads + u64::from(pages), "each page was new once: {stats:?}");
    drop(pool);
    let pool = open(&files.after_crash(crate::io::Crash::Lost, 0), frames);
    (0..pages).for_each(|id| model.check(id, &pool.fix_shared(PageId(id)).unwrap()));
}

/// A fuzzy checkpoint: what it says is on disk must be there, while everything goes on.
fn checkpoint(pool: &Pool, model: &Model) {
    // What is known to be appended now is before the position.
    let known: Vec<u64> = model.lsns.iter().map(|lsn| lsn.load(Ordering::SeqCst)).collect();
    let position = pool.wal().append().1;
    let half = Lsn(position.0 / 2);
    pool.clean_up_to(half).unwrap();
    let dirty = pool.dirty_pages();
    let oldest = dirty.iter().map(|(_, needed_from)| *needed_from).min();
    assert!(oldest.is_none_or(|oldest| oldest >= half), "{oldest:?} is older than {half}");
    for (id, lsn) in known.iter().enumerate().filter(|(_, lsn)| **lsn > 0) {
        let needed_from = dirty.iter().find(|(page, _)| page.0 as usize == id).map(|(_, needed_from)| *needed_from);
        if needed_from.is_none_or(|needed_from| needed_from >= Lsn(*lsn)) {
            let mut bytes = vec![0; PAGE];
            pool.volume.read(PageId(id as u32), &mut bytes).unwrap_or_else(|_| bytes.fill(0));
            // It may be being written just now; then it is at least newer than what was known.
            let found = page::lsn(&bytes);
            assert!(!page::is_sealed(&bytes) || found.0 >= *lsn, "page {id}: {found} on disk, {lsn} was known");
        }
    }
}

#[test]
fn few_frames_and_many_threads() {
    for (seed, (frames, background)) in [(16, false), (16, true), (40, false), (24, true)].into_iter().enumerate() {
        history(frames, 120, 4, background, seed as u64 + 1);
    }
}

#[test]
fn a_pool_in_which_nearly_everything_is_fixed() {
    history(9, 60, 4, false, 77);
    history(9, 60, 4, true, 78);
}

#[test]
fn many_who_want_one_page_read_it_once() {
    let files = MemoryFiles::new();
    let pool = create(&files, 32);
    (0..64).for_each(|id| make(&pool, pool.wal(), id, 5));
    pool.flush_all().unwrap();
    drop(pool);
    for round in 0..50 {
        let pool = open(&files, 32);
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    barrier.wait();
                    (0..10).for_each(|id| assert_eq!(read(&pool, (id + round) % 64).unwrap(), 5));
                });
            }
        });
        assert_eq!(pool.stats().reads, 10);
        assert_eq!(pool.stats().fixes, 40);
    }
}
