//! Invariants of every cluster.

use std::collections::BTreeMap;

use glassbox_cluster::{Address, Member, SchedulerKind, SchemeKind};

pub const SCHEMES: [SchemeKind; 12] = SchemeKind::ALL;

/// All schemes, those with an input log too.
pub fn every_scheme() -> impl Iterator<Item = SchemeKind> {
    SCHEMES.into_iter().chain(SchedulerKind::ALL.map(SchemeKind::Deterministic))
}

/// No transaction is active, replicas agree, and indexes agree with their tables.
pub fn assert_settled(machines: &mut [(Address, Member)]) {
    let mut digests = BTreeMap::new();
    for (address, machine) in machines {
        assert_eq!(machine.unfinished(), None, "{address}");
        let (Address::Replica { partition, .. }, Some(shard)) = (&*address, machine.shard()) else { continue };
        shard.verify().unwrap_or_else(|why| panic!("{address}: {why}"));
        let digest = shard.digest();
        assert_eq!(*digests.entry(*partition).or_insert(digest), digest, "{address} differs from its primary");
    }
}
