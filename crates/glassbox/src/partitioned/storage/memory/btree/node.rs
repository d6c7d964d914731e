//! The two kinds of nodes of a B-tree, and the search within one.
//!
//! Keys lie beside each other in an array of fixed length, apart from what they lead to, so that a search touches keys
//! only. Slots beyond the last key hold the largest key there is. Hence the search always runs over the whole array,
//! whose length is a power of two known when the program is compiled: a fixed number of steps of three instructions,
//! without a branch that could be guessed wrongly. Rejected: comparing with all keys at once by vector instructions
//! (more instructions beyond 16 keys, and only for integers), interpolation (skewed keys), key prefixes (integer keys
//! are short already).

use crate::partitioned::storage::memory::rows::RowId;
use crate::record::EncodedKey;

/// The largest key: what slots without a key hold.
#[inline(always)]
pub(crate) fn largest<K: EncodedKey>() -> K {
    let mut key = K::ZERO;
    key.push_fill(0, 0xff, K::CAPACITY);
    key
}

/// How many of the first `N - 1` keys are smaller than `key`; `N` is a power of two.
#[inline(always)]
pub(crate) fn smaller_keys<K: EncodedKey, const N: usize>(keys: &[K; N], key: &K) -> usize {
    const { assert!(N.is_power_of_two(), "the number of keys in a node must be a power of two") };
    let (mut smaller, mut step) = (0, N / 2);
    while step > 0 {
        // SAFETY: before each step `smaller` is a multiple of `2 * step` below `N`, so `smaller + step - 1` is below `N
        // - 1`.
        let probe = unsafe { keys.get_unchecked(smaller + step - 1) };
        smaller = std::hint::select_unpredictable(probe < key, smaller + step, smaller);
        step /= 2;
    }
    smaller
}

/// A leaf: keys and the rows they lead to.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct Leaf<K, const LEAF: usize> {
    pub(crate) keys: [K; LEAF],
    pub(crate) rows: [RowId; LEAF],
    pub(crate) count: u32,
    /// The slot of the last insertion: another one right after it is the mark of an ascending run.
    pub(crate) last_insert: u32,
    /// The leaf with the next smaller keys, or 0.
    pub(crate) previous: u32,
    /// The leaf with the next larger keys, or 0.
    pub(crate) next: u32,
}

impl<K: EncodedKey, const LEAF: usize> Leaf<K, LEAF> {
    pub(crate) fn new() -> Self {
        let keys = [largest(); LEAF];
        Self { keys, rows: [RowId::NONE; LEAF], count: 0, last_insert: 0, previous: 0, next: 0 }
    }

    /// The number of keys.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// The row of `key`.
    #[inline(always)]
    pub(crate) fn find(&self, key: &K) -> Option<RowId> {
        let slot = smaller_keys(&self.keys, key);
        if self.keys[slot] != *key {
            return None;
        }
        // Only the largest key can be met in a slot without a key; the count is in a cache line of its own, so it is
        // left alone for all others.
        if *key == largest() && slot >= self.len() { None } else { Some(self.rows[slot]) }
    }

    /// How many keys are smaller than `key`.
    #[inline(always)]
    pub(crate) fn lower_bound(&self, key: &K) -> usize {
        let slot = smaller_keys(&self.keys, key);
        let slot = slot + usize::from(self.keys[slot] < *key);
        slot.min(self.len())
    }

    /// How many keys are not larger than `key`.
    pub(crate) fn upper_bound(&self, key: &K) -> usize {
        let slot = self.lower_bound(key);
        slot + usize::from(slot < self.len() && self.keys[slot] == *key)
    }

    /// Inserts at a slot; the leaf must have room.
    #[inline(always)]
    pub(crate) fn insert(&mut self, slot: usize, key: K, row: RowId) {
        let count = self.len();
        if slot < count {
            self.keys.copy_within(slot..count, slot + 1);
            self.rows.copy_within(slot..count, slot + 1);
        }
        self.keys[slot] = key;
        self.rows[slot] = row;
        self.count += 1;
        self.last_insert = slot as u32;
    }

    /// Removes the key in a slot; gives its row.
    pub(crate) fn remove(&mut self, slot: usize) -> RowId {
        let (row, count) = (self.rows[slot], self.len());
        self.keys.copy_within(slot + 1..count, slot);
        self.rows.copy_within(slot + 1..count, slot);
        self.keys[count - 1] = largest();
        self.count -= 1;
        if self.last_insert as usize >= slot {
            self.last_insert = self.last_insert.saturating_sub(1);
        }
        row
    }

    /// Moves as many keys as there is room for from the start of `right`, whose keys follow, to the end.
    pub(crate) fn take_from(&mut self, right: &mut Self) {
        let (count, there) = (self.len(), right.len());
        let moved = there.min(LEAF - count);
        self.keys[count..count + moved].copy_from_slice(&right.keys[..moved]);
        self.rows[count..count + moved].copy_from_slice(&right.rows[..moved]);
        right.keys.copy_within(moved..there, 0);
        right.rows.copy_within(moved..there, 0);
        right.keys[there - moved..there].fill(largest());
        self.count += moved as u32;
        right.count -= moved as u32;
        self.last_insert = self.count.saturating_sub(1);
        right.last_insert = right.count.saturating_sub(1);
    }

    /// Moves the keys from slot `from` on to the empty leaf `right`.
    pub(crate) fn move_to(&mut self, from: usize, right: &mut Self) {
        let count = self.len();
        right.keys[..count - from].copy_from_slice(&self.keys[from..count]);
        right.rows[..count - from].copy_from_slice(&self.rows[from..count]);
        self.keys[from..count].fill(largest());
        right.count = (count - from) as u32;
        self.count = from as u32;
        self.last_insert = self.last_insert.min(self.count.saturating_sub(1));
    }
}

/// An inner node: children, and between each two the largest key that may be below the left one.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(crate) struct InnerNode<K, const INNER: usize> {
    /// `count - 1` separators; child `i` leads to the keys that are at most separator `i` and larger than the one
    /// before.
    pub(crate) separators: [K; INNER],
    pub(crate) children: [u32; INNER],
    pub(crate) count: u32,
}

impl<K: EncodedKey, const INNER: usize> InnerNode<K, INNER> {
    pub(crate) fn new() -> Self {
        Self { separators: [largest(); INNER], children: [0; INNER], count: 0 }
    }

    /// The number of children.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// The position of the child that `key` belongs to.
    #[inline(always)]
    pub(crate) fn position(&self, key: &K) -> usize {
        smaller_keys(&self.separators, key)
    }

    /// Inserts a child to the right of the one at `position`, `separator` between them; the node must have room.
    pub(crate) fn insert(&mut self, position: usize, separator: K, child: u32) {
        let count = self.len();
        self.separators.copy_within(position..count - 1, position + 1);
        self.children.copy_within(position + 1..count, position + 2);
        self.separators[position] = separator;
        self.children[position + 1] = child;
        self.count += 1;
    }

    /// Removes a child; its neighbour, the right one if there is one, takes over its range of keys.
    pub(crate) fn remove(&mut self, position: usize) {
        let count = self.len();
        self.children.copy_within(position + 1..count, position);
        self.count -= 1;
        if count > 1 {
            let separator = position.min(count - 2);
            self.separators.copy_within(separator + 1..count - 1, separator);
            self.separators[count - 2] = largest();
        }
    }

    /// Moves the children from position `from` on to the empty node `right`; gives the separator between the two.
    pub(crate) fn move_to(&mut self, from: usize, right: &mut Self) -> K {
        let count = self.len();
        right.children[..count - from].copy_from_slice(&self.children[from..count]);
        right.separators[..count - 1 - from].copy_from_slice(&self.separators[from..count - 1]);
        let separator = self.separators[from - 1];
        self.separators[from - 1..count - 1].fill(largest());
        right.count = (count - from) as u32;
        self.count = from as u32;
        separator
    }
}
