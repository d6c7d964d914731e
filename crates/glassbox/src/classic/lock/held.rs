//! The locks of one owner: a list, and a hash table of places in it.
//!
//! Only the owner's thread uses it, so to find out that a lock is held already, as the intents nearly always are, takes
//! no latch and touches no memory of others. Open addressing with linear probing; what is removed is closed up by
//! moving back what follows (Knuth, §6.4, algorithm R), so there are no marks of the dead to clean up.

use super::config::Granularity;
use super::mode::Mode;
use super::name::{Key, STORE};
use crate::classic::ids::StoreId;

const NONE: u32 = u32::MAX;
/// Slots of the table at first, a power of two.
const FEWEST: usize = 256;
/// Stores whose places are remembered.
const STORES: usize = 64;
/// No place of no store: those of stores have numbers from 1 on.
const NO_STORE: (u32, u32) = (0, 0);

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

/// See the file's comment.
pub(super) struct HeldLocks {
    entries: Vec<Held>,
    slots: Vec<u32>,
    /// Places of locks of stores that were looked for lately, by the store's last bits.
    stores: [(u32, u32); STORES],
}

impl HeldLocks {
    pub(super) fn new() -> Self {
        Self { entries: Vec::with_capacity(FEWEST / 2), slots: vec![NONE; FEWEST], stores: [NO_STORE; STORES] }
    }

    #[inline(always)]
    pub(super) fn entries(&self) -> &[Held] {
        &self.entries
    }

    #[inline(always)]
    pub(super) fn entry(&mut self, at: usize) -> &mut Held {
        &mut self.entries[at]
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    /// The place of a lock in the list. It is the lock's until the next [`HeldLocks::remove`].
    #[inline(always)]
    pub(super) fn find(&self, key: Key, hash: u64) -> Option<usize> {
        self.seek(key, hash).ok()
    }

    /// The place of a lock in the list, or else the slot of the table that it would get.
    #[inline(always)]
    pub(super) fn seek(&self, key: Key, hash: u64) -> Result<usize, usize> {
        let mut slot = self.home(hash);
        loop {
            let at = self.slots[slot];
            if at == NONE {
                return Err(slot);
            }
            if self.entries[at as usize].key == key {
                return Ok(at as usize);
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// The place of the lock of a whole store: asked for at every lock below it.
    #[inline(always)]
    pub(super) fn find_store(&mut self, key: Key) -> Option<usize> {
        let store = key.store().0;
        let (known, at) = self.stores[store as usize % STORES];
        if known == store {
            return Some(at as usize);
        }
        let at = self.find(key, key.hash())?;
        self.stores[store as usize % STORES] = (store, at as u32);
        Some(at)
    }

    /// As [`HeldLocks::find_store`], if that has been asked lately.
    #[inline(always)]
    pub(super) fn known_store(&self, store: StoreId) -> Option<usize> {
        let (known, at) = self.stores[store.0 as usize % STORES];
        (known == store.0).then_some(at as usize)
    }

    /// How a lock is held, if it is.
    #[cfg(test)]
    pub(super) fn mode(&self, key: Key) -> Option<Mode> {
        self.find(key, key.hash()).map(|at| self.entries[at].mode)
    }

    /// Adds the lock of a record that is not in the list, and for which [`HeldLocks::seek`] has just given this slot.
    #[inline(always)]
    pub(super) fn insert_at(&mut self, slot: usize, held: Held) {
        if self.entries.len() * 2 >= self.slots.len() {
            self.insert(held);
            return;
        }
        self.slots[slot] = self.entries.len() as u32;
        self.entries.push(held);
    }

    /// Adds a lock that is not in the list.
    pub(super) fn insert(&mut self, held: Held) {
        if self.entries.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let at = self.entries.len();
        if held.key.kind() == STORE {
            let store = held.key.store().0;
            self.stores[store as usize % STORES] = (store, at as u32);
        }
        self.entries.push(held);
        self.place(at);
    }

    #[inline(always)]
    fn place(&mut self, at: usize) {
        let mut slot = self.home(self.entries[at].hash);
        while self.slots[slot] != NONE {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = at as u32;
    }

    #[cold]
    fn grow(&mut self) {
        let slots = self.slots.len() * 2;
        self.slots.clear();
        self.slots.resize(slots, NONE);
        (0..self.entries.len()).for_each(|at| self.place(at));
    }

    /// Takes a lock out of the list. The last of the list takes its place.
    pub(super) fn remove(&mut self, at: usize) -> Held {
        self.stores = [NO_STORE; STORES];
        let last = self.entries.len() - 1;
        let (hole, moved) = (self.slot_of(at), self.slot_of(last));
        self.slots[moved] = at as u32;
        let removed = self.entries.swap_remove(at);
        self.close_up(hole);
        removed
    }

    fn slot_of(&self, at: usize) -> usize {
        let mut slot = self.home(self.entries[at].hash);
        while self.slots[slot] != at as u32 {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        slot
    }

    /// Moves what follows a slot back, as far as its home allows, and leaves the last slot so freed empty.
    fn close_up(&mut self, mut hole: usize) {
        let mask = self.slots.len() - 1;
        let mut slot = hole;
        loop {
            slot = (slot + 1) & mask;
            let at = self.slots[slot];
            if at == NONE {
                break;
            }
            let home = self.home(self.entries[at as usize].hash);
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(hole) & mask {
                self.slots[hole] = at;
                hole = slot;
            }
        }
        self.slots[hole] = NONE;
    }

    /// Empties the list; keeps its memory, but not so large a table that emptying it would cost every transaction.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.stores = [NO_STORE; STORES];
        self.entries.clear();
        self.slots.truncate(FEWEST);
        self.slots.fill(NONE);
    }
}
