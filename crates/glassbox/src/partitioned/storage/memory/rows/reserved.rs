//! Slots that are reserved: the caller that asked for them says which row goes where.

use crate::partitioned::storage::memory::rows::{RowId, Rows};

/// Slots that are reserved together.
const TOGETHER: u32 = 128;

/// So many slots may be free besides.
const MAY_BE_FREE: u32 = 1024;

impl<R: Copy> Rows<R> {
    /// Reserves 128 slots side by side, all vacant, and gives the number of the first, which 128 divides; `None` when
    /// row numbers or memory run out, or more than half of all slots would be free.
    pub(crate) fn reserve(&mut self) -> Option<RowId> {
        if self.slots.saturating_add(TOGETHER) / 2 > self.live_rows.saturating_add(MAY_BE_FREE) {
            return None;
        }
        let first = self.slots.checked_next_multiple_of(TOGETHER)?;
        let end = first.checked_add(TOGETHER)?;
        while self.claimed < end {
            if !self.claim_more() {
                return None;
            }
        }
        // Those that are skipped are for others.
        (self.slots..first).rev().for_each(|id| self.put_on_list(RowId::new(id)));
        self.slots = end;
        let (word, bit) = Self::reservation(RowId::new(first));
        if self.reserved.len() <= word {
            self.reserved.resize(word + 1, 0);
        }
        self.reserved[word] |= bit;
        Some(RowId::new(first))
    }

    /// How many of the 128 slots from `first` on are vacant.
    pub(crate) fn vacant(&self, first: RowId) -> usize {
        Self::together(first).filter(|&id| !self.is_live(id)).count()
    }

    /// Ends the reservation of the 128 slots from `first` on: the vacant ones are free for any row.
    pub(crate) fn release(&mut self, first: RowId) {
        let (word, bit) = Self::reservation(first);
        assert!(self.reserved[word] & bit != 0, "{first:?} is not reserved");
        self.reserved[word] &= !bit;
        for id in Self::together(first).rev() {
            if !self.is_live(id) {
                self.put_on_list(id);
            }
        }
    }

    fn together(first: RowId) -> impl DoubleEndedIterator<Item = RowId> {
        (first.get()..first.get() + TOGETHER).map(RowId::new)
    }

    /// Where it is noted whether a slot is reserved: word and bit.
    #[inline(always)]
    const fn reservation(id: RowId) -> (usize, u64) {
        let group = id.get() / TOGETHER;
        (group as usize / 64, 1 << (group % 64))
    }

    /// Whether a slot is reserved.
    #[inline(always)]
    pub(crate) fn is_reserved(&self, id: RowId) -> bool {
        let (word, bit) = Self::reservation(id);
        self.reserved.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// Puts a row into a reserved slot, if that is vacant; whether it was.
    #[inline(always)]
    pub(crate) fn insert_at(&mut self, id: RowId, row: &R) -> bool {
        debug_assert!(self.is_reserved(id), "{id:?} is not reserved");
        let vacant = !self.is_live(id);
        if vacant {
            self.fill(id, row);
        }
        vacant
    }

    /// Puts a row where the one was that was removed last of those that are still to be put back.
    ///
    /// # Panics
    /// When the place is taken.
    pub(crate) fn put_back(&mut self, id: RowId, row: &R) {
        if !self.is_reserved(id) {
            self.take_off_list(id);
        }
        assert!(!self.is_live(id), "another row is in the place of one that is put back");
        self.fill(id, row);
    }

    /// Mostly it is the first: what was put on the list after it has been taken again since, but for what was skipped
    /// when slots were reserved.
    fn take_off_list(&mut self, id: RowId) {
        if self.free == id {
            self.reuse_slot();
            return;
        }
        let mut at = self.free;
        loop {
            assert!(at != RowId::NONE, "the place of a row that is put back is not free");
            let next = self.next_free(at);
            if next == id {
                let behind = self.next_free(id);
                self.link(at, behind);
                return;
            }
            at = next;
        }
    }
}
