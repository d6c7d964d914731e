//! The journal of a transaction as the access methods see it.

use super::forms::Device;
use super::transaction::{Nested, TransactionLog, does_not_fit};
use crate::classic::change::{Change, PageLog, Undo};
use crate::classic::page;
use crate::classic::page::BadChange;
use crate::classic::page::pages::ExclusivePage;
use crate::error::Error;

impl<D: Device> TransactionLog<D> {
    /// Makes a change that can be undone, or is logged.
    #[inline]
    fn change_and_tell(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        undo: Undo,
        apply: impl FnOnce(&mut [u8]) -> Result<(), BadChange>,
    ) -> Result<(), Error> {
        self.ensure_begun();
        match self.taking_back {
            Some(count) if self.nested == 0 && self.active.own.len() > count => self.compensate(page, change, count),
            Some(_) if self.nested == 0 => {
                assert!(undo == Undo::Nothing, "one change outside of nested actions takes a record back, no second");
                self.update(page, change, undo, apply)
            }
            _ => self.update(page, change, undo, apply),
        }
    }
}

impl<D: Device> PageLog for TransactionLog<D> {
    type Nested = Nested;

    #[inline]
    fn change(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, undo: Undo) -> Result<(), Error> {
        let id = page.id();
        self.change_by(page, change, undo, |page| change.apply(id, page))
    }

    #[inline(always)]
    fn change_by(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        undo: Undo,
        apply: impl FnOnce(&mut [u8]) -> Result<(), BadChange>,
    ) -> Result<(), Error> {
        if self.is_silent() {
            apply(page).map_err(|bad| does_not_fit(page.id(), page, bad))?;
            let before = self.undoable;
            self.changed_silently(page)?;
            if undo == Undo::Nothing {
                self.undoable = before;
            }
            return Ok(());
        }
        self.change_and_tell(page, change, undo, apply)
    }

    #[inline(always)]
    fn is_silent(&self) -> bool {
        !D::RECORDS && !self.undoable.keeps() && self.nested == 0 && self.taking_back.is_none()
    }

    #[inline]
    fn changed_silently(&mut self, page: &mut impl ExclusivePage) -> Result<(), Error> {
        self.ensure_begun();
        let from = self.device.appended();
        self.active.last = self.device.append(&[])?;
        let stamp = D::stamp(page::lsn(page), self.active.last);
        page.changed(from, stamp);
        self.undoable.note_change();
        Ok(())
    }

    #[inline(always)]
    fn room(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.room)
    }

    #[inline(always)]
    fn give_back(&mut self, mut room: Vec<u8>) {
        room.clear();
        self.room = room;
    }

    fn begin_nested(&mut self) -> Nested {
        self.nested += 1;
        Nested(self.active.own.len())
    }

    /// Without a record when nothing in the action could be undone.
    fn end_nested(&mut self, begun: Nested) -> Result<(), Error> {
        self.skip_to(begun.0)?;
        self.nested -= 1;
        Ok(())
    }
}
