//! The microbenchmarks as simulated workloads: of *Low Overhead Concurrency Control* (SIGMOD 2010), sections 5.1 to
//! 5.4, and of *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems* (VLDB 2014),
//! section 3.

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, Outbox, Router};
use glassbox_testing::dice::Dice;
use glassbox_workloads::UpTo;
use glassbox_workloads::contention::{
    self, Contention, ContentionCall, ContentionClient, Counter, Increment, IncrementListed, Relist,
};
use glassbox_workloads::micro::{self, Load, Micro, ReadWrite, Seen};

use super::settings::Settings;
use super::workload::{Caller, Workload};
use crate::determinism::{WorkloadShape, exponential};

impl Workload for Load {
    type Caller = Micro;
    const TABLE_BYTES: usize = 1 << 20;

    fn catalog() -> Catalog {
        micro::catalog()
    }

    fn fill(settings: &Settings, shard: &mut Shard) {
        Micro::fill(shard, settings.clients, settings.partitions);
    }

    fn caller(settings: &Settings, number: u32) -> Micro {
        Micro::new(number, settings.partitions, settings.load, settings.seed)
    }
}

impl Caller for Micro {
    type Call = ReadWrite;
    type Output = Seen;

    fn draw(&mut self) -> ReadWrite {
        Self::draw(self)
    }

    fn send(call: &ReadWrite, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        router.call(*call, now_us, u64::from(call.stamp), out).expect("the catalog has it")
    }

    fn output(_: &ReadWrite, answered: Answered) -> Result<Seen, Error> {
        answered.output::<ReadWrite>()
    }
}

impl Workload for Contention {
    type Caller = ContentionClient;
    const TABLE_BYTES: usize = 1 << 26;

    fn catalog() -> Catalog {
        contention::catalog()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        settings.load.fill(settings.partitions, shard).expect("an empty shard with room");
    }

    fn caller(settings: &Settings<Self>, number: u32) -> ContentionClient {
        ContentionClient::new(number, settings.partitions, settings.load, settings.seed)
    }
}

impl Caller for ContentionClient {
    type Call = ContentionCall;
    /// The rows that it incremented.
    type Output = u32;

    fn draw(&mut self) -> ContentionCall {
        Self::draw(self)
    }

    fn send(call: &ContentionCall, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        let sent = match *call {
            ContentionCall::Increment(call) => router.call(call, now_us, 0, out),
            ContentionCall::Listed(call) => router.call(call, now_us, 0, out),
            ContentionCall::Relist(call) => router.call(call, now_us, 0, out),
        };
        sent.expect("the catalog has it")
    }

    fn output(call: &ContentionCall, answered: Answered) -> Result<u32, Error> {
        match call {
            ContentionCall::Increment(_) => answered.output::<Increment>(),
            ContentionCall::Listed(_) => answered.output::<IncrementListed>(),
            ContentionCall::Relist(_) => answered.output::<Relist>().map(|()| 0),
        }
    }
}

/// The load of [`crate::determinism`]'s model, as calls of production's procedure.
#[derive(Debug, Clone, Copy)]
pub struct ModelLoad {
    /// The transactions.
    pub shape: WorkloadShape,
    /// The mean of the exponentially distributed time from an answer to a client's next call; 0: none.
    pub pause_ns: u64,
}

impl Workload for ModelLoad {
    type Caller = ModelClient;
    const TABLE_BYTES: usize = 1 << 26;

    fn catalog() -> Catalog {
        contention::catalog()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        let home = shard.index() as u8;
        for id in 0..settings.load.shape.rows as u32 {
            shard.load(&Counter { home, id, count: 0 }).expect("an empty shard with room");
        }
    }

    fn caller(settings: &Settings<Self>, number: u32) -> ModelClient {
        let load = settings.load;
        let nodes = usize::from(settings.partitions);
        let ModelLoad { shape, .. } = load;
        assert!(!shape.is_tpcc && shape.dependent == 0.0, "the keys of {shape:?} are not in its arguments");
        let dice = Dice(settings.seed ^ (u64::from(number) + 1).wrapping_mul(0x5851_f42d_4c95_7f2d));
        ModelClient { load, home: number as usize % nodes, nodes, dice }
    }
}

/// A client of a home.
#[derive(Debug)]
pub struct ModelClient {
    load: ModelLoad,
    home: usize,
    nodes: usize,
    dice: Dice,
}

impl Caller for ModelClient {
    type Call = Increment;
    /// The rows that it incremented.
    type Output = u32;

    fn draw(&mut self) -> Increment {
        let mut keys = UpTo::new();
        for part in self.load.shape.draw(self.home, self.nodes, &mut self.dice).parts {
            part.rows.iter().for_each(|row| keys.push((part.node as u8, *row)));
        }
        // Computation is a cost.
        Increment { keys, work_us: 0 }
    }

    fn pause_ns(&mut self) -> u64 {
        match self.load.pause_ns {
            0 => 0,
            mean_ns => (mean_ns as f64 * exponential(&mut self.dice)) as u64,
        }
    }

    fn send(call: &Increment, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        router.call(*call, now_us, 0, out).expect("the catalog has it")
    }

    fn output(_: &Increment, answered: Answered) -> Result<u32, Error> {
        answered.output::<Increment>()
    }
}
