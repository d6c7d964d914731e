//! The nodes of the B+-tree, and the search in them: fixed sizes, no branches on keys.
//!
//! Invariant of both kinds: keys ascend in the first `used` places and are [`NO_KEY`] in the rest, so that a search may
//! look at every place without knowing how many are used. Place 0 of an inner node is never compared: its child takes
//! all that is less.

use crate::index::NO_KEY;
use crate::memory::Row;

/// Places of a node, inner or leaf.
pub(super) const PLACES: usize = 64;

/// Keys and their rows, side by side: a lookup that knows its place touches one cache line.
#[repr(C, align(64))]
pub(super) struct Leaf<T> {
    pub(super) entries: [Entry<T>; PLACES],
    pub(super) used: u32,
    /// The place of the last insertion.
    pub(super) last: u32,
    /// The leaf with the next greater keys.
    pub(super) next: Option<Row<Leaf<T>>>,
}

/// A key and its row.
pub(super) struct Entry<T> {
    pub(super) key: u64,
    pub(super) row: Row<T>,
}

/// Keys together, because a search touches several of them and only one child.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Inner {
    pub(super) keys: [u64; PLACES],
    /// Numbers of inner nodes or of leaves: the height says which.
    pub(super) children: [u32; PLACES],
    pub(super) used: u32,
}

impl<T> Clone for Leaf<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Leaf<T> {}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Entry<T> {}

/// The last place with `key_at(place) <= key`; place 0 if there is none.
#[inline(always)]
pub(super) fn last_at_most(key: u64, key_at: impl Fn(usize) -> u64) -> usize {
    let mut place = 0;
    for half in [32, 16, 8, 4, 2, 1] {
        let next = place + half;
        place = std::hint::select_unpredictable(key_at(next) <= key, next, place);
    }
    place
}

impl Inner {
    /// The child in which `key` is, or would be.
    #[inline(always)]
    pub(super) fn place(&self, key: u64) -> usize {
        last_at_most(key, |place| self.keys[place % PLACES])
    }

    /// Adds a child after `place`, where there is room.
    pub(super) fn insert(&mut self, place: usize, key: u64, child: u32) {
        let used = self.used as usize;
        self.keys.copy_within(place + 1..used, place + 2);
        self.children.copy_within(place + 1..used, place + 2);
        self.keys[place + 1] = key;
        self.children[place + 1] = child;
        self.used += 1;
    }

    /// Moves the places from `at` on to a new node.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let mut right = Self { keys: [NO_KEY; PLACES], children: [0; PLACES], used: self.used - at as u32 };
        let moved = at..self.used as usize;
        right.keys[..moved.len()].copy_from_slice(&self.keys[moved.clone()]);
        right.children[..moved.len()].copy_from_slice(&self.children[moved.clone()]);
        self.keys[moved].fill(NO_KEY);
        self.used = at as u32;
        right
    }
}

impl<T> Leaf<T> {
    pub(super) fn empty() -> Self {
        // SAFETY: the row of an unused place is never used.
        let entry = Entry { key: NO_KEY, row: unsafe { Row::known(0) } };
        Self { entries: [entry; PLACES], used: 0, last: 0, next: None }
    }

    /// The first place whose key is more than `key`.
    #[inline(always)]
    pub(super) fn place_after(&self, key: u64) -> usize {
        let place = last_at_most(key, |place| self.entries[place % PLACES].key);
        place + usize::from(self.entries[place % PLACES].key <= key)
    }

    /// Makes room at `place` for `more` entries, which the leaf has.
    #[inline(always)]
    pub(super) fn open(&mut self, place: usize, more: usize) {
        let used = self.used as usize;
        if place < used {
            self.entries.copy_within(place..used, place + more);
        }
        self.used = (used + more) as u32;
        self.last = (place + more - 1) as u32;
    }

    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let mut right = Self { used: self.used - at as u32, next: self.next, ..Self::empty() };
        let moved = at..self.used as usize;
        right.entries[..moved.len()].copy_from_slice(&self.entries[moved.clone()]);
        self.entries[moved].fill(Self::empty().entries[0]);
        self.used = at as u32;
        right
    }
}
