//! Everything ends, and in one of the ways in which it may.

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;
use glassbox_workloads::micro::ABORT_CHOSEN;

/// Nothing is under way any more; nothing failed; what was to abort did, and nothing else.
///
/// # Errors
/// What is wrong.
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
