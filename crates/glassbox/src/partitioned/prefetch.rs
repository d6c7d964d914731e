//! Brings the declared rows into the cache before the procedure runs.
//!
//! Most of a fast transaction's time is cache misses, and they come one after the other: each level of an index says
//! where the next is. But the keys do not depend on each other, and the processor follows many misses at once in the
//! time of one. So all declared keys descend their indexes together: each takes one step (ask for the next node), then
//! the next key does, and when the first one's turn comes again its node has arrived.
//!
//! Keys of one table that were declared one after the other make a run, and go through one call for each level.

use smallvec::SmallVec;

use super::any_table::AnyTable;
use super::engine::ones;
use super::memory::{Next, Node, Probe, RowId, prefetch_span};
use super::partition::Cell;
use super::table::Table;
use crate::procedure::{Entry, EntryKey, ReadWriteSet};
use crate::record::{EncodedKey, Key, Record};

/// Keys that descend together; more than the processor can follow at once gains nothing.
const TOGETHER: usize = 64;

/// Prefetches the keys of `set` that are on the partitions of `held`.
///
/// # Safety
/// The tokens of `held`, `home` among them, are held.
#[inline]
pub(crate) unsafe fn prefetch(set: &ReadWriteSet, cells: &[Cell], held: u64, home: usize) {
    let mut states = [0; TOGETHER];
    for entries in set.entries().chunks(TOGETHER) {
        let mut runs: SmallVec<[Run<'_>; 16]> = SmallVec::new();
        let mut start = 0;
        while let Some(first) = entries.get(start) {
            let mut end = start + 1;
            while end < entries.len() && (entries[end].table, entries[end].partition) == (first.table, first.partition)
            {
                end += 1;
            }
            let run = &entries[start..end];
            let at = first.partition.map_or(home, usize::from);
            if held >> at & 1 == 1 {
                // SAFETY: its token is held, and nothing changes it while this function reads.
                let partition = unsafe { &*cells[at].partition() };
                if let Some(Some(table)) = partition.tables.get(first.table)
                    && table.prefetch_start(run, set.bytes(), &mut states[start..end])
                {
                    runs.push(Run { table: &**table, entries: run, start });
                }
            }
            start = end;
        }
        // Bit i: run i goes on. A chunk has no more runs than a word has bits.
        let mut active = u64::MAX.checked_shr(64 - runs.len() as u32).unwrap_or(0);
        while active != 0 {
            for at in ones(active) {
                let Run { table, entries, start } = &runs[at];
                let states = &mut states[*start..start + entries.len()];
                if !table.prefetch_step(entries, set.bytes(), states) {
                    active &= !(1 << at);
                }
            }
        }
    }
}

/// Keys of one table in one partition, declared one after the other.
struct Run<'a> {
    table: &'a dyn AnyTable,
    entries: &'a [Entry],
    /// Where the first one's state is.
    start: usize,
}

impl<R: Record> Table<R> {
    /// The first step of prefetching these keys: asks for where their lookups begin. Whether there is another; a table
    /// so small that it stays in the cache by itself needs none.
    pub(super) fn prefetch_start(&self, entries: &[Entry], bytes: &[u8], states: &mut [u64]) -> bool {
        if self.rows.used_bytes() <= CACHED_BYTES {
            return false;
        }
        for (entry, state) in entries.iter().zip(states) {
            let start = || self.hash.prefetch(encoded::<R>(entry.key, bytes).hash64()).to_bits();
            *state = if Self::POINT { start() } else { self.tree.root().to_bits() };
        }
        true
    }

    /// The next step: each lookup goes on by one level and asks for what it needs then; at the last one, for the row.
    /// Whether there is a further one, which is the same for all keys.
    pub(super) fn prefetch_step(&self, entries: &[Entry], bytes: &[u8], states: &mut [u64]) -> bool {
        let mut more = false;
        for (entry, state) in entries.iter().zip(states) {
            if Self::POINT {
                self.prefetch_row(self.hash.candidate(Probe::from_bits(*state)));
                continue;
            }
            match self.tree.descend(Node::from_bits(*state), &encoded::<R>(entry.key, bytes)) {
                Next::Child(child) => {
                    self.tree.prefetch_node(child);
                    *state = child.to_bits();
                    more = true;
                }
                Next::Leaf(row) => self.prefetch_row(row),
            }
        }
        more
    }

    /// Asks for the front of a row, where the columns that change stand.
    #[inline(always)]
    fn prefetch_row(&self, row: Option<RowId>) {
        if let Some(id) = row {
            prefetch_span(self.rows.pointer(id), size_of::<R>().min(PREFETCH_ROW_BYTES));
        }
    }
}

/// The encoded key of an entry of this table.
#[inline(always)]
fn encoded<R: Record>(key: EntryKey, bytes: &[u8]) -> R::Encoded {
    match key {
        EntryKey::Small(key) => R::Encoded::from_small(key),
        EntryKey::Wide(at) | EntryKey::Range(at) => {
            R::Encoded::from_bytes(&bytes[at as usize..at as usize + R::Key::WIDTH])
        }
    }
}

/// Rows of a table that are in the cache anyway.
const CACHED_BYTES: usize = 64 << 10;
/// As much of a row is prefetched.
const PREFETCH_ROW_BYTES: usize = 256;
