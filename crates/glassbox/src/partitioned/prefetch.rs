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
//! for a key is one word of [`Lookups`].

use std::ops::Range;
use std::ptr::NonNull;

use super::lookups::{Group, Lookups, MOST, NOTHING, PENDING, number};
use super::memory::{HashIndex, Next, Node, Probe};
use super::origin::Origin;
use super::partition::{Cell, Partition};
use super::table::Table;
use crate::prefetch::{CACHE_LINE_BYTES, prefetch_read, prefetch_span};
use crate::procedure::{KeySet, Mode, partition_of};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// As much of a row is prefetched: its front.
pub(super) const PREFETCH_ROW_BYTES: usize = 320;

/// Prefetches the keys that `origin` declares and that are on the partitions of `held`; what `lookups` had is gone.
///
/// # Safety
/// The tokens of `held`, `home` among them, are held.
#[inline(always)]
pub(super) unsafe fn prefetch(lookups: &mut Lookups, cells: &[Cell], held: u64, home: usize, origin: &impl Origin) {
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

/// Asks for these bytes of a row, and for its beginning, where the key is compared. The processor keeps few misses in
/// flight, and waits when there are more: no line is asked for that is not needed.
#[inline(always)]
fn prefetch_part<R>(row: *const R, bytes: &Range<usize>) {
    let at = |offset| row.cast::<u8>().wrapping_add(offset);
    if bytes.len() > CACHE_LINE_BYTES {
        return prefetch_span(at(bytes.start), bytes.len().min(PREFETCH_ROW_BYTES));
    }
    prefetch_read(row);
    if bytes.start > 0 {
        prefetch_read(at(bytes.start));
    }
    prefetch_read(at(bytes.end.saturating_sub(1)));
}

/// Where a table is.
type Place<R> = NonNull<Table<R>>;

/// Set in a word that is a [`Probe`] where the others of the group may be rows: of a table that looks up whole keys.
const PROBE: u64 = 1 << 63;

/// The first pass: asks for where the lookups begin; of dense keys, for the rows.
struct Begin<'a> {
    cells: &'a [Cell],
    held: u64,
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
                if self.held >> at & 1 == 0 {
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
        // SAFETY: as in `group`.
        let Table { dense, rows, .. } = unsafe { table.as_ref() };
        if Table::<R>::POINT
            && let Some(row) = key.as_u64().and_then(|key| dense.probable(key))
            && let Some(words) = self.lookups.words.get_mut(self.used..self.used + 2)
        {
            words[0] = rows.pointers()(row) as u64;
            prefetch_part(words[0] as *const R, bytes);
            self.end_group::<R>(table, self.used + 1, true);
        } else {
            self.group::<R>(table, bytes, std::iter::once(key));
        }
    }

    /// A group of these keys, whose rows are all in this table.
    #[inline(always)]
    fn group<R: Record>(&mut self, table: Place<R>, bytes: &Range<usize>, keys: impl Iterator<Item = R::Encoded>) {
        // SAFETY: a held partition's table, which nothing changes while these passes read.
        let Table { dense, hash, tree, rows, .. } = unsafe { table.as_ref() };
        let (first, mut end, mut found) = (self.used, self.used, Table::<R>::POINT);
        let (finder, pointer, root) = (dense.finder(), rows.pointers(), tree.root().to_bits());
        let Some(words) = self.lookups.words.get_mut(first..MOST - 1) else { return };
        for (word, key) in words.iter_mut().zip(keys) {
            end += 1;
            // SAFETY: as above, the index does not change.
            if Table::<R>::POINT
                && let Some(row) = key.as_u64().and_then(|key| unsafe { finder.probable(key) })
            {
                *word = pointer(row) as u64;
                prefetch_part(*word as *const R, bytes);
            } else if !Table::<R>::POINT {
                *word = root;
            } else {
                *word = probe(hash, key.hash64());
                found = false;
            }
        }
        if end > first {
            self.end_group(table, end, found);
        }
    }

    #[inline(always)]
    fn end_group<R: Record>(&mut self, table: Place<R>, end: usize, found: bool) {
        (self.lookups.words[end], self.used) = (0, end + 1);
        self.more |= !found;
        let (record, end) = (number::<R>() | if found { 0 } else { PENDING }, end as u32);
        self.lookups.groups[self.groups] = Group { table: table.cast(), record, end };
        self.groups += 1;
    }
}

/// Asks for where a lookup of a key begins that is not dense. Out of the way: what others need stays in registers.
#[cold]
#[inline(never)]
fn probe(hash: &HashIndex, of_key: u64) -> u64 {
    hash.prefetcher()(of_key).to_bits() | PROBE
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
        if mode == Mode::Insert {
            table.index_tree_mut::<I>().prefetch_end(&range.low, &range.high);
        } else {
            table.index_tree::<I>().prefetch_leaf(&range.low);
        }
    }
}

/// A further pass: each lookup goes on by one level and asks for what it needs then; at the last one, for the row.
///
/// Groups are met in the order in which they began. Where the declaration differs from the one before, which is a
/// mistake, a group is met with other keys of its record or not at all: it then finds nothing, or too little.
struct Step<'a> {
    /// Whether there are several partitions.
    several: bool,
    lookups: &'a mut Lookups,
    groups: usize,
    /// The group that is next, and its first lookup.
    at: usize,
    begin: usize,
    /// Whether some are not at their end yet.
    more: bool,
}

impl Step<'_> {
    #[inline(always)]
    fn step<R: Record>(&mut self, bytes: &Range<usize>, mut keys: impl Iterator<Item = R::Encoded>) {
        if self.at == self.groups {
            return;
        }
        let group = &mut self.lookups.groups[self.at % MOST];
        let words = &mut self.lookups.words[self.begin..group.end as usize];
        (self.at, self.begin) = (self.at + 1, group.end as usize + 1);
        if group.record != number::<R>() | PENDING {
            return;
        }
        // SAFETY: the record's number says that it is such a table, in a held partition; nothing changes it while these
        // passes read.
        let Table { hash, tree, rows, .. } = unsafe { group.table.cast::<Table<R>>().as_ref() };
        let (mut descends, pointer) = (false, rows.pointers());
        for word in words {
            let row = if Table::<R>::POINT {
                if *word & PROBE == 0 {
                    continue;
                }
                // SAFETY: the word is of this index.
                unsafe { hash.candidate(Probe::from_bits(*word & !PROBE)) }
            } else {
                let Some(key) = keys.next() else {
                    group.record = NOTHING;
                    return;
                };
                match tree.descend(Node::from_bits(*word), &key) {
                    Next::Child(child) => {
                        tree.prefetch_node(child);
                        *word = child.to_bits();
                        descends = true;
                        continue;
                    }
                    Next::Leaf(row) => row,
                }
            };
            *word = row.map_or(0, |row| {
                let address = pointer(row);
                prefetch_part(address, bytes);
                address as u64
            });
        }
        if descends {
            self.more = true;
        } else {
            group.record = number::<R>();
        }
    }
}

impl KeySet for Step<'_> {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, _mode: Mode, bytes: Range<usize>) {
        self.step::<R>(&bytes, std::iter::once_with(|| key.encode()));
    }

    #[inline(always)]
    fn parts<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>, mode: Mode, bytes: Range<usize>) {
        if R::PLACEMENT.is_some() && self.several {
            return keys.into_iter().for_each(|key| self.part::<R>(&key, mode, bytes.clone()));
        }
        let mut keys = keys.into_iter().map(|key| key.encode()).peekable();
        // Without keys there is no group.
        if keys.peek().is_some() {
            self.step::<R>(&bytes, keys);
        }
    }

    #[inline(always)]
    fn index<I: Index>(&mut self, _bounds: impl Bounds<I::Key>, _mode: Mode) {}

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, _mode: Mode) {
        if !Table::<R>::POINT && R::PLACEMENT.is_none_or(|position| bounds.placement_at(position).is_some()) {
            let low = || bounds.encode().map_or(R::Encoded::ZERO, |range| range.low);
            self.step::<R>(&(0..0), std::iter::once_with(low));
        }
    }
}
