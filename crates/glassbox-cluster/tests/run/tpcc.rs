//! TPC-C's full mix on a cluster of threads, under every scheme; then its conditions, of all rows together.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::record::{Record, Timestamp};
use glassbox::shard::{Arguments, Call, Ran, Shard, Task};
use glassbox::{Catalog, Error};
use glassbox_cluster::run::{Client, Cluster, Link, Shape};
use glassbox_cluster::{Address, Member};
use glassbox_workloads::tpcc::{self, ABORT_UNUSED_ITEM, Inputs, Kind, Scale, Settings, Sink, conditions, population};
use serde::{Deserialize, Serialize};

use crate::support::{SCHEMES, assert_settled};

const SCALE: Scale = Scale { warehouses: 4, items: 200, customers: 20, orders: 20 };
const TABLE_BYTES: usize = 64 << 20;

struct Loading<'a>(&'a mut Shard);

impl Sink for Loading<'_> {
    type Error = Infallible;

    fn row<R: Record>(&mut self, row: &R) -> Result<(), Infallible> {
        self.0.load(row).expect("the shard is empty");
        Ok(())
    }
}

fn shard(catalog: &Catalog, partition: u8, count: u8) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, usize::from(partition), usize::from(count), TABLE_BYTES)?;
    let mut sink = Loading(&mut shard);
    let Ok(()) = population::items(&SCALE, 0, &mut sink);
    for w_id in SCALE.warehouse_ids() {
        let Ok(()) = population::warehouse(&SCALE, 0, w_id, &mut sink);
    }
    Ok(shard)
}

/// What is violated, as a procedure.
#[derive(Serialize, Deserialize)]
struct Violated;

impl Procedure for Violated {
    const NAME: &'static str = "violated";
    type Output = Vec<String>;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Vec<String>, Stop> {
        Ok(conditions::violated(tx, &SCALE)?.iter().map(ToString::to_string).collect())
    }
}

fn violated(machines: &mut [(Address, Member)]) -> Vec<String> {
    let catalog = tpcc::catalog().procedure::<Violated>();
    let mut all = Shard::new(&catalog, 0, 1, TABLE_BYTES).unwrap();
    for (address, machine) in machines {
        let (Address::Replica { partition, replica: 0 }, Some(shard)) = (*address, machine.shard()) else { continue };
        for table in 0.. {
            let mut from = Some(0);
            let mut exists = false;
            while let Some((replicated, rows, next)) = from.and_then(|from| shard.stored(table, from, 10_000)) {
                exists = true;
                from = next;
                if partition == 0 || !replicated {
                    all.load_stored(table, &rows).unwrap();
                }
            }
            if !exists {
                break;
            }
        }
    }
    let arguments = Arguments::of(Violated);
    let procedure = catalog.number_of::<Violated>().unwrap();
    let call = Call { procedure, arguments, now: Timestamp::default(), seed: 0 };
    match all.run(&call, Task { participants: 1, given: &[] }, None, None) {
        Ran::Done(output) => output.read().unwrap(),
        other => panic!("{other:?}"),
    }
}

struct Calling<L: Link>(Client<L>);

impl<L: Link> tpcc::Call for Calling<L> {
    type Answer = ();

    fn call<P: Procedure>(&mut self, kind: Kind, procedure: P) {
        match self.0.call(procedure) {
            Ok(_) => {}
            Err(Error::Aborted(abort)) if abort.code == ABORT_UNUSED_ITEM => {}
            Err(error) => panic!("{kind:?}: {error}"),
        }
    }
}

#[test]
fn the_conditions_hold_under_any_scheme() {
    let catalog = Arc::new(tpcc::catalog());
    for (at, scheme) in SCHEMES.into_iter().enumerate() {
        let partitions = 2 + at as u8 % 2;
        // Locks of warehouses and districts meet all the time there: fewer calls.
        let calls = if scheme.clients_coordinate() { 60 } else { 300 };
        let round_trip = Duration::from_micros(at as u64 % 2 * 60);
        let shape = Shape { scheme, partitions, replicas: 2, coordinators: partitions - 1, round_trip };
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
