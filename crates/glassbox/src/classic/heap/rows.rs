//! Rows on a page, as values of their record's type.
//!
//! Bytes from a file may be anything, so a row is checked when it is read. But not each time: a page remembers, while
//! it is in memory, that all its rows are sound. It is so from the beginning if this process made the page, and once
//! all its rows were checked; what is put there later was stored from a record of the same type.

use std::marker::PhantomData;

use super::file::{HeapFile, replace};
use super::slotted;
use crate::classic::change::PageLog;
use crate::classic::ids::Rid;
use crate::classic::page::pages::{FixedPage, Pages};
use crate::error::Error;
use crate::record::{BadRow, Record, Sound};

/// A row of more bytes is decoded where it stays: it would be copied from place to place.
const LARGE: usize = 256;

impl HeapFile {
    /// Gives a row to `give` while its page is fixed. `None` when there is no such record.
    ///
    /// # Errors
    /// As for [`HeapFile::fix`].
    #[inline(always)]
    pub(crate) fn read_row<P: Pages, R: Record, T>(
        &self,
        pages: &P,
        rid: Rid,
        give: impl FnOnce(R) -> T,
    ) -> Result<Option<Result<T, BadRow>>, Error> {
        let page = pages.fix_shared(rid.page)?;
        self.check(rid.page, &page)?;
        let Some(bytes) = slotted::record(&page, rid.slot) else { return Ok(None) };
        Ok(Some(load(&page, bytes, give)))
    }

    /// Lets `change` change a row while its page is fixed, and logs where it differs then; nothing if it does not, or
    /// if `change` says that the row on the page is to stay as it was. Meanwhile a large row is where `keep` puts it;
    /// `room` is for the stored form. `None` when there is no such record.
    ///
    /// # Errors
    /// As for [`HeapFile::update`].
    #[inline(always)]
    pub(crate) fn update_row<'r, P: Pages, J: PageLog, R: Record, T>(
        &self,
        pages: &P,
        (journal, room): (&mut J, &mut Vec<u8>),
        rid: Rid,
        keep: impl FnOnce(R) -> &'r mut R,
        change: impl FnOnce(&mut R, OnPage<'_, R>) -> (bool, T),
    ) -> Result<Option<Result<T, BadRow>>, Error> {
        let mut page = self.fix_exclusive(pages, rid.page)?;
        let Some(slot) = slotted::slot(&page, rid.slot).filter(|slot| !slot.is_ghost) else { return Ok(None) };
        let place = slot.at..slot.at + slot.length;
        let silent = journal.is_silent();
        if !silent {
            room.resize(R::ROW_WIDTH, 0);
        }
        let (bytes, mut small) = (&page[place.clone()], None);
        let row = match load(&page, bytes, |row| if size_of::<R>() > LARGE { keep(row) } else { small.insert(row) }) {
            Ok(row) => row,
            Err(bad) => return Ok(Some(Err(bad))),
        };
        let (stores, out) = change(row, OnPage { bytes, is_sound: page.is_sound() == Some(true), row: PhantomData });
        if !stores {
            return Ok(Some(Ok(out)));
        }
        if silent {
            row.store(&mut page[place]);
            journal.changed_silently(&mut page)?;
        } else {
            row.store(room);
            replace(journal, &mut page, rid, slot, room)?;
        }
        Ok(Some(Ok(out)))
    }
}

/// A row as it is on its page still, where it was read before: what is not used of it need not be decoded again.
pub(crate) struct OnPage<'p, R> {
    bytes: &'p [u8],
    is_sound: bool,
    row: PhantomData<R>,
}

impl<R: Record> OnPage<'_, R> {
    /// The row.
    #[inline(always)]
    pub(crate) fn load(&self) -> R {
        match sound::<R>(self.is_sound, self.bytes) {
            Some(sound) => R::load_sound(sound),
            None => R::load(self.bytes).expect("it was read before"),
        }
    }
}

/// Reads a row of a page.
#[inline(always)]
fn load<R: Record, T>(page: &impl FixedPage, bytes: &[u8], give: impl FnOnce(R) -> T) -> Result<T, BadRow> {
    if let Some(sound) = sound::<R>(page.is_sound() == Some(true), bytes) {
        return Ok(give(R::load_sound(sound)));
    }
    check_all::<R>(page);
    R::load(bytes).map(give)
}

/// The bytes of a row that needs no check, if its page is sound.
#[inline(always)]
fn sound<R: Record>(is_sound: bool, bytes: &[u8]) -> Option<Sound<'_>> {
    // SAFETY: a page is said to be sound when this process makes it, and by `check_all`, which has asked about each row
    // of this table. After that rows come onto it by `Record::store` alone, until it leaves memory; an undo, whose
    // bytes may be from the log, marks it as not known to be sound.
    (is_sound && bytes.len() == R::ROW_WIDTH).then(|| unsafe { Sound::new(bytes) })
}

/// Looks whether all rows of a page are sound, if that can be remembered.
#[cold]
#[inline(never)]
fn check_all<R: Record>(page: &impl FixedPage) {
    if page.is_sound() == Some(false) {
        // Ghosts too: the slot of one says no less about its bytes.
        let mut slots = (0..slotted::slots(page)).map(|number| slotted::slot(page, number));
        let is_sound = |slot: slotted::Slot| R::load(&page[slot.at..slot.at + slot.length]).is_ok();
        page.note_sound(slots.all(|slot| slot.is_some_and(is_sound)));
    }
}
