//! What a tree without room for another leaf does: it moves the entries of sparse leaves together.
//!
//! Leaves are freed when they are empty, so random deletions leave sparse ones behind, whose free slots are of use for
//! neighbouring keys only. While there is memory, that costs less than merging leaves on every deletion. In a tree that
//! has reached its limit, deleted entries must make room for any key. Packing visits every leaf once. It is worth that
//! only if it frees many leaves, so an insertion is refused where it would free less than a sixteenth.

use super::node::largest;
use super::tree::BTree;
use crate::record::EncodedKey;

/// The part of all leaves that packing frees, or it is not done.
const MIN_FREED_PART: usize = 16;

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// Fills the leaves from the first one on, frees those that are left empty, and builds the inner nodes again;
    /// `false`: too few would be freed, and nothing is changed.
    #[cold]
    #[inline(never)]
    pub(super) fn pack(&mut self) -> bool {
        let leaves = self.nodes.leaves;
        if self.entries.div_ceil(LEAF) + (leaves / MIN_FREED_PART).max(1) > leaves {
            return false;
        }
        self.fingers.forget_all();
        let first = self.leaf_of(&K::ZERO);
        self.free_inners(self.root, self.height);
        (self.root, self.height) = (first, 0);
        self.fill_leaves(first);
        // Each is inserted at the right edge, where full inner nodes stay full. So every level has as few nodes as
        // possible, not more than were freed.
        let mut leaf = self.nodes.leaf(first).next;
        while leaf != 0 {
            let separator = self.nodes.leaf(leaf).keys[0].predecessor().expect("a smaller key is in the leaf before");
            let path = self.path_to(&largest());
            self.insert_child(&path, separator, leaf);
            leaf = self.nodes.leaf(leaf).next;
        }
        true
    }

    /// Moves the entries of all leaves towards the first one, and frees the leaves left empty.
    fn fill_leaves(&mut self, first: u32) {
        let (mut to, mut from) = (first, self.nodes.leaf(first).next);
        while from != 0 {
            let (left, right) = self.nodes.two_leaves(to, from);
            let after = right.next;
            left.take_from(right);
            if right.count > 0 {
                to = from;
            } else {
                left.next = after;
                self.nodes.free_leaf(from);
                if after != 0 {
                    self.nodes.leaf_mut(after).previous = to;
                }
            }
            from = after;
        }
    }

    /// Frees an inner node and all those below it.
    fn free_inners(&mut self, number: u32, height: u32) {
        if height == 0 {
            return;
        }
        for position in 0..self.nodes.inner(number).len() {
            self.free_inners(self.nodes.inner(number).children[position], height - 1);
        }
        self.nodes.free_inner(number);
    }
}
