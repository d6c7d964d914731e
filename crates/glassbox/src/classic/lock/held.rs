//! The locks of one owner, as a list.
//!
//! Only the owner's thread uses it. It lists the locks to release, and gives the modes of stores, which every lock
//! below them needs, without a latch. Whether a record is locked already is looked up in the lock table, which is
//! needed anyway if it is not: each request there has its position in this list.

use super::config::LockGranularity;
use super::mode::LockMode;
use super::name::PackedName;
use crate::classic::ids::StoreId;

/// Initial capacity.
const FEWEST: usize = 128;
/// Number of stores whose positions are cached.
const STORES: usize = 64;

/// A held lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldLock {
    pub(super) key: PackedName,
    pub(super) hash: u64,
    /// In the partition given by the hash.
    pub(super) request: u32,
    pub(super) mode: LockMode,
    /// Of a store: the lock granularity in it.
    pub(super) granularity: LockGranularity,
    /// Of a store or page: the number of locks below, without intents.
    pub(super) below: u32,
    /// The number at which escalation is attempted.
    pub(super) escalate_at: u32,
}

impl HeldLock {
    /// A lock without locks below.
    #[inline(always)]
    pub(super) fn new(key: PackedName, hash: u64, request: u32, mode: LockMode) -> Self {
        Self { key, hash, request, mode, granularity: LockGranularity::Record, below: 0, escalate_at: u32::MAX }
    }
}

/// See the file's comment.
pub(super) struct HeldLocks {
    entries: Vec<HeldLock>,
    /// Cached positions of locks of stores, by the store's last bits. The entry at that position shows whether the
    /// cache is valid.
    stores: [u32; STORES],
}

impl HeldLocks {
    pub(super) fn new() -> Self {
        Self { entries: Vec::with_capacity(FEWEST), stores: [0; STORES] }
    }

    #[inline(always)]
    pub(super) fn entries(&self) -> &[HeldLock] {
        &self.entries
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, at: usize) -> &mut HeldLock {
        &mut self.entries[at]
    }

    /// The position of the volume's lock: it is acquired first and held to the end.
    #[inline(always)]
    pub(super) fn volume(&self) -> Option<usize> {
        self.entries.first().filter(|held| held.key == PackedName::THE_VOLUME).map(|_| 0)
    }

    /// The cached position of the lock of a store, if any.
    #[inline(always)]
    pub(super) fn known_store(&self, store: StoreId) -> Option<usize> {
        let at = self.stores[store.0 as usize % STORES] as usize;
        self.entries.get(at).filter(|held| held.key == PackedName::of_store(store)).map(|_| at)
    }

    /// Caches the position of the lock of a store.
    #[inline(always)]
    pub(super) fn know_store(&mut self, store: StoreId, at: usize) {
        self.stores[store.0 as usize % STORES] = at as u32;
    }

    /// The mode of a held lock, if it is held.
    #[cfg(test)]
    pub(super) fn mode(&self, key: PackedName) -> Option<LockMode> {
        self.entries.iter().find(|held| held.key == key).map(|held| held.mode)
    }

    /// Adds a lock that is not in the list.
    #[inline(always)]
    pub(super) fn push(&mut self, held: HeldLock) {
        self.entries.push(held);
    }

    /// Removes a lock from the list and puts the last one at its position.
    pub(super) fn remove(&mut self, at: usize) {
        self.entries.swap_remove(at);
    }

    /// Empties the list; keeps its memory.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
