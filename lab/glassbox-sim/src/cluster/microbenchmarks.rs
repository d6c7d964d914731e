//! The microbenchmarks as simulated workloads: of *Low Overhead Concurrency Control* (SIGMOD 2010), sections 5.1 to
//! 5.4, and of *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems* (VLDB 2014),
//! section 3.

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, Outbox, Router};
use glassbox_workloads::contention::{
    self, Contention, ContentionCall, ContentionClient, Increment, IncrementListed, Relist,
};
use glassbox_workloads::micro::{self, Load, Micro, ReadWrite, Seen};

use super::settings::Settings;
use super::workload::{Caller, Workload};

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
