//! TPC-C's full mix on a cluster of threads, under every scheme; then its consistency conditions on all rows.

use std::sync::Arc;
use std::time::Duration;

use glassbox::procedure::Procedure;
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::run::{Client, Cluster, Link, Shape};
use glassbox_cluster::{Address, Member};
use glassbox_workloads::tpcc::{self, ABORT_UNUSED_ITEM, Inputs, Kind, Scale, Settings, Together};

use super::support::{assert_settled, every_scheme};

const SCALE: Scale = Scale { warehouses: 4, items: 200, customers: 20, orders: 20 };
const TABLE_BYTES: usize = 64 << 20;

fn shard(catalog: &Catalog, partition: u8, count: u8) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, usize::from(partition), usize::from(count), TABLE_BYTES)?;
    tpcc::fill(&SCALE, 0, &mut shard)?;
    Ok(shard)
}

/// The violated conditions.
fn violated(machines: &mut [(Address, Member)]) -> Vec<String> {
    let mut all = Together::new(TABLE_BYTES).unwrap();
    for (address, machine) in machines {
        let (Address::Replica { partition, replica: 0 }, Some(shard)) = (*address, machine.shard()) else { continue };
        all.add(shard, partition == 0).unwrap();
    }
    let reports = all.check(&SCALE).unwrap().reports;
    reports.iter().filter(|it| !it.holds()).map(ToString::to_string).collect()
}

struct Calling<L: Link>(Client<L>);

impl<L: Link> tpcc::Call for Calling<L> {
    type Answer = ();

    fn call<P: Procedure + Copy>(&mut self, kind: Kind, procedure: &P) {
        match self.0.call(*procedure) {
            Ok(_) => {}
            Err(Error::Aborted(abort)) if abort.code == ABORT_UNUSED_ITEM => {}
            Err(error) => panic!("{kind:?}: {error}"),
        }
    }
}

#[test]
fn the_conditions_hold_under_any_scheme() {
    let catalog = Arc::new(tpcc::distributed_catalog());
    for (at, scheme) in every_scheme().enumerate() {
        let partitions = 2 + at as u8 % 2;
        // Transactions conflict in warehouses and districts: fewer calls.
        let calls = if scheme.clients_coordinate() { 60 } else { 300 };
        let round_trip = Duration::from_micros(at as u64 % 2 * 60);
        let shape = Shape::new(scheme, partitions).with_round_trip(round_trip);
        let shape =
            if scheme.is_deterministic() { shape } else { shape.with_replicas(2).with_coordinators(partitions - 1) };
        let filled = |partition| shard(&catalog, partition, partitions);
        let cluster = Cluster::start(shape, Arc::clone(&catalog), filled).unwrap();
        std::thread::scope(|scope| {
            for number in 0..4 {
                let client = cluster.client();
                scope.spawn(move || {
                    let (mut inputs, mut calling) = (Inputs::new(&Settings::new(SCALE), number), Calling(client));
                    (0..calls).for_each(|_| inputs.next().give(&mut calling));
                });
            }
        });
        let mut machines = cluster.stop().unwrap();
        assert_settled(&mut machines);
        assert_eq!(violated(&mut machines), [""; 0], "{scheme:?}");
    }
}
