//! Where the rows of the declared keys are: what [`prefetch`](super::prefetch) leaves for the run.
//!
//! Keys are declared in groups, each of one table, and the run comes to them in the same order. So the table stands
//! once for each group, and of a key there are itself and where its row is. The run compares the key with its own, and
//! is spared a second way through the index. The comparison decides, so nothing depends on the declaration being right;
//! and no row of a lookup can be gone, because the first removal forgets all of them. Two kinds of lookups are compared
//! by the row's key instead: those of a hash index, which gives the first row with the right tag, and those of keys
//! longer than a word.

use std::ptr::NonNull;

use super::held::Held;
use super::table::Table;
use super::transaction::Place;
use crate::procedure::Stop;
use crate::record::{EncodedKey, Key, Record};

/// Keys that descend together; more than the processor can follow at once gains nothing.
pub(super) const MOST: usize = 64;
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

/// What is known of the declared keys, each at its place.
#[derive(Debug)]
pub(super) struct Places {
    /// The address of a live row of the key's table, perhaps with [`UNSURE`], or 0; of a group with [`PENDING`] perhaps
    /// the bits of a [`Probe`](super::memory::Probe), with [`UNSURE`], or of a [`Node`](super::memory::Node).
    pub(super) words: [u64; MOST],
    /// The key, if it fits into a word, and that row is its own.
    pub(super) keys: [u64; MOST],
}

/// Those of no group.
pub(super) static NOWHERE: Places = Places { words: [0; MOST], keys: [0; MOST] };

const NO_GROUP: Group = Group { table: NonNull::dangling(), record: NOTHING, end: 0 };

// SAFETY: the pointers are into a partition that whoever uses the lookups holds.
unsafe impl Send for Group {}

/// The lookups of a transaction.
#[derive(Debug)]
pub(crate) struct Lookups {
    pub(super) places: Places,
    /// Those of this transaction, then one with [`NOTHING`], which the last always has.
    pub(super) groups: [Group; MOST + 1],
    /// The lookup that the run comes to next.
    next: usize,
    /// The group that has it: one of this transaction's, the one after them, or the last.
    at: usize,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { places: Places { ..NOWHERE }, groups: [NO_GROUP; MOST + 1], next: 0, at: 0 }
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
        self.at = MOST;
    }

    /// The group whose turn it is.
    #[inline(always)]
    fn current(&self) -> &Group {
        // SAFETY: it never goes behind a group with `NOTHING`, which the last one has.
        unsafe { self.groups.get_unchecked(self.at) }
    }

    /// Ends the list behind so many groups, and lets the run begin with the first.
    #[inline(always)]
    pub(super) fn ready(&mut self, groups: usize) {
        self.groups[groups] = NO_GROUP;
        (self.next, self.at) = (0, 0);
    }

    /// The row with this key and its table, if it was declared and its turn has come. `held` is the witness that the
    /// prefetch of this transaction had.
    #[inline(always)]
    pub(super) fn take<R: Record>(&mut self, held: &Held<'_>, key: &R::Key) -> Option<FoundRow<R>> {
        let &Group { table, record, end } = self.current();
        if record == number::<R>() {
            // SAFETY: the group is of this record and found, in a held partition; `next` is one of its lookups.
            if let Some(row) = unsafe { row_of::<R>(&self.places, self.next, key) } {
                self.go_behind(self.next, end);
                return Some(FoundRow { table: table.cast(), row });
            }
        }
        if record == NOTHING { None } else { self.take_ahead(held, key) }
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
    fn go_behind(&mut self, taken: usize, end: u32) {
        let over = usize::from(taken + 1 == end as usize);
        (self.next, self.at) = (taken + 1 + over, self.at + over);
    }

    /// As `take`, for a run that left some out.
    #[inline(never)]
    fn take_ahead<R: Record>(&mut self, _held: &Held<'_>, key: &R::Key) -> Option<FoundRow<R>> {
        let (mut at, mut group, mut next) = (self.at, *self.current(), self.next);
        for _ in 0..AHEAD {
            if next == group.end as usize {
                (at, next) = (at + 1, next + 1);
                group = self.groups[at];
            }
            if group.record == NOTHING {
                return None;
            }
            // SAFETY: as in `take`.
            if group.record == number::<R>()
                && let Some(row) = unsafe { row_of::<R>(&self.places, next, key) }
            {
                self.at = at;
                self.go_behind(next, group.end);
                return Some(FoundRow { table: group.table.cast(), row });
            }
            next += 1;
        }
        None
    }
}

/// A row that was found beforehand.
pub(super) struct FoundRow<R: Record> {
    table: NonNull<Table<R>>,
    row: NonNull<R>,
}

impl<R: Record> FoundRow<R> {
    /// The row and its table, for as long as the witness is borrowed.
    #[inline(always)]
    pub(super) fn lend<'h>(self, _held: &'h mut Held<'_>) -> Place<'h, R> {
        // SAFETY: a group's table is a `Table<R>` of a partition that the witness of its prefetch holds, and the borrow
        // of that witness makes this the only reference.
        (unsafe { &mut *self.table.as_ptr() }, self.row)
    }
}

/// The row with this key: where it was prefetched, or found now.
#[inline(always)]
pub(super) fn find<'h, R: Record>(
    held: &'h mut Held<'_>,
    lookups: &mut Lookups,
    key: &R::Key,
) -> Result<Option<Place<'h, R>>, Stop> {
    match lookups.take::<R>(held, key) {
        Some(found) => Ok(Some(found.lend(held))),
        None => look_up(held, key),
    }
}

/// The row with this key, found by its index.
#[inline(never)]
pub(super) fn look_up<'h, R: Record>(held: &'h mut Held<'_>, key: &R::Key) -> Result<Option<Place<'h, R>>, Stop> {
    let table = held.table_of::<R>(key)?;
    let row = table.find(key.encode()).map(|id| table.rows.place(id));
    Ok(row.map(|row| (table, row)))
}

/// The row of the lookup at this place, if its key is this.
///
/// # Safety
/// The place is of a group of `R` without [`PENDING`], in a partition that the caller holds, or behind its last.
#[inline(always)]
pub(super) unsafe fn row_of<R: Record>(places: &Places, at: usize, key: &R::Key) -> Option<NonNull<R>> {
    // SAFETY: groups have no other places.
    let (word, declared) = unsafe { (*places.words.get_unchecked(at), *places.keys.get_unchecked(at)) };
    // Neither 0 nor unsure.
    if word.cast_signed() > 0 && key.encode::<R::Encoded>().as_u64() == Some(declared) {
        return NonNull::new(word as *mut R);
    }
    if word & UNSURE == 0 && R::Encoded::ZERO.as_u64().is_some() {
        return None;
    }
    let row = NonNull::new((word & !UNSURE) as *mut R)?;
    // SAFETY: the word is the address of a live row of such a table.
    (unsafe { row.as_ref() }.key() == *key).then_some(row)
}
