//! A B+-tree from `u64` keys to rows.
//!
//! A lookup in a B+-tree is a binary search, divided into nodes. Three properties make this one short:
//!
//! - **No branches on keys.** Nodes hold exactly 64 places and unused ones hold [`NO_KEY`], the largest key. So a
//!   search is always six steps of compare and conditional move, unrolled, with no count to read and nothing to
//!   mispredict.
//! - **A guess in the leaf.** The key that separates a leaf from its left neighbour is, with few exceptions, its first
//!   key; and keys of customers, items and stock are consecutive numbers. So place `key - separator` is tried first. It
//!   is right in every densely loaded leaf, and costs one compare and one cache line, which can be prefetched before
//!   the leaf is read. If it is wrong, the six steps follow.
//! - **A dense right edge.** Orders and their lines arrive in ascending order within each district, so the insertion
//!   point is the end of a district's run, not of the tree. A full leaf therefore splits at the end of an ascending run
//!   (its last insertion and this one are neighbours), or at its own end if the key belongs there: the left half stays
//!   full.
//!
//! Invariants: keys in a leaf ascend in its first `used` places, and are `NO_KEY` in the rest; `keys[i]` of an inner
//! node is at most every key under `children[i]` for `i > 0`, and more than every key under `children[i - 1]`; all
//! leaves have the same height and are linked from left to right. There is no removal, because the mix removes nothing.
//!
//! Rejected: guessing in inner nodes too (a gain on loaded data that no real tree has); larger leaves (a random
//! insertion, that of orders by customer, moves half a leaf).

use std::io;

use crate::index::{Index, NO_KEY};
use crate::memory::{Pages, Row, Slab, prefetch};
use crate::node::{Entry, Inner, Leaf, PLACES, last_at_most};

/// Maximum number of inner levels: 64^7 leaves are more than there are row numbers.
const MAX_LEVELS: usize = 7;

/// Keys to rows of `T`, in the order of the keys.
pub struct Tree<T> {
    inners: Slab<Inner>,
    leaves: Slab<Leaf<T>>,
    /// Number of the root: a leaf if there are no levels.
    root: u32,
    /// Levels of inner nodes.
    levels: u32,
    /// At most the first key; its best guess when the root is a leaf.
    low: u64,
}

/// A leaf, and the place of the key if leaf and keys are dense.
pub struct LeafPosition<T> {
    leaf: Row<Leaf<T>>,
    guess: u32,
}

impl<T> Clone for LeafPosition<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LeafPosition<T> {}

#[inline(always)]
fn guess(key: u64, low: u64) -> u32 {
    key.wrapping_sub(low).min(PLACES as u64 - 1) as u32
}

impl<T> Tree<T> {
    #[inline(always)]
    fn inner(&self, number: u32) -> &Inner {
        // SAFETY: above the last level, children and the root are numbers that `inners` gave.
        self.inners.get(unsafe { Row::known(number) })
    }

    #[inline(always)]
    fn leaf_row(number: u32) -> Row<Leaf<T>> {
        // SAFETY: below the last level, children (and the root, if there is no level) are numbers that `leaves` gave.
        unsafe { Row::known(number) }
    }

    /// The leaf in which `key` is, or would be.
    #[inline(always)]
    pub(super) fn seek(&self, key: u64) -> LeafPosition<T> {
        let (mut node, mut low) = (self.root, self.low);
        for _ in 0..self.levels {
            let inner = self.inner(node);
            let place = inner.place(key);
            (node, low) = (inner.children[place % PLACES], inner.keys[place % PLACES]);
        }
        LeafPosition { leaf: Self::leaf_row(node), guess: guess(key, low) }
    }

    /// Prefetches the whole leaf, for an insertion among its entries.
    #[inline(always)]
    pub(super) fn prefetch_leaf(&self, spot: LeafPosition<T>) {
        for line in 0..size_of::<Leaf<T>>() / 64 {
            self.leaves.prefetch(spot.leaf, line * 64);
        }
    }

    /// Inserts `key`, which is new, at the position that [`Tree::seek`] found for it; nothing was inserted since.
    #[inline(always)]
    pub(super) fn insert_at(&mut self, spot: LeafPosition<T>, key: u64, row: Row<T>) {
        self.insert_run_at::<1>(spot, key, row);
    }

    /// Inserts the `N` keys from `key` on for the `N` rows from `row` on, all new, at the position of the first. One
    /// search serves all: no key of the tree is between them, so they are neighbours.
    #[inline(always)]
    pub(super) fn insert_run_at<const N: usize>(&mut self, spot: LeafPosition<T>, key: u64, row: Row<T>) {
        let leaf = self.leaves.get_mut(spot.leaf);
        let used = leaf.used as usize;
        if used + N > PLACES {
            return self.insert_splitting(key, row, N);
        }
        // Most insertions append: their place needs no search.
        let appends = used > 0 && leaf.entries[(used - 1) % PLACES].key < key;
        let place = if appends { used } else { leaf.place_after(key) };
        leaf.open(place, N);
        for (i, entry) in leaf.entries[place..place + N].iter_mut().enumerate() {
            // SAFETY: as above.
            *entry = Entry { key: key + i as u64, row: unsafe { row.plus(i as u32) } };
        }
        if key < self.low {
            self.low = key;
        }
    }

    /// Inserts a run for which its leaf has no room: fills the leaf, splits it, and continues where the next key
    /// belongs.
    #[cold]
    #[inline(never)]
    fn insert_splitting(&mut self, mut key: u64, mut row: Row<T>, mut count: usize) {
        self.low = self.low.min(key);
        while count > 0 {
            let mut path = [(0, 0); MAX_LEVELS];
            let mut node = self.root;
            for step in &mut path[..self.levels as usize] {
                let place = self.inner(node).place(key);
                *step = (node, place);
                node = self.inner(node).children[place];
            }
            let at = Self::leaf_row(node);
            let leaf = self.leaves.get_mut(at);
            let place = leaf.place_after(key);
            let fitting = count.min(PLACES - leaf.used as usize);
            if fitting == 0 {
                self.split(at, place, key, &path[..self.levels as usize]);
                continue;
            }
            leaf.open(place, fitting);
            for (i, entry) in leaf.entries[place..place + fitting].iter_mut().enumerate() {
                // SAFETY: the caller's rows are `count`, side by side.
                *entry = Entry { key: key + i as u64, row: unsafe { row.plus(i as u32) } };
            }
            // SAFETY: as above; after the last one, `row` is not used again.
            (key, row, count) = (key + fitting as u64, unsafe { row.plus(fitting as u32) }, count - fitting);
        }
    }

    /// Splits the full leaf `at`, whose place for `key` is `place`; `path` leads to it.
    fn split(&mut self, at: Row<Leaf<T>>, place: usize, key: u64, path: &[(u32, usize)]) {
        let leaf = self.leaves.get_mut(at);
        let ascends = place == leaf.last as usize + 1;
        let cut = if place == PLACES || ascends { place } else { PLACES / 2 };
        let right = leaf.split_off(cut);
        // After a leaf that stays full, the new one is still empty: the key itself separates them.
        let separator = if cut == PLACES { key } else { right.entries[0].key };
        let right = self.leaves.push(right);
        self.leaves.get_mut(at).next = Some(right);
        self.insert_child(path, separator, right.number());
    }

    /// Inserts a new right neighbour below the last node of `path`.
    fn insert_child(&mut self, path: &[(u32, usize)], key: u64, child: u32) {
        let (mut key, mut child) = (key, child);
        for (node, place) in path.iter().rev() {
            // SAFETY: paths hold numbers that `inners` gave.
            let inner = self.inners.get_mut(unsafe { Row::known(*node) });
            if (inner.used as usize) < PLACES {
                return inner.insert(*place, key, child);
            }
            let cut = if *place == PLACES - 1 { PLACES } else { PLACES / 2 };
            let mut right = inner.split_off(cut);
            if *place < cut && cut < PLACES {
                inner.insert(*place, key, child);
            } else if cut < PLACES {
                right.insert(*place - cut, key, child);
            } else {
                (right.keys[0], right.children[0], right.used) = (key, child, 1);
            }
            (key, child) = (right.keys[0], self.inners.push(right).number());
        }
        let mut root = Inner { keys: [NO_KEY; PLACES], children: [0; PLACES], used: 2 };
        (root.keys[0], root.keys[1]) = (self.low, key);
        (root.children[0], root.children[1]) = (self.root, child);
        assert!(self.levels < MAX_LEVELS as u32, "a tree of the kernel cannot grow higher");
        self.root = self.inners.push(root).number();
        self.levels += 1;
    }

    /// Has the system allocate the memory of the next `keys` now.
    pub(super) fn touch(&self, keys: usize) {
        self.leaves.touch(keys / (PLACES / 2));
    }

    /// All keys and rows in order, from the first key that is `from` or more.
    pub(super) fn scan(&self, from: u64) -> impl Iterator<Item = (u64, Row<T>)> {
        let leaves = std::iter::successors(Some(self.seek(from).leaf), |leaf| self.leaves.get(*leaf).next);
        let entries = leaves.flat_map(|leaf| {
            let leaf = self.leaves.get(leaf);
            leaf.entries[..leaf.used as usize].iter().map(|entry| (entry.key, entry.row))
        });
        entries.skip_while(move |(key, _)| *key < from)
    }
}

impl<T> Index<Row<T>> for Tree<T> {
    type Step = LeafPosition<T>;

    fn with_capacity(capacity: usize, pages: Pages) -> io::Result<Self> {
        // A leaf that is not the last uses at least a quarter of its places, unless a run was cut short: reserve for
        // that.
        let leaves = capacity / (PLACES / 8) + 8;
        let mut tree = Self {
            inners: Slab::new(leaves / (PLACES / 8) + 8, pages)?,
            leaves: Slab::new(leaves, pages)?,
            root: 0,
            levels: 0,
            low: NO_KEY,
        };
        tree.leaves.push(Leaf::empty());
        Ok(tree)
    }

    #[inline(always)]
    fn insert(&mut self, key: u64, row: Row<T>) {
        debug_assert_ne!(key, NO_KEY);
        self.insert_at(self.seek(key), key, row);
    }

    #[inline(always)]
    fn find(&self, key: u64) -> Option<Row<T>> {
        self.finish(key, self.seek(key))
    }

    #[inline(always)]
    fn begin<const N: usize>(&self, keys: &[u64; N]) -> [LeafPosition<T>; N] {
        let mut at = [(self.root, self.low); N];
        for _ in 0..self.levels {
            for (key, (node, low)) in keys.iter().zip(&mut at) {
                let inner = self.inner(*node);
                let place = inner.place(*key);
                (*node, *low) = (inner.children[place % PLACES], inner.keys[place % PLACES]);
            }
        }
        let mut place = 0;
        at.map(|(node, low)| {
            let spot = LeafPosition { leaf: Self::leaf_row(node), guess: guess(keys[place], low) };
            place += 1;
            prefetch(&raw const self.leaves.get(spot.leaf).entries[spot.guess as usize]);
            spot
        })
    }

    #[inline(always)]
    fn finish(&self, key: u64, spot: LeafPosition<T>) -> Option<Row<T>> {
        let leaf = self.leaves.get(spot.leaf);
        let mut entry = &leaf.entries[spot.guess as usize % PLACES];
        if entry.key != key {
            entry = &leaf.entries[last_at_most(key, |place| leaf.entries[place % PLACES].key)];
        }
        (entry.key == key).then_some(entry.row)
    }
}
