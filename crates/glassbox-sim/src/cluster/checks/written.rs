//! The final value of each row, with the values that were written to it according to the answers.

use std::collections::BTreeMap;

use glassbox_workloads::micro::{Pair, PairKey};

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// The values of a row.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Written stamps, and whether another is known to have overwritten each.
    pub(super) stamps: BTreeMap<u32, bool>,
    /// The value at the partition's primary.
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

/// Transactions with an unknown outcome, by their stamps.
pub(super) fn unknown(history: &[Finished]) -> BTreeMap<u32, &Finished> {
    history.iter().filter(|it| it.end == Done::Unknown).map(|it| (it.call.stamp, it)).collect()
}
