//! TPC-C's rows are consistent, and acknowledged transactions are among them.

use glassbox_workloads::tpcc::{ABORT_UNUSED_ITEM, Input, Kind, Together};

use super::{log, replicas};
use crate::cluster::client::{Done, Finished};
use crate::cluster::tpcc::Tpcc;
use crate::cluster::workload::Workload;
use crate::cluster::world::World;

/// For a world that has [finished](World::finish): no transaction is active; exactly the orders for an unused item
/// aborted; the consistency conditions hold for the rows of all primaries together; there are as many orders and
/// payments as were acknowledged; replicas have the same rows.
///
/// # Errors
/// The first violation.
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
    if world.settings.scheme.is_deterministic() {
        log(world)?;
    }
    replicas(world)
}

/// How many transactions of a kind committed, and how many may have.
fn answered(history: &[Finished<Input, ()>], kind: Kind) -> (u64, u64) {
    let of = |ends: fn(&Done<()>) -> bool| {
        history.iter().filter(|it| it.call.kind() == kind && ends(&it.end)).count() as u64
    };
    let certain = of(|end| matches!(end, Done::Committed(())));
    (certain, certain + of(|end| matches!(end, Done::Unknown)))
}
