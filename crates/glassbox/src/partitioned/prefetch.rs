//! Brings the declared rows into the cache before the procedure runs, and notes where they are.
//!
//! Most of a fast transaction's time is cache misses, and they come one after the other: each level of an index says
//! where the next is. But the keys do not depend on each other, and the processor follows many misses at once in the
//! time of one. So all declared keys go down their indexes together: each takes one step (ask for the next node), then
//! the next key does, and when the first one's turn comes again its node has arrived.
//!
//! The declaration itself is the loop over the keys: it is run once for each step, with what takes that step compiled
//! into it ([`KeySet`]). So every key comes with its type, nothing is dispatched on, and a key is encoded where it is
//! used. Keys that are declared together find their table, and what does not change from key to key, once. What is kept
//! for a key is a word and the key itself: a place of [`Lookups`].

use std::ops::Range;
use std::ptr::NonNull;

use super::lookups::{Group, Lookups, MOST, PENDING, Places, UNSURE, number};
use super::memory::HashIndex;
use super::origin::Origin;
use super::partition::{Cell, Partition};
use super::table::Table;
use crate::prefetch::{CACHE_LINE_BYTES, prefetch_read, prefetch_span};
use crate::procedure::{KeySet, Mode, PartitionSet, partition_of};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

mod step;

use step::Step;

/// As much of a row is prefetched: its front.
pub(super) const PREFETCH_ROW_BYTES: usize = 320;

/// Prefetches the keys that `origin` declares and that are on the partitions of `held`; what `lookups` had is gone.
///
/// # Safety
/// The tokens of `held`, `home` among them, are held.
#[inline(always)]
pub(super) unsafe fn prefetch(
    lookups: &mut Lookups,
    cells: &[Cell],
    held: PartitionSet,
    home: usize,
    origin: &impl Origin,
) {
    let (several, home) = (cells.len() > 1, cells[home].partition());
    let mut begin = Begin { cells, held, home, several, lookups, groups: 0, used: 0, more: false };
    origin.declare(&mut begin);
    let (groups, mut more) = (begin.groups, begin.more);
    while more {
        let mut step = Step { several, lookups, groups, at: 0, begin: 0, more: false };
        origin.declare(&mut step);
        more = step.more;
    }
    lookups.ready(groups);
}

/// Asks for these bytes of a row; its word. The processor keeps few misses in flight, and waits when there are more: no
/// line is asked for that is not needed.
#[inline(always)]
fn prefetch_part<R>(row: *const R, bytes: &Range<usize>) -> u64 {
    let at = |offset| row.cast::<u8>().wrapping_add(offset);
    if bytes.len() > CACHE_LINE_BYTES {
        prefetch_span(at(bytes.start), bytes.len().min(PREFETCH_ROW_BYTES));
    } else {
        prefetch_read(at(bytes.start));
        prefetch_read(at(bytes.end.saturating_sub(1)));
    }
    row as u64
}

/// Where a table is.
type Place<R> = NonNull<Table<R>>;

/// The first pass: asks for where the lookups begin; of dense keys, for the rows.
struct Begin<'a> {
    cells: &'a [Cell],
    held: PartitionSet,
    home: *mut Partition,
    several: bool,
    lookups: &'a mut Lookups,
    /// Groups and lookups so far.
    groups: usize,
    used: usize,
    /// Whether some are not at their end yet.
    more: bool,
}

impl Begin<'_> {
    /// The table of the rows with this placement number, if it is held.
    #[inline(always)]
    fn table<R: Record>(&self, placement: Option<u64>) -> Option<Place<R>> {
        let partition = match placement {
            Some(placement) if self.several => {
                let at = partition_of(placement, self.cells.len() as u64) as usize;
                if !self.held.contains(at) {
                    return None;
                }
                self.cells[at].partition()
            }
            _ => self.home,
        };
        // SAFETY: the caller of `prefetch` holds its token.
        Some(NonNull::from(unsafe { &mut *partition }.table::<R>()))
    }

    /// A group of one key, whose row is on the partition of this placement number.
    #[inline(always)]
    fn one<R: Record>(&mut self, placement: Option<u64>, bytes: &Range<usize>, key: R::Encoded) {
        let Some(table) = self.table::<R>(placement) else { return };
        if !Table::<R>::POINT {
            return self.group::<R>(table, bytes, std::iter::once(key));
        }
        // SAFETY: as in `group`.
        let Table { dense, hash, rows, .. } = unsafe { table.as_ref() };
        if self.used + 1 >= MOST {
            return;
        }
        let found = key.as_u64().and_then(|key| dense.find(key));
        let (word, number) = match found {
            Some(row) => (prefetch_part(rows.pointers()(row), bytes), key.as_u64().unwrap_or(0)),
            None => (probe(hash, key), 0),
        };
        (self.lookups.places.words[self.used], self.lookups.places.keys[self.used]) = (word, number);
        self.end_group::<R>(table, self.used + 1, found.is_some());
    }

    /// A group of these keys, whose rows are all in this table.
    #[inline(always)]
    fn group<R: Record>(&mut self, table: Place<R>, bytes: &Range<usize>, keys: impl Iterator<Item = R::Encoded>) {
        // SAFETY: a held partition's table, which nothing changes while these passes read.
        let Table { dense, rows, tree, .. } = unsafe { table.as_ref() };
        let (first, mut end, mut found) = (self.used, self.used, Table::<R>::POINT);
        let (finder, pointer, root) = (dense.finder(), rows.pointers(), tree.root().to_bits());
        let Places { words, keys: numbers } = &mut self.lookups.places;
        let left = first..MOST - 1;
        let (Some(words), Some(numbers)) = (words.get_mut(left.clone()), numbers.get_mut(left)) else { return };
        for ((word, number), key) in words.iter_mut().zip(numbers).zip(keys) {
            end += 1;
            if !Table::<R>::POINT {
                *word = root;
                continue;
            }
            *number = key.as_u64().unwrap_or(0);
            // SAFETY: as above, the index does not change.
            *word = match key.as_u64().and_then(|key| unsafe { finder.find_in_full(key) }) {
                Some(row) => prefetch_part(pointer(row), bytes),
                None => {
                    // SAFETY: as above.
                    let word = elsewhere(unsafe { table.as_ref() }, key, bytes);
                    found &= word & UNSURE == 0;
                    word
                }
            };
        }
        if end > first {
            self.end_group(table, end, found);
        }
    }

    #[inline(always)]
    fn end_group<R: Record>(&mut self, table: Place<R>, end: usize, found: bool) {
        (self.lookups.places.words[end], self.used) = (0, end + 1);
        self.more |= !found;
        let (record, end) = (number::<R>() | if found { 0 } else { PENDING }, end as u32);
        self.lookups.groups[self.groups] = Group { table: table.cast(), record, end };
        self.groups += 1;
    }
}

/// The word of a key that is not in a full block. Out of the way: what others need stays in registers.
#[cold]
#[inline(never)]
fn elsewhere<R: Record>(table: &Table<R>, key: R::Encoded, bytes: &Range<usize>) -> u64 {
    match key.as_u64().and_then(|key| table.dense.find(key)) {
        Some(row) => prefetch_part(table.rows.pointers()(row), bytes),
        None => probe(&table.hash, key),
    }
}

/// Asks for where a lookup of a key begins that is not dense; the word of that.
#[cold]
#[inline(never)]
fn probe<K: EncodedKey>(hash: &HashIndex, key: K) -> u64 {
    hash.prefetcher()(key.hash64()).to_bits() | UNSURE
}

impl KeySet for Begin<'_> {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, _mode: Mode, bytes: Range<usize>) {
        let placement = R::PLACEMENT.map(|position| key.placement_at(position));
        self.one::<R>(placement, &bytes, key.encode());
    }

    #[inline(always)]
    fn parts<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>, mode: Mode, bytes: Range<usize>) {
        if R::PLACEMENT.is_some() && self.several {
            return keys.into_iter().for_each(|key| self.part::<R>(&key, mode, bytes.clone()));
        }
        let Some(table) = self.table::<R>(None) else { return };
        self.group::<R>(table, &bytes, keys.into_iter().map(|key| key.encode()));
    }

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, _mode: Mode) {
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        if !Table::<R>::POINT && placement != Some(None) {
            self.one::<R>(placement.flatten(), &(0..0), R::Encoded::ZERO);
        }
    }

    /// Asks for the leaf at once: one for each transaction or so, its way is not worth going in steps, and the nodes
    /// above are in the cache.
    #[inline(always)]
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let (Some(range), true) = (bounds.encode::<I::Encoded>(), placement != Some(None)) else { return };
        let Some(mut table) = self.table::<I::Record>(placement.flatten()) else { return };
        // SAFETY: a held partition's table, to which there is no other reference now.
        let table = unsafe { table.as_mut() };
        let Some(tree) = table.built_tree_mut::<I>() else { return };
        if mode == Mode::Insert {
            tree.prefetch_end(&range.low, &range.high);
        } else {
            tree.prefetch_leaf(&range.low);
        }
    }
}
