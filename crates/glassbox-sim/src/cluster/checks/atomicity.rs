//! A transaction changes all of its rows, or none.

use std::collections::BTreeMap;

use glassbox_workloads::micro::PairKey;

use super::written::{Written, unknown, written};
use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;

/// An aborted transaction changed no row; one of unknown outcome changed all of its rows or none.
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
