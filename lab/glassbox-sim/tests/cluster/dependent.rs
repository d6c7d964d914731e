//! Transactions whose keys depend on rows, under deterministic schemes: found by reconnaissance, and restarted when the
//! rows have changed.

use glassbox::procedure::{Aborts, Declared, KeySet, Procedure, Stop, Transaction};
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error, Record};
use glassbox_cluster::{Answered, Outbox, Router, SchedulerKind, SchemeKind};
use glassbox_sim::cluster::{Caller, Done, Link, Settings, Workload, World, checks};
use glassbox_testing::dice::{Dice, seed, times};
use serde::{Deserialize, Serialize};

/// Pointers, and as many counters, of each home.
const ROWS: u16 = 8;

/// Says which counter a transaction increments.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "pointer", key = (home, id), partition_by = home)]
struct Pointer {
    home: u8,
    id: u16,
    counter: u16,
}

/// A number of increments.
#[derive(Record, Clone, Copy, Debug, PartialEq)]
#[record(table = "counter", key = (home, id), partition_by = home)]
struct Counter {
    home: u8,
    id: u16,
    count: u64,
}

/// Increments the counters to which a pointer of each home points: a dependent transaction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Follow {
    homes: [u8; 2],
    id: u16,
}

/// Increments the counter of one home to which a pointer of another one points, as only that one's partition knows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Seek {
    homes: [u8; 2],
    id: u16,
}

/// Points to other counters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Move {
    homes: [u8; 2],
    id: u16,
    counter: u16,
}

/// Increments a counter and the next one; it leaves the next one out of its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Forget {
    homes: [u8; 2],
    id: u16,
}

fn increment<T: Transaction>(tx: &mut T, home: u8, id: u16) -> Result<(), Stop> {
    tx.update::<Counter, _>(&(home, id), |counter| counter.count += 1).map(drop)
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
                increment(tx, home, counter)?;
            }
        }
        Ok(())
    }
}

impl Procedure for Seek {
    const NAME: &'static str = "seek";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        set.read::<Pointer>(&(self.homes[0], self.id));
        Declared::Partitions
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let counter = tx.get::<Pointer>(&(self.homes[0], self.id))?.expect("pointers stay").counter;
        increment(tx, self.homes[1], counter)
    }
}

impl Procedure for Move {
    const NAME: &'static str = "move";
    const ABORTS: Aborts = Aborts::Never;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.homes.iter().for_each(|home| set.write::<Pointer>(&(*home, self.id)));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for home in self.homes {
            if tx.owns::<Pointer>(&(home, self.id)) {
                tx.update::<Pointer, _>(&(home, self.id), |pointer| pointer.counter = self.counter)?;
            }
        }
        Ok(())
    }
}

impl Procedure for Forget {
    const NAME: &'static str = "forget";
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        self.homes.iter().for_each(|home| set.write::<Counter>(&(*home, self.id)));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        for home in self.homes {
            if tx.owns::<Counter>(&(home, self.id)) {
                increment(tx, home, self.id)?;
                increment(tx, home, (self.id + 1) % ROWS)?;
            }
        }
        Ok(())
    }
}

/// Of 100 calls, those of each procedure; the others move pointers.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Dependent {
    follow: u64,
    seek: u64,
    forget: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Follow(Follow),
    Seek(Seek),
    Move(Move),
    Forget(Forget),
}

struct Worker {
    load: Dependent,
    partitions: u8,
    dice: Dice,
}

impl Workload for Dependent {
    type Caller = Worker;
    const TABLE_BYTES: usize = 1 << 20;

    fn catalog() -> Catalog {
        let tables = Catalog::new().table::<Pointer>().table::<Counter>();
        let tables = tables.distributed_procedure::<Follow>().distributed_procedure::<Seek>();
        tables.distributed_procedure::<Move>().distributed_procedure::<Forget>()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        for (home, id) in (0..settings.partitions).flat_map(|home| (0..ROWS).map(move |id| (home, id))) {
            shard.load(&Pointer { home, id, counter: id }).expect("the partition is empty");
            shard.load(&Counter { home, id, count: 0 }).expect("the partition is empty");
        }
    }

    fn caller(settings: &Settings<Self>, number: u32) -> Worker {
        let dice = Dice(settings.seed ^ u64::from(number + 1) << 40);
        Worker { load: settings.load, partitions: settings.partitions, dice }
    }
}

impl Caller for Worker {
    type Call = Work;
    type Output = ();

    fn draw(&mut self) -> Work {
        let mut home = || self.dice.below(u64::from(self.partitions)) as u8;
        let homes = [home(), home()];
        let id = self.dice.below(u64::from(ROWS)) as u16;
        let kind = self.dice.below(100);
        if kind < self.load.follow {
            Work::Follow(Follow { homes, id })
        } else if kind < self.load.follow + self.load.seek {
            Work::Seek(Seek { homes, id })
        } else if kind < self.load.follow + self.load.seek + self.load.forget {
            Work::Forget(Forget { homes, id })
        } else {
            let counter = self.dice.below(u64::from(ROWS)) as u16;
            Work::Move(Move { homes, id, counter })
        }
    }

    fn send(call: &Work, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        let sent = match *call {
            Work::Follow(call) => router.call(call, now_us, 0, out),
            Work::Seek(call) => router.call(call, now_us, 0, out),
            Work::Move(call) => router.call(call, now_us, 0, out),
            Work::Forget(call) => router.call(call, now_us, 0, out),
        };
        sent.expect("the catalog has it")
    }

    fn output(call: &Work, answered: Answered) -> Result<(), Error> {
        match call {
            Work::Follow(_) => answered.output::<Follow>(),
            Work::Seek(_) => answered.output::<Seek>(),
            Work::Move(_) => answered.output::<Move>(),
            Work::Forget(_) => answered.output::<Forget>(),
        }
    }
}

/// Runs a cluster, and checks that it has as many increments as the answers say; its calls and restarts.
fn run(settings: Settings<Dependent>) -> Result<(u64, u64), String> {
    let mut world = World::new(settings);
    let measured = world.run_us(10_000);
    world.finish()?;
    checks::log(&mut world)?;
    let increments = |work: &Work| match work {
        Work::Follow(_) => 2,
        Work::Seek(_) => 1,
        Work::Forget(_) => 4,
        Work::Move(_) => 0,
    };
    let mut expected = 0;
    for it in world.history() {
        if it.end != Done::Committed(()) {
            return Err(format!("{:?} ended with {:?}", it.call, it.end));
        }
        expected += increments(&it.call);
    }
    let mut found = 0;
    world.shards().into_iter().for_each(|(_, _, shard)| shard.rows::<Counter>(|counter| found += counter.count));
    if found == expected { Ok((measured.finished, measured.retries)) } else { Err(format!("{found} of {expected}")) }
}

fn any(load: Dependent, seed: u64) -> Settings<Dependent> {
    let mut dice = Dice(seed);
    let scheduler = SchedulerKind::ALL[seed as usize % SchedulerKind::ALL.len()];
    Settings {
        partitions: 2 + dice.below(2) as u8,
        clients: 2 + dice.below(16) as u32,
        link: Link { tail_ns: dice.below(50_000), ..Link::of(1_000 + dice.below(100_000)) },
        ..Settings::of_the_paper(SchemeKind::Deterministic(scheduler), load, seed)
    }
}

/// Pointers change all the time, those that another partition follows too. A call is restarted three times; then it
/// locks the counters of a home whole, and after a fourth time those of the other one.
#[test]
fn dependent_transactions_end_right_while_the_rows_that_they_depend_on_change() {
    let first = seed(1);
    let (mut calls, mut restarts) = (0, 0);
    for seed in first..first + times(120, 10_000) {
        let settings = any(Dependent { follow: 30, seek: 30, forget: 0 }, seed);
        let (finished, retries) = run(settings).unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(finished > 0 && retries <= 4 * (finished + u64::from(settings.clients)), "{retries} of {finished}");
        (calls, restarts) = (calls + finished, restarts + retries);
    }
    assert!(restarts > calls / 100, "{restarts} of {calls}");
}

/// A key left out of a declaration: the run is refused there, and restarted with the key.
#[test]
fn a_call_that_touches_an_undeclared_key_is_restarted_and_ends_right() {
    let first = seed(1);
    for seed in first..first + times(60, 10_000) {
        let settings = any(Dependent { follow: 20, seek: 0, forget: 50 }, seed);
        let (finished, retries) = run(settings).unwrap_or_else(|why| panic!("seed {seed}, {settings:?}: {why}"));
        assert!(retries > finished / 4, "seed {seed}: {retries} of {finished}");
    }
}

/// Writes the entries of a hash map into a few rows, in the order of the map: another one in each process.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Careless {
    home: u8,
}

impl Procedure for Careless {
    const NAME: &'static str = "careless";
    const VERSION: u32 = 7;
    type Output = ();

    fn declare(&self, set: &mut impl KeySet) -> Declared {
        (0..ROWS).for_each(|id| set.write::<Counter>(&(self.home, id)));
        Declared::Complete
    }

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<(), Stop> {
        let map: std::collections::HashMap<u64, u64> = (0..1_000).map(|key| (key, key * key)).collect();
        for (id, value) in (0..ROWS).cycle().zip(map.values()) {
            tx.update::<Counter, _>(&(self.home, id), |counter| counter.count = *value)?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Nondeterministic;

struct CarelessWorker(u8, Dice);

impl Workload for Nondeterministic {
    type Caller = CarelessWorker;
    const TABLE_BYTES: usize = 1 << 20;

    fn catalog() -> Catalog {
        Catalog::new().table::<Counter>().distributed_procedure::<Careless>()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        for (home, id) in (0..settings.partitions).flat_map(|home| (0..ROWS).map(move |id| (home, id))) {
            shard.load(&Counter { home, id, count: 0 }).expect("the partition is empty");
        }
    }

    fn caller(settings: &Settings<Self>, number: u32) -> CarelessWorker {
        CarelessWorker(settings.partitions, Dice(u64::from(number)))
    }
}

impl Caller for CarelessWorker {
    type Call = Careless;
    type Output = ();

    fn draw(&mut self) -> Careless {
        Careless { home: self.1.below(u64::from(self.0)) as u8 }
    }

    fn send(call: &Careless, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        router.call(*call, now_us, 0, out).expect("the catalog has it")
    }

    fn output(_: &Careless, answered: Answered) -> Result<(), Error> {
        answered.output::<Careless>()
    }
}

/// The digests of the first execution are in the log; after a restart the partition executes the inputs again,
/// compares, and stops.
#[test]
fn a_procedure_that_is_not_deterministic_is_named_when_the_log_is_executed_again() {
    for scheduler in SchedulerKind::ALL {
        let scheme = SchemeKind::Deterministic(scheduler);
        let settings = Settings { journals: true, outages: 1, ..Settings::of_the_paper(scheme, Nondeterministic, 5) };
        let mut world = World::new(settings);
        world.plan_incidents(5_000);
        // Its clients wait until it is replaced.
        world.run_us(20_000);
        let left = world.leftovers().join("; ");
        let names = ["replay of partition", "procedure `careless`, version 7", "epoch", "input"];
        assert!(names.iter().all(|name| left.contains(name)), "{scheduler:?}: {left}");
    }
}
