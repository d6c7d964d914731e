//! The locks of one owner, as a list.
//!
//! Only the owner's thread uses it. It tells what is to be given back, and how stores are locked, which is asked at
//! every lock below them and costs no latch. Whether a record is locked already is not asked here but of the lock
//! table, which has to be asked anyway if it is not: each request there has its place in this list.

use super::config::Granularity;
use super::mode::Mode;
use super::name::Key;
use crate::classic::ids::StoreId;

/// Locks for which there is room at first.
const FEWEST: usize = 128;
/// Stores whose places are remembered.
const STORES: usize = 64;

/// A lock that is held.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) key: Key,
    pub(super) hash: u64,
    /// In the partition that the hash says.
    pub(super) request: u32,
    pub(super) mode: Mode,
    /// Of a store: what is locked in it.
    pub(super) granularity: Granularity,
    /// Of a store or page: how many locks below were taken for their own sake.
    pub(super) below: u32,
    /// At how many of them a lock of the whole is tried.
    pub(super) escalate_at: u32,
}

impl Held {
    /// A lock below which there is nothing.
    #[inline(always)]
    pub(super) fn new(key: Key, hash: u64, request: u32, mode: Mode) -> Self {
        Self { key, hash, request, mode, granularity: Granularity::Record, below: 0, escalate_at: u32::MAX }
    }
}

/// See the file's comment.
pub(super) struct HeldLocks {
    entries: Vec<Held>,
    /// Places where locks of stores were noted last, by the store's last bits. What stands there tells whether it is so
    /// still.
    stores: [u32; STORES],
}

impl HeldLocks {
    pub(super) fn new() -> Self {
        Self { entries: Vec::with_capacity(FEWEST), stores: [0; STORES] }
    }

    #[inline(always)]
    pub(super) fn entries(&self) -> &[Held] {
        &self.entries
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, at: usize) -> &mut Held {
        &mut self.entries[at]
    }

    /// The place of the lock of the volume: it is locked before anything else, and until the end.
    #[inline(always)]
    pub(super) fn volume(&self) -> Option<usize> {
        self.entries.first().filter(|held| held.key == Key::THE_VOLUME).map(|_| 0)
    }

    /// The place of the lock of a store, if it is remembered.
    #[inline(always)]
    pub(super) fn known_store(&self, store: StoreId) -> Option<usize> {
        let at = self.stores[store.0 as usize % STORES] as usize;
        self.entries.get(at).filter(|held| held.key == Key::of_store(store)).map(|_| at)
    }

    /// Remembers the place of the lock of a store.
    #[inline(always)]
    pub(super) fn know_store(&mut self, store: StoreId, at: usize) {
        self.stores[store.0 as usize % STORES] = at as u32;
    }

    /// How a lock is held, if it is.
    #[cfg(test)]
    pub(super) fn mode(&self, key: Key) -> Option<Mode> {
        self.entries.iter().find(|held| held.key == key).map(|held| held.mode)
    }

    /// Adds a lock that is not in the list.
    #[inline(always)]
    pub(super) fn push(&mut self, held: Held) {
        self.entries.push(held);
    }

    /// Takes a lock out of the list. The last of the list takes its place.
    pub(super) fn remove(&mut self, at: usize) {
        self.entries.swap_remove(at);
    }

    /// Empties the list; keeps its memory.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }
}
