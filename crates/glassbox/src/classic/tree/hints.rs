//! In which leaf a key was found last: a guess that saves the way down.
//!
//! Problem: a lookup fixes, latches and searches a node of each level, and nearly always the same ones above the
//! leaves. Naive: keep the upper levels apart, or pointers to them; then every split must see to these as well. But a
//! guess need not be right. A leaf of the tree that has the key is the place of the key, however it was come by,
//! because keys are unique; so it is enough to look. If the key is not there, nothing is known, and the way down is
//! taken.
//!
//! Keys whose encoded forms differ only in their last bits share a place in a table of fixed size, which also keeps
//! some more bits of the form, so that a place that two groups share rarely leads to a wrong leaf. Nothing is ever
//! struck: a leaf that was split or left the tree does not have the key, or says that it is none of the tree's.
//!
//! Rejected: guesses for keys that are not there, for insertions. What may go into a leaf is bounded by separators
//! above it, which the leaf does not have.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::classic::ids::{PageId, StoreId};

/// Places of the table: 2 to this.
const PLACES_LOG: u32 = 14;
/// The last bits of a key that do not count.
const GROUP_BITS: u32 = 6;

/// Of more groups that a leaf may have nothing is said: its keys are far apart.
const MOST_GROUPS: u64 = 64;

/// See the file.
#[derive(Default)]
pub(super) struct Hints {
    /// Made for the first lookup: many trees are only looked through.

    /// A leaf in the low half, what tells its group from others in the high half. No leaf is page 0.
    places: OnceLock<Box<[AtomicU64]>>,
}

/// Where the hint for a key is.
#[derive(Clone, Copy)]
pub(super) struct Hint {
    at: usize,
    group: u32,
}

impl Hints {
    /// Where to look for a key, given as a number in the order of keys.
    #[inline(always)]
    pub(super) fn of(number: u64) -> Hint {
        let mixed = (number >> GROUP_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hint { at: (mixed >> (64 - PLACES_LOG)) as usize, group: mixed as u32 }
    }

    /// A place among 2 to `log` for keys of this group in a tree.
    #[inline(always)]
    pub(super) fn place(number: u64, store: StoreId, log: u32) -> usize {
        let group = (number >> GROUP_BITS) ^ u64::from(store.0) << 48;
        (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - log)) as usize
    }

    /// The leaf that a key of this group was found in last.
    #[inline(always)]
    pub(super) fn leaf(&self, hint: Hint) -> Option<PageId> {
        let found = self.places.get()?[hint.at].load(Ordering::Relaxed);
        ((found >> 32) as u32 == hint.group && found as u32 != 0).then_some(PageId(found as u32))
    }

    /// Says where a key was found, among keys from `first` to `last` that are there too: so what is said of one key
    /// is said of its neighbours.
    pub(super) fn found(&self, number: u64, (first, last): (u64, u64), leaf: PageId) {
        self.set(Self::of(number), leaf);
        // Groups that are in this leaf only.
        let (from, to) = ((first >> GROUP_BITS) + 1, last >> GROUP_BITS);
        if to.wrapping_sub(from) <= MOST_GROUPS {
            (from..to).for_each(|group| self.set(Self::of(group << GROUP_BITS), leaf));
        }
    }

    fn set(&self, hint: Hint, leaf: PageId) {
        let places = self.places.get_or_init(|| (0..1 << PLACES_LOG).map(|_| AtomicU64::new(0)).collect());
        places[hint.at].store(u64::from(hint.group) << 32 | u64::from(leaf.0), Ordering::Relaxed);
    }
}

/// A copy of a tree's definition begins without them.
impl Clone for Hints {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Hints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hints")
    }
}
