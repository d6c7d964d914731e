//! Checks of what a simulated cluster did. Each finds nothing, or reports a violation.

mod log;
mod micro;
mod serializability;
mod tpcc;

use std::collections::BTreeMap;

use glassbox_cluster::Address;

pub use log::log;
pub use micro::{atomicity, durability, progress};
pub use serializability::serializability;
pub use tpcc::tpcc;

use super::workload::Workload;
use super::world::World;

/// All properties, for a world of the microbenchmark that has [finished](World::finish).
///
/// # Errors
/// The first violation.
pub fn all(world: &mut World) -> Result<(), String> {
    let history = world.history();
    progress(world, &history)?;
    atomicity(world, &history)?;
    serializability(&history)?;
    durability(world, &history)?;
    if world.settings.scheme.is_deterministic() {
        log(world)?;
    }
    replicas(world)
}

/// All replicas of a partition have the same rows.
///
/// # Errors
/// The first that differs.
pub fn replicas<W: Workload>(world: &mut World<W>) -> Result<(), String> {
    let mut digests: BTreeMap<u8, (Address, u64)> = BTreeMap::new();
    for (address, _, shard) in world.shards() {
        let Address::Replica { partition, .. } = address else { continue };
        let digest = shard.digest();
        let &mut (first, expected) = digests.entry(partition).or_insert((address, digest));
        if digest != expected {
            return Err(format!("replicas: {address} differs from {first}"));
        }
    }
    Ok(())
}
