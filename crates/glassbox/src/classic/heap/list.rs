//! A page of the list of a heap file's pages, and its changes.
//!
//! ```text
//! offset  bytes
//!     24      4  next page of the list; 0: none yet
//!     28      2  entries n
//!     30      2  zero
//!     32     8n  entries: page id, 4 bytes; 1 if it may have room for a record, else 0; 3 bytes zero
//! ```
//!
//! The file's root is the first page of its list. Pages are only added. A page that has no free entry has a next one.

use crate::classic::ids::PageId;
use crate::classic::page::BadChange;
use crate::classic::page::{self, HEADER_BYTES, PageKind, u16_at, u32_at};

const NEXT: usize = HEADER_BYTES;
const ENTRIES: usize = 28;
const ENTRY_ARRAY: usize = 32;
const ENTRY_BYTES: usize = 8;

/// How many entries a page has room for.
pub(crate) fn most_entries(page_bytes: usize) -> usize {
    (page_bytes - ENTRY_ARRAY) / ENTRY_BYTES
}

/// A page of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListEntry {
    pub(crate) page: PageId,
    pub(crate) has_room: bool,
}

/// The next page of the list; [`PageId::NONE`] at its end.
pub(crate) fn next(list: &[u8]) -> PageId {
    PageId(u32_at(list, NEXT))
}

/// The number of entries.
pub(crate) fn entries(list: &[u8]) -> u16 {
    u16_at(list, ENTRIES)
}

/// The entry of this number; `None` if there is none.
pub(crate) fn entry(list: &[u8], index: u16) -> Option<ListEntry> {
    let at = ENTRY_ARRAY + ENTRY_BYTES * usize::from(index);
    if index >= entries(list) || at + ENTRY_BYTES > list.len() {
        return None;
    }
    Some(ListEntry { page: PageId(u32_at(list, at)), has_room: list[at + 4] != 0 })
}

/// A change of a page of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListChange {
    /// Adds an entry behind the last, for a page with room.
    Append { index: u16, page: PageId },
    /// Removes the last entry.
    Remove { index: u16, page: PageId },
    /// Says whether a page may have room, other than before.
    SetRoom { index: u16, has_room: bool },
    /// Makes the list go on with a page.
    Link { next: PageId },
    /// Makes it end here.
    Unlink { next: PageId },
}

impl ListChange {
    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let (what, index, page) = match *self {
            ListChange::Append { index, page } => (0, index, page.0),
            ListChange::Remove { index, page } => (1, index, page.0),
            ListChange::SetRoom { index, has_room } => (2, index, u32::from(has_room)),
            ListChange::Link { next } => (3, 0, next.0),
            ListChange::Unlink { next } => (4, 0, next.0),
        };
        out.push(what);
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&page.to_le_bytes());
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, BadChange> {
        let [what, i0, i1, p0, p1, p2, p3] = *bytes else {
            return Err(BadChange("of a list of pages has a wrong length"));
        };
        let index = u16::from_le_bytes([i0, i1]);
        let page = PageId(u32::from_le_bytes([p0, p1, p2, p3]));
        match (what, index, page) {
            (0, ..) => Ok(ListChange::Append { index, page }),
            (1, ..) => Ok(ListChange::Remove { index, page }),
            (2, _, PageId(room @ 0..=1)) => Ok(ListChange::SetRoom { index, has_room: room == 1 }),
            (3, 0, next) => Ok(ListChange::Link { next }),
            (4, 0, next) => Ok(ListChange::Unlink { next }),
            _ => Err(BadChange("of a list of pages is none that this program knows")),
        }
    }

    /// Does it to the page.
    ///
    /// # Errors
    /// When the page is not one to which this can be done. It is unchanged then.
    pub(crate) fn apply(&self, list: &mut [u8]) -> Result<(), BadChange> {
        if page::kind(list) != Some(PageKind::HeapPages) {
            return Err(BadChange("of a list of pages does not fit a page of another kind"));
        }
        let wrong = BadChange("does not fit what the list of pages holds");
        match *self {
            ListChange::Append { index, page } => {
                if index != entries(list) || usize::from(index) >= most_entries(list.len()) {
                    return Err(wrong);
                }
                set_entry(list, index, page, true);
                set_entries(list, index + 1);
            }
            ListChange::Remove { index, page } => {
                let last = entry(list, index).filter(|last| last.page == page && index + 1 == entries(list));
                last.ok_or(wrong)?;
                set_entry(list, index, PageId::NONE, false);
                set_entries(list, index);
            }
            ListChange::SetRoom { index, has_room } => {
                let found = entry(list, index).filter(|found| found.has_room != has_room).ok_or(wrong)?;
                set_entry(list, index, found.page, has_room);
            }
            ListChange::Link { next } => set_next(list, PageId::NONE, next)?,
            ListChange::Unlink { next } => set_next(list, next, PageId::NONE)?,
        }
        Ok(())
    }

    /// The change that undoes it.
    pub(crate) fn inverse(&self) -> Self {
        match *self {
            ListChange::Append { index, page } => ListChange::Remove { index, page },
            ListChange::Remove { index, page } => ListChange::Append { index, page },
            ListChange::SetRoom { index, has_room } => ListChange::SetRoom { index, has_room: !has_room },
            ListChange::Link { next } => ListChange::Unlink { next },
            ListChange::Unlink { next } => ListChange::Link { next },
        }
    }
}

fn set_entry(list: &mut [u8], index: u16, page: PageId, has_room: bool) {
    let entry = &mut list[ENTRY_ARRAY + ENTRY_BYTES * usize::from(index)..][..ENTRY_BYTES];
    entry[..4].copy_from_slice(&page.0.to_le_bytes());
    entry[4] = u8::from(has_room);
}

fn set_entries(list: &mut [u8], entries: u16) {
    list[ENTRIES..ENTRIES + 2].copy_from_slice(&entries.to_le_bytes());
}

fn set_next(list: &mut [u8], from: PageId, to: PageId) -> Result<(), BadChange> {
    if next(list) != from || from == to {
        return Err(BadChange("links a list of pages that goes on otherwise"));
    }
    list[NEXT..NEXT + 4].copy_from_slice(&to.0.to_le_bytes());
    Ok(())
}
