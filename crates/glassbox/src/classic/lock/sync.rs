//! Latches and condition variables: the standard library's, or those of shuttle, which explores many interleavings.

use std::sync::LockResult;

#[cfg(not(all(shuttle, test)))]
pub(super) use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};

#[cfg(all(shuttle, test))]
pub(super) use shuttle::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    sync::{Condvar, Mutex, MutexGuard},
    thread::yield_now,
};

/// Latches. After a panic in the lock manager its state may be inconsistent, so all other threads panic too.
#[inline(always)]
pub(super) fn latch<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    whole(mutex.lock())
}

/// The value behind a latch, if no holder panicked.
#[inline(always)]
pub(super) fn whole<T>(latched: LockResult<T>) -> T {
    latched.unwrap_or_else(|_| panic!("a thread panicked in the lock manager"))
}
