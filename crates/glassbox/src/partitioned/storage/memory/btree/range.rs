//! Scans: from one bound to the other, in either direction, along the links between the leaves.

use crate::partitioned::storage::memory::btree::node::Leaf;
use crate::partitioned::storage::memory::btree::tree::BTree;
use crate::partitioned::storage::memory::rows::RowId;
use crate::prefetch::prefetch_span;
use crate::record::{Direction, EncodedKey};

/// A scan in progress.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'tree, K, const LEAF: usize = 64, const INNER: usize = 256> {
    tree: &'tree BTree<K, LEAF, INNER>,
    leaf: &'tree Leaf<K, LEAF>,
    /// Forward: the slot of the next key. Backward: the slot behind it.
    slot: usize,
    /// The bound at which the scan ends, inclusive.
    end: K,
    direction: Direction,
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// The entries with keys from `low` to `high`, both inclusive, in ascending or descending order. Nothing when `low`
    /// is above `high`.
    #[inline]
    pub(crate) fn range(&self, low: &K, high: &K, direction: Direction) -> Cursor<'_, K, LEAF, INNER> {
        let (start, end) = match direction {
            Direction::Forward => (low, *high),
            Direction::Backward => (high, *low),
        };
        let leaf = self.nodes.leaf(self.leaf_of(start));
        let slot = match direction {
            Direction::Forward => leaf.lower_bound(start),
            Direction::Backward => leaf.upper_bound(start),
        };
        Cursor { tree: self, leaf, slot, end, direction }
    }
}

impl<'tree, K: EncodedKey, const LEAF: usize, const INNER: usize> Cursor<'tree, K, LEAF, INNER> {
    /// Goes on to another leaf, asking for the one behind it.
    fn enter(&mut self, number: u32) -> &'tree Leaf<K, LEAF> {
        let leaf = self.tree.nodes.leaf(number);
        self.leaf = leaf;
        let beyond = if self.direction == Direction::Forward { leaf.next } else { leaf.previous };
        prefetch_span(self.tree.nodes.address(beyond), size_of::<Leaf<K, LEAF>>());
        leaf
    }
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> Iterator for Cursor<'_, K, LEAF, INNER> {
    type Item = (K, RowId);

    #[inline]
    fn next(&mut self) -> Option<(K, RowId)> {
        let slot = match self.direction {
            Direction::Forward => {
                if self.slot >= self.leaf.len() {
                    if self.leaf.next == 0 {
                        return None;
                    }
                    self.enter(self.leaf.next);
                    self.slot = 0;
                }
                self.slot
            }
            Direction::Backward => {
                if self.slot == 0 {
                    if self.leaf.previous == 0 {
                        return None;
                    }
                    self.slot = self.enter(self.leaf.previous).len();
                }
                self.slot - 1
            }
        };
        let key = self.leaf.keys[slot];
        let within = match self.direction {
            Direction::Forward => key <= self.end,
            Direction::Backward => key >= self.end,
        };
        if !within {
            return None;
        }
        self.slot = if self.direction == Direction::Forward { slot + 1 } else { slot };
        Some((key, self.leaf.rows[slot]))
    }
}
