//! The numbers of the classic engine, each with its biography.

use std::fmt;

/// A page of the volume: its place in the file of pages, in pages.
///
/// Assigned by the space map when a store grows; given back when a page of a tree becomes empty, and then used again.
/// Width on disk: 4 bytes, little-endian. Order: place on disk, no meaning beyond. Reserved: 0 is the volume's own page
/// and so, as a link between pages, stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId(pub(crate) u32);

impl PageId {
    /// No page: the end of a chain.
    pub(crate) const NONE: PageId = PageId(0);
}

/// A heap file or a tree.
///
/// Assigned densely from 1 by the directory when the store is made, never reused. Width on disk: 4 bytes,
/// little-endian. Reserved: 0 stands for the volume itself: its own page, the space map and the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StoreId(pub(crate) u32);

impl StoreId {
    /// The volume.
    pub(crate) const VOLUME: StoreId = StoreId(0);
}

/// A record: its page and the slot in it.
///
/// Assigned when a record is inserted; kept as long as the record lives, whatever moves within the page; used again
/// after the transaction that deleted the record has ended. Width in trees: 8 bytes, page first, both big-endian in the
/// order of the heap file. Reserved: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rid {
    pub(crate) page: PageId,
    pub(crate) slot: u16,
}

impl Rid {
    /// Bytes of a record id in a tree.
    pub(crate) const WIDTH: usize = 8;

    /// As one integer, in the same order.
    #[inline(always)]
    pub(crate) fn to_u64(self) -> u64 {
        u64::from(self.page.0) << 32 | u64::from(self.slot)
    }

    /// The opposite of [`Rid::to_u64`].
    #[inline(always)]
    pub(crate) fn from_u64(number: u64) -> Self {
        Self { page: PageId((number >> 32) as u32), slot: number as u16 }
    }
}

/// A transaction.
///
/// Assigned when a transaction first changes something, growing by one, from above the highest in the log; never
/// reused. Width on disk: 8 bytes, little-endian. Reserved: 0 stands for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TxnId(pub(crate) u64);

impl TxnId {
    /// No transaction.
    pub(crate) const NONE: TxnId = TxnId(0);
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.page.0, self.slot)
    }
}

impl fmt::Display for TxnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
