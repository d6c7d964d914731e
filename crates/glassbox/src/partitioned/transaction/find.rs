//! Finds rows in held partitions: where the prefetch left them, or by their index.

use std::ptr::NonNull;

use super::super::held::Held;
use super::super::lookups::{AHEAD, Group, Lookups, NOTHING, Places, UNSURE, number};
use super::remote::RemoteRows;
use crate::partitioned::storage::table::Table;
use crate::procedure::Stop;
use crate::record::{EncodedKey, Key, Record};

/// A live row and its table, in a held partition.
pub(super) type TableRow<'a, R> = (&'a mut Table<R>, NonNull<R>);

impl Lookups {
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
    pub(super) fn lend<'h>(self, _held: &'h mut Held<'_>) -> TableRow<'h, R> {
        // SAFETY: a group's table is a `Table<R>` of a partition that the witness of its prefetch holds, and the borrow
        // of that witness makes this the only reference.
        (unsafe { &mut *self.table.as_ptr() }, self.row)
    }
}

/// The row that was found.
#[inline(always)]
pub(super) fn read<R: Record>((_table, row): TableRow<'_, R>) -> &R {
    // SAFETY: it is a live row of this table, whose borrow keeps it as it is.
    unsafe { row.as_ref() }
}

/// The row with this key: where it was prefetched, or found now.
#[inline(always)]
pub(super) fn find<'h, M: RemoteRows, R: Record>(
    held: &'h mut Held<'_>,
    lookups: &mut Lookups,
    key: &R::Key,
) -> Result<Option<TableRow<'h, R>>, Stop> {
    match lookups.take::<R>(held, key) {
        Some(found) => Ok(Some(found.lend(held))),
        None => look_up::<M, R>(held, key),
    }
}

/// The row with this key, found by its index.
#[inline(never)]
pub(super) fn look_up<'h, M: RemoteRows, R: Record>(
    held: &'h mut Held<'_>,
    key: &R::Key,
) -> Result<Option<TableRow<'h, R>>, Stop> {
    let table = M::table::<R>(held, key)?;
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
    (unsafe { row.as_ref() }.key().is_key(key)).then_some(row)
}
