//! Acknowledged changes are present.

use super::written::{unknown, written};
use crate::cluster::client::Finished;
use crate::cluster::world::World;

/// Every row holds the last stamp that was written to it according to the answers, or that of a transaction with an
/// unknown outcome.
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
