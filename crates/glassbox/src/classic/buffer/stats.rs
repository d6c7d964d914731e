//! Counts of the pool.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a pool since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolStats {
    /// Pages fixed.
    pub(crate) fixes: u64,
    /// Of these, pages that were in memory.
    pub(crate) hits: u64,
    /// Pages read from disk.
    pub(crate) reads: u64,
    /// Pages written, each of them twice.
    pub(crate) writes: u64,
    /// Batches of written pages, with two forces each.
    pub(crate) batches: u64,
    /// Pages evicted from memory.
    pub(crate) evictions: u64,
    /// Fixes that found no clean frame, and wrote pages themselves.
    pub(crate) dirty_victims: u64,
    /// Fixes that waited for a latch.
    pub(crate) latch_waits: u64,
}

/// A number that threads add to.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// None of them is counted when a page is in memory and its latch is free: the fixes of the pages that are in memory
/// stand in their frames.
#[derive(Default)]
pub(super) struct Counts {
    /// Fixes of pages that have left.
    pub fixes: Count,
    /// Fixes that found the page missing.
    pub misses: Count,
    pub reads: Count,
    pub writes: Count,
    pub batches: Count,
    pub evictions: Count,
    pub dirty_victims: Count,
    pub latch_waits: Count,
}
