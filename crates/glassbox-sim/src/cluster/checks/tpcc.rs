//! TPC-C's rows are consistent, and what was acknowledged is among them.

use glassbox_workloads::tpcc::{ABORT_UNUSED_ITEM, Input, Kind, Together};

use super::replicas;
use crate::cluster::client::{Done, Finished};
use crate::cluster::tpcc::Tpcc;
use crate::cluster::workload::Workload;
use crate::cluster::world::World;

/// Of a world that has [finished](World::finish): nothing is under way; orders for an unused item aborted, and nothing
/// else did; the consistency conditions hold of the rows of all primaries together; there are as many orders and
/// payments as were answered; replicas have the same rows.
///
/// # Errors
/// The first thing that is wrong.
pub fn tpcc(world: &mut World<Tpcc>) -> Result<(), String> {
    let history = world.history();
    if let Some(left) = world.leftovers().first() {
        return Err(format!("progress: {left}"));
    }
    let scale = world.settings.load.scale;
    for it in &history {
        let fits = match &it.end {
            Done::Committed(()) => !it.call.is_for_unused_item(&scale),
            Done::Aborted(code) => it.call.is_for_unused_item(&scale) && *code == ABORT_UNUSED_ITEM,
            Done::Unknown => true,
            Done::Failed(_) => false,
        };
        if !fits {
            return Err(format!("progress: client {} asked for {:?} and heard {:?}", it.client, it.call, it.end));
        }
    }
    let mut all = Together::new(Tpcc::TABLE_BYTES).map_err(|why| why.to_string())?;
    let primaries = world.shards().into_iter().filter(|(_, primary, _)| *primary);
    for (at, (_, _, shard)) in primaries.enumerate() {
        all.add(shard, at == 0)?;
    }
    let found = all.check(&scale)?;
    if let Some(report) = found.reports.iter().find(|report| !report.holds()) {
        return Err(format!("consistency: {report}"));
    }
    for (kind, rows) in [(Kind::NewOrder, found.orders), (Kind::Payment, found.payments)] {
        let (least, most) = answered(&history, kind);
        if !(least..=most).contains(&rows) {
            return Err(format!("durability: {rows} of {kind:?}, and {least} to {most} were answered"));
        }
    }
    replicas(world)
}

/// How many of a kind count, and how many may.
fn answered(history: &[Finished<Input, ()>], kind: Kind) -> (u64, u64) {
    let of = |ends: fn(&Done<()>) -> bool| {
        history.iter().filter(|it| it.call.kind() == kind && ends(&it.end)).count() as u64
    };
    let certain = of(|end| matches!(end, Done::Committed(())));
    (certain, certain + of(|end| matches!(end, Done::Unknown)))
}
