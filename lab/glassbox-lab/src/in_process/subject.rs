//! One path, loaded, and its calls.

use std::hint::black_box;
use std::sync::Arc;

use glassbox::procedure::Procedure;
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Config, Database, Error};
use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::{Client, Inline, Shape};
use glassbox_sim::cluster::{Load, Micro};
use glassbox_workloads::micro::{self, KEYS, Pair, ReadWrite};
use glassbox_workloads::tpcc::{self, Input, Inputs, Scale, Settings};

use super::systems::{Benchmark, CallPath};

/// Address space is limited under valgrind.
const TABLE_BYTES: usize = 256 << 20;
/// Clients of the microbenchmark, which have rows of their own.
const CLIENTS: u32 = 40;

/// Calls, in the order of every path: groups of [`BATCH`] calls of one procedure, which can be submitted together.
pub(super) struct CallBatch(Vec<ProcedureCalls>);

enum ProcedureCalls {
    NewOrder(Vec<tpcc::NewOrder>),
    Payment(Vec<tpcc::Payment>),
    Micro(Vec<ReadWrite>),
}

/// Consecutive calls of one procedure: the maximum that any path submits together.
const BATCH: usize = 16;

impl CallBatch {
    /// The first `count` calls of a benchmark, rounded up to whole groups.
    pub fn draw(benchmark: Benchmark, scale: &Scale, count: usize, seed: u64) -> Self {
        let mut batch = Vec::new();
        match benchmark {
            Benchmark::Tpcc => {
                let (mut inputs, mut orders, mut payments) =
                    (Inputs::new(&Settings::looking_glass(scale, seed), 0), vec![], vec![]);
                while batch.len() * BATCH < count {
                    match inputs.next() {
                        Input::NewOrder(order) => orders.push(order),
                        Input::Payment(payment) => payments.push(payment),
                        _ => {}
                    }
                    if orders.len() == BATCH {
                        batch.push(ProcedureCalls::NewOrder(std::mem::take(&mut orders)));
                    }
                    if payments.len() == BATCH {
                        batch.push(ProcedureCalls::Payment(std::mem::take(&mut payments)));
                    }
                }
            }
            Benchmark::Micro => {
                let mut clients: Vec<_> =
                    (0..CLIENTS).map(|client| Micro::new(client, 1, Load::default(), seed)).collect();
                let mut at = 0;
                let mut next = || {
                    at = (at + 1) % clients.len();
                    clients[at].draw()
                };
                while batch.len() * BATCH < count {
                    batch.push(ProcedureCalls::Micro((0..BATCH).map(|_| next()).collect()));
                }
            }
        }
        Self(batch)
    }

    /// Their number.
    pub fn len(&self) -> usize {
        self.0.len() * BATCH
    }
}

/// A loaded path.
pub(super) enum LoadedPath {
    Token(Box<Database>),
    Machines(Box<Client<Inline>>, usize),
}

impl LoadedPath {
    pub fn load(system: CallPath, benchmark: Benchmark, scale: &Scale) -> anyhow::Result<Self> {
        let catalog = match benchmark {
            Benchmark::Tpcc => tpcc::distributed_catalog(),
            Benchmark::Micro => micro::catalog(),
        };
        match system {
            CallPath::Token => {
                let config = Config::default().with_partitions(1).with_table_bytes(TABLE_BYTES);
                let db = Database::in_memory(config, catalog)?;
                let load = db.bulk_load()?;
                match benchmark {
                    Benchmark::Tpcc => tpcc::load_database(&load, scale, tpcc::LOAD_SEED, 1, &|_| true).map(drop)?,
                    Benchmark::Micro => pairs().try_for_each(|pair| load.insert(&pair))?,
                }
                load.finish()?;
                Ok(Self::Token(Box::new(db)))
            }
            CallPath::Machines(together) | CallPath::Messages(together) => {
                let scheme = SchemeKind::Speculation;
                let shape = Shape::new(scheme, 1);
                let catalog = Arc::new(catalog);
                let shard = |_| shard(&catalog, benchmark, scale);
                let client = Inline::start(shape, Arc::clone(&catalog), shard)?;
                let by_messages = matches!(system, CallPath::Messages(_));
                Ok(Self::Machines(Box::new(if by_messages { client.by_messages() } else { client }), together))
            }
        }
    }

    /// Runs a batch.
    pub fn run(&mut self, batch: &CallBatch) -> Result<(), Error> {
        batch.0.iter().try_for_each(|calls| match calls {
            ProcedureCalls::NewOrder(calls) => self.run_each(calls),
            ProcedureCalls::Payment(calls) => self.run_each(calls),
            ProcedureCalls::Micro(calls) => self.run_each(calls),
        })
    }

    fn run_each<P: Procedure + Clone>(&mut self, calls: &[P]) -> Result<(), Error> {
        match self {
            Self::Token(db) => calls.iter().try_for_each(|call| db.call_with(call, look)),
            Self::Machines(client, 1) => calls.iter().try_for_each(|call| client.call_with(call.clone(), look)),
            Self::Machines(client, together) => calls.chunks(*together).try_for_each(|calls| {
                let mut tickets = Vec::with_capacity(BATCH);
                for call in calls {
                    tickets.push(client.submit_with(call.clone(), look::<P::Output>)?);
                }
                tickets.into_iter().try_for_each(|ticket| client.wait(ticket))
            }),
        }
    }
}

/// Keeps the compiler from omitting an output.
fn look<O>(output: &O) {
    black_box(output);
}

fn pairs() -> impl Iterator<Item = Pair> {
    (0..CLIENTS as u16 * KEYS as u16).map(|id| Pair { home: 0, id, value: 0 })
}

fn shard(catalog: &Catalog, benchmark: Benchmark, scale: &Scale) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, 0, 1, TABLE_BYTES)?;
    match benchmark {
        Benchmark::Tpcc => tpcc::fill(scale, tpcc::LOAD_SEED, &mut shard)?,
        Benchmark::Micro => pairs().try_for_each(|pair| shard.load(&pair))?,
    }
    Ok(shard)
}
