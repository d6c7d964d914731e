//! Lookups in two steps: where they begin, for many hashes one after the other; and what they will probably find.

use std::hint::select_unpredictable;

use super::bucket::{Probe, tag_of};
use super::index::HashIndex;
use crate::partitioned::memory::rows::RowId;
use crate::prefetch::prefetch_read;

/// The number of the bucket that a hash belongs to, among so many.
#[inline(always)]
pub(super) fn place_among(hash: u64, mask: u64, count: u64) -> u64 {
    // Which of the two no processor can guess.
    let place = hash & mask;
    select_unpredictable(place < count, place, hash & (mask >> 1))
}

impl HashIndex {
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
