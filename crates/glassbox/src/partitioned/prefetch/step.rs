//! The further passes: keys that are not dense go down their indexes, one level in each.

use std::ops::Range;

use crate::partitioned::lookups::{Lookups, MOST, NOTHING, PENDING, Places, UNSURE, number};
use crate::partitioned::memory::{Next, Node, Probe};
use crate::partitioned::table::Table;
use crate::prefetch::{CACHE_LINE_BYTES, MAX_ROW_BYTES, prefetch_read, prefetch_span};
use crate::procedure::{KeySet, Mode};
use crate::record::{Bounds, EncodedKey, Index, Key, Record};

/// Asks for these bytes of a row; its word. The processor keeps few misses in flight, and waits when there are more: no
/// line is asked for that is not needed.
#[inline(always)]
pub(super) fn prefetch_part<R>(row: *const R, bytes: &Range<usize>) -> u64 {
    let at = |offset| row.cast::<u8>().wrapping_add(offset);
    if bytes.len() > CACHE_LINE_BYTES {
        prefetch_span(at(bytes.start), bytes.len().min(MAX_ROW_BYTES));
    } else {
        prefetch_read(at(bytes.start));
        prefetch_read(at(bytes.end.saturating_sub(1)));
    }
    row as u64
}

/// A further pass: each lookup goes on by one level and asks for what it needs then; at the last one, for the row.
///
/// Groups are met in the order in which they began. Where the declaration differs from the one before, which is a
/// mistake, a group is met with other keys of its record or not at all: it then finds nothing, or too little.
pub(super) struct Step<'a> {
    /// Whether there are several partitions.
    pub(super) several: bool,
    pub(super) lookups: &'a mut Lookups,
    pub(super) groups: usize,
    /// The group that is next, and its first lookup.
    pub(super) at: usize,
    pub(super) begin: usize,
    /// Whether some are not at their end yet.
    pub(super) more: bool,
}

impl Step<'_> {
    #[inline(always)]
    fn step<R: Record>(&mut self, bytes: &Range<usize>, mut keys: impl Iterator<Item = R::Encoded>) {
        if self.at == self.groups {
            return;
        }
        let group = &mut self.lookups.groups[self.at % MOST];
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
