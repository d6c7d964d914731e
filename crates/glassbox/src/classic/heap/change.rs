//! The changes of a page of records.

use super::{difference, slotted};
use crate::classic::page::BadChange;
use crate::classic::page::{self, PageKind};

/// A change of a page of records. Each can be undone in the page as long as the record's lock is held, because slot
/// and room of a record are its own until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeapChange<'a> {
    /// Puts a record into the next slot, or into that of a ghost. Undone by [`HeapChange::Delete`].
    Insert { slot: u16, record: &'a [u8] },
    /// Makes a record, which has these bytes, a ghost.
    Delete { slot: u16, record: &'a [u8] },
    /// Makes a ghost a record again, with these bytes. They have its length, but need not be its own: the transaction
    /// that deleted the record may have used its place for another.
    Undelete { slot: u16, record: &'a [u8] },
    /// Replaces [ranges of bytes](difference) of a record: those before by those after, or the other way if `back`.
    Update { slot: u16, ranges: &'a [u8], back: bool },
}

impl<'a> HeapChange<'a> {
    /// The stored form, in two parts.
    #[inline(always)]
    pub(crate) fn stored(&self) -> ([u8; 3], &'a [u8]) {
        let (what, slot, bytes) = match *self {
            HeapChange::Insert { slot, record } => (0, slot, record),
            HeapChange::Delete { slot, record } => (1, slot, record),
            HeapChange::Undelete { slot, record } => (2, slot, record),
            HeapChange::Update { slot, ranges, back } => (3 + u8::from(back), slot, ranges),
        };
        let [s0, s1] = slot.to_le_bytes();
        ([what, s0, s1], bytes)
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, BadChange> {
        let [what, s0, s1, bytes @ ..] = bytes else { return Err(BadChange("of records is cut off")) };
        let slot = u16::from_le_bytes([*s0, *s1]);
        match what {
            0 => Ok(HeapChange::Insert { slot, record: bytes }),
            1 => Ok(HeapChange::Delete { slot, record: bytes }),
            2 => Ok(HeapChange::Undelete { slot, record: bytes }),
            3 | 4 => {
                let mut rest = bytes;
                while !rest.is_empty() {
                    difference::next(&mut rest)?;
                }
                Ok(HeapChange::Update { slot, ranges: bytes, back: *what == 4 })
            }
            _ => Err(BadChange("of records is none that this program knows")),
        }
    }

    /// Does it to the page.
    ///
    /// # Errors
    /// When the page is not one to which this can be done. It is unchanged then.
    pub(crate) fn apply(&self, page: &mut [u8]) -> Result<(), BadChange> {
        if page::kind(page) != Some(PageKind::Heap) {
            return Err(BadChange("of records does not fit a page of another kind"));
        }
        match *self {
            HeapChange::Insert { slot, record } => slotted::insert(page, slot, record),
            HeapChange::Delete { slot, record } => slotted::set_ghost(page, slot, record, true),
            HeapChange::Undelete { slot, record } => slotted::set_ghost(page, slot, record, false),
            HeapChange::Update { slot, ranges, back } => {
                let slot = slotted::slot(page, slot)
                    .filter(|slot| !slot.is_ghost)
                    .ok_or(BadChange("updates a record that is not there"))?;
                difference::apply(&mut page[slot.at..slot.at + slot.length], ranges, back)
            }
        }
    }

    /// The change that undoes it.
    pub(crate) fn inverse(&self) -> Self {
        match *self {
            HeapChange::Insert { slot, record } => HeapChange::Delete { slot, record },
            HeapChange::Delete { slot, record } => HeapChange::Undelete { slot, record },
            HeapChange::Undelete { slot, record } => HeapChange::Delete { slot, record },
            HeapChange::Update { slot, ranges, back } => HeapChange::Update { slot, ranges, back: !back },
        }
    }
}
