//! Rows of one type, addressed by number.
//!
//! An index that points to rows by address needs 8 bytes for each and must be told when a row moves. Rows here never
//! move and are all of one size, so a number is enough: the row's address is `base + id * size`, one multiplication
//! from an index entry half as wide. Invariants:
//!
//! - a slot below the high-water mark is live or on the free list, never both; the live bitmap says which;
//! - the free list runs through the free slots themselves and is taken last in, first out, so that space is reused
//!   while it is still in the cache, and undoing a deletion finds the place free again;
//! - except for slots that were [reserved](Rows::reserve): the dense index says what goes there, and they are on the
//!   list only after they were [released](Rows::release).
//!
//! Rejected: a bitmap without a free list (finding a hole would be a search), and generations in the row numbers (an
//! index entry for a deleted row is a bug to be caught by `check`, not a case to be handled on every access).

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::partitioned::storage::memory::region::{AddressSpace, CannotReserve, Region};

/// The number of a row within its [`Rows`].
///
/// Assigned by [`Rows::insert`], from 0 upwards, numbers of deleted rows first. 4 bytes in memory, never written to
/// disk. The order means nothing. [`RowId::NONE`] is never assigned. A number is valid from its insertion to its
/// removal and may be assigned again afterwards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct RowId(u32);

impl RowId {
    /// No row: never assigned.
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The row with this number.
    #[inline(always)]
    pub(crate) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    #[inline(always)]
    pub(crate) const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Debug for RowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.0)
    }
}

/// A table or an index has no room for another entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the table is full: it holds {rows} rows, and no more fit into memory")]
pub(crate) struct Full {
    /// Rows it holds.
    pub(crate) rows: usize,
}

/// Rows of type `R`.
#[derive(Debug)]
pub(crate) struct Rows<R> {
    region: Region,
    /// Bit `id % 64` of word `id / 64`: whether the row is live.
    live: Region,
    /// The head of the free list, or [`RowId::NONE`].
    free: RowId,
    /// The high-water mark: slots ever used.
    slots: u32,
    live_rows: u32,
    /// Slots with memory, and with their bits in the bitmap.
    claimed: u32,
    /// Slots there can be.
    capacity: u32,
    /// Bit *i*: whether the 128 slots from `128 * i` on are reserved.
    reserved: Vec<u64>,
    rows: PhantomData<R>,
}

impl<R: Copy> Rows<R> {
    /// Bytes from one row to the next: a free slot must have room for a link of the free list.
    const STRIDE: usize = if size_of::<R>() < size_of::<RowId>() { size_of::<RowId>() } else { size_of::<R>() };
    const ALIGNED: () = assert!(Self::STRIDE.is_multiple_of(align_of::<R>()), "a row's slots would not be aligned");

    /// Makes an empty table.
    ///
    /// # Errors
    /// When the system refuses the address space.
    pub(crate) fn new(bytes: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        const { Self::ALIGNED };
        let most = (RowId::NONE.get() as usize).saturating_mul(Self::STRIDE);
        let region = Region::reserve(most.min(bytes), space)?;
        let slots = (region.reserved_bytes() / Self::STRIDE).min(RowId::NONE.get() as usize);
        let live = Region::reserve(slots.div_ceil(64) * size_of::<u64>(), space)?;
        let slots = slots.min(live.reserved_bytes() / size_of::<u64>() * 64);
        Ok(Self {
            region,
            live,
            free: RowId::NONE,
            slots: 0,
            live_rows: 0,
            claimed: 0,
            capacity: slots as u32,
            reserved: Vec::new(),
            rows: PhantomData,
        })
    }

    #[inline(always)]
    fn slot(&self, id: RowId) -> NonNull<R> {
        // SAFETY: `id` came from `insert`, which claimed its slot within the region, so the offset stays inside the
        // mapping.
        unsafe { self.region.base().add(id.get() as usize * Self::STRIDE).cast() }
    }

    #[inline(always)]
    fn live_word(&self, id: RowId) -> NonNull<u64> {
        // SAFETY: callers check that the slot is below the high-water mark, up to which the bitmap is claimed.
        unsafe { self.live.base().cast::<u64>().add(id.get() as usize / 64) }
    }

    /// Inserts a row and gives its number.
    ///
    /// # Errors
    /// [`Full`] when row numbers or memory run out.
    #[inline]
    pub(crate) fn insert(&mut self, row: &R) -> Result<RowId, Full> {
        let id = if self.free == RowId::NONE { self.new_slot()? } else { self.reuse_slot() };
        self.fill(id, row);
        Ok(id)
    }

    /// Writes a row into a free slot.
    #[inline(always)]
    fn fill(&mut self, id: RowId, row: &R) {
        let (slot, word) = (self.slot(id), self.live_word(id));
        // SAFETY: the slot is within the claimed range and free, so no reference to it exists; so is its bitmap word.
        unsafe {
            slot.write(*row);
            *word.as_ptr() |= 1 << (id.get() % 64);
        }
        self.live_rows += 1;
    }

    #[inline(always)]
    fn new_slot(&mut self) -> Result<RowId, Full> {
        let id = self.slots;
        if id == self.claimed && !self.claim_more() {
            return Err(Full { rows: self.live_rows as usize });
        }
        self.slots += 1;
        Ok(RowId::new(id))
    }

    /// Claims as many slots as a word of the bitmap has bits, with the word; whether there was one more.
    #[cold]
    fn claim_more(&mut self) -> bool {
        let claimed = self.capacity.min(self.claimed.saturating_add(64));
        let claims = claimed > self.claimed
            && self.region.claim(claimed as usize * Self::STRIDE)
            && self.live.claim(claimed.div_ceil(64) as usize * size_of::<u64>());
        if claims {
            self.claimed = claimed;
        }
        claims
    }

    #[inline(always)]
    fn reuse_slot(&mut self) -> RowId {
        let id = self.free;
        self.free = self.next_free(id);
        id
    }

    /// The slot behind this one on the free list.
    #[inline(always)]
    fn next_free(&self, id: RowId) -> RowId {
        // SAFETY: a slot on the free list starts with the number of the next one, written when it was put there.
        unsafe { self.slot(id).cast::<RowId>().read_unaligned() }
    }

    /// Removes a live row; its number may be assigned again.
    ///
    /// # Panics
    /// When the row is not live: the free list would be destroyed.
    #[inline]
    pub(crate) fn remove(&mut self, id: RowId) {
        assert!(self.is_live(id), "{id:?} is removed but is not live");
        // SAFETY: the bitmap is claimed as far as there are live rows.
        unsafe { *self.live_word(id).as_ptr() &= !(1 << (id.get() % 64)) };
        self.live_rows -= 1;
        if !self.is_reserved(id) {
            self.put_on_list(id);
        }
    }

    /// Puts a vacant slot on the free list.
    #[inline(always)]
    fn put_on_list(&mut self, id: RowId) {
        self.link(id, self.free);
        self.free = id;
    }

    /// Makes `next` the slot behind this vacant one on the free list.
    #[inline(always)]
    fn link(&mut self, id: RowId, next: RowId) {
        // SAFETY: the slot is claimed, at least as long as a link, and not borrowed, since `self` is borrowed
        // mutably.
        unsafe { self.slot(id).cast::<RowId>().write_unaligned(next) };
    }

    /// The row with number `id`, which must be live.
    #[inline(always)]
    pub(crate) fn get(&self, id: RowId) -> &R {
        debug_assert!(self.is_live(id), "{id:?} is read but is not live");
        // SAFETY: a live row's slot was written by `insert`; the borrow of `self` keeps it from being removed or
        // changed.
        unsafe { self.slot(id).as_ref() }
    }

    /// As [`Rows::get`], for many rows one after the other.
    #[inline(always)]
    pub(crate) fn getter<'a>(&'a self) -> impl Fn(RowId) -> &'a R {
        let pointer = self.pointers();
        // SAFETY: as in `get`.
        move |id| unsafe { &*pointer(id) }
    }

    /// The row with number `id`, which must be live, to be changed in place.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, id: RowId) -> &mut R {
        debug_assert!(self.is_live(id), "{id:?} is changed but is not live");
        // SAFETY: as in `get`; `self` is borrowed mutably, so this is the only reference.
        unsafe { self.slot(id).as_mut() }
    }

    /// The address of the row with number `id`, which must be live.
    #[inline(always)]
    pub(crate) fn place(&self, id: RowId) -> NonNull<R> {
        debug_assert!(self.is_live(id), "{id:?} is asked for but is not live");
        self.slot(id)
    }

    /// The number of the row at an address that [`Rows::place`] gave.
    #[inline(always)]
    pub(crate) fn id_of(&self, row: NonNull<R>) -> RowId {
        RowId(((row.addr().get() - self.region.base().addr().get()) / Self::STRIDE) as u32)
    }

    /// What gives the addresses of rows, to be prefetched.
    #[inline(always)]
    pub(crate) fn pointers(&self) -> impl Fn(RowId) -> *const R + Copy + use<R> {
        let base = self.region.base().as_ptr().cast_const();
        move |id| base.wrapping_add(id.get() as usize * Self::STRIDE).cast()
    }

    /// Whether a row with this number exists.
    #[inline(always)]
    pub(crate) fn is_live(&self, id: RowId) -> bool {
        // SAFETY: the bitmap is claimed up to the high-water mark, below which the number was found to be.
        id.get() < self.slots && unsafe { self.live_word(id).read() } >> (id.get() % 64) & 1 == 1
    }

    /// Slots ever used: every row number is below this.
    pub(crate) fn slots(&self) -> u32 {
        self.slots
    }

    /// Live rows.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.live_rows as usize
    }

    /// Bytes of memory in use, free slots included.
    pub(crate) fn used_bytes(&self) -> usize {
        self.region.used_bytes() + self.live.used_bytes()
    }

    /// The live rows in the order of their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (RowId, &R)> {
        (0..self.slots.div_ceil(64)).flat_map(move |word| {
            // SAFETY: the word is below the high-water mark's, up to which the bitmap is claimed.
            let mut bits = unsafe { self.live_word(RowId::new(word * 64)).read() };
            std::iter::from_fn(move || {
                let bit = bits.trailing_zeros();
                bits &= bits.wrapping_sub(1);
                (bit < 64).then(|| RowId::new(word * 64 + bit))
            })
            .map(|id| (id, self.get(id)))
        })
    }
}

// Rows that are added together, side by side. Each is written where it stays, as its maker makes it; what has to be
// noted is noted once for all. A maker may panic: up to then the rows lie in slots that are not in use, and nothing has
// happened.

/// Rows that can be staged together.
const MAX_STAGED: usize = 64;

/// The keys of staged rows, made while each row is at hand: reading them from the rows again takes longer.
pub(crate) struct StagedKeys<K> {
    keys: [MaybeUninit<K>; MAX_STAGED],
    /// As many are there.
    count: u32,
}

impl<K: Copy> StagedKeys<K> {
    /// None.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { keys: [const { MaybeUninit::uninit() }; MAX_STAGED], count: 0 }
    }

    /// The key of a row, the first one being 0.
    #[inline(always)]
    pub(crate) fn get(&self, at: u32) -> K {
        debug_assert!(at < self.count);
        // SAFETY: so many are there.
        unsafe { self.keys.get_unchecked(at as usize).assume_init() }
    }
}

impl<R: Copy> Rows<R> {
    /// Writes a row, and those that `next` gives after it, behind the last slot: as many as there is room for now, at
    /// most 64, or none while slots are free before. Nothing is changed until [`Rows::admit`] is told how many.
    /// Also gives their keys.
    #[inline(always)]
    pub(crate) fn stage<K: Copy>(
        &mut self,
        first: &R,
        mut next: impl FnMut() -> Option<R>,
        key_of: impl Fn(&R) -> K,
        keys: &mut StagedKeys<K>,
    ) -> u32 {
        if self.free != RowId::NONE || self.claimed - self.slots < 64 && !self.claim_more() {
            return 0;
        }
        let (most, place) =
            ((self.claimed - self.slots).min(MAX_STAGED as u32), self.slot(RowId(self.slots)).cast::<u8>());
        // SAFETY: the slots from the high-water mark to what is claimed are not in use, and `staged` stays below their
        // number.
        unsafe { place.cast().write(*first) };
        keys.keys[0].write(key_of(first));
        let mut staged = 1;
        while staged < most
            && let Some(row) = next()
        {
            // SAFETY: as above; and there are as many keys as rows can be staged.
            unsafe {
                keys.keys.get_unchecked_mut(staged as usize).write(key_of(&row));
                place.add(staged as usize * Self::STRIDE).cast().write(row);
            }
            staged += 1;
        }
        keys.count = staged;
        staged
    }

    /// Makes the first `count` rows that [`Rows::stage`] just wrote live, and gives the number of the first; those
    /// of the others follow.
    #[inline(always)]
    pub(crate) fn admit(&mut self, count: u32) -> RowId {
        debug_assert!(self.free == RowId::NONE && count > 0 && count <= (self.claimed - self.slots).min(64));
        let (first, bits) = (RowId(self.slots), u64::MAX >> (64 - count));
        let (word, shift) = (self.live_word(first), first.0 % 64);
        // SAFETY: the bitmap is claimed with the slots, so the next word is, too, if there are rows of it.
        unsafe {
            *word.as_ptr() |= bits << shift;
            if shift + count > 64 {
                *word.add(1).as_ptr() |= bits >> (64 - shift);
            }
        }
        self.slots += count;
        self.live_rows += count;
        first
    }
}

impl<R: Copy> Rows<R> {
    /// Checks the free list and the bitmap against each other; says what is wrong.
    ///
    /// # Errors
    /// A description of the first violation found.
    pub(crate) fn check(&self) -> Result<(), String> {
        let live = (0..self.slots).filter(|&id| self.is_live(RowId::new(id))).count();
        if live != self.len() {
            return Err(format!("the bitmap has {live} live rows, the count is {}", self.live_rows));
        }
        let (mut free, mut next) = (0, self.free);
        while next != RowId::NONE {
            if next.get() >= self.slots || self.is_live(next) || self.is_reserved(next) {
                return Err(format!("{next:?} is on the free list, but is live, reserved or was never used"));
            }
            free += 1;
            if free > self.slots as usize {
                return Err("the free list runs in a circle".into());
            }
            next = self.next_free(next);
        }
        let vacant = (0..self.slots).map(RowId::new).filter(|&id| self.is_reserved(id) && !self.is_live(id)).count();
        if free + vacant + live != self.slots as usize {
            let slots = self.slots;
            return Err(format!("of {slots} slots {live} are live, {free} are free and {vacant} more are reserved"));
        }
        Ok(())
    }
}

mod reserved;

#[cfg(test)]
mod tests;
