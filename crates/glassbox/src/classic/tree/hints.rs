//! In which leaf a key was found last, and where there: a guess that saves the way down.
//!
//! Problem: a lookup fixes, latches and searches a node of each level, and nearly always the same ones above the
//! leaves. Naive: keep the upper levels apart, or pointers to them; then every split must see to these as well. But a
//! guess need not be right. A leaf of the tree that has the key is the place of the key, however it was come by,
//! because keys are unique; so it is enough to look. If the key is not there, nothing is known, and the way down is
//! taken.
//!
//! Keys whose encoded forms differ only in their last bits are a group, with a place in a table of fixed size: one of
//! two, so that two groups that meet need not drive each other out. A place also keeps some more bits of the form, so
//! that groups that share it rarely lead to a wrong leaf. Nothing is ever struck: a leaf that was split or left the
//! tree does not have the key, or says that it is none of the tree's.
//!
//! The place in the leaf is that of the group's first key if no key of the group is missing. It is right as long as
//! keys are dense and nothing before them comes or goes; and it can be asked for before the leaf is looked at.
//!
//! A leaf may end within a group. Then both of its places are the group's, for two leaves: in the second leaf, the
//! group's first key would stand before the first entry, and so would each key that is in the first leaf.
//!
//! Rejected: guesses for keys that are not there, for insertions. What may go into a leaf is bounded by separators
//! above it, which the leaf does not have.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::classic::ids::{PageId, StoreId};

/// Pairs of places in the table: 2 to this.
const PAIRS_LOG: u32 = 14;
/// Groups that follow each other have their pairs side by side, in a line of the cache: 2 to this.
const BESIDE_LOG: u32 = 2;
/// The last bits of a key that do not count.
const GROUP_BITS: u32 = 6;
/// The number of a key in its group.
const IN_GROUP: u64 = (1 << GROUP_BITS) - 1;

/// Of more groups that a leaf may have nothing is said: its keys are far apart.
const MAX_GROUPS: u64 = 64;

/// The places that a group may have.
type Pair = [AtomicU64; 2];
type PairTable = Box<[Pair; 1 << PAIRS_LOG]>;

/// See the file.
#[derive(Default)]
pub(super) struct Hints {
    /// Made for the first lookup: many trees are only looked through.

    /// From the lowest bits: the leaf, 32 bits; the place in it of the group's first key, 16; what tells the group from
    /// others, 16. No leaf is page 0.
    places: OnceLock<PairTable>,
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

/// Spreads groups over the table: the number of a key's pair, and what tells its group from others there.
#[inline(always)]
fn pair_and_tag(number: u64) -> (usize, u64) {
    let group = number >> GROUP_BITS;
    let mixed = (group >> BESIDE_LOG).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let line = (mixed >> (64 - PAIRS_LOG + BESIDE_LOG)) as usize;
    let beside = group as usize & ((1 << BESIDE_LOG) - 1);
    (line << BESIDE_LOG | beside, mixed >> (64 - PAIRS_LOG + BESIDE_LOG - 16) & 0xffff)
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
        let (pair, tag) = pair_and_tag(number);
        let [recent, other] = &places[pair];
        let in_group = (number & IN_GROUP) as u16;
        let guess = |place: &AtomicU64| {
            let found = place.load(Ordering::Relaxed);
            let leaf = if found >> 48 == tag { found as u32 } else { 0 };
            Guess { leaf: PageId(leaf), at: ((found >> 32) as u16).wrapping_add(in_group) }
        };
        let (recent, other) = (guess(recent), guess(other));
        // A position before the first entry is greater than all others.
        let is_other = other.leaf != PageId::NONE && (recent.leaf == PageId::NONE || other.at < recent.at);
        if is_other { other } else { recent }
    }

    /// Says where a key was found, among keys from `first` to `last` that are there too: so what is said of one key
    /// is said of its neighbours.
    pub(super) fn found(&self, number: u64, (first, last): (u64, u64), guess: Guess) {
        self.set(number, guess);
        // Groups that are in this leaf only.
        let (from, to) = ((first >> GROUP_BITS) + 1, last >> GROUP_BITS);
        if to.wrapping_sub(from) <= MAX_GROUPS {
            for group in (from..to).map(|group| group << GROUP_BITS).filter(|group| *group != number & !IN_GROUP) {
                self.set(group, Guess { at: group.wrapping_sub(first) as u16, ..guess });
            }
        }
    }

    fn set(&self, number: u64, Guess { leaf, at }: Guess) {
        let new = || {
            let places: Box<[Pair]> = (0..1 << PAIRS_LOG).map(|_| Pair::default()).collect();
            places.try_into().expect("as many")
        };
        let (pair, tag) = pair_and_tag(number);
        let [recent, other] = &self.places.get_or_init(new)[pair];
        let first = u64::from(at.wrapping_sub((number & IN_GROUP) as u16));
        let hint = tag << 48 | first << 32 | u64::from(leaf.0);
        let is_of_group = |place: &AtomicU64| place.load(Ordering::Relaxed) >> 48 == tag;
        let is_of_leaf = |place: &AtomicU64| is_of_group(place) && place.load(Ordering::Relaxed) as u32 == leaf.0;
        let known = [(recent, other), (other, recent)].into_iter().find(|(place, _)| is_of_leaf(place));
        let Some((place, beside)) = known else {
            other.store(recent.load(Ordering::Relaxed), Ordering::Relaxed);
            return recent.store(hint, Ordering::Relaxed);
        };
        if is_of_group(beside) {
            // It was guessed, and does not have the key.
            beside.store(0, Ordering::Relaxed);
        }
        place.store(hint, Ordering::Relaxed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_groups_that_meet_are_both_known_and_a_third_takes_the_place_of_the_older() {
        let met = |number: &u64| pair_and_tag(*number).0 == pair_and_tag(0).0;
        let numbers: Vec<u64> = (0..).step_by(1 << GROUP_BITS).filter(met).take(3).collect();
        let hints = Hints::default();
        let known = |number: u64| {
            let Guess { leaf, at } = hints.guess(number + 5);
            (leaf != PageId::NONE).then_some((leaf.0, at))
        };
        let found = |number: u64, leaf: u32, at: u16| hints.set(number, Guess { leaf: PageId(leaf), at });
        found(numbers[0], 10, 100);
        found(numbers[1], 11, 200);
        for moved in [10, 20] {
            found(numbers[0], moved, 300);
            assert_eq!([0, 1, 2].map(|at| known(numbers[at])), [Some((moved, 305)), Some((11, 205)), None]);
        }
        found(numbers[2], 12, 400);
        let left = [0, 1, 2].map(|at| known(numbers[at]));
        assert_eq!(left, [Some((20, 305)), None, Some((12, 405))]);
    }

    /// Keys 0 to 19 of a group are the last ones of a leaf, and the others the first ones of the next.
    #[test]
    fn both_leaves_of_a_group_that_a_leaf_ends_in_are_known() {
        let hints = Hints::default();
        let guess = |number| {
            let Guess { leaf, at } = hints.guess(number);
            (leaf.0, at)
        };
        let first = Guess { leaf: PageId(10), at: 505 };
        let second = Guess { leaf: PageId(11), at: 20 };
        for [one, then] in [[(5, first), (40, second)], [(40, second), (5, first)]] {
            hints.set(one.0, one.1);
            hints.set(then.0, then.1);
            assert_eq!([0, 19, 20, 63].map(guess), [(10, 500), (10, 519), (11, 0), (11, 43)]);
        }
        // The second leaf was merged into another one: it is guessed once more.
        hints.set(40, Guess { leaf: PageId(12), at: 100 });
        assert_eq!(guess(40).0, 12);
    }
}
