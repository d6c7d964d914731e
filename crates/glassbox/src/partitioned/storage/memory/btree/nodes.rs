//! Where a B-tree's nodes lie: one region for both kinds, addressed by 4-byte numbers.
//!
//! A node's number is its offset in units of 64 bytes, so that two sizes share a region and finding a node takes a
//! shift and an addition. Number 0 is no node. Freed nodes are kept in one list for each kind, linked by their first
//! bytes, and reused. This is the only place in the tree that turns numbers into references.
//!
//! The limit of memory is one of leaves: inner nodes, one for each hundred of them, may use the region's spare, so that
//! the memory of freed leaves, in which no inner node fits, can be used again whatever keys come next.

use std::marker::PhantomData;

use crate::partitioned::storage::memory::btree::node::{InnerNode, Leaf};
use crate::partitioned::storage::memory::region::{AddressSpace, CannotReserve, Region};
use crate::record::EncodedKey;

/// Bytes of the unit in which node numbers count.
const UNIT_BYTES: usize = 64;

/// The nodes of one tree.
#[derive(Debug)]
pub(crate) struct Nodes<K, const LEAF: usize, const INNER: usize> {
    region: Region,
    pub(crate) free_leaf: u32,
    pub(crate) free_inner: u32,
    pub(crate) leaves: usize,
    pub(crate) inners: usize,
    keys: PhantomData<K>,
}

impl<K: EncodedKey, const LEAF: usize, const INNER: usize> Nodes<K, LEAF, INNER> {
    pub(crate) fn new(bytes: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        const { assert!(align_of::<Leaf<K, LEAF>>() == UNIT_BYTES && align_of::<InnerNode<K, INNER>>() == UNIT_BYTES) };
        let bytes = (u32::MAX as usize).saturating_mul(UNIT_BYTES).min(bytes);
        let mut region = Region::reserve_with_spare(bytes, space)?;
        assert!(region.claim(UNIT_BYTES), "a region has room for one unit");
        Ok(Self { region, free_leaf: 0, free_inner: 0, leaves: 0, inners: 0, keys: PhantomData })
    }

    /// The address of a node.
    #[inline(always)]
    pub(crate) fn address(&self, number: u32) -> *mut u8 {
        self.region.base().as_ptr().wrapping_add(number as usize * UNIT_BYTES)
    }

    #[inline(always)]
    pub(crate) fn leaf(&self, number: u32) -> &Leaf<K, LEAF> {
        debug_assert!(number != 0 && number as usize * UNIT_BYTES < self.region.used_bytes());
        // SAFETY: leaf numbers come from `allocate_leaf`, which claimed and initialised the node; freed or not, its
        // memory stays a leaf. The borrow of `self` keeps it from being changed.
        unsafe { &*self.address(number).cast() }
    }

    #[inline(always)]
    pub(crate) fn leaf_mut(&mut self, number: u32) -> &mut Leaf<K, LEAF> {
        debug_assert!(number != 0 && number as usize * UNIT_BYTES < self.region.used_bytes());
        // SAFETY: as in `leaf`; `self` is borrowed mutably, so this is the only reference.
        unsafe { &mut *self.address(number).cast() }
    }

    #[inline(always)]
    pub(crate) fn inner(&self, number: u32) -> &InnerNode<K, INNER> {
        debug_assert!(number != 0 && number as usize * UNIT_BYTES < self.region.used_bytes());
        // SAFETY: as in `leaf`, with `allocate_inner`.
        unsafe { &*self.address(number).cast() }
    }

    #[inline(always)]
    pub(crate) fn inner_mut(&mut self, number: u32) -> &mut InnerNode<K, INNER> {
        debug_assert!(number != 0 && number as usize * UNIT_BYTES < self.region.used_bytes());
        // SAFETY: as in `leaf_mut`, with `allocate_inner`.
        unsafe { &mut *self.address(number).cast() }
    }

    /// Two leaves at once.
    ///
    /// # Panics
    /// When they are the same.
    pub(crate) fn two_leaves(&mut self, one: u32, other: u32) -> (&mut Leaf<K, LEAF>, &mut Leaf<K, LEAF>) {
        assert!(one != other, "two leaves must be two");
        // SAFETY: as in `leaf_mut`; nodes do not overlap, so different numbers are different memory.
        unsafe { (&mut *self.address(one).cast(), &mut *self.address(other).cast()) }
    }

    /// Two inner nodes at once.
    ///
    /// # Panics
    /// When they are the same.
    pub(crate) fn two_inners(&mut self, one: u32, other: u32) -> (&mut InnerNode<K, INNER>, &mut InnerNode<K, INNER>) {
        assert!(one != other, "two inner nodes must be two");
        // SAFETY: as in `two_leaves`.
        unsafe { (&mut *self.address(one).cast(), &mut *self.address(other).cast()) }
    }

    /// Claims room for a node that was never used.
    fn claim(&mut self, bytes: usize) -> u32 {
        let number = self.region.used_bytes() / UNIT_BYTES;
        let fits = number <= u32::MAX as usize && self.region.claim(self.region.used_bytes() + bytes);
        assert!(fits, "`has_room` is asked before a node is allocated");
        number as u32
    }

    /// An empty leaf.
    pub(crate) fn allocate_leaf(&mut self) -> u32 {
        self.leaves += 1;
        let number = match self.free_leaf {
            0 => self.claim(size_of::<Leaf<K, LEAF>>()),
            free => {
                self.free_leaf = self.leaf(free).next;
                free
            }
        };
        // SAFETY: the node is claimed and long enough for a leaf, and no reference to it exists.
        unsafe { self.address(number).cast::<Leaf<K, LEAF>>().write(Leaf::new()) };
        number
    }

    /// An inner node without children.
    pub(crate) fn allocate_inner(&mut self) -> u32 {
        self.inners += 1;
        let number = match self.free_inner {
            0 => self.claim(size_of::<InnerNode<K, INNER>>()),
            free => {
                self.free_inner = self.inner(free).children[0];
                free
            }
        };
        // SAFETY: the node is claimed and long enough for an inner node, and no reference to it exists.
        unsafe { self.address(number).cast::<InnerNode<K, INNER>>().write(InnerNode::new()) };
        number
    }

    pub(crate) fn free_leaf(&mut self, number: u32) {
        self.leaves -= 1;
        let next = self.free_leaf;
        self.leaf_mut(number).next = next;
        self.free_leaf = number;
    }

    pub(crate) fn free_inner(&mut self, number: u32) {
        self.inners -= 1;
        let next = self.free_inner;
        self.inner_mut(number).children[0] = next;
        self.free_inner = number;
    }

    /// Whether a leaf and `inners` inner nodes can be allocated, from freed ones or new memory.
    pub(crate) fn has_room(&self, mut inners: usize) -> bool {
        let mut free = self.free_inner;
        while inners > 0 && free != 0 {
            inners -= 1;
            free = self.inner(free).children[0];
        }
        let new_leaf = if self.free_leaf == 0 { size_of::<Leaf<K, LEAF>>() } else { 0 };
        let leaf_end = self.region.used_bytes() + new_leaf;
        let end = leaf_end + inners * size_of::<InnerNode<K, INNER>>();
        (new_leaf == 0 || self.region.could_claim(leaf_end))
            && self.region.could_claim_spare(end)
            && end <= u32::MAX as usize * UNIT_BYTES
    }

    pub(crate) fn region_mut(&mut self) -> &mut Region {
        &mut self.region
    }

    pub(crate) fn used_bytes(&self) -> usize {
        self.region.used_bytes()
    }

    /// Whether a node could have this number.
    pub(crate) fn exists(&self, number: u32) -> bool {
        number != 0 && (number as usize) * UNIT_BYTES < self.region.used_bytes()
    }

    /// An upper bound of the nodes ever used.
    pub(crate) fn ever(&self) -> usize {
        self.region.used_bytes() / UNIT_BYTES
    }

    /// The memory that so many nodes take.
    pub(crate) fn bytes_of(&self, leaves: usize, inners: usize) -> usize {
        UNIT_BYTES + leaves * size_of::<Leaf<K, LEAF>>() + inners * size_of::<InnerNode<K, INNER>>()
    }
}
