//! What a cluster is like as it begins.

use std::sync::Arc;
use std::time::Duration;

use glassbox::shard::Shard;

use crate::node::member::Member;
use crate::node::role::MakeShard;
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::outbox::Outbox;
use crate::protocol::scheme_kind::SchemeKind;
use crate::wire::Expected;

/// What a cluster is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// What partitions do while they wait for others.
    pub scheme: SchemeKind,
    /// Partitions, 1 to 64.
    pub partitions: u8,
    /// Replicas of each, the primary included, at least 1.
    pub replicas: u8,
    /// Coordinators, 1 to 64; each client's transactions go to one of them.
    pub coordinators: u8,
    /// How long a message and its answer are held up, together.
    pub round_trip: Duration,
}

impl Shape {
    /// Who is who as it begins.
    pub fn configuration(&self) -> Configuration {
        Configuration::first(self.partitions, self.replicas, self.scheme).with_coordinators(self.coordinators.into())
    }

    /// Whether this can be who is who of such a cluster.
    pub fn admits(&self, configuration: &Configuration) -> bool {
        configuration.is_of(self.partitions) && configuration.coordinators.len() == usize::from(self.coordinators)
    }

    /// All machines: the coordinators, then partition by partition.
    pub fn machines(&self) -> Vec<Address> {
        let replicas = (0..self.partitions)
            .flat_map(|partition| (0..self.replicas).map(move |replica| Address::Replica { partition, replica }));
        (0..self.coordinators.into()).map(Address::Coordinator).chain(replicas).collect()
    }

    /// The member at an address as the cluster begins, of one in which nobody comes back; `shard` gives the rows that a
    /// replica begins with.
    ///
    /// # Errors
    /// Those of `shard`.
    pub fn member<E>(&self, me: Address, shard: impl FnOnce(u8) -> Result<Shard, E>) -> Result<Member, E> {
        let configuration = self.configuration();
        let empty: MakeShard = Arc::new(|| unreachable!("nobody comes back"));
        Ok(match me {
            Address::Replica { partition, .. } => Member::replica(me, configuration, shard(partition)?, empty),
            _ => Member::coordinator(me, configuration, &mut Outbox::default()),
        })
    }
}

/// Who a party is, and to which cluster it belongs.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    /// Its address.
    pub me: Address,
    /// The cluster's number.
    pub cluster: u64,
    /// [`Catalog::digest`](glassbox::Catalog::digest).
    pub catalog: u64,
}

impl Identity {
    pub(super) fn frame(&self, sequence: u64, largest: usize) -> Expected {
        Expected { cluster: self.cluster, catalog: self.catalog, sequence, largest }
    }
}
