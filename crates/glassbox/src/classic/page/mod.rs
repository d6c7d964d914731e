//! The header that every page begins with, and the sizes a page may have.
//!
//! ```text
//! offset  bytes
//!      0      4  CRC32C of all that follows, up to the page's end; made when the page is written, checked when read
//!      4      1  kind
//!      5      3  zero
//!      8      8  LSN: the log position behind the last change of this page
//!     16      4  its own page id
//!     20      4  the store that it belongs to
//!     24         what the kind says
//! ```
//!
//! All integers are little-endian. A page that was never written reads as zeros; only recovery may meet one.

pub(crate) mod any_pages;
pub(crate) mod miss;
pub(crate) mod pages;

use super::ids::{PageId, StoreId};
use crate::error::Error;
use crate::log::Lsn;

/// Where a page's own content begins.
pub(crate) const HEADER_BYTES: usize = 24;

/// Whether a page may have so many bytes.
pub(crate) const fn is_page_size(bytes: usize) -> bool {
    matches!(bytes, 0x1000 | 0x2000 | 0x4000 | 0x8000)
}

const KIND: usize = 4;
const LSN: usize = 8;
const ID: usize = 16;
const STORE: usize = 20;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PageKind {
    /// Nothing: never used, or given back.
    Free = 0,
    /// The volume's own page, number 0.
    Volume = 1,
    /// A part of the space map.
    Map = 2,
    /// Records.
    Heap = 3,
    /// A list of the pages of a heap file, with the room in each.
    HeapPages = 4,
    /// A node of a tree.
    Node = 5,
}

impl PageKind {
    /// The kind of this number.
    pub(crate) fn from_number(number: u8) -> Option<Self> {
        [Self::Free, Self::Volume, Self::Map, Self::Heap, Self::HeapPages, Self::Node].get(usize::from(number)).copied()
    }
}

/// What a page holds; `None` when the byte is no kind.
#[inline(always)]
pub(crate) fn kind(page: &[u8]) -> Option<PageKind> {
    PageKind::from_number(page[KIND])
}

/// The log position behind the page's last change.
#[inline(always)]
pub(crate) fn lsn(page: &[u8]) -> Lsn {
    Lsn(u64_at(page, LSN))
}

/// Stamps the page.
#[inline(always)]
pub(crate) fn set_lsn(page: &mut [u8], lsn: Lsn) {
    page[LSN..LSN + 8].copy_from_slice(&lsn.0.to_le_bytes());
}

/// The page's own number.
#[inline(always)]
pub(crate) fn id(page: &[u8]) -> PageId {
    PageId(u32_at(page, ID))
}

/// The store that the page belongs to.
#[inline(always)]
pub(crate) fn store(page: &[u8]) -> StoreId {
    StoreId(u32_at(page, STORE))
}

/// Whether a page of this store holds this.
#[inline(always)]
pub(crate) fn is(page: &[u8], kind: PageKind, of: StoreId) -> bool {
    page[KIND] == kind as u8 && store(page) == of
}

/// Makes the page one of `kind` with this behind the header, and then zeros. The LSN stays.
pub(crate) fn format(page: &mut [u8], id: PageId, kind: PageKind, store: StoreId, body: &[u8]) {
    let lsn = lsn(page);
    page[..HEADER_BYTES].fill(0);
    page[HEADER_BYTES..HEADER_BYTES + body.len()].copy_from_slice(body);
    page[HEADER_BYTES + body.len()..].fill(0);
    page[KIND] = kind as u8;
    page[ID..ID + 4].copy_from_slice(&id.0.to_le_bytes());
    page[STORE..STORE + 4].copy_from_slice(&store.0.to_le_bytes());
    set_lsn(page, lsn);
}

/// Makes the checksum right, for writing.
pub(crate) fn seal(page: &mut [u8]) {
    let sum = crc32c::crc32c(&page[4..]);
    page[..4].copy_from_slice(&sum.to_le_bytes());
}

/// Whether the checksum is right.
pub(crate) fn is_sealed(page: &[u8]) -> bool {
    u32_at(page, 0) == crc32c::crc32c(&page[4..])
}

/// The fault of a page, as an error.
#[cold]
pub(crate) fn damaged(id: PageId, page_bytes: usize, problem: impl Into<String>) -> Error {
    let offset = u64::from(id.0) * page_bytes as u64;
    Error::Damaged { file: "pages".to_owned(), offset, problem: problem.into() }
}

/// A little-endian number in a page.
#[inline(always)]
pub(crate) fn u16_at(page: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(page[at..at + 2].try_into().expect("2 bytes"))
}

/// A little-endian number in a page.
#[inline(always)]
pub(crate) fn u32_at(page: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(page[at..at + 4].try_into().expect("4 bytes"))
}

/// A little-endian number in a page.
#[inline(always)]
pub(crate) fn u64_at(page: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(page[at..at + 8].try_into().expect("8 bytes"))
}

/// Logged bytes that are no change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a logged change of a page {0}")]
pub(crate) struct BadChange(pub(crate) &'static str);
