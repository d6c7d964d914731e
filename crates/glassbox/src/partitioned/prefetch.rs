//! Brings the declared rows into the cache before the procedure runs, and remembers where they are.
//!
//! Most of a fast transaction's time is cache misses, and they come one after the other: each level of an index says
//! where the next is. But the keys do not depend on each other, and the processor follows many misses at once in the
//! time of one. So all declared keys go down their indexes together: each takes one step (ask for the next node), then
//! the next key does, and when the first one's turn comes again its node has arrived.
//!
//! The declaration itself is the loop over the keys: it is run once for each step, with what takes that step compiled
//! into it ([`KeySet`]). So every key comes with its type, nothing is dispatched on, and a key is encoded where it is
//! used. What is kept for a key is one [`Lookup`].
//!
//! At the end a lookup has the row that is probably the one: of a hash index, the first with the right tag. The run, if
//! it comes to the keys in the order in which they were declared, compares the row's key with its own and is spared a
//! second way through the index. The comparison decides, so nothing depends on the declaration being right; and no row
//! of a lookup can be gone, because the first removal forgets all of them.

use std::ops::Range;
use std::ptr::NonNull;

use super::memory::{CACHE_LINE_BYTES, Next, Node, Probe, RowId, prefetch_read, prefetch_span};
use super::origin::Origin;
use super::partition::Cell;
use super::table::Table;
use crate::procedure::{KeySet, Mode, partition_of};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// Keys that descend together; more than the processor can follow at once gains nothing.
const MOST: usize = 64;
/// As much of a row is prefetched: its front, where the columns that change stand.
const PREFETCH_ROW_BYTES: usize = 320;
/// How many lookups a run may leave out at a time.
const AHEAD: usize = 4;
/// Added to a record's number when a row of that record was found.
const FOUND: u32 = 1 << 31;
/// In a record number's place, when none was.
const NOTHING: u32 = u32::MAX;

/// A declared key on its way down the index; at the end of it, where its row probably is.
#[derive(Debug, Clone, Copy)]
struct Lookup {
    /// A `Table<R>` in a held partition.
    table: NonNull<()>,
    /// The bits of a [`Probe`] or a [`Node`]; with [`FOUND`], the address of a live row of that table.
    at: u64,
    /// Says which record `R` is, by its [`TableId`](crate::record::TableId).
    record: u32,
    /// With [`FOUND`], the row's number.
    row: RowId,
}

const NO_LOOKUP: Lookup = Lookup { table: NonNull::dangling(), at: 0, record: NOTHING, row: RowId::NONE };

// SAFETY: the pointers are into a partition that whoever uses the lookup holds.
unsafe impl Send for Lookup {}

/// The lookups of a transaction.
#[derive(Debug)]
pub(crate) struct Lookups {
    list: [Lookup; MOST],
    /// Of those, how many are this transaction's.
    used: usize,
    /// The one that the run comes to next.
    next: usize,
}

impl Default for Lookups {
    fn default() -> Self {
        Self { list: [NO_LOOKUP; MOST], used: 0, next: 0 }
    }
}

/// The number of a record, to be compared with a lookup's.
#[inline(always)]
fn number<R: Record>() -> u32 {
    R::table_id().get() as u32
}

impl Lookups {
    /// Forgets all: a row is about to go.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        (self.used, self.next) = (0, 0);
    }

    /// Where the row with this key is, if it was declared and its turn has come.
    ///
    /// # Safety
    /// The caller holds the tokens that were held in [`prefetch`], and has not let go of them since.
    #[inline(always)]
    pub(super) unsafe fn take<'a, R: Record>(&mut self, key: &R::Key) -> Option<(&'a mut Table<R>, RowId)> {
        if self.next == self.used {
            return None;
        }
        // SAFETY: passed on.
        match unsafe { self.list[self.next % MOST].row_of(key) } {
            Some(found) => {
                self.next += 1;
                Some(found)
            }
            // SAFETY: passed on.
            None => unsafe { self.take_ahead(key) },
        }
    }

    /// As `take`, for a run that left some out.
    #[inline(never)]
    unsafe fn take_ahead<'a, R: Record>(&mut self, key: &R::Key) -> Option<(&'a mut Table<R>, RowId)> {
        for (ahead, lookup) in self.list[self.next..self.used].iter().enumerate().take(AHEAD).skip(1) {
            // SAFETY: passed on.
            if let Some(found) = unsafe { lookup.row_of(key) } {
                self.next += ahead + 1;
                return Some(found);
            }
        }
        None
    }
}

impl Lookup {
    #[inline(always)]
    unsafe fn row_of<'a, R: Record>(&self, key: &R::Key) -> Option<(&'a mut Table<R>, RowId)> {
        if self.record != number::<R>() | FOUND {
            return None;
        }
        // SAFETY: the record's number says that it is such a table with such a row, and the caller holds its partition.
        let (table, row) = unsafe { (self.table.cast::<Table<R>>().as_mut(), &*(self.at as *const R)) };
        (row.key() == *key).then_some((table, self.row))
    }
}

/// Prefetches the keys that `origin` declares and that are on the partitions of `held`; what `lookups` had is gone.
///
/// # Safety
/// The tokens of `held`, `home` among them, are held.
#[inline(always)]
pub(super) unsafe fn prefetch(lookups: &mut Lookups, cells: &[Cell], held: u64, home: usize, origin: &impl Origin) {
    let last = (0, NOTHING, NonNull::dangling());
    let mut begin = Begin { cells, held, home, list: lookups.list.iter_mut(), last };
    origin.declare(&mut begin);
    (lookups.used, lookups.next) = (MOST - begin.list.len(), 0);
    loop {
        let mut step = Step { list: lookups.list[..lookups.used].iter_mut(), more: false };
        origin.declare(&mut step);
        if !step.more {
            break;
        }
    }
}

/// Asks for these bytes of a row, and for its beginning, where the key is compared. The processor keeps few misses in
/// flight, and waits when there are more: no line is asked for that is not needed.
#[inline(always)]
fn prefetch_part<R>(row: *const R, bytes: Range<usize>) {
    let at = |offset| row.cast::<u8>().wrapping_add(offset);
    if bytes.len() > CACHE_LINE_BYTES {
        return prefetch_span(at(bytes.start), bytes.len().min(PREFETCH_ROW_BYTES));
    }
    prefetch_read(row);
    if bytes.start >= CACHE_LINE_BYTES / 2 {
        prefetch_read(at(bytes.start));
    }
    if bytes.end > 1 {
        prefetch_read(at(bytes.end - 1));
    }
}

/// The first pass: asks for where the lookups begin.
struct Begin<'a> {
    cells: &'a [Cell],
    held: u64,
    home: usize,
    /// Places for further lookups.
    list: std::slice::IterMut<'a, Lookup>,
    /// Partition, record and table of the lookup before: keys of one table are usually declared together.
    last: (usize, u32, NonNull<()>),
}

impl Begin<'_> {
    /// The table of the rows with this placement number, if it is held.
    #[inline(always)]
    fn table<R: Record>(&mut self, record: u32, placement: Option<u64>) -> Option<NonNull<Table<R>>> {
        let at = placement.map_or(self.home, |it| partition_of(it, self.cells.len() as u64) as usize);
        if (at, record) == (self.last.0, self.last.1) {
            return Some(self.last.2.cast());
        }
        if self.held >> at & 1 == 0 {
            return None;
        }
        // SAFETY: the caller of `prefetch` holds its token.
        let table = NonNull::from(unsafe { &mut *self.cells[at].partition() }.table::<R>());
        self.last = (at, record, table.cast());
        Some(table)
    }

    #[inline(always)]
    fn begin<R: Record>(&mut self, placement: Option<u64>, key: impl FnOnce() -> R::Encoded) {
        let record = number::<R>();
        let Some(table) = self.table::<R>(record, placement) else { return };
        let Some(lookup) = self.list.next() else { return };
        // SAFETY: a held partition's table, which nothing changes while these passes read.
        let Table { hash, tree, .. } = unsafe { table.as_ref() };
        let at = if Table::<R>::POINT { hash.prefetch(key().hash64()).to_bits() } else { tree.root().to_bits() };
        *lookup = Lookup { table: table.cast(), at, record, row: RowId::NONE };
    }
}

impl KeySet for Begin<'_> {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, _mode: Mode, _bytes: Range<usize>) {
        self.begin::<R>(R::PLACEMENT.map(|position| key.placement_at(position)), || key.encode());
    }

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, _mode: Mode) {
        // A range begins where its lowest key would be; a hash index has no such place.
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        if !Table::<R>::POINT && placement != Some(None) {
            self.begin::<R>(placement.flatten(), || unreachable!("a tree's lookups begin at its root"));
        }
    }

    /// Asks for the leaf at once: one for each transaction or so, its way is not worth going in steps, and the nodes
    /// above are in the cache.
    #[inline(always)]
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let (Some(range), true) = (bounds.encode::<I::Encoded>(), placement != Some(None)) else { return };
        let table = self.table::<I::Record>(number::<I::Record>(), placement.flatten());
        // SAFETY: a held partition's table, which nothing changes while these passes read.
        if let Some(table) = table.map(|table| unsafe { table.as_ref() }) {
            let insert = mode == Mode::Insert;
            table.index_tree::<I>().prefetch_leaf(if insert { &range.high } else { &range.low }, insert);
        }
    }
}

/// A further pass: each lookup goes on by one level and asks for what it needs then; at the last one, for the row.
///
/// Lookups are met in the order in which they began. Where the declaration differs from the one before, which is a
/// mistake, a lookup is met with another key of its record or not at all: it then finds nothing, or too little.
struct Step<'a> {
    list: std::slice::IterMut<'a, Lookup>,
    /// Whether some are not at their end yet.
    more: bool,
}

impl Step<'_> {
    #[inline(always)]
    fn step<R: Record>(&mut self, bytes: Range<usize>, key: impl FnOnce() -> R::Encoded) {
        let Some(lookup) = self.list.next() else { return };
        let record = number::<R>();
        if lookup.record != record {
            return;
        }
        // SAFETY: the record's number says that it is such a table, in a held partition; nothing changes it while these
        // passes read.
        let Table { hash, tree, rows, .. } = unsafe { lookup.table.cast::<Table<R>>().as_ref() };
        let row = if Table::<R>::POINT {
            hash.candidate(Probe::from_bits(lookup.at))
        } else {
            match tree.descend(Node::from_bits(lookup.at), &key()) {
                Next::Child(child) => {
                    tree.prefetch_node(child);
                    lookup.at = child.to_bits();
                    self.more = true;
                    return;
                }
                Next::Leaf(row) => row,
            }
        };
        lookup.record = NOTHING;
        if let Some(row) = row {
            let address = rows.pointer(row);
            prefetch_part(address, bytes);
            *lookup = Lookup { table: lookup.table, at: address as u64, record: record | FOUND, row };
        }
    }
}

impl KeySet for Step<'_> {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, _mode: Mode, bytes: Range<usize>) {
        self.step::<R>(bytes, || key.encode());
    }

    #[inline(always)]
    fn index<I: Index>(&mut self, _bounds: impl Bounds<I::Key>, _mode: Mode) {}

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, _mode: Mode) {
        if !Table::<R>::POINT && R::PLACEMENT.is_none_or(|position| bounds.placement_at(position).is_some()) {
            self.step::<R>(0..0, || bounds.encode().map_or(R::Encoded::ZERO, |range| range.low));
        }
    }
}
