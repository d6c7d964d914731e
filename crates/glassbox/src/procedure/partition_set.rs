//! A set of the partitions of one database.
//!
//! At most 64 partitions exist, so the set is one word: copied, compared and united in an instruction. A mask in a bare
//! `u64` says the same to the processor and nothing to the reader, who cannot tell it from a count, a number or a key.

use serde::{Deserialize, Serialize};

/// A set of partitions, by their numbers, which are below [`PartitionSet::MAX_PARTITIONS`]. Stored and sent as one
/// `u64` in which bit *i* stands for partition *i*.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionSet(u64);

impl PartitionSet {
    /// The set without partitions.
    pub const EMPTY: Self = Self(0);
    /// The largest number of partitions that a database can have.
    pub const MAX_PARTITIONS: usize = 64;

    /// The set of one partition.
    #[inline(always)]
    pub const fn of(partition: usize) -> Self {
        debug_assert!(partition < Self::MAX_PARTITIONS);
        Self(1 << partition)
    }

    /// All partitions of a database with `count` of them, from 1 to 64.
    #[inline(always)]
    pub const fn all(count: usize) -> Self {
        debug_assert!(count > 0 && count <= Self::MAX_PARTITIONS);
        Self(u64::MAX >> (Self::MAX_PARTITIONS - count))
    }

    /// Whether the partition is in the set.
    #[inline(always)]
    pub const fn contains(self, partition: usize) -> bool {
        self.0 >> partition & 1 == 1
    }

    /// Whether the set has no partition.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set has exactly one partition.
    #[inline(always)]
    pub const fn is_single(self) -> bool {
        self.0.is_power_of_two()
    }

    /// The number of partitions in the set.
    #[inline(always)]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The lowest partition of the set; 64 if the set is empty.
    #[inline(always)]
    pub const fn lowest(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The set with this partition added.
    #[inline(always)]
    #[must_use]
    pub const fn with(self, partition: usize) -> Self {
        self.union(Self::of(partition))
    }

    /// The set, or if it is empty, the set of this partition.
    #[inline(always)]
    #[must_use]
    pub const fn or_if_empty(self, partition: usize) -> Self {
        if self.is_empty() { Self::of(partition) } else { self }
    }

    /// Adds a partition.
    #[inline(always)]
    pub const fn insert(&mut self, partition: usize) {
        self.0 |= Self::of(partition).0;
    }

    /// Adds all partitions of another set.
    #[inline(always)]
    pub const fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The partitions of either set.
    #[inline(always)]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The partitions of both sets.
    #[inline(always)]
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The partitions of this set that are not in the other.
    #[inline(always)]
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The partitions of the set in ascending order.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = usize> + Clone {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lowest = rest.trailing_zeros() as usize;
            rest &= rest.wrapping_sub(1);
            (lowest < Self::MAX_PARTITIONS).then_some(lowest)
        })
    }
}

impl FromIterator<usize> for PartitionSet {
    fn from_iter<I: IntoIterator<Item = usize>>(partitions: I) -> Self {
        partitions.into_iter().fold(Self::EMPTY, Self::with)
    }
}

impl std::fmt::Debug for PartitionSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_its_partitions_in_ascending_order() {
        let set: PartitionSet = [63, 0, 5].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 5, 63]);
        assert_eq!((set.len(), set.lowest(), set.is_single()), (3, 0, false));
        assert_eq!(format!("{set:?}"), "{0, 5, 63}");
        assert_eq!(PartitionSet::EMPTY.iter().next(), None);
        assert_eq!(PartitionSet::all(64).iter().count(), 64);
        assert_eq!(PartitionSet::all(1), PartitionSet::of(0));
    }

    #[test]
    fn operations_agree_with_those_of_a_tree_set() {
        use std::collections::BTreeSet;
        let tree = |set: PartitionSet| set.iter().collect::<BTreeSet<_>>();
        let words = [0, 1, 0b1010, 0b0110, u64::MAX, 1 << 63 | 1, 0x0f0f_0000_f0f0_0001];
        for (left, right) in
            words.into_iter().flat_map(|left| words.map(|right| (PartitionSet(left), PartitionSet(right))))
        {
            assert_eq!(tree(left.union(right)), &tree(left) | &tree(right));
            assert_eq!(tree(left.intersection(right)), &tree(left) & &tree(right));
            assert_eq!(tree(left.difference(right)), &tree(left) - &tree(right));
            for partition in [0, 1, 31, 63] {
                assert_eq!(left.contains(partition), tree(left).contains(&partition));
                assert_eq!(tree(left.with(partition)), &tree(left) | &BTreeSet::from([partition]));
            }
            assert_eq!(left.or_if_empty(7), if left.is_empty() { PartitionSet::of(7) } else { left });
        }
    }

    #[test]
    fn the_stored_form_is_one_word() {
        let set: PartitionSet = [0, 9].into_iter().collect();
        assert_eq!(serde_json::to_string(&set).unwrap(), "513");
        assert_eq!(postcard::to_allocvec(&set).unwrap(), postcard::to_allocvec(&513_u64).unwrap());
    }
}
