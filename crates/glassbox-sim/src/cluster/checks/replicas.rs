//! Replicas have the same rows.

use std::collections::BTreeMap;

use glassbox_cluster::Address;

use crate::cluster::workload::Workload;
use crate::cluster::world::World;

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
