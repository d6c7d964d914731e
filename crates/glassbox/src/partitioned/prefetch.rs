//! Brings the declared rows into the cache before the procedure runs.
//!
//! Most of a fast transaction's time is cache misses, and they come one after the other: each level of an index says
//! where the next is. But the keys do not depend on each other, and the processor follows many misses at once in the
//! time of one. So all declared keys descend their indexes together: each takes one step (ask for the next node), then
//! the next key does, and when the first one's turn comes again its node has arrived.

use super::any_table::AnyTable;
use super::partition::Cell;
use super::table::PREFETCH_START;
use crate::procedure::{EntryKey, ReadWriteSet};

/// Keys that descend together; more than the processor can follow at once gains nothing.
const TOGETHER: usize = 64;

/// Prefetches the keys of `set` that are on the partitions of `held`.
///
/// # Safety
/// The tokens of `held`, `home` among them, are held.
#[inline]
pub(crate) unsafe fn prefetch(set: &ReadWriteSet, cells: &[Cell], held: u64, home: usize) {
    for entries in set.entries().chunks(TOGETHER) {
        let mut descents: [(Option<&dyn AnyTable>, EntryKey, u64); TOGETHER] =
            [(None, EntryKey::Small(0), PREFETCH_START); TOGETHER];
        let mut count = 0;
        for entry in entries {
            let at = entry.partition.map_or(home, usize::from);
            if held >> at & 1 == 0 {
                continue;
            }
            // SAFETY: its token is held, and nothing changes it while this function reads.
            let partition = unsafe { &*cells[at].partition() };
            if let Some(Some(table)) = partition.tables.get(entry.table)
                && let Some(state) = table.prefetch_step(entry.key, set.bytes(), PREFETCH_START)
            {
                descents[count] = (Some(&**table), entry.key, state);
                count += 1;
            }
        }
        while count > 0 {
            let mut left = 0;
            for at in 0..count {
                let (table, key, state) = descents[at];
                if let Some(table) = table
                    && let Some(state) = table.prefetch_step(key, set.bytes(), state)
                {
                    descents[left] = (Some(table), key, state);
                    left += 1;
                }
            }
            count = left;
        }
    }
}
