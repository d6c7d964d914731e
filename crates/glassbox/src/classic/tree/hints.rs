//! In which leaf a key was found last, and where there: a guess that saves the way down.
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
//! The place in the leaf is that of the group's first key if no key of the group is missing. It is right as long as
//! keys are dense and nothing before them comes or goes; and it can be asked for before the leaf is looked at.
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
/// The number of a key in its group.
const IN_GROUP: u64 = (1 << GROUP_BITS) - 1;

/// Of more groups that a leaf may have nothing is said: its keys are far apart.
const MOST_GROUPS: u64 = 64;

type Places = Box<[AtomicU64; 1 << PLACES_LOG]>;

/// See the file.
#[derive(Default)]
pub(super) struct Hints {
    /// Made for the first lookup: many trees are only looked through.

    /// From the lowest bits: the leaf, 32 bits; the place in it of the group's first key, 16; what tells the group from
    /// others, 16. No leaf is page 0.
    places: OnceLock<Places>,
}

/// Where a key may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guess {
    pub(super) leaf: PageId,
    /// Among the leaf's entries.
    pub(super) at: u16,
}

impl Guess {
    /// None: there is no page of this number in any tree.
    pub(crate) const NONE: Guess = Guess { leaf: PageId::NONE, at: 0 };
}

/// Spreads the group of a key.
#[inline(always)]
fn mixed(number: u64) -> u64 {
    (number >> GROUP_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What tells a group from others at its place.
#[inline(always)]
fn tag(mixed: u64) -> u64 {
    mixed >> (64 - PLACES_LOG - 16) & 0xffff
}

impl Hints {
    /// A place among 2 to `log` for keys of this group in a tree.
    #[inline(always)]
    pub(super) fn place(number: u64, store: StoreId, log: u32) -> usize {
        let group = (number >> GROUP_BITS) ^ u64::from(store.0) << 48;
        (group.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - log)) as usize
    }

    /// Where a key should be, given as a number in the order of keys, by what was found of its group last;
    /// [`Guess::NONE`] if nothing is known.
    #[inline(always)]
    pub(super) fn guess(&self, number: u64) -> Guess {
        let Some(places) = self.places.get() else { return Guess::NONE };
        let mixed = mixed(number);
        let found = places[(mixed >> (64 - PLACES_LOG)) as usize].load(Ordering::Relaxed);
        let leaf = if found >> 48 == tag(mixed) { found as u32 } else { 0 };
        Guess { leaf: PageId(leaf), at: ((found >> 32) as u16).wrapping_add((number & IN_GROUP) as u16) }
    }

    /// Says where a key was found, among keys from `first` to `last` that are there too: so what is said of one key
    /// is said of its neighbours.
    pub(super) fn found(&self, number: u64, (first, last): (u64, u64), guess: Guess) {
        self.set(number, guess);
        // Groups that are in this leaf only.
        let (from, to) = ((first >> GROUP_BITS) + 1, last >> GROUP_BITS);
        if to.wrapping_sub(from) <= MOST_GROUPS {
            for group in (from..to).map(|group| group << GROUP_BITS).filter(|group| *group != number & !IN_GROUP) {
                self.set(group, Guess { at: group.wrapping_sub(first) as u16, ..guess });
            }
        }
    }

    fn set(&self, number: u64, Guess { leaf, at }: Guess) {
        let new = || {
            let places: Box<[AtomicU64]> = (0..1 << PLACES_LOG).map(|_| AtomicU64::new(0)).collect();
            places.try_into().expect("as many")
        };
        let (places, mixed) = (self.places.get_or_init(new), mixed(number));
        let first = u64::from(at.wrapping_sub((number & IN_GROUP) as u16));
        let hint = tag(mixed) << 48 | first << 32 | u64::from(leaf.0);
        places[(mixed >> (64 - PLACES_LOG)) as usize].store(hint, Ordering::Relaxed);
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
