//! Brings the declared rows into the cache before the procedure runs, and notes where they are.
//!
//! Most of a fast transaction's time is cache misses, and they come one after the other: each level of an index says
//! where the next is. But the keys do not depend on each other, and the processor follows many misses at once in the
//! time of one. So all declared keys go down their indexes together: each takes one step (ask for the next node), then
//! the next key does, and when the first one's turn comes again its node has arrived.
//!
//! The declaration itself is the loop over the keys: it is run once for each step, with what takes that step compiled
//! into it ([`KeySet`]). So every key comes with its type, nothing is dispatched on, and a key is encoded where it is
//! used. Keys that are declared together find their table, and what does not change from key to key, once. A place of
//! [`Lookups`] keeps a word and the key itself.

use std::ops::Range;
use std::ptr::NonNull;

use super::held::Held;
use super::lookups::{Group, Lookups, MAX_LOOKUPS, NOTHING, PENDING, Places, UNSURE, number};
use crate::partitioned::storage::memory::{HashIndex, Next, Node, Probe};
use crate::partitioned::storage::table::Table;
use crate::prefetch::{CACHE_LINE_BYTES, MAX_ROW_BYTES, prefetch_read, prefetch_span};
use crate::procedure::{KeySet, Mode, Procedure};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// Prefetches the keys that a procedure declares and whose partitions are held; earlier lookups are gone.
#[inline(always)]
pub(super) fn prefetch<P: Procedure>(lookups: &mut Lookups, held: &mut Held<'_>, procedure: &P) {
    let several = held.count() > 1;
    let mut begin = Begin { held, several, found: Filling { lookups, groups: 0, used: 0, more: false } };
    procedure.declare(&mut begin);
    let Filling { lookups, groups, mut more, .. } = begin.found;
    while more {
        let mut step = DescentPass { several, lookups, groups, at: 0, begin: 0, more: false };
        procedure.declare(&mut step);
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
        prefetch_span(at(bytes.start), bytes.len().min(MAX_ROW_BYTES));
    } else {
        prefetch_read(at(bytes.start));
        prefetch_read(at(bytes.end.saturating_sub(1)));
    }
    row as u64
}

/// The first pass: asks for where the lookups begin; of dense keys, for the rows.
struct Begin<'a, 'h> {
    held: &'a mut Held<'h>,
    several: bool,
    found: Filling<'a>,
}

/// The lookups, as far as they are filled.
struct Filling<'a> {
    lookups: &'a mut Lookups,
    /// Groups and lookups so far.
    groups: usize,
    used: usize,
    /// Whether some are not at their end yet.
    more: bool,
}

impl Filling<'_> {
    /// A group of one key, whose row is in this table.
    #[inline(always)]
    fn one<R: Record>(&mut self, table: &mut Table<R>, bytes: &Range<usize>, key: R::Encoded) {
        if !Table::<R>::POINT {
            return self.group::<R>(table, bytes, std::iter::once(key));
        }
        let Table { dense, hash, rows, .. } = table;
        if self.used + 1 >= MAX_LOOKUPS {
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
    fn group<R: Record>(&mut self, table: &mut Table<R>, bytes: &Range<usize>, keys: impl Iterator<Item = R::Encoded>) {
        let Table { dense, rows, tree, .. } = &*table;
        let (first, mut end, mut found) = (self.used, self.used, Table::<R>::POINT);
        let (finder, pointer, root) = (dense.finder(), rows.pointers(), tree.root().to_bits());
        let Places { words, keys: numbers } = &mut self.lookups.places;
        let left = first..MAX_LOOKUPS - 1;
        let (Some(words), Some(numbers)) = (words.get_mut(left.clone()), numbers.get_mut(left)) else { return };
        for ((word, number), key) in words.iter_mut().zip(numbers).zip(keys) {
            end += 1;
            if !Table::<R>::POINT {
                *word = root;
                continue;
            }
            *number = key.as_u64().unwrap_or(0);
            // SAFETY: the table is borrowed, so the index does not change.
            *word = match key.as_u64().and_then(|key| unsafe { finder.find_in_full(key) }) {
                Some(row) => prefetch_part(pointer(row), bytes),
                None => {
                    let word = elsewhere(table, key, bytes);
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
    fn end_group<R: Record>(&mut self, table: &mut Table<R>, end: usize, found: bool) {
        (self.lookups.places.words[end], self.used) = (0, end + 1);
        self.more |= !found;
        let (record, end) = (number::<R>() | if found { 0 } else { PENDING }, end as u32);
        self.lookups.groups[self.groups] = Group { table: NonNull::from(table).cast(), record, end };
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

impl KeySet for Begin<'_, '_> {
    #[inline(always)]
    fn part<R: Record>(&mut self, key: &R::Key, _mode: Mode, bytes: Range<usize>) {
        let placement = R::PLACEMENT.map(|position| key.placement_at(position));
        if let Some(partition) = self.held.placed_if_held(placement, self.several) {
            self.found.one::<R>(partition.table(), &bytes, key.encode());
        }
    }

    #[inline(always)]
    fn parts<R: Record>(&mut self, keys: impl IntoIterator<Item = R::Key>, mode: Mode, bytes: Range<usize>) {
        if R::PLACEMENT.is_some() && self.several {
            return keys.into_iter().for_each(|key| self.part::<R>(&key, mode, bytes.clone()));
        }
        let table = self.held.home().table::<R>();
        self.found.group(table, &bytes, keys.into_iter().map(|key| key.encode()));
    }

    #[inline(always)]
    fn range<R: Record>(&mut self, bounds: impl Bounds<R::Key>, _mode: Mode) {
        let placement = R::PLACEMENT.map(|position| bounds.placement_at(position));
        if Table::<R>::POINT || placement == Some(None) {
            return;
        }
        if let Some(partition) = self.held.placed_if_held(placement.flatten(), self.several) {
            self.found.one::<R>(partition.table(), &(0..0), R::Encoded::ZERO);
        }
    }

    /// Asks for the leaf at once: one for each transaction or so, its way is not worth going in steps, and the nodes
    /// above are in the cache.
    #[inline(always)]
    fn index<I: Index>(&mut self, bounds: impl Bounds<I::Key>, mode: Mode) {
        let partitioned = <I::Record as Record>::PLACEMENT.is_some();
        let placement = partitioned.then(|| I::PLACEMENT.and_then(|position| bounds.placement_at(position)));
        let (Some(range), true) = (bounds.encode::<I::Encoded>(), placement != Some(None)) else { return };
        let Some(partition) = self.held.placed_if_held(placement.flatten(), self.several) else { return };
        let Some(tree) = partition.table::<I::Record>().built_tree_mut::<I>() else { return };
        if mode == Mode::Insert {
            tree.prefetch_end(&range.low, &range.high);
        } else {
            tree.prefetch_leaf(&range.low);
        }
    }
}

// The further passes: keys that are not dense go down their indexes, one level in each.

/// A further pass: each lookup goes on by one level and asks for what it needs then; at the last one, for the row.
///
/// Groups are met in the order in which they began. Where the declaration differs from the one before, which is a
/// mistake, a group is met with other keys of its record or not at all: it then finds nothing, or too little.
struct DescentPass<'a> {
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

impl DescentPass<'_> {
    #[inline(always)]
    fn step<R: Record>(&mut self, bytes: &Range<usize>, mut keys: impl Iterator<Item = R::Encoded>) {
        if self.at == self.groups {
            return;
        }
        let group = &mut self.lookups.groups[self.at % MAX_LOOKUPS];
        let (Places { words, keys: numbers }, of) = (&mut self.lookups.places, self.begin..group.end as usize);
        let places = words[of.clone()].iter_mut().zip(&mut numbers[of]);
        (self.at, self.begin) = (self.at + 1, group.end as usize + 1);
        if group.record != number::<R>() | PENDING {
            return;
        }
        // SAFETY: the record's number says that it is such a table, in a held partition; nothing changes it while these
        // passes read.
        let Table { hash, tree, rows, .. } = unsafe { group.table.cast::<Table<R>>().as_ref() };
        let (mut descends, pointer) = (false, rows.pointers());
        for (word, number) in places {
            let (row, unsure) = if Table::<R>::POINT {
                if *word & UNSURE == 0 {
                    continue;
                }
                // SAFETY: the word is of this index.
                (unsafe { hash.candidate(Probe::from_bits(*word & !UNSURE)) }, UNSURE)
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
                    Next::Leaf(row) => {
                        *number = key.as_u64().unwrap_or(0);
                        (row, 0)
                    }
                }
            };
            *word = row.map_or(0, |row| {
                let address = pointer(row);
                if unsure != 0 || R::Encoded::ZERO.as_u64().is_none() {
                    // Its key will be looked at.
                    prefetch_read(address);
                }
                prefetch_part(address, bytes) | unsure
            });
        }
        if descends {
            self.more = true;
        } else {
            group.record = number::<R>();
        }
    }
}

impl KeySet for DescentPass<'_> {
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
