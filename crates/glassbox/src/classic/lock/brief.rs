//! A spin latch, for critical sections shorter than a sleep.
//!
//! Problem: each lock latches its partition of the table twice, to acquire and to release it, and nearly always finds
//! the latch free. A mutex of the standard library needs two atomic operations for that, the second to find out whether
//! a thread sleeps. But a partition's latch is held for some tens of instructions without waits. So here no thread
//! sleeps, and the release is a plain store. A thread that finds the latch held retries, because it will be free soon;
//! if it is not, the holder was descheduled, and the thread yields the processor.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};

use super::sync::{AtomicU32, Ordering, yield_now};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// A thread panicked while it held the latch.
const BROKEN: u32 = 2;

/// Attempts before the thread yields the processor: a microsecond or two.
#[cfg(not(all(shuttle, test)))]
const LOOKS: u32 = 100;
#[cfg(all(shuttle, test))]
const LOOKS: u32 = 0;

/// A value that one thread at a time can use. See the file.
pub(super) struct Brief<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: the thread that has stored TAKEN in the word has exclusive access to the value, until its release store,
// which the next thread's acquisition reads. So the value is sent from thread to thread, and its holder may share
// references to it.
unsafe impl<T: Send + Sync> Sync for Brief<T> {}

/// Exclusive access to the value until dropped.
pub(super) struct Latched<'a, T> {
    brief: &'a Brief<T>,
    /// The thread had panicked before it acquired the latch, and uses the value while it unwinds: the value stays
    /// consistent.
    unwinds: bool,
}

impl<T> Brief<T> {
    pub(super) fn new(value: T) -> Self {
        Self { word: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// Acquires the latch.
    ///
    /// # Panics
    /// When a thread panicked while it held the latch, because the value may be inconsistent.
    #[inline(always)]
    pub(super) fn latch(&self) -> Latched<'_, T> {
        if !self.try_take() {
            self.wait();
        }
        Latched { brief: self, unwinds: std::thread::panicking() }
    }

    /// Runs some tens of instructions with exclusive access to the value.
    ///
    /// # Panics
    /// As [`Brief::latch`].
    #[inline(always)]
    pub(super) fn with<O>(&self, work: impl FnOnce(&mut T) -> O) -> O {
        if !self.try_take() {
            self.wait();
        }
        // No test whether the thread panics: the panic's unwinding does this.
        let breaks = Breaks(&self.word);
        // SAFETY: no other thread has the latch until the store below.
        let out = work(unsafe { &mut *self.value.get() });
        std::mem::forget(breaks);
        self.word.store(FREE, Ordering::Release);
        out
    }

    #[inline(always)]
    fn try_take(&self) -> bool {
        self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) {
        let mut looks = 0;
        loop {
            match self.word.load(Ordering::Relaxed) {
                FREE if self.try_take() => return,
                BROKEN => panic!("a thread panicked in the lock manager"),
                _ if looks < LOOKS => std::hint::spin_loop(),
                _ => yield_now(),
            }
            looks += 1;
        }
    }
}

/// Dropped while a panic unwinds.
struct Breaks<'a>(&'a AtomicU32);

impl Drop for Breaks<'_> {
    fn drop(&mut self) {
        self.0.store(BROKEN, Ordering::Release);
    }
}

impl<T> Deref for Latched<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the latch is held until this is dropped.
        unsafe { &*self.brief.value.get() }
    }
}

impl<T> DerefMut for Latched<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the latch is held until this is dropped, and a mutable borrow of this is exclusive.
        unsafe { &mut *self.brief.value.get() }
    }
}

impl<T> Drop for Latched<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        let left = if !self.unwinds && std::thread::panicking() { BROKEN } else { FREE };
        self.brief.word.store(left, Ordering::Release);
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_it() {
        let count = Brief::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *count.latch() += 1));
                scope.spawn(|| (0..10_000).for_each(|_| count.with(|count| *count += 1)));
            }
        });
        assert_eq!(*count.latch(), 80_000);
    }

    #[test]
    fn who_unwinds_may_use_it() {
        struct Uses<'a>(&'a Brief<u64>);
        impl Drop for Uses<'_> {
            fn drop(&mut self) {
                *self.0.latch() += 1;
                self.0.with(|count| *count += 1);
            }
        }
        let count = Brief::new(0);
        let unwinds = || {
            let _uses = Uses(&count);
            panic!("on purpose");
        };
        assert!(std::thread::scope(|scope| scope.spawn(unwinds).join().is_err()));
        assert_eq!(*count.latch(), 2);
    }

    #[test]
    fn the_value_of_a_thread_that_panicked_is_not_used_again() {
        let panics: [fn(&Brief<u64>); 2] = [
            |count| {
                let _held = count.latch();
                panic!("on purpose");
            },
            |count| count.with(|_| panic!("on purpose")),
        ];
        for panics in panics {
            let count = Brief::new(0_u64);
            assert!(std::thread::scope(|scope| scope.spawn(|| panics(&count)).join().is_err()));
            let takes: [fn(&Brief<u64>); 2] = [|count| drop(count.latch()), |count| count.with(|_| ())];
            assert!(takes.iter().all(|take| std::thread::scope(|scope| scope.spawn(|| take(&count)).join().is_err())));
        }
    }
}
