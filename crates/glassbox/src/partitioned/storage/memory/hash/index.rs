//! Linear hashing (Litwin, *Linear Hashing: A New Tool for File and Table Addressing*, VLDB 1980) in main memory.
//!
//! A hash table that doubles at once stalls for as long as it takes to move everything, and with it every transaction
//! behind. Linear hashing grows by one bucket at a time: buckets are split in the order of their numbers, whether or
//! not they are the full ones, so that the number of buckets alone says where a hash belongs. Invariants, with `count`
//! buckets and `mask` the smallest 2^k - 1 that is at least `count - 1`:
//!
//! - a hash belongs to bucket `hash & mask` if that exists, else to `hash & (mask >> 1)`, which has not been split yet;
//! - an entry is in that bucket or in the chain of overflow buckets behind it; no overflow bucket is empty;
//! - there are at most [`ENTRIES_PER_BUCKET`] entries for each bucket, so chains stay short.
//!
//! The index stores row numbers and 8 bits of each hash, not keys: the row has its key already, and one comparison with
//! it is needed anyway. So an entry costs 5 bytes, and the caller brings the comparison. Buckets lie in one region
//! and overflow buckets in another, because the number of a bucket must be its place. Rejected: open addressing (no
//! growth in small steps, and deletion leaves tombstones), extendible hashing (a directory is one more cache miss).

use std::hint::select_unpredictable;
use std::mem::replace;

use crate::partitioned::storage::memory::hash::bucket::{Bucket, Probe, tag_of};
use crate::partitioned::storage::memory::region::{AddressSpace, CannotReserve, Region};
use crate::partitioned::storage::memory::rows::RowId;
use crate::prefetch::prefetch_read;

/// The load at which another bucket is added. A bucket about to be split holds nearly twice as many as one just split:
/// with 6 of 12 slots used on average, overflow stays rare at both ends.
pub(crate) const ENTRIES_PER_BUCKET: usize = 6;

/// Maps hashes to row numbers.
#[derive(Debug)]
pub(crate) struct HashIndex {
    pub(crate) buckets: Region,
    pub(crate) overflow: Region,
    /// The smallest 2^k - 1 that is at least `count - 1`.
    pub(crate) mask: u64,
    /// Buckets, overflow buckets not counted.
    pub(crate) count: u64,
    pub(crate) entries: usize,
    /// Head of the list of free overflow buckets, linked by their `overflow`, or 0.
    pub(crate) free: u32,
    /// Overflow buckets ever used; their numbers start at 1.
    pub(crate) overflow_count: u32,
}

impl HashIndex {
    /// Makes an empty index whose buckets, and those for overflow, may take `bytes`.
    ///
    /// # Errors
    /// When the system refuses the address space.
    pub(crate) fn new(bytes: usize, space: &mut AddressSpace) -> Result<Self, CannotReserve> {
        let mut buckets = Region::reserve(bytes, space)?;
        let overflow = Region::reserve_with_spare(bytes, space)?;
        assert!(buckets.claim(size_of::<Bucket>()), "a region has room for one bucket");
        Ok(Self { buckets, overflow, mask: 0, count: 1, entries: 0, free: 0, overflow_count: 0 })
    }

    /// The number of the bucket that a hash belongs to.
    #[inline(always)]
    pub(crate) fn place(&self, hash: u64) -> u64 {
        place_among(hash, self.mask, self.count)
    }

    #[inline(always)]
    pub(crate) fn bucket_pointer(&self, place: u64) -> *mut Bucket {
        self.buckets.base().as_ptr().cast::<Bucket>().wrapping_add(place as usize)
    }

    #[inline(always)]
    pub(crate) fn bucket(&self, place: u64) -> &Bucket {
        debug_assert!(place < self.count);
        // SAFETY: a place is below `count`, so the bucket is claimed; zeroed memory is an empty bucket; the borrow of
        // `self` keeps it from being changed.
        unsafe { &*self.bucket_pointer(place) }
    }

    #[inline(always)]
    pub(crate) fn bucket_mut(&mut self, place: u64) -> &mut Bucket {
        debug_assert!(place < self.count);
        // SAFETY: as in `bucket`; `self` is borrowed mutably, so this is the only reference.
        unsafe { &mut *self.bucket_pointer(place) }
    }

    #[inline(always)]
    pub(crate) fn overflow_pointer(&self, number: u32) -> *mut Bucket {
        self.overflow.base().as_ptr().cast::<Bucket>().wrapping_add(number as usize)
    }

    #[inline(always)]
    pub(crate) fn overflow_bucket(&self, number: u32) -> &Bucket {
        debug_assert!(number != 0 && number <= self.overflow_count);
        // SAFETY: numbers come from `allocate_overflow`, which claims the bucket.
        unsafe { &*self.overflow_pointer(number) }
    }

    #[inline(always)]
    fn overflow_bucket_mut(&mut self, number: u32) -> &mut Bucket {
        debug_assert!(number != 0 && number <= self.overflow_count);
        // SAFETY: as in `overflow_bucket`; `self` is borrowed mutably, so this is the only reference.
        unsafe { &mut *self.overflow_pointer(number) }
    }

    /// The bucket or overflow bucket of a chain.
    #[inline(always)]
    fn link_mut(&mut self, place: u64, overflow: u32) -> &mut Bucket {
        if overflow == 0 { self.bucket_mut(place) } else { self.overflow_bucket_mut(overflow) }
    }

    /// The first row with this hash (or one that shares bucket and tag with it) for which `is_match` holds.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, mut is_match: impl FnMut(RowId) -> bool) -> Option<RowId> {
        let tag = tag_of(hash);
        let mut bucket = self.bucket(self.place(hash));
        loop {
            for slot in bucket.slots_with(tag) {
                let row = bucket.row(slot);
                if is_match(row) {
                    return Some(row);
                }
            }
            if bucket.overflow == 0 {
                return None;
            }
            bucket = self.overflow_bucket(bucket.overflow);
        }
    }

    /// Inserts an entry. `hash_of` gives the hash of any row in the index: one bucket may be split. Equal entries are
    /// not noticed; look first. Gives `false`, and changes nothing, when memory runs out.
    #[inline(always)]
    pub(crate) fn insert(&mut self, hash: u64, row: RowId, hash_of: impl Fn(RowId) -> u64) -> bool {
        let grows = self.entries >= self.count as usize * ENTRIES_PER_BUCKET;
        let bucket = self.bucket_mut(self.place(hash));
        match bucket.slots_with(0).next() {
            Some(slot) if !grows => bucket.fill(slot, tag_of(hash), row),
            _ => return self.insert_growing(hash, row, hash_of),
        }
        self.entries += 1;
        true
    }

    /// As `insert`, where another bucket is needed, or one for overflow may be.
    #[inline(never)]
    fn insert_growing(&mut self, hash: u64, row: RowId, hash_of: impl Fn(RowId) -> u64) -> bool {
        let grows = self.entries >= self.count as usize * ENTRIES_PER_BUCKET;
        if grows && !self.buckets.could_claim((self.count as usize + 1) * size_of::<Bucket>()) {
            return false;
        }
        if !self.put(self.place(hash), tag_of(hash), row) {
            return false;
        }
        self.entries += 1;
        if self.entries > self.count as usize * ENTRIES_PER_BUCKET {
            self.split(hash_of);
        }
        true
    }

    /// Whether so many more entries are sure to fit, whatever their hashes.
    pub(crate) fn has_room(&self, entries: usize) -> bool {
        let buckets = (self.entries + entries).div_ceil(ENTRIES_PER_BUCKET) + 1;
        self.buckets.could_claim(buckets * size_of::<Bucket>())
            && self.overflow.could_claim((self.overflow_count as usize + 1 + entries) * size_of::<Bucket>())
    }

    /// Makes a change that undoes another one: it must succeed, so it may use the spare memory. It needs no more
    /// buckets than there are, but an entry may come behind others in another order.
    pub(crate) fn with_spare<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        let limit = self.overflow.allow_spare();
        let changed = change(self);
        self.overflow.set_limit(limit);
        changed
    }

    /// Puts an entry into the first free slot of a chain; `false`: there is none, and no memory for another bucket.
    #[inline(always)]
    fn put(&mut self, place: u64, tag: u8, row: RowId) -> bool {
        let bucket = self.bucket_mut(place);
        match bucket.slots_with(0).next() {
            Some(slot) => bucket.fill(slot, tag, row),
            None => return self.put_into_overflow(place, tag, row),
        }
        true
    }

    #[cold]
    fn put_into_overflow(&mut self, place: u64, tag: u8, row: RowId) -> bool {
        let mut last = 0;
        loop {
            let next = self.link_mut(place, last).overflow;
            if next == 0 {
                break;
            }
            let bucket = self.overflow_bucket_mut(next);
            if let Some(slot) = bucket.slots_with(0).next() {
                bucket.fill(slot, tag, row);
                return true;
            }
            last = next;
        }
        let Some(new) = self.allocate_overflow() else { return false };
        self.overflow_bucket_mut(new).fill(0, tag, row);
        self.link_mut(place, last).overflow = new;
        true
    }

    fn allocate_overflow(&mut self) -> Option<u32> {
        let number = if self.free == 0 {
            let end = (self.overflow_count as usize + 2) * size_of::<Bucket>();
            if !self.overflow.could_claim(end) || !self.overflow.claim(end) {
                return None;
            }
            self.overflow_count += 1;
            self.overflow_count
        } else {
            self.free
        };
        let bucket = replace(self.overflow_bucket_mut(number), Bucket::EMPTY);
        if number == self.free {
            self.free = bucket.overflow;
        }
        Some(number)
    }

    /// Frees an overflow bucket; gives what it held.
    fn free_overflow(&mut self, number: u32) -> Bucket {
        let freed = Bucket::empty_before(self.free);
        self.free = number;
        replace(self.overflow_bucket_mut(number), freed)
    }

    /// Adds one bucket and moves to it what now belongs there, out of the one bucket that was its place until now.
    fn split(&mut self, hash_of: impl Fn(RowId) -> u64) {
        let new = self.count;
        let end = (new as usize + 1) * size_of::<Bucket>();
        assert!(self.buckets.claim(end), "`insert_growing` asks whether there is room");
        self.count += 1;
        if new > self.mask {
            self.mask = self.mask * 2 + 1;
        }
        let source = new & (self.mask >> 1);
        let mut old = replace(self.bucket_mut(source), Bucket::EMPTY);
        loop {
            // All the hashes first: each may miss the cache, and without branches between them the misses overlap.
            let moves = old
                .used()
                .fold(0_u32, |moves, slot| moves | u32::from(hash_of(old.row(slot)) & self.mask == new) << slot);
            for slot in old.used() {
                let place = if moves >> slot & 1 == 1 { new } else { source };
                // Two chains with the entries of one need at most one bucket more, and that is the new one.
                assert!(self.put(place, old.tag(slot), old.row(slot)), "a split needs more buckets than it frees");
            }
            if old.overflow == 0 {
                break;
            }
            old = self.free_overflow(old.overflow);
        }
    }

    /// Removes the entry of this row. Gives `false` when there is none.
    #[inline]
    pub(crate) fn remove(&mut self, hash: u64, row: RowId) -> bool {
        let (place, tag) = (self.place(hash), tag_of(hash));
        let (mut before, mut current) = (0, 0);
        loop {
            let bucket = self.link_mut(place, current);
            let next = bucket.overflow;
            if let Some(slot) = bucket.slots_with(tag).find(|&slot| bucket.row(slot) == row) {
                bucket.clear(slot);
                let emptied = current != 0 && bucket.is_empty();
                self.entries -= 1;
                if emptied {
                    self.free_overflow(current);
                    self.link_mut(place, before).overflow = next;
                }
                return true;
            }
            if next == 0 {
                return false;
            }
            (before, current) = (current, next);
        }
    }

    /// Entries.
    pub(crate) fn len(&self) -> usize {
        self.entries
    }

    /// Bytes of memory in use.
    pub(crate) fn used_bytes(&self) -> usize {
        self.buckets.used_bytes() + self.overflow.used_bytes()
    }

    /// What asks for the cache line in which a lookup of a hash begins, for many hashes one after the other; what
    /// [`HashIndex::candidate`] goes on with. Valid until the index changes.
    #[inline(always)]
    pub(crate) fn prefetcher(&self) -> impl Fn(u64) -> Probe + Copy + use<> {
        let (first, mask, count) = (self.bucket_pointer(0), self.mask, self.count);
        move |hash| {
            let bucket = first.wrapping_add(place_among(hash, mask, count) as usize);
            prefetch_read(bucket);
            Probe::new(bucket, tag_of(hash))
        }
    }

    /// The row that a lookup of this hash will most probably find; as [`HashIndex::candidate`].
    #[inline(always)]
    pub(crate) fn candidate_of(&self, hash: u64) -> Option<RowId> {
        // SAFETY: the probe was made just now.
        unsafe { self.candidate(self.prefetcher()(hash)) }
    }

    /// The row that a lookup will most probably find, so that it can be asked for. Reads the first bucket only; if that
    /// goes on, asks for the overflow bucket and gives `None`.
    ///
    /// # Safety
    /// The probe is from this index, which has not changed since.
    #[inline(always)]
    pub(crate) unsafe fn candidate(&self, probe: Probe) -> Option<RowId> {
        // SAFETY: it is a bucket of this index, and the borrow of `self` keeps it from being changed.
        let bucket = unsafe { &*probe.bucket() };
        if let Some(slot) = bucket.slots_with(probe.tag()).next() {
            return Some(bucket.row(slot));
        }
        if bucket.overflow != 0 {
            prefetch_read(self.overflow_pointer(bucket.overflow));
        }
        None
    }
}

/// The number of the bucket that a hash belongs to, among so many.
#[inline(always)]
fn place_among(hash: u64, mask: u64, count: u64) -> u64 {
    // Which of the two no processor can guess.
    let place = hash & mask;
    select_unpredictable(place < count, place, hash & (mask >> 1))
}
