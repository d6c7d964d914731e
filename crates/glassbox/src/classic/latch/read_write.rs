//! A latch in one word.
//!
//! ```text
//! bits 0-28  number of shared holders
//! bit 29     PARKED: a thread sleeps until it is released
//! bit 30     URGENT: one of them waits to hold it exclusively, so no new reader gets it
//! bit 31     EXCLUSIVE: held exclusively
//! ```
//!
//! A thread that finds it held retries a few times, because most holders need less time than a sleep; then it sleeps at
//! a *spot*: a mutex and a condition variable, shared by all latches whose addresses hash to it, so that a latch stays
//! a word.
//!
//! *No wake-up is lost.* A sleeper sets PARKED while it holds the mutex of the spot, by an exchange that succeeds only
//! while the latch is still unavailable to it, and keeps the mutex until it sleeps. PARKED is cleared only under the
//! mutex, together with waking all sleepers. A release is one operation, which returns the former word: if PARKED was
//! set, the releasing thread wakes the sleepers, which needs the mutex, so the sleeper sleeps by then. If it was not
//! set, the sleeper's exchange fails and it retries.
//!
//! *Every sleeper is woken.* A reader may also sleep because of URGENT alone. A writer sets URGENT before it sleeps,
//! and a writer that slept clears it when it acquires the latch. So while URGENT is set there is a writer, asleep or
//! just woken, that will acquire the latch; and at its release it finds PARKED, set by the reader.
//!
//! *Writers do not starve.* URGENT stays set until a writer has the latch, and the earlier holders release it. So
//! readers cannot starve writers. A stream of writers can delay readers, but writers of one page wait for the log and
//! never form a stream.
//!
//! Rejected: one queue per latch, first come, first served. It passes the latch to a sleeping thread, and all others
//! wait until the system has woken that thread.

#[cfg(not(all(loom, test)))]
use std::sync::{
    Condvar, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU32, Ordering},
};

#[cfg(all(loom, test))]
use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicU32, Ordering},
};
#[cfg(all(loom, test))]
use std::sync::PoisonError;

use super::Latch;

const READERS: u32 = PARKED - 1;
const PARKED: u32 = 1 << 29;
const URGENT: u32 = 1 << 30;
const EXCLUSIVE: u32 = 1 << 31;

/// Attempts before other threads may run, a few microseconds, and before sleeping: most holders need less time than it
/// takes to wake a thread.
#[cfg(not(all(loom, test)))]
const LOOKS: [u32; 2] = [100, 150];
#[cfg(all(loom, test))]
const LOOKS: [u32; 2] = [0, 0];

/// A latch with shared and exclusive modes.
#[derive(Default)]
pub(crate) struct ReadWriteLatch {
    word: AtomicU32,
    // Loom requires every object to be created within the explored run.
    #[cfg(all(loom, test))]
    spot: Spot,
}

/// Where threads sleep.
#[derive(Default)]
struct Spot {
    mutex: Mutex<()>,
    let_go: Condvar,
}

#[cfg(not(all(loom, test)))]
static SPOTS: [Spot; 64] = [const { Spot { mutex: Mutex::new(()), let_go: Condvar::new() } }; 64];

impl Spot {
    fn lock(&self) -> MutexGuard<'_, ()> {
        self.mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The word after an acquisition; `None` if the latch is not available.
type Acquire = fn(u32) -> Option<u32>;

#[inline(always)]
fn take_shared(word: u32) -> Option<u32> {
    (word & (EXCLUSIVE | URGENT) == 0).then(|| word + 1)
}

#[inline(always)]
fn take_exclusive(word: u32) -> Option<u32> {
    (word & (EXCLUSIVE | READERS) == 0).then_some(word | EXCLUSIVE)
}

fn take_exclusive_after_sleep(word: u32) -> Option<u32> {
    take_exclusive(word).map(|word| word & !URGENT)
}

impl ReadWriteLatch {
    #[inline(always)]
    fn attempt(&self, take: impl Fn(u32) -> Option<u32>) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while let Some(taken) = take(word) {
            match self.word.compare_exchange_weak(word, taken, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(found) => word = found,
            }
        }
        false
    }

    #[cold]
    fn wait(&self, take: Acquire, take_after_sleep: Acquire, mark: u32) {
        for look in 0..LOOKS[1] {
            if look < LOOKS[0] {
                std::hint::spin_loop()
            } else {
                std::thread::yield_now()
            }
            if self.attempt(take) {
                return;
            }
        }
        let spot = self.spot();
        let mut held = spot.lock();
        loop {
            let mut word = self.word.load(Ordering::Relaxed);
            loop {
                let (next, taken) = match take_after_sleep(word) {
                    Some(next) => (next, true),
                    None => (word | mark, false),
                };
                match self.word.compare_exchange(word, next, Ordering::Acquire, Ordering::Relaxed) {
                    Ok(_) if taken => return,
                    Ok(_) => break,
                    Err(found) => word = found,
                }
            }
            held = spot.let_go.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
    }

    #[cold]
    fn wake(&self) {
        let spot = self.spot();
        let _held = spot.lock();
        self.word.fetch_and(!PARKED, Ordering::Relaxed);
        spot.let_go.notify_all();
    }

    #[cfg(not(all(loom, test)))]
    fn spot(&self) -> &Spot {
        // Neighbours differ by the size of a frame's header.
        let address = std::ptr::from_ref(self).addr() >> 6;
        &SPOTS[address % SPOTS.len()]
    }

    #[cfg(all(loom, test))]
    fn spot(&self) -> &Spot {
        &self.spot
    }
}

impl Latch for ReadWriteLatch {
    const CONCURRENT: bool = true;

    #[inline(always)]
    fn shared(&self) -> bool {
        let waits = !self.try_shared();
        if waits {
            self.wait(take_shared, take_shared, PARKED);
        }
        waits
    }

    #[inline(always)]
    fn try_shared(&self) -> bool {
        self.attempt(take_shared)
    }

    #[inline(always)]
    fn exclusive(&self) -> bool {
        let waits = !self.try_exclusive();
        if waits {
            self.wait(take_exclusive, take_exclusive_after_sleep, PARKED | URGENT);
        }
        waits
    }

    #[inline(always)]
    fn try_exclusive(&self) -> bool {
        self.attempt(take_exclusive)
    }

    #[inline(always)]
    fn release_shared(&self) {
        let word = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(word & READERS != 0, "it was not held shared");
        if word & (READERS | PARKED) == (PARKED | 1) {
            self.wake();
        }
    }

    #[inline(always)]
    fn release_exclusive(&self) {
        let word = self.word.fetch_and(!EXCLUSIVE, Ordering::Release);
        debug_assert!(word & EXCLUSIVE != 0, "it was not held exclusively");
        if word & PARKED != 0 {
            self.wake();
        }
    }

    #[inline(always)]
    fn downgrade(&self) {
        let word = self.word.fetch_sub(EXCLUSIVE - 1, Ordering::Release);
        debug_assert!(word & EXCLUSIVE != 0, "it was not held exclusively");
        if word & PARKED != 0 {
            self.wake();
        }
    }

    fn is_free(&self) -> bool {
        self.word.load(Ordering::Relaxed) & (EXCLUSIVE | READERS) == 0
    }
}
