//! Where the rows of the declared keys are: what [`prefetch`](super::prefetch) leaves for the run.
//!
//! Keys are declared in groups, each of one table, and the run comes to them in the same order. So the table stands
//! once for each group, and of a key there are itself and where its row is. The run compares the key with its own, and
//! is spared a second way through the index. The comparison decides, so nothing depends on the declaration being right;
//! and no row of a lookup can be gone, because the first removal forgets all of them. Two kinds of lookups are compared
//! by the row's key instead: those of a hash index, which gives the first row with the right tag, and those of keys
//! longer than a word.

use std::ptr::NonNull;

use crate::partitioned::storage::table::Table;
use crate::record::Record;

/// Keys that descend together; more than the processor can follow at once gains nothing.
pub(super) const MAX_LOOKUPS: usize = 64;
/// How many lookups a run may leave out at a time.
pub(super) const AHEAD: usize = 4;
/// Set in the word of a lookup that is perhaps another key's row; and while it is none yet, in that of a hash index.
pub(super) const UNSURE: u64 = 1 << 63;
/// Added to a record's number until the rows of a group of that record are found.
pub(super) const PENDING: u32 = 1 << 31;
/// In a record number's place, when nothing was. Of no record, and with [`PENDING`].
pub(super) const NOTHING: u32 = u32::MAX - 1;

/// Keys that were declared together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// A `Table<R>` in a held partition.
    pub(super) table: NonNull<()>,
    /// Says which record `R` is, by its [`TableId`](crate::record::TableId); with [`PENDING`], not all words are rows.
    pub(super) record: u32,
    /// The place behind the last lookup, whose word is 0; behind that of the group before is the first.
    pub(super) end: u32,
}

/// The declared keys, each at its place, and where their rows are.
#[derive(Debug)]
pub(super) struct Places {
    /// The address of a live row of the key's table, perhaps with [`UNSURE`], or 0; of a group with [`PENDING`] perhaps
    /// the bits of a [`Probe`](super::storage::memory::Probe), with [`UNSURE`], or of a
    /// [`Node`](super::storage::memory::Node).
    pub(super) words: [u64; MAX_LOOKUPS],
    /// The key, if it fits into a word, and that row is its own.
    pub(super) keys: [u64; MAX_LOOKUPS],
}

/// Those of no group.
pub(super) static NOWHERE: Places = Places { words: [0; MAX_LOOKUPS], keys: [0; MAX_LOOKUPS] };

const NO_GROUP: Group = Group { table: NonNull::dangling(), record: NOTHING, end: 0 };

// SAFETY: the pointers are into a partition that the user of the lookups holds.
unsafe impl Send for Group {}

/// The lookups of a transaction.
#[derive(Debug)]
pub(crate) struct Lookups {
    pub(super) places: Places,
    /// Those of this transaction, then one with [`NOTHING`], which the last always has.
    pub(super) groups: [Group; MAX_LOOKUPS + 1],
    /// The lookup that the run comes to next.
    pub(super) next: usize,
    /// The group that has it: one of this transaction's, the one after them, or the last.
    pub(super) at: usize,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { places: Places { ..NOWHERE }, groups: [NO_GROUP; MAX_LOOKUPS + 1], next: 0, at: 0 }
    }
}

/// The number of a record, to be compared with a group's.
#[inline(always)]
pub(super) fn number<R: Record>() -> u32 {
    R::table_id().get() as u32
}

impl Lookups {
    /// Forgets all: a row is about to go.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.at = MAX_LOOKUPS;
    }

    /// The group whose turn it is.
    #[inline(always)]
    pub(super) fn current(&self) -> &Group {
        // SAFETY: it never goes behind a group with `NOTHING`, which the last one has.
        unsafe { self.groups.get_unchecked(self.at) }
    }

    /// Ends the list behind so many groups, and lets the run begin with the first.
    #[inline(always)]
    pub(super) fn ready(&mut self, groups: usize) {
        self.groups[groups] = NO_GROUP;
        (self.next, self.at) = (0, 0);
    }

    /// Of the group whose turn it is, if it is of this record: the table, where the next lookup is, and the place
    /// behind the last. A user of some of them reports it by [`Lookups::go_to`].
    #[inline(always)]
    pub(super) fn group<R: Record>(&self) -> Option<(NonNull<Table<R>>, usize, usize)> {
        let &Group { table, record, end } = self.current();
        (record == number::<R>()).then(|| (table.cast(), self.next, end as usize))
    }

    /// Goes on at this place of the group whose turn it is, or behind it.
    #[inline(always)]
    pub(super) fn go_to(&mut self, next: usize) {
        if next > self.next {
            self.go_behind(next - 1, self.current().end);
        }
    }

    /// Goes on behind a lookup of the group whose turn it is, which ends there.
    #[inline(always)]
    pub(super) fn go_behind(&mut self, taken: usize, end: u32) {
        let over = usize::from(taken + 1 == end as usize);
        (self.next, self.at) = (taken + 1 + over, self.at + over);
    }
}
