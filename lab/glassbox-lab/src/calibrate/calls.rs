//! The calls of a partition, and its initial rows.

use std::collections::VecDeque;
use std::ops::Range;

use glassbox::procedure::Procedure;
use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
use glassbox::{Catalog, Error};
use glassbox_cluster::Message;
use glassbox_sim::cluster::{ALL, Load, Micro};
use glassbox_workloads::micro::{self, ReadWrite};
use glassbox_workloads::tpcc::{self, Inputs, Kind, Remote, Scale, Settings};

use crate::real::drive::{CLIENTS, shard};

/// TPC-C's rows: as many as stay in caches, as the microbenchmark's do.
const SCALE: Scale = Scale::small(4);
const TABLE_BYTES: usize = 256 << 20;

/// The benchmark that is measured, on the first of two partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalibratedBenchmark {
    Micro,
    Tpcc,
}

impl CalibratedBenchmark {
    /// The partition's rows.
    pub fn shard(self) -> Result<Shard, Error> {
        match self {
            Self::Micro => shard(&micro::catalog(), 0, 2, CLIENTS),
            Self::Tpcc => {
                let mut shard = Shard::new(&tpcc::distributed_catalog(), 0, 2, TABLE_BYTES)?;
                tpcc::fill(&SCALE, 0, &mut shard)?;
                Ok(shard)
            }
        }
    }

    /// Calls of a kind, of a quarter of the clients in turn.
    pub fn draw(self, kind: CallKind) -> CallGenerator {
        self.draw_of(0..CLIENTS / 4, kind)
    }

    /// Calls on both partitions of each other client, which has its own rows; none where clients share rows.
    pub fn others(self) -> Vec<CallGenerator> {
        let all = if self == Self::Micro { CLIENTS / 4..CLIENTS } else { 0..0 };
        all.map(|client| self.draw_of(client..client + 1, CallKind::Both)).collect()
    }

    fn draw_of(self, clients: Range<u32>, kind: CallKind) -> CallGenerator {
        match self {
            Self::Micro => {
                let several = if kind == CallKind::Both { ALL } else { 0 };
                let aborts = if kind == CallKind::Aborting { ALL } else { 0 };
                let load = Load { several, aborts, ..Load::default() };
                let mut clients: VecDeque<_> = clients.map(|client| Micro::new(client, 2, load, 1)).collect();
                CallGenerator::of(micro::catalog(), kind, move |catalog| {
                    clients.rotate_left(1);
                    let input = clients[0].draw();
                    // A call on one partition may abort there; a call on both never aborts.
                    (number::<ReadWrite>(catalog), Arguments::of(input), input.aborts_at.is_some())
                })
            }
            Self::Tpcc => {
                // More calls on both partitions than specified; each makes the same accesses.
                let remote = Remote { order_lines: 5.0, ..Remote::SPECIFICATION };
                let mut inputs = Inputs::new(&Settings { remote, ..Settings::new(SCALE) }, u64::from(clients.start));
                CallGenerator::of(tpcc::distributed_catalog(), kind, move |catalog| {
                    let input = inputs.next();
                    let aborts = input.is_for_unused_item(&SCALE);
                    let (number, arguments) = input.give(&mut ByNumber(catalog));
                    (number, arguments, aborts)
                })
            }
        }
    }
}

fn number<P: Procedure>(catalog: &Catalog) -> u16 {
    catalog.number_of::<P>().expect("the catalog has it")
}

struct ByNumber<'a>(&'a Catalog);

impl tpcc::Call for ByNumber<'_> {
    type Answer = (u16, Arguments);

    fn call<P: Procedure + Copy>(&mut self, _: Kind, procedure: &P) -> (u16, Arguments) {
        (number::<P>(self.0), Arguments::of(*procedure))
    }
}

/// A kind of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// On the first partition alone.
    One,
    /// On both.
    Both,
    /// On the first alone, where they abort.
    Aborting,
}

/// A procedure's number, its arguments, and whether it will abort.
type NextCall = dyn FnMut(&Catalog) -> (u16, Arguments, bool);

/// Generates calls of one kind.
pub(super) struct CallGenerator {
    catalog: Catalog,
    next: Box<NextCall>,
    kind: CallKind,
    pub made: u64,
}

impl CallGenerator {
    fn of(catalog: Catalog, kind: CallKind, next: impl FnMut(&Catalog) -> (u16, Arguments, bool) + 'static) -> Self {
        Self { catalog, next: Box::new(next), kind, made: 0 }
    }

    pub fn call(&mut self) -> Call {
        let partitions = PartitionSet::all(if self.kind == CallKind::Both { 2 } else { 1 });
        loop {
            let (procedure, arguments, aborts) = (self.next)(&self.catalog);
            self.made += 1;
            let call = Call { procedure, arguments, now: Timestamp::from_micros(1), seed: self.made };
            let route = self.catalog.route(&call, 2).expect("its own arguments");
            if route.partitions == partitions && aborts == (self.kind == CallKind::Aborting) {
                return call;
            }
        }
    }

    pub fn message(&mut self) -> Message {
        Message::Call { id: self.made, call: self.call() }
    }
}
