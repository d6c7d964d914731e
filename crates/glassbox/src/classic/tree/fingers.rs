//! Where entries were inserted last: a guess that saves the way down for keys that grow.
//!
//! Keys that a transaction inserts often grow, one sequence beside the other: the lines of an order, the orders of a
//! district. Each comes right behind the one before. A finger remembers the leaf of an insertion, the position behind
//! it, and which keys belong there: those up to the next entry, or to the separator above the leaf. All that is so as
//! long as the leaf has the LSN that it had then, because whatever changes its entries or its bounds changes the leaf:
//! a split takes entries from it, or gives it another sibling, and so does the unlinking of the leaf behind it.
//!
//! Fingers belong to a session, so no other thread sees them. Keys of more than 8 bytes have none.

use super::hints::Hints;
use crate::classic::ids::{PageId, StoreId};
use crate::log::Lsn;

/// Fingers of a session, 2 to this.
const FINGERS_LOG: u32 = 10;

/// See the file.
#[derive(Clone, Copy)]
pub(super) struct Finger {
    pub(super) leaf: PageId,
    pub(super) store: StoreId,
    /// Of the leaf, behind the insertion.
    pub(super) lsn: Lsn,
    /// The key that was inserted.
    pub(super) key: u64,
    /// The greatest key that belongs behind it.
    pub(super) last: u64,
    /// The position behind it.
    pub(super) at: usize,
}

/// What a session remembers of its insertions.
pub(crate) struct Fingers(Box<[Finger; 1 << FINGERS_LOG]>);

impl Default for Fingers {
    fn default() -> Self {
        let none = Finger { leaf: PageId::NONE, store: StoreId::VOLUME, lsn: Lsn::NONE, key: 0, last: 0, at: 0 };
        Self(Box::new([none; 1 << FINGERS_LOG]))
    }
}

impl Fingers {
    /// The place of the finger for a key.
    #[inline(always)]
    pub(super) fn place(store: StoreId, number: u64) -> usize {
        Hints::place(number, store, FINGERS_LOG)
    }

    /// The finger at a place, which may be another key's.
    #[inline(always)]
    pub(super) fn at(&mut self, place: usize) -> &mut Finger {
        &mut self.0[place]
    }
}

impl Finger {
    /// Whether this key belongs where the finger is, if the leaf is as it was.
    #[inline(always)]
    pub(super) fn fits(&self, store: StoreId, number: u64) -> bool {
        self.store == store && self.key < number && number <= self.last
    }
}
