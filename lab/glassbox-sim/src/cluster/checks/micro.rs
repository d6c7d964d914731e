//! Checks of the microbenchmark: progress, atomicity, durability.

use std::collections::BTreeMap;

use glassbox_workloads::micro::{ABORT_CHOSEN, Pair, PairKey};

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// Every call ends, and with one of its possible outcomes: no transaction is active; no call failed; exactly the
/// transactions that were to abort did.
///
/// # Errors
/// The first violation.
pub fn progress(world: &World, history: &[Finished]) -> Result<(), String> {
    if let Some(left) = world.leftovers().first() {
        return Err(format!("progress: {left}"));
    }
    for it in history {
        let fits = match &it.end {
            Done::Committed(_) => it.call.aborts_at.is_none(),
            Done::Aborted(code) => it.call.aborts_at.is_some() && *code == ABORT_CHOSEN,
            Done::Unknown => true,
            Done::Failed(_) => false,
        };
        if !fits {
            return Err(format!("progress: client {} asked for {:?} and heard {:?}", it.client, it.call, it.end));
        }
    }
    Ok(())
}

/// The final value of a row, with the values that were written to it according to the answers.
#[derive(Debug, Default)]
struct Written {
    /// Written stamps, and whether another is known to have overwritten each.
    stamps: BTreeMap<u32, bool>,
    /// The value at the partition's primary.
    now: u32,
}

/// All rows.
///
/// # Errors
/// When an index does not agree with the rows.
fn written(world: &mut World, history: &[Finished]) -> Result<BTreeMap<PairKey, Written>, String> {
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
fn unknown(history: &[Finished]) -> BTreeMap<u32, &Finished> {
    history.iter().filter(|it| it.end == Done::Unknown).map(|it| (it.call.stamp, it)).collect()
}

/// A transaction changes all of its rows, or none: an aborted one changed no row; one of unknown outcome changed all of
/// its rows or none.
///
/// # Errors
/// The first violation.
pub fn atomicity(world: &mut World, history: &[Finished]) -> Result<(), String> {
    let rows = written(world, history)?;
    let shows = |stamp: u32, key: &PairKey| {
        rows.get(key).is_some_and(|row: &Written| row.now == stamp || row.stamps.contains_key(&stamp))
    };
    for it in history.iter().filter(|it| matches!(it.end, Done::Aborted(_))) {
        if let Some(key) = it.call.keys.iter().find(|key| shows(it.call.stamp, key)) {
            return Err(format!("atomicity: stamp {} was aborted and is on {key:?}", it.call.stamp));
        }
    }
    let unknown = unknown(history);
    unknown.values().try_for_each(|it| is_whole(it, shows, &unknown))
}

/// If another one of unknown outcome followed, nothing can be concluded.
fn is_whole(
    it: &Finished,
    shows: impl Fn(u32, &PairKey) -> bool,
    unknown: &BTreeMap<u32, &Finished>,
) -> Result<(), String> {
    let stamp = it.call.stamp;
    if !it.call.keys.iter().any(|key| shows(stamp, key)) {
        return Ok(());
    }
    let hidden =
        |key: &PairKey| unknown.values().any(|other| other.call.stamp != stamp && other.call.keys.contains(key));
    match it.call.keys.iter().find(|key| !shows(stamp, key) && !hidden(key)) {
        Some(key) => Err(format!("atomicity: stamp {stamp} is on some of its rows, but not on {key:?}")),
        None => Ok(()),
    }
}

/// Acknowledged changes are present: every row holds the last stamp that was written to it according to the answers, or
/// that of a transaction with an unknown outcome.
///
/// # Errors
/// The first violation.
pub fn durability(world: &mut World, history: &[Finished]) -> Result<(), String> {
    let unknown = unknown(history);
    for (key, row) in &written(world, history)? {
        // A value that one of unknown outcome overwrote may have been read by none.
        let touching = unknown.values().filter(|it| it.call.keys.contains(key)).count();
        let last: Vec<u32> = row.stamps.iter().filter(|(_, over)| !**over).map(|(stamp, _)| *stamp).collect();
        let known = unknown.get(&row.now).is_some_and(|it| it.call.keys.contains(key));
        let untouched = last.is_empty() && row.now == 0;
        if !(last.contains(&row.now) || known || untouched) || last.len() > touching + 1 {
            return Err(format!("durability: row {key:?} holds {} and should hold one of {last:?}", row.now));
        }
    }
    Ok(())
}
