//! Removal, and freeing what it leaves empty.

use super::tree::BTree;
use crate::partitioned::memory::rows::RowId;
use crate::record::EncodedKey;

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// Removes a key; gives its row, or `None` when it is not there.
    #[inline]
    pub(crate) fn remove(&mut self, key: &K) -> Option<RowId> {
        let number = self.leaf_of(key);
        let leaf = self.nodes.leaf_mut(number);
        let slot = leaf.lower_bound(key);
        if slot == leaf.len() || leaf.keys[slot] != *key {
            return None;
        }
        let row = leaf.remove(slot);
        self.entries -= 1;
        if leaf.count == 0 && self.height > 0 {
            self.free_empty_leaf(key);
        }
        Some(row)
    }

    /// Frees the leaf of `key`, which is empty, with every inner node that had no other child.
    #[cold]
    #[inline(never)]
    fn free_empty_leaf(&mut self, key: &K) {
        let path = self.path_to(key);
        let (previous, next) = (self.nodes.leaf(path.leaf).previous, self.nodes.leaf(path.leaf).next);
        if previous != 0 {
            self.nodes.leaf_mut(previous).next = next;
        }
        if next != 0 {
            self.nodes.leaf_mut(next).previous = previous;
        }
        self.nodes.free_leaf(path.leaf);
        self.fingers.forget(path.leaf);
        for &(number, position) in path.steps[..self.height as usize].iter().rev() {
            let inner = self.nodes.inner_mut(number);
            inner.remove(position as usize);
            if inner.count > 0 {
                break;
            }
            self.nodes.free_inner(number);
        }
        while self.height > 0 && self.nodes.inner(self.root).count == 1 {
            let only_child = self.nodes.inner(self.root).children[0];
            self.nodes.free_inner(self.root);
            self.root = only_child;
            self.height -= 1;
        }
    }
}
