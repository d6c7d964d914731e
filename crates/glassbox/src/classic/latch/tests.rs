//! Tests of the latch by many threads; all orders of few are tried in `interleavings.rs`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{Latch, NoLatch, ReadWriteLatch};

#[test]
fn what_is_held_keeps_out_what_it_must() {
    let latch = ReadWriteLatch::default();
    assert!(latch.try_shared() && latch.try_shared());
    assert!(!latch.try_exclusive());
    latch.release_shared();
    assert!(!latch.try_exclusive());
    latch.release_shared();
    assert!(latch.try_exclusive());
    assert!(!latch.try_exclusive() && !latch.try_shared());
    latch.downgrade();
    assert!(latch.try_shared() && !latch.try_exclusive());
    latch.release_shared();
    latch.release_shared();
    assert!(!latch.exclusive(), "it is free, so no thread waits");
    latch.release_exclusive();
    assert!(!latch.shared());
    latch.release_shared();
}

#[test]
fn no_latch_is_nothing_and_stays_on_its_thread() {
    trait NotSync<Which> {}
    impl<T: ?Sized> NotSync<()> for T {}
    struct IsSync;
    impl<T: ?Sized + Sync> NotSync<IsSync> for T {}
    fn ambiguous_if_sync<T: NotSync<Which>, Which>() {}
    ambiguous_if_sync::<NoLatch, _>();
    assert_eq!(size_of::<NoLatch>(), 0);
    assert_eq!(size_of::<ReadWriteLatch>(), 4);
}

/// Two numbers that are equal whenever the latch is not held exclusively.
#[derive(Default)]
struct Guarded {
    latch: ReadWriteLatch,
    left: AtomicU64,
    right: AtomicU64,
}

#[test]
fn many_threads_see_whole_changes() {
    const THREADS: u64 = 8;
    const EACH: u64 = 5_000;
    let guarded = Guarded::default();
    let read = |guarded: &Guarded| {
        let (left, right) = (guarded.left.load(Ordering::Relaxed), guarded.right.load(Ordering::Relaxed));
        assert_eq!(left, right);
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let guarded = &guarded;
            scope.spawn(move || {
                for turn in 0..EACH {
                    if (turn + thread) % 3 != 0 {
                        guarded.latch.shared();
                        read(guarded);
                        guarded.latch.release_shared();
                        continue;
                    }
                    guarded.latch.exclusive();
                    let before = guarded.left.load(Ordering::Relaxed);
                    guarded.left.store(before + 1, Ordering::Relaxed);
                    if turn % 64 == 0 {
                        std::thread::yield_now();
                    }
                    guarded.right.store(before + 1, Ordering::Relaxed);
                    if turn % 2 == 0 {
                        guarded.latch.downgrade();
                        read(guarded);
                        guarded.latch.release_shared();
                    } else {
                        guarded.latch.release_exclusive();
                    }
                }
            });
        }
    });
    let changes = (0..THREADS).map(|thread| (0..EACH).filter(|turn| (turn + thread) % 3 == 0).count() as u64);
    assert_eq!(guarded.left.load(Ordering::Relaxed), changes.sum::<u64>());
    assert!(guarded.latch.try_exclusive(), "free at the end");
}

#[test]
fn readers_who_follow_each_other_closely_do_not_starve_a_writer() {
    let latch = ReadWriteLatch::default();
    let stop = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while stop.load(Ordering::Relaxed) == 0 {
                    latch.shared();
                    std::thread::sleep(Duration::from_micros(200));
                    latch.release_shared();
                }
            });
        }
        for _ in 0..20 {
            latch.exclusive();
            latch.release_exclusive();
        }
        stop.store(1, Ordering::Relaxed);
    });
}
