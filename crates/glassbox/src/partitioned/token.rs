//! The token of a partition: who holds it owns the data, and works for those who wait.
//!
//! A mutex would do for ownership, but badly: with many clients the data moves from core to core at every transaction,
//! and waking the next owner costs more than its work. A thread per partition would keep the data in place, but a
//! single client would pay two thread switches a transaction. So: a caller that finds the token free works in its own
//! thread; one that finds it taken leaves its job in the queue, and the holder does it before letting go (combining,
//! after CC-Synch: Fatourou and Kallimanis, PPoPP 2012). A wait for the token itself, as a transaction on several
//! partitions needs, is a queue entry without a job: the holder hands over. The queue is first in, first out, so no
//! thread starves.
//!
//! Entries live on the stacks of those who wait. An entry may be touched by others only until its state leaves
//! `WAITING` or `PARKED`; its owner leaves the stack frame only after that. Memory order: job results and partition
//! data are published by the Release in [`Token::finish`] and in the compare-exchange that frees the token, and taken
//! by the Acquire loads of `state` and the Acquire swap of `tail`.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::thread::{self, Thread};

/// How many jobs of others a holder does before it hands over to the next in line, so that it returns to its own
/// caller.
const HELP_LIMIT: u32 = 64;
/// How often a waiter looks before it lets other threads run, about the time of a transaction; and how often before it
/// lets the operating system wake it.
const SPINS: u32 = 200;
const LOOKS: u32 = 300;

const WAITING: u32 = 0;
const PARKED: u32 = 1;
const OWNER: u32 = 2;
const DONE: u32 = 3;

/// What a waiter wants done: a function and its argument.
#[derive(Clone, Copy)]
struct Job {
    run: unsafe fn(*mut ()),
    argument: *mut (),
}

/// A place in the queue, on the stack of the thread that waits.
pub(crate) struct Waiter {
    next: AtomicPtr<Waiter>,
    state: AtomicU32,
    job: Option<Job>,
    /// Set before the entry is linked, taken by the one who ends the wait.
    thread: UnsafeCell<Option<Thread>>,
}

impl Waiter {
    pub(crate) const fn new() -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
            state: AtomicU32::new(WAITING),
            job: None,
            thread: UnsafeCell::new(None),
        }
    }
}

/// The token of one partition.
#[derive(Debug, Default)]
pub(crate) struct Token {
    /// Last in the queue; the first is the holder. Null: free.
    tail: AtomicPtr<Waiter>,
}

impl Token {
    /// Runs `job` while the token is held, in this thread or in the holder's. The job must not panic: it may be another
    /// thread's stack that would unwind.
    #[inline(always)]
    pub(crate) fn run<F: FnMut() + Send>(&self, mut job: F) {
        unsafe fn call<F: FnMut()>(argument: *mut ()) {
            // SAFETY: the argument is the `job` below, which outlives the wait.
            unsafe { (*argument.cast::<F>())() }
        }
        let mut waiter = Waiter::new();
        waiter.job = Some(Job { run: call::<F>, argument: (&raw mut job).cast() });
        let this = &raw mut waiter;
        // SAFETY: `waiter` and `job` stay in place until the state is OWNER or DONE, and no reference to them is used
        // by this thread meanwhile.
        unsafe {
            if self.enter(this) == OWNER {
                job();
                self.leave(this);
            }
        }
    }

    /// Whether no thread holds it at this moment.
    #[inline(always)]
    pub(crate) fn is_free(&self) -> bool {
        self.tail.load(Ordering::Relaxed).is_null()
    }

    /// Runs `work` in this thread if the token is free at this moment; does not wait for it. `work` can ask whether
    /// other threads wait for the token.
    #[inline(always)]
    pub(crate) fn run_if_free<O>(&self, work: impl FnOnce(&dyn Fn() -> bool) -> O) -> Option<O> {
        struct Release<'a>(&'a Token, *mut Waiter);
        impl Drop for Release<'_> {
            #[inline(always)]
            fn drop(&mut self) {
                // SAFETY: the token was acquired with this waiter below, and is released once.
                unsafe { self.0.release(self.1) }
            }
        }
        let mut waiter = Waiter::new();
        let this = &raw mut waiter;
        // SAFETY: the waiter is fresh, and stays in place until the release, also if `work` panics.
        if !unsafe { self.acquire_if_free(this) } {
            return None;
        }
        let _release = Release(self, this);
        Some(work(&|| self.tail.load(Ordering::Relaxed) != this))
    }

    /// Acquires the token if it is free; whether it did.
    ///
    /// # Safety
    /// `waiter` must be fresh and, if it did, stay in place until [`Token::release`] with it; nothing may unwind past
    /// that.
    #[inline(always)]
    pub(crate) unsafe fn acquire_if_free(&self, waiter: *mut Waiter) -> bool {
        self.tail.compare_exchange(ptr::null_mut(), waiter, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for the token.
    ///
    /// # Safety
    /// `waiter` must be fresh and stay in place until [`Token::release`] with it.
    pub(crate) unsafe fn acquire(&self, waiter: *mut Waiter) {
        // SAFETY: passed on.
        let state = unsafe { self.enter(waiter) };
        debug_assert_eq!(state, OWNER, "an entry without a job is only ever handed the token");
    }

    /// Gives the token back.
    ///
    /// # Safety
    /// `waiter` must have acquired this token and not released it.
    #[inline(always)]
    pub(crate) unsafe fn release(&self, waiter: *mut Waiter) {
        // SAFETY: passed on.
        unsafe { self.leave(waiter) }
    }

    #[inline(always)]
    unsafe fn enter(&self, this: *mut Waiter) -> u32 {
        // SAFETY: passed on.
        unsafe { if self.acquire_if_free(this) { OWNER } else { self.wait(this) } }
    }

    #[cold]
    unsafe fn wait(&self, this: *mut Waiter) -> u32 {
        // SAFETY: until the entry is linked, no other thread can reach it.
        unsafe { *(*this).thread.get() = Some(thread::current()) };
        let previous = self.tail.swap(this, Ordering::AcqRel);
        if previous.is_null() {
            return OWNER;
        }
        // SAFETY: an entry stays in place until its successor was taken over, and this one is not linked yet. From here
        // on this thread reads only the atomics of its own entry.
        let state = unsafe {
            (*previous).next.store(this, Ordering::Release);
            &(*this).state
        };
        for look in 0..LOOKS {
            let now = state.load(Ordering::Acquire);
            if now != WAITING {
                return now;
            }
            if look < SPINS {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        if state.compare_exchange(WAITING, PARKED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            while state.load(Ordering::Acquire) == PARKED {
                thread::park();
            }
        }
        state.load(Ordering::Acquire)
    }

    /// Works off the queue up to the limit, then frees the token or hands it over.
    #[inline(always)]
    unsafe fn leave(&self, own: *mut Waiter) {
        // The usual case first: no thread waits.
        if self.tail.compare_exchange(own, ptr::null_mut(), Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: passed on.
            unsafe { self.work_off(own) }
        }
    }

    #[cold]
    unsafe fn work_off(&self, own: *mut Waiter) {
        let mut current = own;
        for helped in 0.. {
            // SAFETY: `current` is the holder's own entry or one whose wait has not been ended yet.
            let next = unsafe { self.next_or_free(current) };
            if current != own {
                // SAFETY: its job is done and its link was read.
                unsafe { Self::finish(current, DONE) };
            }
            let Some(next) = next else { return };
            // SAFETY: `next` waits; its job was written before it was linked.
            match unsafe { (*next).job } {
                Some(job) if helped < HELP_LIMIT => {
                    // SAFETY: the argument lives until the wait ends, and this thread holds the token.
                    unsafe { (job.run)(job.argument) };
                    current = next;
                }
                _ => {
                    // SAFETY: its wait ends here; the token is now its own.
                    unsafe { Self::finish(next, OWNER) };
                    return;
                }
            }
        }
    }

    /// The entry after `current`; if there is none, the token becomes free.
    unsafe fn next_or_free(&self, current: *mut Waiter) -> Option<*mut Waiter> {
        loop {
            // SAFETY: passed on.
            let next = unsafe { (*current).next.load(Ordering::Acquire) };
            if !next.is_null() {
                return Some(next);
            }
            if self.tail.compare_exchange(current, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return None;
            }
            // Someone swapped himself in and is about to link.
            std::hint::spin_loop();
        }
    }

    /// Ends a wait. After this the entry must not be touched.
    unsafe fn finish(entry: *mut Waiter, state: u32) {
        // SAFETY: until the state changes, the entry is in place and its owner reads only `state`.
        unsafe {
            let thread = (*(*entry).thread.get()).take();
            if (*entry).state.swap(state, Ordering::AcqRel) == PARKED {
                thread.expect("set before the entry was linked").unpark();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

    /// A counter that only the token protects.
    struct Shared(UnsafeCell<u64>);
    // SAFETY: for the test: touched under the token only.
    unsafe impl Sync for Shared {}

    #[test]
    fn jobs_and_handovers_never_overlap_and_none_is_lost() {
        let (token, data, jobs) = (Token::default(), Shared(UnsafeCell::new(0)), AtomicU64::new(0));
        let (token, data, jobs) = (&token, &data, &jobs);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for turn in 0..5_000 {
                        if (turn + thread) % 7 == 0 {
                            let mut waiter = Waiter::new();
                            // SAFETY: `waiter` stays here until it is released.
                            unsafe {
                                token.acquire(&raw mut waiter);
                                *data.0.get() += 1;
                                token.release(&raw mut waiter);
                            }
                        } else {
                            token.run(|| {
                                jobs.fetch_add(1, Ordering::Relaxed);
                                // SAFETY: the token is held.
                                unsafe { *data.0.get() += 1 };
                            });
                        }
                    }
                });
            }
        });
        // SAFETY: all threads have ended.
        assert_eq!(unsafe { *data.0.get() }, 40_000);
        assert!(jobs.load(Ordering::Relaxed) > 30_000);
        assert!(token.tail.load(Ordering::Relaxed).is_null());
    }
}
