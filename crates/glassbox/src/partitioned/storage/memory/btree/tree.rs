//! A B+-tree for keys that arrive in runs.
//!
//! The tables that need order are those that grow: orders, order lines, histories. Their keys arrive in ascending runs,
//! one for each prefix (each district numbers its own orders), and so not at the right end of the tree but at many
//! places inside it. A textbook tree splits each full leaf in the middle and leaves half of it empty for good, and it
//! descends from the root for every one of the ten lines of an order. Here:
//!
//! - **Dense right edge.** A leaf that overflows by an insertion at its very end stays full, and a new leaf takes the
//!   new key alone; inner nodes likewise. A leaf that overflows right behind its previous insertion is split there, so
//!   that the run gets a right edge of its own. Separators are the predecessor of the right leaf's first key, so that
//!   keys between two runs go to the end of the left one, where they are cheap, and not to the start of the right one.
//! - **Fingers.** For each of some runs the tree remembers the leaf of the last insertion and the range of keys that
//!   surely belongs there. A neighbouring insertion goes there without a descent, and behind the previous insertion
//!   without a search.
//! - Leaves are freed when they are empty, not when half empty: what is deleted in runs (orders delivered) empties
//!   whole leaves, and merging would touch neighbours on every deletion. A random deletion of most keys leaves sparse
//!   leaves behind, until memory runs out: then their entries move together (`pack`).
//!
//! Invariants (all of them are tested by `check`): keys ascend; child `i` of an inner node holds the keys above
//! separator `i - 1`, up to and including separator `i`; all leaves have the same depth and are linked in both
//! directions in key order; only a root leaf may be empty, and a root inner node has two children at least.
//!
//! Leaves are small, so that few lines are touched by a lookup that misses the cache; inner nodes are large, because
//! they are in the cache anyway and fewer levels are fewer dependent steps. Rejected: an adaptive radix tree (as fast,
//! but scans and deletions are more code), latches or optimistic versions (one thread).

use crate::partitioned::storage::memory::btree::fingers::{Finger, Fingers};
use crate::partitioned::storage::memory::btree::node::{Leaf, largest};
use crate::partitioned::storage::memory::btree::nodes::Nodes;
use crate::partitioned::storage::memory::region::{AddressSpace, CannotReserve};
use crate::partitioned::storage::memory::rows::RowId;
use crate::prefetch::{prefetch_read, prefetch_span};
use crate::record::EncodedKey;

/// Maps unique keys to row numbers, in key order.
#[derive(Debug)]
pub(crate) struct BTree<K, const LEAF: usize = 64, const INNER: usize = 256> {
    pub(crate) nodes: Nodes<K, LEAF, INNER>,
    pub(crate) root: u32,
    /// Levels of inner nodes above the leaves.
    pub(crate) height: u32,
    pub(crate) entries: usize,
    pub(crate) fingers: Fingers<K>,
}

/// A node on the way down. Valid until the tree changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    number: u32,
    /// Levels below it: 0 for a leaf.
    level: u32,
}

impl Node {
    /// As one number, to be kept where the type is not known.
    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.number) | u64::from(self.level) << 32
    }

    /// The opposite of [`Node::to_bits`].
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { number: bits as u32, level: (bits >> 32) as u32 }
    }
}

/// One step down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The child to go on with, not looked at yet.
    Child(Node),
    /// The node was a leaf: this is the key's row.
    Leaf(Option<RowId>),
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// Makes an empty tree.
    ///
    /// # Errors
    /// When the system refuses the address space.
    pub(crate) fn new(bytes: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        const { assert!(LEAF >= 4 && INNER >= 4, "nodes must have room to be split") };
        let mut nodes = Nodes::new(bytes, space)?;
        let root = nodes.allocate_leaf();
        Ok(Self { nodes, root, height: 0, entries: 0, fingers: Fingers::none() })
    }

    /// The number of the leaf that `key` belongs to.
    #[inline(always)]
    pub(crate) fn leaf_of(&self, key: &K) -> u32 {
        let mut number = self.root;
        for _ in 0..self.height {
            let inner = self.nodes.inner(number);
            number = inner.children[inner.position(key)];
        }
        number
    }

    /// The row of `key`.
    #[inline]
    pub(crate) fn get(&self, key: &K) -> Option<RowId> {
        self.nodes.leaf(self.leaf_of(key)).find(key)
    }

    /// Where a descent starts. Several keys are taken down together, one level at a time: prefetch all nodes of a
    /// level, then [`BTree::descend`] from each.
    #[inline(always)]
    pub(crate) fn root(&self) -> Node {
        Node { number: self.root, level: self.height }
    }

    /// Asks for the cache lines that a search in this node probes first: two steps of a leaf, three of an inner node.
    /// Asking for a whole leaf is slower: most of its lines are not needed, and the processor keeps only so many misses
    /// in flight. The remaining misses do not depend on the other lookups, so several of them overlap by themselves.
    #[inline(always)]
    pub(crate) fn prefetch_node(&self, node: Node) {
        let keys = self.nodes.address(node.number);
        let (slots, parts) = if node.level == 0 { (LEAF, 4) } else { (INNER, 8) };
        for part in 1..parts {
            let probed = (part * slots / parts).saturating_sub(1);
            prefetch_read(keys.wrapping_add(probed * size_of::<K>()));
        }
    }

    /// Goes down to the leaf of `key` and asks for where a search probes first; the leaf.
    #[inline]
    pub(crate) fn prefetch_leaf(&self, key: &K) -> Node {
        let leaf = Node { number: self.leaf_of(key), level: 0 };
        self.prefetch_node(leaf);
        leaf
    }

    /// Goes down to where a key from `low` to `high` will be inserted, behind all others of these; asks for all of the
    /// leaf, since something will be moved to make room, and points the finger at it.
    #[inline]
    pub(crate) fn prefetch_end(&mut self, low: &K, high: &K) {
        let (mut leaf, mut before, mut last) = (self.root, None, largest::<K>());
        for _ in 0..self.height {
            let inner = self.nodes.inner(leaf);
            let position = inner.position(high);
            if position > 0 {
                before = Some(inner.separators[position - 1]);
            }
            last = last.min(inner.separators[position]);
            leaf = inner.children[position];
        }
        prefetch_span(self.nodes.address(leaf), size_of::<Leaf<K, LEAF>>());
        // The leaf itself has not arrived yet. That all from `low` on belongs there, the separators know.
        if before.is_none_or(|before| before < *low) {
            *self.fingers.of(low) = Finger { leaf, low: *low, high: last };
        }
    }

    /// One step down from `node` towards `key`.
    #[inline(always)]
    pub(crate) fn descend(&self, node: Node, key: &K) -> Next {
        if node.level == 0 {
            return Next::Leaf(self.find_in_leaf(node, key));
        }
        let inner = self.nodes.inner(node.number);
        Next::Child(Node { number: inner.children[inner.position(key)], level: node.level - 1 })
    }

    /// The row of `key`, which is in this leaf if anywhere.
    #[inline(always)]
    pub(crate) fn find_in_leaf(&self, leaf: Node, key: &K) -> Option<RowId> {
        debug_assert_eq!(leaf.level, 0, "not a leaf");
        self.nodes.leaf(leaf.number).find(key)
    }

    /// The entry with the smallest key.
    #[cfg(test)]
    pub(crate) fn first(&self) -> Option<(K, RowId)> {
        let leaf = self.nodes.leaf(self.leaf_of(&K::ZERO));
        (leaf.count > 0).then(|| (leaf.keys[0], leaf.rows[0]))
    }

    /// The entry with the largest key.
    #[cfg(test)]
    pub(crate) fn last(&self) -> Option<(K, RowId)> {
        let leaf = self.nodes.leaf(self.leaf_of(&largest()));
        let last = leaf.len().checked_sub(1)?;
        Some((leaf.keys[last], leaf.rows[last]))
    }

    /// Makes a change that undoes another one: it must succeed, so it may use the spare memory.
    pub(crate) fn with_spare<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let limit = self.nodes.region_mut().allow_spare();
        let changed = change(self);
        self.nodes.region_mut().set_limit(limit);
        changed
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Bytes of memory in use, freed nodes included.
    pub(crate) fn used_bytes(&self) -> usize {
        self.nodes.used_bytes()
    }
}

// Removal, and freeing what it leaves empty.

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
