//! Where the rows of the declared keys are: what [`prefetch`](super::prefetch) leaves for the run.
//!
//! Keys are declared in groups, each of one table, and the run comes to them in the same order. So the table stands
//! once for each group, and of a key there is one word: where its row probably is. Of a hash index that is the first
//! row with the right tag. The run compares the row's key with its own and is spared a second way through the index.
//! The comparison decides, so nothing depends on the declaration being right; and no row of a lookup can be gone,
//! because the first removal forgets all of them.

use std::ptr::NonNull;

use super::table::Table;
use crate::record::Record;

/// Keys that descend together; more than the processor can follow at once gains nothing.
pub(super) const MOST: usize = 64;
/// How many lookups a run may leave out at a time.
pub(super) const AHEAD: usize = 4;
/// Added to a record's number when the rows of a group of that record were found.
pub(super) const FOUND: u32 = 1 << 31;
/// In a record number's place, when nothing was. Of no record that a catalog names, and without [`FOUND`].
pub(super) const NOTHING: u32 = u32::MAX >> 1;

/// Keys that were declared together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Group {
    /// A `Table<R>` in a held partition.
    pub(super) table: NonNull<()>,
    /// Says which record `R` is, by its [`TableId`](crate::record::TableId); with [`FOUND`], the words are rows.
    pub(super) record: u32,
    /// The lookup behind the last one; the first is that behind the group before.
    pub(super) end: u32,
}

const NO_GROUP: Group = Group { table: NonNull::dangling(), record: NOTHING, end: 0 };

// SAFETY: the pointers are into a partition that whoever uses the lookups holds.
unsafe impl Send for Group {}

/// The lookups of a transaction.
#[derive(Debug)]
pub(crate) struct Lookups {
    /// The bits of a [`Probe`](super::memory::Probe) or a [`Node`](super::memory::Node); of a group with [`FOUND`], the
    /// address of a live row of its table, or 0.
    pub(super) words: [u64; MOST],
    /// Those of this transaction, then one with [`NOTHING`].
    pub(super) groups: [Group; MOST + 1],
    /// The lookup that the run comes to next.
    next: usize,
    /// The group that has it, ...
    at: usize,
    /// ... and a copy of it.
    current: Group,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { words: [0; MOST], groups: [NO_GROUP; MOST + 1], next: 0, at: 0, current: NO_GROUP }
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
        self.current = NO_GROUP;
    }

    /// Ends the list behind so many groups, and lets the run begin with the first.
    #[inline(always)]
    pub(super) fn ready(&mut self, groups: usize) {
        self.groups[groups] = NO_GROUP;
        (self.next, self.at, self.current) = (0, 0, self.groups[0]);
    }

    /// The row with this key and its table, if it was declared and its turn has come.
    ///
    /// # Safety
    /// The caller holds the tokens that were held in [`prefetch`](super::prefetch::prefetch), and has not let go of
    /// them since.
    #[inline(always)]
    pub(super) unsafe fn take<'a, R: Record>(&mut self, key: &R::Key) -> Option<(&'a mut Table<R>, NonNull<R>)> {
        if self.current.record == number::<R>() | FOUND {
            // SAFETY: the group is of this record and found, and the caller holds its partition.
            if let Some(row) = unsafe { row_of::<R>(self.words[self.next % MOST], key) } {
                let table = self.current.table.cast::<Table<R>>();
                self.go_behind(self.next);
                // SAFETY: as above.
                return Some((unsafe { &mut *table.as_ptr() }, row));
            }
        }
        // SAFETY: passed on.
        if self.current.record == NOTHING { None } else { unsafe { self.take_ahead(key) } }
    }

    /// The table, and the words that are left, of the group whose turn it is, if it is of this record. Whoever uses
    /// some of them says so by [`Lookups::leave`].
    ///
    /// # Safety
    /// As of [`Lookups::take`].
    #[inline(always)]
    pub(super) unsafe fn group<'a, R: Record>(&self) -> Option<(&'a mut Table<R>, &[u64])> {
        if self.current.record != number::<R>() | FOUND {
            return None;
        }
        // SAFETY: the group is of this record and found, and the caller holds its partition.
        let table = unsafe { &mut *self.current.table.cast::<Table<R>>().as_ptr() };
        // SAFETY: `next` is a lookup of the group, whose end is one of the words'.
        Some((table, unsafe { self.words.get_unchecked(self.next..self.current.end as usize) }))
    }

    /// Goes on where so many lookups are left of the group whose turn it is.
    #[inline(always)]
    pub(super) fn leave(&mut self, left: usize) {
        let next = self.current.end as usize - left;
        if next > self.next {
            self.go_behind(next - 1);
        }
    }

    #[inline(always)]
    fn go_behind(&mut self, taken: usize) {
        self.next = taken + 1;
        if self.next == self.current.end as usize {
            self.at += 1;
            self.current = self.groups[self.at.min(MOST)];
        }
    }

    /// As `take`, for a run that left some out.
    #[inline(never)]
    unsafe fn take_ahead<'a, R: Record>(&mut self, key: &R::Key) -> Option<(&'a mut Table<R>, NonNull<R>)> {
        let (mut at, mut group) = (self.at, self.current);
        for next in self.next..self.next + AHEAD {
            while next == group.end as usize {
                at += 1;
                group = self.groups[at];
            }
            if group.record == NOTHING {
                return None;
            }
            if group.record != number::<R>() | FOUND {
                continue;
            }
            // SAFETY: as in `take`.
            if let Some(row) = unsafe { row_of::<R>(self.words[next], key) } {
                (self.at, self.current) = (at, group);
                self.go_behind(next);
                // SAFETY: as in `take`.
                return Some((unsafe { &mut *group.table.cast::<Table<R>>().as_ptr() }, row));
            }
        }
        None
    }
}

/// The row of this lookup, if its key is this.
///
/// # Safety
/// The word is of a group of `R` that has [`FOUND`], in a partition that the caller holds.
#[inline(always)]
pub(super) unsafe fn row_of<R: Record>(word: u64, key: &R::Key) -> Option<NonNull<R>> {
    let row = NonNull::new(word as *mut R)?;
    // SAFETY: the word is the address of a live row of such a table.
    (unsafe { row.as_ref() }.key() == *key).then_some(row)
}
