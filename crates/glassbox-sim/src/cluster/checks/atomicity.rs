//! A transaction is on all of its rows, or on none.

use std::collections::BTreeMap;

use glassbox_cluster::Address;
use glassbox_workloads::micro::Pair;

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// Every row holds the stamp that, by the answers, was written there last.
///
/// # Errors
/// The first row that does not.
pub fn atomicity(world: &mut World, history: &[Finished]) -> Result<(), String> {
    // On each row, the stamps that were written and those that another transaction wrote over.
    let mut last: BTreeMap<(u8, u16), BTreeMap<u32, bool>> = BTreeMap::new();
    for it in history {
        let Done::Committed(seen) = &it.end else { continue };
        for &(home, id, value) in seen.iter() {
            let row = last.entry((home, id)).or_default();
            row.entry(it.call.stamp).or_insert(false);
            row.insert(value, true);
        }
    }
    let mut wrong = None;
    for (address, shard) in world.shards() {
        let Address::Replica { replica: 0, .. } = address else { continue };
        shard.rows::<Pair>(|row| {
            let written = last.get(&(row.home, row.id));
            let expected = written.and_then(|row| row.iter().find(|(_, over)| !**over)).map_or(0, |(stamp, _)| *stamp);
            if row.value != expected && wrong.is_none() {
                wrong = Some(format!("{address}: {row:?} should hold {expected}"));
            }
        });
        shard.verify()?;
    }
    wrong.map_or(Ok(()), Err)
}
