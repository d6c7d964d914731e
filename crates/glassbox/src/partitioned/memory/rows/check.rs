//! Verifying rows: every invariant that [`super`] states.

use super::{RowId, Rows};

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
