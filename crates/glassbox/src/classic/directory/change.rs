//! The changes of a page of the directory.

use super::entry::{ENTRY_BYTES, StoreEntry};
use crate::classic::ids::PageId;
use crate::classic::page::BadChange;
use crate::classic::page::{self, PageKind, u16_at, u32_at};

/// A change of a page of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectoryChange<'a> {
    /// Adds an entry, in its stored form, behind the last.
    Add { index: u16, entry: &'a [u8; ENTRY_BYTES] },
    /// Removes the last entry, which is this one.
    Remove { index: u16, entry: &'a [u8; ENTRY_BYTES] },
    /// Makes the directory go on with a page.
    Link { next: PageId },
    /// Makes it end here.
    Unlink { next: PageId },
}

impl<'a> DirectoryChange<'a> {
    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            DirectoryChange::Add { index, entry } | DirectoryChange::Remove { index, entry } => {
                out.push(u8::from(matches!(self, DirectoryChange::Remove { .. })));
                out.extend_from_slice(&index.to_le_bytes());
                out.extend_from_slice(*entry);
            }
            DirectoryChange::Link { next } | DirectoryChange::Unlink { next } => {
                out.push(2 + u8::from(matches!(self, DirectoryChange::Unlink { .. })));
                out.extend_from_slice(&next.0.to_le_bytes());
            }
        }
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, BadChange> {
        let wrong = BadChange("of the directory is none that this program knows");
        match bytes {
            [what @ 0..=1, i0, i1, entry @ ..] => {
                let (index, entry) = (u16::from_le_bytes([*i0, *i1]), entry.try_into().map_err(|_| wrong)?);
                StoreEntry::decode(entry).ok_or(wrong)?;
                let add = DirectoryChange::Add { index, entry };
                Ok(if *what == 0 { add } else { DirectoryChange::Remove { index, entry } })
            }
            [what @ 2..=3, next @ ..] => {
                let next = PageId(u32::from_le_bytes(next.try_into().map_err(|_| wrong)?));
                Ok(if *what == 2 { DirectoryChange::Link { next } } else { DirectoryChange::Unlink { next } })
            }
            _ => Err(wrong),
        }
    }

    /// Does it to the page.
    ///
    /// # Errors
    /// When the page is not one to which this can be done. It is unchanged then.
    pub(crate) fn apply(&self, page: &mut [u8]) -> Result<(), BadChange> {
        if page::kind(page) != Some(PageKind::Volume) {
            return Err(BadChange("of the directory does not fit a page of another kind"));
        }
        let wrong = BadChange("does not fit what the directory holds");
        let count = entries(page);
        match *self {
            DirectoryChange::Add { index, entry } => {
                if usize::from(index) != count || count == max_entries(page.len()) {
                    return Err(wrong);
                }
                set_entry(page, index, entry);
                set_count(page, index + 1);
            }
            DirectoryChange::Remove { index, entry: old } => {
                if usize::from(index) + 1 != count || entry(page, usize::from(index)) != old {
                    return Err(wrong);
                }
                set_entry(page, index, &[0; ENTRY_BYTES]);
                set_count(page, index);
            }
            DirectoryChange::Link { next } => set_next(page, PageId::NONE, next)?,
            DirectoryChange::Unlink { next } => set_next(page, next, PageId::NONE)?,
        }
        Ok(())
    }

    /// The change that undoes it.
    pub(crate) fn inverse(&self) -> Self {
        match *self {
            DirectoryChange::Add { index, entry } => DirectoryChange::Remove { index, entry },
            DirectoryChange::Remove { index, entry } => DirectoryChange::Add { index, entry },
            DirectoryChange::Link { next } => DirectoryChange::Unlink { next },
            DirectoryChange::Unlink { next } => DirectoryChange::Link { next },
        }
    }
}

fn set_entry(page: &mut [u8], index: u16, entry: &[u8; ENTRY_BYTES]) {
    page[ENTRY_ARRAY + ENTRY_BYTES * usize::from(index)..][..ENTRY_BYTES].copy_from_slice(entry);
}

fn set_count(page: &mut [u8], count: u16) {
    page[ENTRIES..ENTRIES + 2].copy_from_slice(&count.to_le_bytes());
}

fn set_next(page: &mut [u8], from: PageId, to: PageId) -> Result<(), BadChange> {
    if next(page) != from || from == to {
        return Err(BadChange("links a directory that goes on otherwise"));
    }
    page[NEXT..NEXT + 4].copy_from_slice(&to.0.to_le_bytes());
    Ok(())
}

pub(super) const NEXT: usize = 56;
const ENTRIES: usize = 60;
const ENTRY_ARRAY: usize = 64;

/// How many entries a page of the directory has room for.
pub(super) fn max_entries(page_bytes: usize) -> usize {
    (page_bytes - ENTRY_ARRAY) / ENTRY_BYTES
}

/// The next page of the directory.
pub(super) fn next(page: &[u8]) -> PageId {
    PageId(u32_at(page, NEXT))
}

/// The number of entries; never more than there is room for.
pub(super) fn entries(page: &[u8]) -> usize {
    usize::from(u16_at(page, ENTRIES)).min(max_entries(page.len()))
}

/// The stored forms of all entries.
pub(super) fn all(page: &[u8]) -> &[[u8; ENTRY_BYTES]] {
    &page[ENTRY_ARRAY..].as_chunks().0[..entries(page)]
}

/// The stored form of an entry below [`entries`].
pub(super) fn entry(page: &[u8], index: usize) -> &[u8; ENTRY_BYTES] {
    page[ENTRY_ARRAY + ENTRY_BYTES * index..].first_chunk().expect("there is room for so many entries")
}
