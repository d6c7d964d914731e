//! Rows that are added together, side by side.
//!
//! Each is written where it stays, as its maker makes it; what has to be noted is noted once for all. A maker may
//! panic: up to then the rows lie in slots that are nobody's, and nothing has happened.

use super::{RowId, Rows};

impl<R: Copy> Rows<R> {
    /// Writes a row, and those that `next` gives after it, behind the last slot: as many as there is room for now, at
    /// most 64, or none while slots are free before. Nothing is changed until [`Rows::admit`] is told how many.
    #[inline(always)]
    pub(crate) fn stage(&mut self, first: &R, mut next: impl FnMut() -> Option<R>) -> u32 {
        if self.free != RowId::NONE || self.claimed - self.slots < 64 && !self.claim_more() {
            return 0;
        }
        let (most, place) = ((self.claimed - self.slots).min(64), self.slot(RowId(self.slots)).cast::<u8>());
        // SAFETY: the slots from the high-water mark to what is claimed are nobody's, and `staged` stays below their
        // number.
        unsafe { place.cast().write(*first) };
        for staged in 1..most {
            let Some(row) = next() else { return staged };
            // SAFETY: as above.
            unsafe { place.add(staged as usize * Self::STRIDE).cast().write(row) };
        }
        most
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
