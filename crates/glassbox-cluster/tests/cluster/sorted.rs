//! Two-phase locking with sorted acquisition, in threads: transactions that name their keys in opposite orders. And
//! runs without two-phase commit, which no cluster of threads or processes accepts.

use std::sync::Arc;

use glassbox::procedure::{Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error, Record};
use glassbox_cluster::run::{Cluster, Inline, Shape};
use glassbox_cluster::{DeadlockRule, OrderSettings, SchemeKind};
use glassbox_workloads::UpTo;
use serde::{Deserialize, Serialize};

use super::gates::{Keeper, wait_at_gate};
use super::run::assert_settled;

const SORTED: SchemeKind = SchemeKind::TwoPhase(DeadlockRule::Sorted);
const PARTITIONS: u8 = 3;
const ROWS: u16 = 3;
const CALLS: u64 = 400;

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "counter", key = (home, id), partition_by = home)]
struct Counter {
    home: u8,
    id: u16,
    count: u64,
}

/// Increments counters in the order of its keys, and waits at the gate of a home before its first one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Increment {
    keys: UpTo<4, (u8, u16)>,
    gate: Option<u8>,
}

impl Procedure for Increment {
    const NAME: &'static str = "increment";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.keys.iter().for_each(|key| set.write::<Counter>(key));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        if let Some(home) = self.gate
            && tx.owns::<Counter>(&(home, 0))
        {
            wait_at_gate(home);
        }
        for key in self.keys.iter().filter(|key| tx.owns::<Counter>(key)).copied().collect::<UpTo<4, _>>().iter() {
            tx.update::<Counter, _>(key, |counter| counter.count += 1)?;
        }
        Ok(())
    }
}

fn increment(keys: &[(u8, u16)]) -> Increment {
    Increment { keys: keys.iter().copied().collect(), gate: None }
}

fn catalog() -> Arc<Catalog> {
    Arc::new(Catalog::new().table::<Counter>().distributed_procedure::<Increment>())
}

fn shard(partition: u8) -> Result<Shard, Error> {
    let mut shard = Shard::new(&catalog(), partition.into(), PARTITIONS.into(), 1 << 20)?;
    for (home, id) in (0..PARTITIONS).flat_map(|home| (0..ROWS).map(move |id| (home, id))) {
        shard.load(&Counter { home, id, count: 0 })?;
    }
    Ok(shard)
}

fn start() -> Cluster {
    Cluster::start(Shape::new(SORTED, PARTITIONS), catalog(), shard).unwrap()
}

/// The sum of all counters, after the clients are gone.
fn sum(cluster: Cluster) -> u64 {
    let mut machines = cluster.stop().unwrap();
    assert_settled(&mut machines);
    let mut sum = 0;
    let shards = machines.iter_mut().filter_map(|(_, member)| member.shard());
    shards.for_each(|shard| shard.rows::<Counter>(|counter| sum += counter.count));
    sum
}

/// Partition 0 is at its gate. A transaction that names a row of partition 1 first, and then one of partition 0, waits
/// for partition 0 without a lock at partition 1: otherwise the row there would be locked until the gate is opened.
#[test]
fn a_transaction_locks_nothing_at_a_later_partition_before_it_has_its_locks_at_earlier_ones() {
    let keeper = Keeper::of(&[0]);
    let cluster = start();
    let [mut first, mut second, mut third] = [(); 3].map(|()| cluster.client());
    std::thread::scope(|scope| {
        let at_gate = scope.spawn(move || first.call(Increment { gate: Some(0), ..increment(&[(0, 0)]) }).unwrap());
        keeper.wait_for(&[0]);
        let opposite = second.submit(increment(&[(1, 0), (0, 0)])).unwrap();
        // On its partition after what the other client has sent there.
        for _ in 0..100 {
            third.call(increment(&[(1, 0)])).unwrap();
        }
        assert_eq!(second.in_flight(), 1);
        keeper.open(0);
        second.wait(opposite).unwrap();
        at_gate.join().unwrap();
    });
    drop((second, third));
    assert_eq!(sum(cluster), 1 + 2 + 100);
}

/// Each client names the same rows in an order of its own, on one partition and on three.
#[test]
fn opposite_orders_of_keys_end_without_deadlocks() {
    let _no_gates = Keeper::of(&[]);
    let cluster = start();
    let here = [(1, 0), (1, 2), (1, 1)];
    let everywhere = [(2, 0), (0, 1), (1, 2)];
    std::thread::scope(|scope| {
        for turn in 0..4 {
            let mut client = cluster.client();
            scope.spawn(move || {
                for call in 0..CALLS {
                    let mut keys = if call % 4 == 0 { here } else { everywhere };
                    keys.rotate_left(turn % 3);
                    if turn % 2 == 0 {
                        keys.reverse();
                    }
                    client.call(increment(&keys)).unwrap();
                }
            });
        }
    });
    assert_eq!(sum(cluster), 3 * 4 * CALLS);
}

#[test]
fn no_cluster_of_threads_runs_without_two_phase_commit() {
    let order = OrderSettings { without_commit: true, ..OrderSettings::new() };
    let shape = Shape::new(SORTED, PARTITIONS).with_order(order);
    let threads = Cluster::start(shape, catalog(), shard).unwrap_err();
    let inline = Inline::start(shape, catalog(), shard).err().unwrap();
    for refused in [threads, inline] {
        let why = refused.to_string();
        assert!(why.contains("`order.without_commit` is true") && why.contains("simulated clusters"), "{why}");
    }
}
