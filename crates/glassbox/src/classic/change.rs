//! A change of one page, as data: what is applied, logged, redone by recovery, and undone.
//!
//! Problem: a page is changed in normal work, by redo, and by undo, and each must do exactly the same to its bytes, or
//! recovery brings back another database. So there is one description of a change and one function that applies it, and
//! normal work uses it too: the caller that wants to change a page makes a [`Change`] and gives it to the [`PageLog`],
//! which logs it and applies it. Changes are physiological (Gray and Reuter 1993, §10.3.5): they name the page, and
//! what is done within it by slot or position.
//!
//! A change says how it is undone ([`Undo`]). In the page, by its inverse: right as long as no other transaction can
//! have moved what it touched, as for records, whose slots stay, or within a nested action, whose pages no other thread
//! saw. Or logically, for entries of trees: the entry may be on another page by then. Or not at all.

use super::directory::DirectoryChange;
use super::heap::{HeapChange, ListChange};
use super::ids::StoreId;
use super::page::{self, BadChange, PageKind};
use super::space::MapChange;
use super::tree::NodeChange;
use crate::classic::page::pages::ExclusivePage;
use crate::error::Error;

/// A change of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// Makes the page a new one of this kind, with `body` behind the header, the rest zeros. Needs nothing of what the
    /// page held. Undone by the space map, which frees the page; so its own inverse is nothing.
    Format { kind: PageKind, store: StoreId, body: &'a [u8] },
    /// Changes a page of the directory.
    Directory(DirectoryChange<'a>),
    /// Changes a page of the space map.
    Map(MapChange),
    /// Changes a page of records.
    Heap(HeapChange<'a>),
    /// Changes a page of the list of a heap file's pages.
    HeapPages(ListChange),
    /// Changes a node of a tree.
    Node(NodeChange<'a>),
    /// For tests of what only carries changes: the bytes at `at`, which are `old`, become `new`, of the same length.
    #[cfg(test)]
    Bytes { at: u16, old: &'a [u8], new: &'a [u8] },
}

/// How a change is undone when its transaction does not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Undo {
    /// It stays: it does no harm.
    Nothing = 0,
    /// By [`Change::inverse`] on the same page.
    Page = 1,
    /// By the owner of the store, wherever the entry is by then.
    Logical = 2,
}

/// The log as the access methods see it, for one transaction.
pub(crate) trait PageLog {
    /// Where a nested action began.
    type Nested;

    /// Logs `change`, applies it to the page and stamps the page. Nothing is changed when that fails.
    ///
    /// # Errors
    /// When the log does not take it.
    fn change(&mut self, page: &mut impl ExclusivePage, change: Change<'_>, undo: Undo) -> Result<(), Error>;

    /// As [`PageLog::change`]; `apply` does to the page what the change would do, in less time.
    ///
    /// # Errors
    /// As for [`PageLog::change`].
    #[inline(always)]
    fn change_by(
        &mut self,
        page: &mut impl ExclusivePage,
        change: Change<'_>,
        undo: Undo,
        _apply: impl FnOnce(&mut [u8]) -> Result<(), BadChange>,
    ) -> Result<(), Error> {
        self.change(page, change, undo)
    }

    /// Whether a change of a page need not be described: there is no log, and nothing will be undone.
    #[inline(always)]
    fn is_silent(&self) -> bool {
        false
    }

    /// Stamps a page that was changed without a description, while the journal [is silent](Self::is_silent).
    ///
    /// # Errors
    /// When the log has failed.
    fn changed_silently(&mut self, _page: &mut impl ExclusivePage) -> Result<(), Error> {
        unreachable!("this journal wants to know of every change")
    }

    /// Room for describing a change, empty, to be given back by [`PageLog::give_back`]: so that it need not be
    /// allocated each time.
    #[inline(always)]
    fn room(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// Gives back what [`PageLog::room`] gave.
    #[inline(always)]
    fn give_back(&mut self, _room: Vec<u8>) {}

    /// Begins a nested top action: changes that stay once it has ended, even if the transaction does not commit (a
    /// split of a node). While it is going on, what it changed is latched, and is undone page by page.
    fn begin_nested(&mut self) -> Self::Nested;

    /// Ends a nested top action: from here on it stays.
    ///
    /// # Errors
    /// When the log does not take it.
    fn end_nested(&mut self, begun: Self::Nested) -> Result<(), Error>;
}

const FORMAT: u8 = 0;
// The others are told by the kind of page that they change.
const DIRECTORY: u8 = PageKind::Volume as u8;
const MAP: u8 = PageKind::Map as u8;
const HEAP: u8 = PageKind::Heap as u8;
const HEAP_PAGES: u8 = PageKind::HeapPages as u8;
const NODE: u8 = PageKind::Node as u8;
#[cfg(test)]
const BYTES: u8 = 255;

/// Bytes that something begins with, and how many of them are meant.
pub(crate) type Start<const N: usize> = ([u8; N], usize);

impl<'a> Change<'a> {
    /// The stored form of the changes that are most, in two parts.
    #[inline(always)]
    pub(crate) fn stored(&self) -> Option<(Start<8>, &'a [u8])> {
        match self {
            Change::Heap(change) => {
                let ([b0, b1, b2], rest) = change.stored();
                Some((([HEAP, b0, b1, b2, 0, 0, 0, 0], 4), rest))
            }
            Change::Node(change) => {
                let ([b0, b1, b2, b3, b4, b5, b6], rest) = change.stored_entry()?;
                Some((([NODE, b0, b1, b2, b3, b4, b5, b6], 8), rest))
            }
            _ => None,
        }
    }

    /// Appends the stored form.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self.stored() {
            Some(((start, length), rest)) => {
                out.extend_from_slice(&start[..length]);
                out.extend_from_slice(rest);
            }
            None => self.encode_other(out),
        }
    }

    fn encode_other(&self, out: &mut Vec<u8>) {
        match self {
            Change::Format { kind, store, body } => {
                out.extend_from_slice(&[FORMAT, *kind as u8]);
                out.extend_from_slice(&store.0.to_le_bytes());
                out.extend_from_slice(body);
            }
            Change::Directory(change) => {
                out.push(DIRECTORY);
                change.encode(out);
            }
            Change::Map(change) => {
                out.push(MAP);
                change.encode(out);
            }
            Change::Heap(_) => unreachable!("it is in two parts"),
            Change::HeapPages(change) => {
                out.push(HEAP_PAGES);
                change.encode(out);
            }
            Change::Node(change) => {
                out.push(NODE);
                change.encode_other(out);
            }
            #[cfg(test)]
            Change::Bytes { at, old, new } => {
                assert_eq!(old.len(), new.len());
                out.push(BYTES);
                out.extend_from_slice(&at.to_le_bytes());
                out.extend_from_slice(old);
                out.extend_from_slice(new);
            }
        }
    }

    /// Reads the stored form, all of `bytes`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, BadChange> {
        match bytes {
            [FORMAT, kind, s0, s1, s2, s3, body @ ..] => Ok(Change::Format {
                kind: PageKind::from_number(*kind).ok_or(BadChange("names no kind of page"))?,
                store: StoreId(u32::from_le_bytes([*s0, *s1, *s2, *s3])),
                body,
            }),
            [DIRECTORY, change @ ..] => DirectoryChange::decode(change).map(Change::Directory),
            [MAP, change @ ..] => MapChange::decode(change).map(Change::Map),
            [HEAP, change @ ..] => HeapChange::decode(change).map(Change::Heap),
            [HEAP_PAGES, change @ ..] => ListChange::decode(change).map(Change::HeapPages),
            [NODE, change @ ..] => Ok(Change::Node(NodeChange::decode(change)?)),
            #[cfg(test)]
            [BYTES, a0, a1, bytes @ ..] if bytes.len().is_multiple_of(2) => {
                let (old, new) = bytes.split_at(bytes.len() / 2);
                Ok(Change::Bytes { at: u16::from_le_bytes([*a0, *a1]), old, new })
            }
            _ => Err(BadChange("is none that this program knows")),
        }
    }

    /// Does it to the page, all but the LSN. Checks first what it needs of the page.
    ///
    /// # Errors
    /// When the page is not one to which this can be done: the page or the log is damaged. It is unchanged then.
    pub(crate) fn apply(&self, id: super::ids::PageId, page: &mut [u8]) -> Result<(), BadChange> {
        match self {
            Change::Format { kind, store, body } => {
                if page::HEADER_BYTES + body.len() > page.len() {
                    return Err(BadChange("is longer than a page"));
                }
                page::format(page, id, *kind, *store, body);
                Ok(())
            }
            Change::Directory(change) => change.apply(page),
            Change::Map(change) => change.apply(page),
            Change::Heap(change) => change.apply(page),
            Change::HeapPages(change) => change.apply(page),
            Change::Node(change) => change.apply(page),
            #[cfg(test)]
            Change::Bytes { at, old, new } => {
                let at = usize::from(*at);
                match page.get_mut(at..at + old.len()) {
                    Some(bytes) if bytes == *old => bytes.copy_from_slice(new),
                    _ => return Err(BadChange("replaces other bytes")),
                }
                Ok(())
            }
        }
    }

    /// Its inverse on the same page; `None` when nothing need be done. It holds bytes of the change itself, so
    /// what a change removes or overwrites must be in it.
    pub(crate) fn inverse(&self) -> Option<Change<'a>> {
        match self {
            Change::Format { .. } => None,
            Change::Directory(change) => Some(Change::Directory(change.inverse())),
            Change::Map(change) => Some(Change::Map(change.inverse())),
            Change::Heap(change) => Some(Change::Heap(change.inverse())),
            Change::HeapPages(change) => Some(Change::HeapPages(change.inverse())),
            Change::Node(change) => Some(Change::Node(change.inverse())),
            #[cfg(test)]
            Change::Bytes { at, old, new } => Some(Change::Bytes { at: *at, old: new, new: old }),
        }
    }
}
