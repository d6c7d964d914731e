//! Verifying a B-tree: every invariant that [`crate::partitioned::storage::memory::btree::tree`] states.

use crate::partitioned::storage::memory::btree::fingers::Finger;
use crate::partitioned::storage::memory::btree::node::largest;
use crate::partitioned::storage::memory::btree::nodes::Nodes;
use crate::partitioned::storage::memory::btree::tree::BTree;
use crate::record::EncodedKey;

/// A walk over a tree, with what it has seen so far.
struct Walk<'t, K, const LEAF: usize, const INNER: usize> {
    tree: &'t BTree<K, LEAF, INNER>,
    /// The leaf visited last, or 0.
    leaf: u32,
    last_key: Option<K>,
    entries: usize,
    leaves: usize,
    inners: usize,
}

/// Checks every node of a tree.
///
/// # Errors
/// A description of the first violation found.
pub(crate) fn check<K: EncodedKey, const LEAF: usize, const INNER: usize>(
    tree: &BTree<K, LEAF, INNER>,
) -> Result<(), String> {
    let mut walk = Walk { tree, leaf: 0, last_key: None, entries: 0, leaves: 0, inners: 0 };
    walk.check_node(tree.root, tree.height, None, largest())?;
    if tree.nodes.leaf(walk.leaf).next != 0 {
        return Err(format!("the last leaf {} has a next one", walk.leaf));
    }
    if walk.entries != tree.entries {
        return Err(format!("the leaves hold {} entries, the count is {}", walk.entries, tree.entries));
    }
    if (walk.leaves, walk.inners) != (tree.nodes.leaves, tree.nodes.inners) {
        let (leaves, inners) = (tree.nodes.leaves, tree.nodes.inners);
        return Err(format!("{leaves} leaves and {inners} inner nodes are in use, but not all are in the tree"));
    }
    if tree.height > 0 && tree.nodes.inner(tree.root).count < 2 {
        return Err("the root has a single child".into());
    }
    tree.fingers.0.iter().try_for_each(|finger| walk.check_finger(finger))?;
    tree.nodes.check_free()
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> Walk<'_, K, LEAF, INNER> {
    /// Checks a node and everything below it, whose keys must be above `low` and at most `high`.
    fn check_node(&mut self, number: u32, level: u32, low: Option<K>, high: K) -> Result<(), String> {
        if !self.tree.nodes.exists(number) {
            return Err(format!("node {number} does not exist"));
        }
        if level == 0 {
            return self.check_leaf(number, low, high);
        }
        self.inners += 1;
        let inner = self.tree.nodes.inner(number);
        let count = inner.len();
        if count == 0 || count > INNER {
            return Err(format!("inner node {number} has {count} children"));
        }
        if inner.separators[count - 1..].iter().any(|key| *key != largest()) {
            return Err(format!("inner node {number} has a separator behind its last"));
        }
        let mut below = low;
        for position in 0..count {
            let separator = if position == count - 1 { high } else { inner.separators[position] };
            if below.is_some_and(|below| below >= separator) || separator > high {
                return Err(format!("separator {position} of inner node {number} is out of order: {separator:?}"));
            }
            self.check_node(inner.children[position], level - 1, below, separator)?;
            below = Some(separator);
        }
        Ok(())
    }

    fn check_leaf(&mut self, number: u32, low: Option<K>, high: K) -> Result<(), String> {
        let leaf = self.tree.nodes.leaf(number);
        let count = leaf.len();
        if count > LEAF || (count == 0 && self.tree.height > 0) {
            return Err(format!("leaf {number} has {count} keys"));
        }
        if leaf.keys[count..].iter().any(|key| *key != largest()) {
            return Err(format!("leaf {number} has a key behind its last"));
        }
        if leaf.previous != self.leaf || (self.leaf != 0 && self.tree.nodes.leaf(self.leaf).next != number) {
            return Err(format!("leaf {number} and the one before it, {}, are not linked", self.leaf));
        }
        for key in &leaf.keys[..count] {
            if self.last_key.is_some_and(|last| last >= *key) {
                return Err(format!("key {key:?} of leaf {number} is out of order"));
            }
            if low.is_some_and(|low| *key <= low) || *key > high {
                return Err(format!("key {key:?} does not belong to leaf {number}"));
            }
            self.last_key = Some(*key);
        }
        if count > 0 && leaf.last_insert as usize >= count {
            return Err(format!("leaf {number} remembers an insertion behind its last key"));
        }
        self.leaf = number;
        self.entries += count;
        self.leaves += 1;
        Ok(())
    }

    /// Checks that both ends of a finger's range belong to its leaf.
    fn check_finger(&self, finger: &Finger<K>) -> Result<(), String> {
        let (low, high) = (&finger.low, &finger.high);
        if finger.leaf != 0 && (self.tree.leaf_of(low) != finger.leaf || self.tree.leaf_of(high) != finger.leaf) {
            return Err(format!("not all keys from {low:?} to {high:?} belong to leaf {}", finger.leaf));
        }
        Ok(())
    }
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> Nodes<K, LEAF, INNER> {
    /// Checks that the lists of free nodes end, and that every node is in use or free.
    fn check_free(&self) -> Result<(), String> {
        let (mut leaves, mut inners) = (self.leaves, self.inners);
        let mut next = self.free_leaf;
        while next != 0 && leaves <= self.ever() {
            leaves += 1;
            next = self.leaf(next).next;
        }
        next = self.free_inner;
        while next != 0 && inners <= self.ever() {
            inners += 1;
            next = self.inner(next).children[0];
        }
        if self.bytes_of(leaves, inners) != self.used_bytes() {
            return Err(format!(
                "{leaves} leaves and {inners} inner nodes, free ones included, do not fill the memory"
            ));
        }
        Ok(())
    }
}
