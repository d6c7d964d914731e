//! One bucket of a hash index: a cache line with twelve entries.
//!
//! ```text
//! 0          12                                     60        64
//! | 12 tags  | 12 row numbers, 4 bytes each         | overflow |
//! ```
//!
//! A tag is 8 bits of the entry's hash, 0 in a free slot, and all twelve are compared at once. So a lookup reads one
//! line, and then, but for one time in thirty, only the row it looks for.

use crate::partitioned::storage::memory::rows::RowId;

/// Entries in a bucket.
pub(crate) const SLOTS: usize = 12;

/// The tag of an entry with this hash: its highest 8 bits, which select no bucket; never 0.
#[inline(always)]
pub(crate) fn tag_of(hash: u64) -> u8 {
    ((hash >> 56) as u8).max(1)
}

/// Where a lookup begins, in one word, to be kept where any index's state is kept: the bucket's address, which has at
/// most 56 bits where programs run, and the tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe(u64);

impl Probe {
    #[inline(always)]
    pub(crate) fn new(bucket: *const Bucket, tag: u8) -> Self {
        Self((bucket as u64) << 8 | u64::from(tag))
    }

    #[inline(always)]
    pub(crate) fn bucket(self) -> *const Bucket {
        (self.0 >> 8) as *const Bucket
    }

    #[inline(always)]
    pub(crate) fn tag(self) -> u8 {
        self.0 as u8
    }

    /// The word.
    #[inline(always)]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// From [`Probe::to_bits`].
    #[inline(always)]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

/// A bucket, or an overflow bucket that continues one.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Bucket {
    tags: [u8; SLOTS],
    rows: [RowId; SLOTS],
    /// The number of the overflow bucket that continues this one, or 0.
    pub(crate) overflow: u32,
}

const _: () = assert!(size_of::<Bucket>() == 64);

/// The set of slots in which something was found, one bit each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots(u32);

impl Iterator for Slots {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let slot = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(slot)
    }
}

impl Bucket {
    /// A bucket without entries: what zeroed memory is.
    pub(crate) const EMPTY: Self = Self { tags: [0; SLOTS], rows: [RowId::new(0); SLOTS], overflow: 0 };

    /// A bucket without entries that `overflow` continues.
    pub(crate) const fn empty_before(overflow: u32) -> Self {
        Self { overflow, ..Self::EMPTY }
    }

    /// The slots whose tag is `tag`; with 0, the free ones.
    #[inline(always)]
    pub(crate) fn slots_with(&self, tag: u8) -> Slots {
        #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
        // SAFETY: the 16 bytes from the bucket's start lie inside its 64, which are aligned to 64; sse2 is enabled.
        unsafe {
            use std::arch::x86_64::{
                _mm_cmpeq_epi8, _mm_cvtsi32_si128, _mm_load_si128, _mm_movemask_epi8, _mm_shuffle_epi32,
            };
            let start = std::ptr::from_ref(self).cast();
            // Multiplying repeats the byte four times and the shuffle repeats those; the four bytes beyond the tags are
            // masked out again.
            let repeated = _mm_cvtsi32_si128((u32::from(tag) * 0x0101_0101) as i32);
            let equal = _mm_cmpeq_epi8(_mm_load_si128(start), _mm_shuffle_epi32::<0>(repeated));
            Slots(_mm_movemask_epi8(equal) as u32 & ((1 << SLOTS) - 1))
        }
        #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
        self.slots_with_portably(tag)
    }

    /// What [`Bucket::slots_with`] does, without the processor's help.
    #[cfg(any(test, not(all(target_arch = "x86_64", target_feature = "sse2"))))]
    pub(crate) fn slots_with_portably(&self, tag: u8) -> Slots {
        Slots((0..SLOTS).fold(0, |found, slot| found | (u32::from(self.tags[slot] == tag) << slot)))
    }

    /// The slots in use.
    pub(crate) fn used(&self) -> Slots {
        Slots((0..SLOTS).fold(0, |found, slot| found | (u32::from(self.tags[slot] != 0) << slot)))
    }

    /// The row in a slot found by [`Bucket::slots_with`].
    #[inline(always)]
    pub(crate) fn row(&self, slot: usize) -> RowId {
        debug_assert!(slot < SLOTS);
        // SAFETY: slots come from `Slots`, whose bits beyond the twelfth are never set.
        unsafe { *self.rows.get_unchecked(slot) }
    }

    /// The tag in a slot.
    pub(crate) fn tag(&self, slot: usize) -> u8 {
        self.tags[slot]
    }

    /// Fills a free slot.
    #[inline(always)]
    pub(crate) fn fill(&mut self, slot: usize, tag: u8, row: RowId) {
        self.tags[slot] = tag;
        self.rows[slot] = row;
    }

    /// Frees a slot.
    #[inline(always)]
    pub(crate) fn clear(&mut self, slot: usize) {
        self.tags[slot] = 0;
    }

    /// Whether no slot is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.tags == [0; SLOTS]
    }
}
