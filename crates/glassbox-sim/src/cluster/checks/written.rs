//! What each row holds in the end, beside what was written there by the answers.

use std::collections::BTreeMap;

use glassbox_workloads::micro::{Pair, PairKey};

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// What was written to a row.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Stamps, and whether another is known to have been written over each.
    pub(super) stamps: BTreeMap<u32, bool>,
    /// What the partition's primary has there.
    pub(super) now: u32,
}

/// All rows.
///
/// # Errors
/// When an index does not agree with the rows.
pub(super) fn written(world: &mut World, history: &[Finished]) -> Result<BTreeMap<PairKey, Written>, String> {
    let mut rows: BTreeMap<PairKey, Written> = BTreeMap::new();
    for it in history {
        if let Done::Committed(seen) = &it.end {
            for &(home, id, value) in seen.iter() {
                let row = rows.entry((home, id)).or_default();
                row.stamps.entry(it.call.stamp).or_insert(false);
                row.stamps.insert(value, true);
            }
        }
    }
    for (address, primary, shard) in world.shards() {
        shard.verify().map_err(|why| format!("{address}: {why}"))?;
        if primary {
            shard.rows::<Pair>(|row| rows.entry((row.home, row.id)).or_default().now = row.stamp());
        }
    }
    Ok(rows)
}

/// Transactions whose end nobody knows, by their stamps.
pub(super) fn unknown(history: &[Finished]) -> BTreeMap<u32, &Finished> {
    history.iter().filter(|it| it.end == Done::Unknown).map(|it| (it.call.stamp, it)).collect()
}
