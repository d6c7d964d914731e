//! A transaction is on all of its rows, or on none.

use std::collections::BTreeMap;

use glassbox_workloads::micro::{Pair, PairKey};

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// Every row holds the stamp that, by the answers, was written there last; or that of a transaction whose end nobody
/// knows, if that is on all of its rows.
///
/// # Errors
/// The first row that does not.
pub fn atomicity(world: &mut World, history: &[Finished]) -> Result<(), String> {
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
            shard.rows::<Pair>(|row| rows.entry((row.home, row.id)).or_default().now = row.value);
        }
    }
    let unknown: BTreeMap<u32, &Finished> =
        history.iter().filter(|it| it.end == Done::Unknown).map(|it| (it.call.stamp, it)).collect();
    for (key, row) in &rows {
        // What one of unknown end wrote over, nobody may have seen.
        let touching = unknown.values().filter(|it| it.call.keys.contains(key)).count();
        let last: Vec<u32> = row.stamps.iter().filter(|(_, over)| !**over).map(|(stamp, _)| *stamp).collect();
        let known = unknown.get(&row.now).is_some_and(|it| it.call.keys.contains(key));
        let untouched = last.is_empty() && row.now == 0;
        if !(last.contains(&row.now) || known || untouched) || last.len() > touching + 1 {
            return Err(format!("row {key:?} holds {} and should hold one of {last:?}", row.now));
        }
    }
    unknown.values().try_for_each(|it| is_whole(it, &rows, &unknown))
}

/// What was written to a row.
#[derive(Default)]
struct Written {
    /// Stamps, and whether another is known to have been written over each.
    stamps: BTreeMap<u32, bool>,
    /// What it holds.
    now: u32,
}

/// A transaction whose end nobody knows is on all of its rows or on none. Where another such one came after it, one
/// cannot tell.
fn is_whole(it: &Finished, rows: &BTreeMap<PairKey, Written>, unknown: &BTreeMap<u32, &Finished>) -> Result<(), String> {
    let stamp = it.call.stamp;
    let shows = |key: &PairKey| rows.get(key).is_some_and(|row| row.now == stamp || row.stamps.contains_key(&stamp));
    if !it.call.keys.iter().any(shows) {
        return Ok(());
    }
    let hidden = |key: &PairKey| unknown.values().any(|other| other.call.stamp != stamp && other.call.keys.contains(key));
    match it.call.keys.iter().find(|key| !shows(key) && !hidden(key)) {
        Some(key) => Err(format!("stamp {stamp} is on some of its rows, but not on {key:?}")),
        None => Ok(()),
    }
}
