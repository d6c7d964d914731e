//! Production's code at a point: its parties, links and costs in the virtual time of [`glassbox_sim::cluster`].
//!
//! Every node is a site: a partition, clients, and under deterministic execution a sequencer that orders its clients'
//! calls by its clock, in epochs of 10 ms. Messages within a site have no delay, as in the model. Clients coordinate
//! the twin's transactions; coordinator 0, at the first site, has the waits-for graph.

use glassbox_cluster::{Address, DeadlockRule, OrderSettings, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Costs, Link, ModelLoad, Settings, World};
use glassbox_sim::determinism::ServiceTimes;

use super::points::{Compared, NODES, SLOWER, ValidationPlan, ValidationPoint};
use crate::determinism::systems::{HASH, VLL};

/// The length of an epoch, the model's.
const EPOCH_US: u32 = 10_000;
/// Longer than any wait: deadlocks are found by the graph.
const PATIENCE_US: u64 = 10_000_000;
/// Records of a transaction, and of its part at one of two participants.
const RECORDS: u64 = 10;
const OF_PART: u64 = 5;

fn scheme(system: &str) -> SchemeKind {
    match system {
        HASH => SchemeKind::Deterministic(SchedulerKind::OrderedLocks),
        VLL => SchemeKind::Deterministic(SchedulerKind::Vll),
        _ => SchemeKind::TwoPhase(DeadlockRule::Graph),
    }
}

/// The model's service times as costs of production's work.
///
/// The model pays for a lock when it is requested and when it is released, for a record of a distributed transaction
/// when it is read and when it is written. Production's executor reports no work for locks: a request is charged with
/// what follows it, the run or the rows that are sent, and a release with the decision. The twin's locks are charged
/// with its fragments, of which there are two: one reads, the other runs.
pub(super) fn costs(scheme: SchemeKind, times: &ServiceTimes, compute_ns: u64) -> Costs {
    let run = |records: u64| records * times.record_ns + compute_ns;
    let free = Costs {
        single_ns: 0,
        single_undo_ns: 0,
        fragment_ns: 0,
        shared_message_ns: 0,
        decide_ns: 0,
        locking_thousandths: 0,
        fragment_locking_thousandths: 0,
        stopped_ns: 0,
        undo_ns: 0,
        coordinator_message_ns: 0,
        client_ns: 0,
        client_message_ns: 0,
        participant_message_ns: times.message_ns,
        push_ns: 0,
    };
    let SchemeKind::Deterministic(scheduler) = scheme else {
        let single_ns = RECORDS * times.lock_ns + run(RECORDS);
        return Costs {
            single_ns,
            single_undo_ns: single_ns,
            fragment_ns: (OF_PART * times.lock_ns + run(OF_PART)) / 2,
            coordinator_message_ns: times.edge_ns,
            ..free
        };
    };
    let lock_ns = if scheduler == SchedulerKind::Vll { times.lock_vll_ns } else { times.lock_ns };
    let half = |ns: u64| OF_PART * ns / 2;
    Costs {
        single_undo_ns: RECORDS * lock_ns - half(lock_ns) + run(RECORDS),
        fragment_ns: run(OF_PART) - half(times.record_ns),
        push_ns: half(lock_ns) + half(times.record_ns),
        decide_ns: half(lock_ns),
        ..free
    }
}

impl ValidationPoint {
    fn settings(&self, plan: &ValidationPlan, system: &str) -> Settings<ModelLoad> {
        let scheme = scheme(system);
        let shape = self.shape(plan);
        let nodes = NODES as u8;
        let is_ordered = matches!(scheme, SchemeKind::Deterministic(_));
        let order = OrderSettings { by_clocks: is_ordered, epoch_us: EPOCH_US, ..OrderSettings::new() };
        // As the model: 70 % of a delay are constant, the rest is exponential.
        let delay_ns = plan.charged.delay_ns;
        let link = Link { tail_ns: delay_ns * 3 / 10, sites: NODES as u32, ..Link::of(delay_ns * 7 / 10) };
        Settings {
            partitions: nodes,
            coordinators: if is_ordered { nodes.into() } else { 1 },
            clients: (NODES * self.clients_of(system)) as u32,
            costs: costs(scheme, &plan.charged, shape.compute_ns),
            link,
            patience_us: PATIENCE_US,
            order: if is_ordered { order } else { OrderSettings::new() },
            ..Settings::of_the_paper(scheme, ModelLoad { shape, pause_ns: self.pause_ns }, plan.seed)
        }
    }

    /// The number that production's code has.
    pub fn in_production(&self, plan: &ValidationPlan, system: &str) -> f64 {
        let mut world = World::new(self.settings(plan, system));
        world.keep_history(false);
        if self.has_slow_node {
            world.slow_down(Address::Replica { partition: NODES as u8 - 1, replica: 0 }, SLOWER);
        }
        world.run_us(self.warm_up_ms(plan) * 1_000);
        world.keep_history(self.compared == Compared::Latency);
        let measured = world.run_us(plan.measured_ms * 1_000);
        match self.compared {
            Compared::Throughput => measured.per_second,
            Compared::Latency => {
                let mut latencies: Vec<_> = world.history().iter().map(|it| it.ended_ns - it.began_ns).collect();
                latencies.sort_unstable();
                latencies.get(latencies.len() / 2).copied().unwrap_or_default() as f64 / 1e6
            }
        }
    }
}
