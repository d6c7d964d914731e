//! Every call ends, and with one of its possible outcomes.

use crate::cluster::client::{Done, Finished};
use crate::cluster::world::World;
use glassbox_workloads::micro::ABORT_CHOSEN;

/// No transaction is active; no call failed; exactly the transactions that were to abort did.
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
