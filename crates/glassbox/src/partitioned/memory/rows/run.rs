//! Rows that are added together, side by side.
//!
//! Each is written where it stays, as its maker makes it; what has to be noted is noted once for all. A maker may
//! panic: up to then the rows lie in slots that are not in use, and nothing has happened.

use std::mem::MaybeUninit;

use super::{RowId, Rows};

/// Rows that can be staged together.
const MOST: usize = 64;

/// The keys of staged rows, made while each row is at hand: reading them from the rows again takes longer.
pub(crate) struct StagedKeys<K> {
    keys: [MaybeUninit<K>; MOST],
    /// As many are there.
    count: u32,
}

impl<K: Copy> StagedKeys<K> {
    /// None.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { keys: [const { MaybeUninit::uninit() }; MOST], count: 0 }
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
        let (most, place) = ((self.claimed - self.slots).min(MOST as u32), self.slot(RowId(self.slots)).cast::<u8>());
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
