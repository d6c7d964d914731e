//! Insertion: by a finger, by a descent, and with splits; and packing, when there is no room for another leaf.

use crate::partitioned::storage::memory::btree::fingers::Finger;
use crate::partitioned::storage::memory::btree::node::largest;
use crate::partitioned::storage::memory::btree::tree::BTree;
use crate::partitioned::storage::memory::rows::RowId;
use crate::record::EncodedKey;

/// Levels of inner nodes a tree can have: each has several children at least when the next is added, and there are
/// fewer than 2^32 leaves.
pub(crate) const MAX_HEIGHT: usize = 32;

/// Why a key was not inserted; nothing is changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotInserted {
    /// The tree has the key, with this row.
    Taken(RowId),
    /// No memory for another node.
    Full,
}

/// The way from the root to a leaf: at each level, root first, the node and the position of the child taken.
pub(crate) struct Path {
    pub(crate) steps: [(u32, u32); MAX_HEIGHT],
    pub(crate) leaf: u32,
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// Inserts a key.
    ///
    /// # Errors
    /// When it is there already, or memory runs out.
    #[inline]
    pub(crate) fn insert(&mut self, key: K, row: RowId) -> Result<(), NotInserted> {
        let finger = self.fingers.of(&key);
        let number = if finger.covers(&key) { finger.leaf } else { self.move_finger(&key) };
        let leaf = self.nodes.leaf_mut(number);
        let count = leaf.len();
        if count == LEAF {
            return self.insert_into_full(key, row);
        }
        // Right behind the previous insertion? A slot without a key holds the largest, so the end needs no special
        // case.
        let behind = leaf.last_insert as usize + 1;
        if behind < LEAF && leaf.keys[behind - 1] < key && key < leaf.keys[behind] {
            leaf.insert(behind, key, row);
        } else {
            let slot = leaf.lower_bound(&key);
            if slot < count && leaf.keys[slot] == key {
                return Err(NotInserted::Taken(leaf.rows[slot]));
            }
            leaf.insert(slot, key, row);
        }
        self.entries += 1;
        Ok(())
    }

    /// Inserts the keys of `count` rows from `first` on, which `key_of` gives by their order. Cheaper than one by one
    /// where the keys ascend and no key of the tree lies between them: then one search serves all that fit into the
    /// leaf.
    ///
    /// # Errors
    /// How many were inserted, and why the next one was not.
    #[inline(always)]
    pub(crate) fn insert_run(
        &mut self,
        first: RowId,
        count: u32,
        key_of: impl Fn(u32) -> K,
    ) -> Result<(), (u32, NotInserted)> {
        let row = |done| RowId::new(first.get() + done);
        let mut done = 0;
        while done < count {
            let mut last = key_of(done);
            self.insert(last, row(done)).map_err(|reason| (done, reason))?;
            done += 1;
            let finger = self.fingers.of(&last);
            if finger.leaf == 0 {
                continue;
            }
            let (high, leaf) = (finger.high, self.nodes.leaf_mut(finger.leaf));
            let slot = leaf.last_insert as usize + 1;
            if slot != leaf.len() || leaf.keys[slot - 1] != last {
                continue;
            }
            let before = done;
            for (key, place) in leaf.keys[slot..].iter_mut().zip(&mut leaf.rows[slot..]).take((count - done) as usize) {
                let next = key_of(done);
                if next <= last || next > high {
                    break;
                }
                (*key, *place) = (next, row(done));
                last = next;
                done += 1;
            }
            leaf.count += done - before;
            leaf.last_insert += done - before;
            self.entries += (done - before) as usize;
        }
        Ok(())
    }

    /// Descends to the leaf of `key`, points the key's finger at it, and gives its number.
    #[inline(never)]
    fn move_finger(&mut self, key: &K) -> u32 {
        let (mut number, mut high) = (self.root, largest::<K>());
        for _ in 0..self.height {
            let inner = self.nodes.inner(number);
            let position = inner.position(key);
            // The separator of the last child is the largest key, so that an upper node's stays in force.
            high = high.min(inner.separators[position]);
            number = inner.children[position];
        }
        let low = (*key).min(self.nodes.leaf(number).keys[0]);
        *self.fingers.of(key) = Finger { leaf: number, low, high };
        number
    }

    /// The way to the leaf of `key`.
    pub(crate) fn path_to(&self, key: &K) -> Path {
        let mut path = Path { steps: [(0, 0); MAX_HEIGHT], leaf: self.root };
        for step in &mut path.steps[..self.height as usize] {
            let inner = self.nodes.inner(path.leaf);
            let position = inner.position(key);
            *step = (path.leaf, position as u32);
            path.leaf = inner.children[position];
        }
        path
    }

    /// Inserts into a leaf without room: splits it, where the keys that are still to come will waste the least.
    #[cold]
    #[inline(never)]
    fn insert_into_full(&mut self, key: K, row: RowId) -> Result<(), NotInserted> {
        let path = self.path_to(&key);
        let full = self.nodes.leaf(path.leaf);
        let slot = full.lower_bound(&key);
        if slot < LEAF && full.keys[slot] == key {
            return Err(NotInserted::Taken(full.rows[slot]));
        }
        if !self.nodes.has_room(self.inners_to_split(&path)) {
            return if self.pack() { self.insert(key, row) } else { Err(NotInserted::Full) };
        }
        let run = slot == full.last_insert as usize + 1;
        let split = if slot == LEAF || run { slot } else { LEAF / 2 };
        let (next, number) = (full.next, self.nodes.allocate_leaf());
        let (left, right) = self.nodes.two_leaves(path.leaf, number);
        left.move_to(split, right);
        if slot <= split && split < LEAF {
            left.insert(slot, key, row);
        } else {
            right.insert(slot - split, key, row);
        }
        (right.previous, right.next, left.next) = (path.leaf, next, number);
        let separator = right.keys[0].predecessor().expect("a smaller key is in the left leaf");
        if next != 0 {
            self.nodes.leaf_mut(next).previous = number;
        }
        self.insert_child(&path, separator, number);
        self.entries += 1;
        self.fingers.forget(path.leaf);
        Ok(())
    }

    /// How many inner nodes another leaf at the end of this path needs: those that are full are split, too, and when
    /// all are, a new root comes above.
    fn inners_to_split(&self, path: &Path) -> usize {
        let steps = path.steps[..self.height as usize].iter().rev();
        let full = steps.take_while(|step| self.nodes.inner(step.0).len() == INNER).count();
        full + usize::from(full == self.height as usize)
    }

    /// Inserts the right half of a split leaf behind the left one into the parent, splitting upwards as needed.
    pub(crate) fn insert_child(&mut self, path: &Path, mut separator: K, mut child: u32) {
        for &(number, position) in path.steps[..self.height as usize].iter().rev() {
            let position = position as usize;
            let inner = self.nodes.inner_mut(number);
            if inner.len() < INNER {
                return inner.insert(position, separator, child);
            }
            let new = self.nodes.allocate_inner();
            let (left, right) = self.nodes.two_inners(number, new);
            if position == INNER - 1 {
                // The dense right edge: the full node stays full.
                right.children[0] = child;
                right.count = 1;
            } else {
                let middle = INNER / 2;
                let between = left.move_to(middle, right);
                if position < middle {
                    left.insert(position, separator, child);
                } else {
                    right.insert(position - middle, separator, child);
                }
                separator = between;
            }
            child = new;
        }
        let new_root = self.nodes.allocate_inner();
        let (old_root, inner) = (self.root, self.nodes.inner_mut(new_root));
        inner.children[0] = old_root;
        inner.count = 1;
        inner.insert(0, separator, child);
        self.root = new_root;
        self.height += 1;
        assert!((self.height as usize) < MAX_HEIGHT, "the ordered index is too high");
    }
}

// Packing: what a tree without room for another leaf does. It moves the entries of sparse leaves together.
//
// Leaves are freed when they are empty, so random deletions leave sparse ones behind, whose free slots are of use for
// neighbouring keys only. While there is memory, that costs less than merging leaves on every deletion. In a tree that
// has reached its limit, deleted entries must make room for any key. Packing visits every leaf once. It is worth that
// only if it frees many leaves, so an insertion is refused where it would free less than a sixteenth.

/// The part of all leaves that packing frees, or it is not done.
const MIN_FREED_PART: usize = 16;

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> BTree<K, LEAF, INNER> {
    /// Fills the leaves from the first one on, frees those that are left empty, and builds the inner nodes again;
    /// `false`: too few would be freed, and nothing is changed.
    #[cold]
    #[inline(never)]
    pub(crate) fn pack(&mut self) -> bool {
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
