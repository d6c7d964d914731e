//! The shape of a cluster, and a party's identity.

use std::sync::Arc;
use std::time::Duration;

use glassbox::Catalog;
use glassbox::research::shard::{CatalogSummary, Shard};

use crate::node::member::Member;
use crate::node::role::MakeShard;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::input::OrderSettings;
use crate::protocol::outbox::Outbox;
use crate::scheduler::MakeScheduler;
use crate::wire::Expected;

/// The shape of a cluster at its beginning.
///
/// ```
/// use glassbox_cluster::SchemeKind;
/// use glassbox_cluster::run::Shape;
///
/// let shape = Shape::new(SchemeKind::Speculation, 4).with_replicas(2);
/// assert_eq!(shape.machines().len(), 1 + 4 * 2);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Shape {
    /// The concurrency-control scheme.
    pub scheme: SchemeKind,
    /// Partitions, 1 to 64.
    pub partitions: u8,
    /// Replicas of each partition, the primary included, at least 1. Default: 1.
    pub replicas: u8,
    /// Coordinators, 1 to 64; each client uses one of them. Under a deterministic scheme, the sequencer and its hot
    /// backups. Default: 1.
    pub coordinators: u8,
    /// The injected round trip. Default: none.
    pub round_trip: Duration,
    /// How a sequencer orders inputs.
    pub order: OrderSettings,
    /// Makes executors' schedulers in place of the scheme's: with it a test plants a fault. Default: none.
    pub scheduler: Option<MakeScheduler>,
}

impl Shape {
    /// A cluster with one replica of each partition, one coordinator and no injected round trip.
    pub const fn new(scheme: SchemeKind, partitions: u8) -> Self {
        let order = OrderSettings::new();
        let round_trip = Duration::ZERO;
        Self { scheme, partitions, replicas: 1, coordinators: 1, round_trip, order, scheduler: None }
    }

    /// The same with this number of [`replicas`](Self::replicas).
    #[must_use]
    pub const fn with_replicas(self, replicas: u8) -> Self {
        Self { replicas, ..self }
    }

    /// The same with this number of [`coordinators`](Self::coordinators).
    #[must_use]
    pub const fn with_coordinators(self, coordinators: u8) -> Self {
        Self { coordinators, ..self }
    }

    /// The same with this [`round_trip`](Self::round_trip).
    #[must_use]
    pub const fn with_round_trip(self, round_trip: Duration) -> Self {
        Self { round_trip, ..self }
    }

    /// The same with an [`order`](Self::order).
    #[must_use]
    pub const fn with_order(self, order: OrderSettings) -> Self {
        Self { order, ..self }
    }

    /// The same with a [`scheduler`](Self::scheduler).
    #[must_use]
    pub fn with_scheduler(self, make: MakeScheduler) -> Self {
        Self { scheduler: Some(make), ..self }
    }

    /// Refuses what only simulated clusters can have.
    ///
    /// # Errors
    /// The setting, and what to give instead.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.order.without_commit {
            return Err(
                "`order.without_commit` is true: without two-phase commit, an abort or a failure leaves half of a \
                        transaction, so only the laboratory's simulated clusters accept it; give false"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// The initial configuration.
    pub fn configuration(&self) -> Configuration {
        let first = Configuration::first(self.partitions, self.replicas, self.scheme);
        self.order.configuration(first, self.coordinators.into())
    }

    /// Whether this is a valid configuration of such a cluster.
    pub fn admits(&self, configuration: &Configuration) -> bool {
        let has = |it: &Address| matches!(it, Address::Coordinator(number) if *number < self.coordinators.into());
        let has_coordinators = match &configuration.sequencer {
            None => configuration.coordinators.len() == usize::from(self.coordinators),
            Some(sequencer) => sequencer.backups().iter().chain([&sequencer.primary]).all(has),
        };
        let has_clocks = configuration.scheme.is_deterministic() && configuration.sequencer.is_none();
        configuration.is_of(self.partitions)
            && has_coordinators
            && has_clocks == self.order.by_clocks
            && configuration.agreement == self.order.agreement
    }

    /// All members: the coordinators, then the replicas partition by partition.
    pub fn machines(&self) -> Vec<Address> {
        let replicas = (0..self.partitions)
            .flat_map(|partition| (0..self.replicas).map(move |replica| Address::Replica { partition, replica }));
        (0..self.coordinators.into()).map(Address::Coordinator).chain(replicas).collect()
    }

    /// The member at an address at the beginning of a cluster without restarts; `shard` gives a replica's initial rows.
    ///
    /// # Errors
    /// Those of `shard`.
    pub fn member<E>(&self, me: Address, shard: impl FnOnce(u8) -> Result<Shard, E>) -> Result<Member, E> {
        let configuration = self.configuration();
        let empty: MakeShard = Arc::new(|| unreachable!("no process is restarted"));
        Ok(self.known(match me {
            Address::Replica { partition, .. } => Member::replica(me, configuration, shard(partition)?, empty),
            _ => Member::coordinator(me, configuration, &mut Outbox::default()),
        }))
    }

    /// This member, which knows what no configuration says.
    pub(super) fn known(&self, member: Member) -> Member {
        let member = member.with_order(self.order).with_coordinators(self.coordinators.into());
        match self.scheduler {
            Some(make) => member.with_scheduler(make),
            None => member,
        }
    }
}

/// A party's identity.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Its address.
    pub me: Address,
    /// The cluster's number.
    pub cluster: u64,
    /// Its program's catalog.
    pub catalog: Arc<CatalogSummary>,
    /// [`CatalogSummary::digest`].
    digest: u64,
}

impl Identity {
    /// The identity of a party in a program with this catalog.
    pub fn new(me: Address, cluster: u64, catalog: &Catalog) -> Self {
        let catalog = catalog.summary();
        let digest = catalog.digest();
        Self { me, cluster, catalog: Arc::new(catalog), digest }
    }

    pub(super) fn frame(&self, sequence: u64, payload_bytes_max: usize) -> Expected {
        Expected { cluster: self.cluster, catalog: self.digest, sequence, payload_bytes_max }
    }
}
