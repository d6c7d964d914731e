//! Dense keys: rows whose place follows from their key.
//!
//! Most keys that are looked up whole are numbers that a program counts up, behind a prefix: items, customers of a
//! district, stock of a warehouse. A hash index spreads what was neighbouring, and so each lookup reads a line of it
//! that nothing else needs, before the row can even be asked for. But where keys are dense, rows can be, too: the 128
//! keys that differ in their last 7 bits only are a *block*, and a block gets 128 places side by side when the first of
//! its keys arrives. One entry here then serves 128 keys, the entries of a large table stay in the cache, and the row's
//! address is known at once.
//!
//! Whether keys are dense shows as they come. A block is begun only while those before it hold [`LEAST`] keys each, on
//! average, besides [`FREE_BLOCKS`] for a start. Keys without a block, or whose place is taken, go where all would go
//! otherwise: anywhere, and into the hash index. Invariants:
//!
//! - a place of a block is used by the rows of its one key only; it is not on the rows' free list while the block
//!   lasts, which is until a table without room for a row gives blocks up for their vacant places;
//! - a key is linked here if and only if its row is in the key's place and is to be found: then it is not in the hash
//!   index;
//! - an entry has its block's number, whole. So what is found is the key's row, and no row is read to find it.
//!
//! Entries are found by linear probing, half of them free at least. Rejected: bits of what is live instead of linked
//! (a row that is taken out of the indexes keeps its place for a while); an array by key instead of entries by hash
//! (there is no limit to how sparse prefixes are).

use crate::partitioned::storage::memory::rows::RowId;

/// Keys of a block, and places.
pub(crate) const BLOCK: u32 = 128;
const BLOCK_BITS: u32 = BLOCK.trailing_zeros();
const ENTRY_BITS: u32 = size_of::<BlockEntry>().trailing_zeros();
/// Keys that blocks have on average, or there are no more blocks. So no more than half of all places are in vain; and
/// where only every fourth key comes, as on one of four partitions, there are none.
const LEAST: usize = BLOCK as usize / 2;
/// Blocks that need have no keys.
const FREE_BLOCKS: usize = 16;
/// Entries at first; a power of two.
const ENTRIES: usize = 64;

/// A block's keys and places, half a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(32))]
struct BlockEntry {
    /// What its keys have in common, with [`GAPS`] while not all of them are linked; [`NONE`] when there is no block.
    block: u64,
    /// Bit *i*: whether key *i* of the block is linked.
    linked: [u64; BLOCK as usize / 64],
    /// What the low bits of a key lack to the number of its place, a multiple of [`BLOCK`].
    add: u32,
}

/// Of no key.
const NONE: u64 = u64::MAX;
/// Where it is not set, all keys are linked, which is the usual case.
const GAPS: u64 = 1 << 63;
const UNUSED: BlockEntry = BlockEntry { block: NONE, linked: [0; BLOCK as usize / 64], add: 0 };

impl BlockEntry {
    /// The place of a key of this block.
    #[inline(always)]
    fn place(&self, key: u64) -> RowId {
        RowId::new((key as u32).wrapping_add(self.add))
    }

    /// Where it is noted whether a key of this block is linked: word and bit.
    #[inline(always)]
    const fn link(key: u64) -> (usize, u32) {
        let number = key as u32 % BLOCK;
        (number as usize / 64, number % 64)
    }

    #[inline(always)]
    fn is_linked(&self, key: u64) -> bool {
        let (word, bit) = Self::link(key);
        self.linked[word] >> bit & 1 == 1
    }
}

/// An index of dense keys.
#[derive(Debug)]
pub(crate) struct DenseIndex {
    entries: Box<[BlockEntry]>,
    used: usize,
    linked: usize,
    /// The entry at which the search for a block to be given up goes on.
    hand: usize,
}

/// Multiplies (Knuth, *The Art of Computer Programming*, section 6.4), by what was the best of some thousand numbers:
/// blocks that follow each other, behind prefixes that do, too, come to lie apart.
#[inline(always)]
fn hash_of(block: u64) -> u64 {
    block.wrapping_mul(0x39c3_9f4a_f0eb_cee3)
}

/// What finds the rows of keys; valid until the index changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finder {
    entries: *const BlockEntry,
    /// Of the number of an entry, in bytes.
    mask: usize,
}

impl Finder {
    /// The row that has this key, if it is in a block without gaps, and that where the search begins: mostly.
    ///
    /// # Safety
    /// The index has not changed since.
    #[inline(always)]
    pub(crate) unsafe fn find_in_full(self, key: u64) -> Option<RowId> {
        let block = key >> BLOCK_BITS;
        // SAFETY: what the mask lets through is the place of an entry.
        let entry = unsafe { &*self.entries.byte_add(self.begin(block)) };
        (entry.block == block).then(|| entry.place(key))
    }

    /// Where the search for a block begins, in bytes.
    #[inline(always)]
    fn begin(self, block: u64) -> usize {
        (hash_of(block) >> (32 - ENTRY_BITS)) as usize & self.mask
    }

    /// The row that has this key, if a linked one has.
    ///
    /// # Safety
    /// The index has not changed since.
    #[inline(always)]
    pub(crate) unsafe fn find(self, key: u64) -> Option<RowId> {
        let block = key >> BLOCK_BITS;
        let mut at = self.begin(block);
        loop {
            // SAFETY: what the mask lets through is the place of an entry.
            let entry = unsafe { &*self.entries.byte_add(at) };
            if entry.block == block {
                return Some(entry.place(key));
            }
            if entry.block == block | GAPS {
                return entry.is_linked(key).then(|| entry.place(key));
            }
            if entry.block == NONE {
                return None;
            }
            at = (at + size_of::<BlockEntry>()) & self.mask;
        }
    }
}

impl DenseIndex {
    /// Keys of a block.
    pub(crate) const BLOCK: usize = BLOCK as usize;

    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::with_entries(ENTRIES)
    }

    fn with_entries(count: usize) -> Self {
        Self { entries: vec![UNUSED; count].into(), used: 0, linked: 0, hand: 0 }
    }

    /// What finds keys, for many of them one after the other.
    #[inline(always)]
    pub(crate) fn finder(&self) -> Finder {
        Finder { entries: self.entries.as_ptr(), mask: (self.entries.len() - 1) << ENTRY_BITS }
    }

    /// The row that has this key, if a linked one has.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Option<RowId> {
        // SAFETY: the finder is of this very moment.
        unsafe { self.finder().find(key) }
    }

    /// The entry of a block; if it has none, the free one that it would get.
    fn entry_of(&self, block: u64) -> Result<usize, usize> {
        let mut at = (hash_of(block) >> 32) as usize % self.entries.len();
        loop {
            match self.entries[at].block {
                NONE => return Err(at),
                it if it & !GAPS == block => return Ok(at),
                _ => at = (at + 1) % self.entries.len(),
            }
        }
    }

    /// The place of a key, if its block has places.
    pub(crate) fn place(&self, key: u64) -> Option<RowId> {
        Some(self.entries[self.entry_of(key >> BLOCK_BITS).ok()?].place(key))
    }

    /// As [`DenseIndex::place`]; where the block has none yet, it gets those that begin with what `reserve` gives, if
    /// it is to have some.
    pub(crate) fn place_or_begin(&mut self, key: u64, reserve: impl FnOnce() -> Option<RowId>) -> Option<RowId> {
        let place = self.place(key);
        if place.is_some() || self.used >= FREE_BLOCKS + self.linked / LEAST {
            return place;
        }
        if (self.used + 1) * 2 > self.entries.len() {
            self.grow();
        }
        let block = key >> BLOCK_BITS;
        let at = self.entry_of(block).expect_err("it has no places");
        let add = reserve()?.get().wrapping_sub((block << BLOCK_BITS) as u32);
        self.entries[at] = BlockEntry { block: block | GAPS, add, ..UNUSED };
        self.used += 1;
        Some(self.entries[at].place(key))
    }

    #[cold]
    fn grow(&mut self) {
        let mut grown = Self { used: self.used, linked: self.linked, ..Self::with_entries(self.entries.len() * 2) };
        for entry in self.entries.iter().filter(|entry| entry.block != NONE) {
            let at = grown.entry_of(entry.block & !GAPS).expect_err("each block has one entry");
            grown.entries[at] = *entry;
        }
        *self = grown;
    }

    /// The next block, in a round over all of them, whose places from the first on are `wanted`.
    pub(crate) fn next_block(&mut self, wanted: impl Fn(RowId) -> bool) -> Option<u64> {
        for _ in 0..self.entries.len() {
            self.hand = (self.hand + 1) % self.entries.len();
            let entry = self.entries[self.hand];
            let block = entry.block & !GAPS;
            if entry.block != NONE && wanted(entry.place(block << BLOCK_BITS)) {
                return Some(block);
            }
        }
        None
    }

    /// The keys of a block.
    pub(crate) fn keys_of(block: u64) -> impl Iterator<Item = u64> {
        (0..u64::from(BLOCK)).map(move |number| block << BLOCK_BITS | number)
    }

    /// Removes a block none of whose keys is linked; gives its first place.
    pub(crate) fn remove_block(&mut self, block: u64) -> RowId {
        let mut hole = self.entry_of(block).expect("the block exists");
        let removed = self.entries[hole];
        assert!(removed.linked.iter().all(|&word| word == 0), "a block that is removed has linked keys");
        let (count, mut next) = (self.entries.len(), hole);
        loop {
            next = (next + 1) % count;
            let entry = self.entries[next];
            if entry.block == NONE {
                break;
            }
            let home = (hash_of(entry.block & !GAPS) >> 32) as usize % count;
            // An entry may move back to the hole if its search begins there or before.
            if (next + count - home) % count >= (next + count - hole) % count {
                self.entries[hole] = entry;
                hole = next;
            }
        }
        self.entries[hole] = UNUSED;
        self.used -= 1;
        removed.place(block << BLOCK_BITS)
    }

    /// Links a key whose row is at `row`, if that is its place; whether it is. It must not be linked yet.
    pub(crate) fn link(&mut self, key: u64, row: RowId) -> bool {
        self.change(key, row, |linked, bit| {
            assert!(*linked & bit == 0, "a dense key is linked twice");
            *linked |= bit;
            1
        })
    }

    /// Unlinks a key whose row is at `row`, if that is its place; whether it is.
    pub(crate) fn unlink(&mut self, key: u64, row: RowId) -> bool {
        self.change(key, row, |linked, bit| {
            assert!(*linked & bit != 0, "a dense key is not linked");
            *linked &= !bit;
            -1
        })
    }

    fn change(&mut self, key: u64, row: RowId, change: impl FnOnce(&mut u64, u64) -> isize) -> bool {
        let Ok(at) = self.entry_of(key >> BLOCK_BITS) else { return false };
        let entry = &mut self.entries[at];
        if entry.place(key) != row {
            return false;
        }
        let (word, bit) = BlockEntry::link(key);
        self.linked = self.linked.wrapping_add_signed(change(&mut entry.linked[word], 1 << bit));
        let gaps = entry.linked.iter().any(|&word| word != u64::MAX);
        entry.block = entry.block & !GAPS | if gaps { GAPS } else { 0 };
        true
    }

    /// Linked keys.
    pub(crate) fn len(&self) -> usize {
        self.linked
    }

    /// Bytes of memory in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.entries.len() * size_of::<BlockEntry>()
    }

    /// Every linked key and its place.
    fn keys(&self) -> impl Iterator<Item = (u64, RowId)> {
        self.entries.iter().filter(|entry| entry.block != NONE).flat_map(|entry| {
            let keys = (0..u64::from(BLOCK)).map(|number| entry.block << BLOCK_BITS | number);
            keys.filter(|&key| entry.is_linked(key)).map(|key| (key, entry.place(key)))
        })
    }

    /// Checks what is known of blocks, and that every linked key is that of the row in its place, which `key_of` gives.
    ///
    /// # Errors
    /// A description of the first violation found.
    pub(crate) fn check(&self, key_of: impl Fn(RowId) -> Option<u64>) -> Result<(), String> {
        let (used, linked) = (self.entries.iter().filter(|entry| entry.block != NONE).count(), self.keys().count());
        if (used, linked) != (self.used, self.linked) {
            let of = (self.used, self.linked);
            return Err(format!("there are {used} blocks and {linked} linked keys, the counts are {of:?}"));
        }
        match self.keys().find(|&(key, row)| key_of(row) != Some(key) || self.find(key) != Some(row)) {
            Some((key, row)) => Err(format!("{row:?} is not that of key {key:#x}, or is not found")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
