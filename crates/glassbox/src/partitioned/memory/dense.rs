//! Dense keys: rows whose place follows from their key.
//!
//! Most keys that are looked up whole are numbers that somebody counts up, behind a prefix: items, customers of a
//! district, stock of a warehouse. A hash index spreads what was neighbouring, and so each lookup reads a line of it
//! that nothing else needs, before the row can even be asked for. But where keys are dense, rows can be, too: the 64
//! keys that differ in their last 6 bits only are a *block*, and a block gets 64 places side by side when the first of
//! its keys arrives. One entry here then serves 64 keys, the entries of a large table stay in the cache, and the row's
//! address is known at once.
//!
//! Whether keys are dense shows as they come. A block is begun only while those before it hold [`LEAST`] keys each, on
//! average, besides [`FREE_BLOCKS`] for a start. Keys without a block, or whose place is taken, go where all would go
//! otherwise: anywhere, and into the hash index. Invariants:
//!
//! - a place of a block is used by the rows of its one key only; it is never on the rows' free list;
//! - a key is linked here if and only if its row is in the key's place and is to be found: then it is not in the hash
//!   index;
//! - an entry's tag is some bits of its block's hash. It may be another block's, so whoever looks up compares the row's
//!   key with his own, as he must with a hash index. For changes the whole block is compared; of blocks with the same
//!   tag, only the first gets places.
//!
//! Entries are found by linear probing, half of them free at least. Rejected: bits of what is live instead of linked
//! (a row that is taken out of the indexes keeps its place for a while); an array by key instead of entries by hash
//! (the prefixes are as sparse as anybody likes).

use super::rows::RowId;

/// Keys of a block, and places.
pub(crate) const BLOCK: u32 = 64;
const BLOCK_BITS: u32 = BLOCK.trailing_zeros();
const ENTRY_BITS: u32 = size_of::<Entry>().trailing_zeros();
/// Keys that blocks have on average, or there are no more blocks. So no more than half of all places are in vain; and
/// where only every fourth key comes, as on one of four partitions, there are none.
const LEAST: usize = 32;
/// Blocks that need have no keys.
const FREE_BLOCKS: usize = 16;
/// Entries at first; a power of two.
const ENTRIES: usize = 64;

/// What is known of a block, a quarter of a cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Entry {
    tag: u32,
    /// What the low bits of a key lack to the number of its place, a multiple of 64; [`NONE`] when there is no block.
    add: u32,
    /// Bit *i*: whether key *i* of the block is linked.
    linked: u64,
}

const NONE: u32 = u32::MAX;
const UNUSED: Entry = Entry { tag: 0, add: NONE, linked: 0 };

impl Entry {
    /// The place of a key of this block.
    #[inline(always)]
    fn place(&self, key: u64) -> RowId {
        RowId::new((key as u32).wrapping_add(self.add))
    }
}

/// An index of dense keys.
#[derive(Debug)]
pub(crate) struct DenseIndex {
    entries: Box<[Entry]>,
    /// The blocks of the entries, which only changes need.
    blocks: Box<[u64]>,
    used: usize,
    linked: usize,
}

/// Multiplies (Knuth, *The Art of Computer Programming*, section 6.4), by what was the best of some thousand numbers:
/// blocks that follow each other, behind prefixes that do, too, come to lie apart.
#[inline(always)]
fn hash_of(block: u64) -> u64 {
    block.wrapping_mul(0xfaea_e92e_47a0_66e3)
}

/// The low half of the hash is the tag, the high one tells where the search for the entry begins.
#[inline(always)]
fn tag_of(hash: u64) -> u32 {
    hash as u32
}

/// What finds the probable rows of keys; valid until the index changes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finder {
    entries: *const Entry,
    /// Of the number of an entry, in bytes.
    mask: usize,
}

impl Finder {
    /// The row that has this key, if a linked one has.
    ///
    /// # Safety
    /// The index has not changed since.
    #[inline(always)]
    pub(crate) unsafe fn probable(self, key: u64) -> Option<RowId> {
        let (hash, bit) = (hash_of(key >> BLOCK_BITS), key as u32 % BLOCK);
        let mut at = (hash >> (32 - ENTRY_BITS)) as usize & self.mask;
        loop {
            // SAFETY: what the mask lets through is the place of an entry.
            let entry = unsafe { &*self.entries.byte_add(at) };
            // One of no block has no linked key.
            if entry.tag == tag_of(hash) {
                return (entry.linked >> bit & 1 == 1).then(|| entry.place(key));
            }
            if entry.add == NONE {
                return None;
            }
            at = (at + size_of::<Entry>()) & self.mask;
        }
    }
}

impl DenseIndex {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self::with_entries(ENTRIES)
    }

    fn with_entries(count: usize) -> Self {
        let (entries, blocks) = (vec![UNUSED; count].into(), vec![0; count].into());
        Self { entries, blocks, used: 0, linked: 0 }
    }

    /// What finds keys, for many of them one after the other.
    #[inline(always)]
    pub(crate) fn finder(&self) -> Finder {
        Finder { entries: self.entries.as_ptr(), mask: (self.entries.len() - 1) << ENTRY_BITS }
    }

    /// The row that has this key, if a linked one has.
    #[inline(always)]
    pub(crate) fn probable(&self, key: u64) -> Option<RowId> {
        // SAFETY: the finder is of this very moment.
        unsafe { self.finder().probable(key) }
    }

    /// The entry of a block; if it has none, a free one and, unless another block has this tag, `true`.
    fn entry_of(&self, block: u64) -> Result<usize, (usize, bool)> {
        let hash = hash_of(block);
        let (mut at, mut alone) = ((hash >> 32) as usize % self.entries.len(), true);
        loop {
            match self.entries[at] {
                Entry { add: NONE, .. } => return Err((at, alone)),
                Entry { tag, .. } if tag != tag_of(hash) => {}
                _ if self.blocks[at] == block => return Ok(at),
                _ => alone = false,
            }
            at = (at + 1) % self.entries.len();
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
        let Err((at, true)) = self.entry_of(block) else { return None };
        let add = reserve()?.get().wrapping_sub((block << BLOCK_BITS) as u32);
        self.entries[at] = Entry { tag: tag_of(hash_of(block)), add, linked: 0 };
        self.blocks[at] = block;
        self.used += 1;
        Some(self.entries[at].place(key))
    }

    /// From behind a free entry on, in their order: then nobody comes further from where its search begins than it was,
    /// and no search passes an entry that it did not pass before. So blocks with the same tag stay out of each other's
    /// way.
    #[cold]
    fn grow(&mut self) {
        let mut grown = Self::with_entries(self.entries.len() * 2);
        let free = self.entries.iter().position(|entry| entry.add == NONE).expect("half of them are free");
        for at in (free..self.entries.len()).chain(0..free) {
            let (entry, block) = (self.entries[at], self.blocks[at]);
            if entry.add != NONE {
                let Err((to, true)) = grown.entry_of(block) else { panic!("two blocks are taken for one") };
                (grown.entries[to], grown.blocks[to]) = (entry, block);
            }
        }
        (grown.used, grown.linked) = (self.used, self.linked);
        *self = grown;
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
        let bit = 1 << (key % u64::from(BLOCK));
        self.linked = self.linked.wrapping_add_signed(change(&mut entry.linked, bit));
        true
    }

    /// Linked keys.
    pub(crate) fn len(&self) -> usize {
        self.linked
    }

    /// Bytes of memory in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.entries.len() * (size_of::<Entry>() + size_of::<u64>())
    }

    /// Every linked key and its place.
    fn keys(&self) -> impl Iterator<Item = (u64, RowId)> {
        let entries = self.entries.iter().zip(&self.blocks);
        entries.flat_map(|(entry, block)| {
            let bits = (0..u64::from(BLOCK)).filter(|bit| entry.linked >> bit & 1 == 1);
            bits.map(move |bit| block << BLOCK_BITS | bit).map(|key| (key, entry.place(key)))
        })
    }

    /// Checks what is known of blocks, and that every linked key is that of the row in its place, which `key_of` gives.
    ///
    /// # Errors
    /// A description of the first violation found.
    pub(crate) fn check(&self, key_of: impl Fn(RowId) -> Option<u64>) -> Result<(), String> {
        let (used, linked) = (self.entries.iter().filter(|entry| entry.add != NONE).count(), self.keys().count());
        if (used, linked) != (self.used, self.linked) {
            let of = (self.used, self.linked);
            return Err(format!("there are {used} blocks and {linked} linked keys, the counts are {of:?}"));
        }
        match self.keys().find(|&(key, row)| key_of(row) != Some(key) || self.probable(key) != Some(row)) {
            Some((key, row)) => Err(format!("{row:?} is not that of key {key:#x}, or is not found")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
