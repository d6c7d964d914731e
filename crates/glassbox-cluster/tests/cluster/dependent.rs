//! Dependent transactions under deterministic schemes, in threads: what they lock while another participant is busy.

use std::ops::ControlFlow;
use std::sync::Arc;

use glassbox::procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::record::{Direction, Prefix};
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Record};
use glassbox_cluster::run::{Cluster, Shape};
use glassbox_cluster::{SchedulerKind, SchemeKind};
use serde::{Deserialize, Serialize};

use super::gates::{Keeper, wait_at_gate};
use super::run::assert_settled;

const ROWS: u16 = 8;

/// Names a counter; found by its name too.
#[derive(Record, Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[record(table = "pointer", key = (home, id), partition_by = home, index(name = by_name, columns = (home, name)))]
struct Pointer {
    home: u8,
    id: u16,
    name: u16,
    to: u8,
    counter: u16,
}

#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "counter", key = (home, id), partition_by = home)]
struct Counter {
    home: u8,
    id: u16,
    count: u64,
}

/// Increments the counters that a pointer of each home names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Follow {
    homes: [u8; 2],
    id: u16,
}

/// Increments the counter, of any home, that the only pointer with a name names.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Look {
    home: u8,
    name: u16,
}

/// Changes a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Move(Pointer);

/// Increments a counter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Bump {
    home: u8,
    id: u16,
}

fn increment<T: Transaction>(tx: &mut T, key: (u8, u16)) -> Result<(), Stop> {
    if tx.owns::<Counter>(&key) {
        wait_at_gate(key.0);
    }
    tx.update::<Counter, _>(&key, |counter| counter.count += 1).map(drop)
}

impl Procedure for Follow {
    const NAME: &'static str = "follow";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.homes.iter().for_each(|home| set.read::<Pointer>(&(*home, self.id)));
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for home in self.homes {
            if tx.owns::<Pointer>(&(home, self.id)) {
                let counter = tx.get::<Pointer>(&(home, self.id))?.expect("pointers stay").counter;
                increment(tx, (home, counter))?;
            }
        }
        Ok(())
    }
}

impl Procedure for Look {
    const NAME: &'static str = "look";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.index::<PointerByName>(Prefix((self.home, self.name)), glassbox::procedure::Mode::Read);
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let mut found = None;
        tx.scan_index::<PointerByName>(Prefix((self.home, self.name)), Direction::Forward, |pointer| {
            found = Some((pointer.to, pointer.counter));
            ControlFlow::Break(())
        })?;
        increment(tx, found.expect("the name is there"))
    }
}

impl Procedure for Move {
    const NAME: &'static str = "move";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Pointer>(&(self.0.home, self.0.id));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.update::<Pointer, _>(&(self.0.home, self.0.id), |pointer| *pointer = self.0).map(drop)
    }
}

impl Procedure for Bump {
    const NAME: &'static str = "bump";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.write::<Counter>(&(self.home, self.id));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        tx.update::<Counter, _>(&(self.home, self.id), |counter| counter.count += 1).map(drop)
    }
}

fn pointer(home: u8, id: u16) -> Pointer {
    Pointer { home, id, name: 100 + id, to: 1 - home, counter: id }
}

fn start(scheduler: SchedulerKind) -> Cluster {
    let tables = Catalog::new().table::<Pointer>().table::<Counter>();
    let tables = tables.distributed_procedure::<Follow>().distributed_procedure::<Look>();
    let catalog = Arc::new(tables.distributed_procedure::<Move>().distributed_procedure::<Bump>());
    let shard = |partition: u8| {
        let mut shard = Shard::new(&catalog, partition.into(), 2, 1 << 20)?;
        for (home, id) in (0..2).flat_map(|home| (0..ROWS).map(move |id| (home, id))) {
            shard.load(&pointer(home, id))?;
            shard.load(&Counter { home, id, count: 0 })?;
        }
        Ok(shard)
    };
    Cluster::start(Shape::new(SchemeKind::Deterministic(scheduler), 2), Arc::clone(&catalog), shard).unwrap()
}

/// The counters that are not 0, after the clients are gone.
fn counts(cluster: Cluster) -> Vec<(u8, u16, u64)> {
    let mut machines = cluster.stop().unwrap();
    assert_settled(&mut machines);
    let mut counts = Vec::new();
    for shard in machines.iter_mut().filter_map(|(_, member)| member.shard()) {
        shard.rows::<Counter>(|it| counts.extend((it.count > 0).then_some((it.home, it.id, it.count))));
    }
    counts.sort_unstable();
    counts
}

const OVERLAPPING: [SchedulerKind; 2] = [SchedulerKind::OrderedLocks, SchedulerKind::Vll];

/// A pointer moves after each reconnaissance. At the fourth attempt partition 0 has run the call, and waits for
/// partition 1, which is at its gate: the counters of partition 0 are locked, and its pointers are not.
#[test]
fn a_call_whose_keys_were_outdated_three_times_locks_a_table_and_no_more() {
    for scheduler in OVERLAPPING {
        let keeper = Keeper::of(&[0, 1]);
        let cluster = start(scheduler);
        let [mut caller, mut mover, mut other] = [(); 3].map(|()| cluster.client());
        let restarts = std::thread::scope(|scope| {
            let call = scope.spawn(move || {
                caller.call(Follow { homes: [0, 1], id: 3 }).unwrap();
                caller.retries()
            });
            for attempt in 0..4 {
                // The reconnaissance.
                keeper.wait_for(&[0, 1]);
                if attempt < 3 {
                    // It is in the log before the call, and partition 0 executes it when it goes on.
                    let moved = mover.submit(Move(Pointer { counter: 4 + attempt, ..pointer(0, 3) })).unwrap();
                    keeper.open(0);
                    mover.wait(moved).unwrap();
                } else {
                    keeper.open(0);
                }
                keeper.open(1);
                // The run under locks.
                keeper.wait_for(&[0, 1]);
                keeper.open(0);
                if attempt < 3 {
                    keeper.open(1);
                }
            }
            // In the log after it.
            let bumped = other.submit(Bump { home: 0, id: 0 }).unwrap();
            let moved = other.submit(Move(Pointer { counter: 7, ..pointer(0, 5) })).unwrap();
            other.wait(moved).unwrap();
            assert_eq!(other.in_flight(), 1, "{scheduler:?}: a counter, whichever it is, has to wait");
            let again = other.submit(Move(Pointer { counter: 0, ..pointer(0, 3) })).unwrap();
            keeper.open(1);
            other.wait(bumped).unwrap();
            other.wait(again).unwrap();
            call.join().unwrap()
        });
        assert_eq!(restarts, 3, "{scheduler:?}");
        drop((mover, other));
        assert_eq!(counts(cluster), [(0, 0, 1), (0, 6, 1), (1, 3, 1)], "{scheduler:?}");
    }
}

/// A secondary index of one partition says which row of another one changes. While that one is at its gate, the first
/// has locked what was read there, and no more.
#[test]
fn a_call_that_an_index_of_another_partition_directs_locks_single_keys_there() {
    for scheduler in OVERLAPPING {
        let keeper = Keeper::of(&[1]);
        let cluster = start(scheduler);
        let [mut caller, mut other] = [(); 2].map(|()| cluster.client());
        let restarts = std::thread::scope(|scope| {
            let call = scope.spawn(move || {
                caller.call(Look { home: 0, name: 102 }).unwrap();
                caller.retries()
            });
            // The reconnaissance; then the run under locks.
            keeper.wait_for(&[1]);
            keeper.open(1);
            keeper.wait_for(&[1]);
            let moved = other.submit(Move(Pointer { to: 0, ..pointer(0, 2) })).unwrap();
            let others = [other.submit(Move(Pointer { counter: 7, ..pointer(0, 6) })).unwrap()];
            let bumped = other.submit(Bump { home: 0, id: 2 }).unwrap();
            others.into_iter().for_each(|it| other.wait(it).unwrap());
            other.wait(bumped).unwrap();
            assert_eq!(other.in_flight(), 1, "{scheduler:?}: the pointer that was read has to wait");
            keeper.open(1);
            other.wait(moved).unwrap();
            call.join().unwrap()
        });
        assert_eq!(restarts, 0, "{scheduler:?}");
        drop(other);
        assert_eq!(counts(cluster), [(0, 2, 1), (1, 2, 1)], "{scheduler:?}");
    }
}

/// Serial execution locks nothing; the call ends all the same.
#[test]
fn dependent_calls_end_under_serial_execution() {
    let _no_gates = Keeper::of(&[]);
    let cluster = start(SchedulerKind::Serial);
    let mut client = cluster.client();
    client.call(Look { home: 1, name: 107 }).unwrap();
    client.call(Move(Pointer { counter: 1, ..pointer(1, 0) })).unwrap();
    client.call(Follow { homes: [0, 1], id: 0 }).unwrap();
    assert_eq!(client.retries(), 0);
    drop(client);
    assert_eq!(counts(cluster), [(0, 0, 1), (0, 7, 1), (1, 1, 1)]);
}
