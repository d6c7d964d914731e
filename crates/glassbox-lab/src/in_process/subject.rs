//! One way, loaded, and given calls.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use glassbox::procedure::Procedure;
use glassbox::shard::Shard;
use glassbox::{Catalog, Config, Database, Error};
use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::{Client, Inline, Shape};
use glassbox_sim::cluster::{Load, Micro};
use glassbox_workloads::micro::{self, KEYS, Pair, ReadWrite};
use glassbox_workloads::tpcc::{self, Input, Inputs, Scale};

use super::systems::{System, Workload};
use crate::limits::measure::{LOAD_SEED, settings};

/// Address space is short under valgrind.
const TABLE_BYTES: usize = 256 << 20;
/// Of the microbenchmark, whose clients have rows of their own.
const CLIENTS: u32 = 40;

/// Calls, in the order in which every system gets them: so many of one procedure that they can be handed over together,
/// then so many of another.
pub(super) struct Batch(Vec<Calls>);

enum Calls {
    NewOrder(Vec<tpcc::NewOrder>),
    Payment(Vec<tpcc::Payment>),
    Micro(Vec<ReadWrite>),
}

/// Calls of one procedure that follow each other: the most that any system hands over together.
const TOGETHER: usize = 16;

impl Batch {
    /// The first so many calls of a workload, rounded up to whole batches.
    pub fn draw(workload: Workload, scale: &Scale, count: usize, seed: u64) -> Self {
        let mut batch = Vec::new();
        match workload {
            Workload::Tpcc => {
                let (mut inputs, mut orders, mut payments) = (Inputs::new(&settings(scale, seed), 0), vec![], vec![]);
                while batch.len() * TOGETHER < count {
                    match inputs.next() {
                        Input::NewOrder(order) => orders.push(order),
                        Input::Payment(payment) => payments.push(payment),
                        _ => {}
                    }
                    if orders.len() == TOGETHER {
                        batch.push(Calls::NewOrder(std::mem::take(&mut orders)));
                    }
                    if payments.len() == TOGETHER {
                        batch.push(Calls::Payment(std::mem::take(&mut payments)));
                    }
                }
            }
            Workload::Micro => {
                let mut clients: Vec<_> =
                    (0..CLIENTS).map(|client| Micro::new(client, 1, Load::default(), seed)).collect();
                let mut at = 0;
                let mut next = || {
                    at = (at + 1) % clients.len();
                    clients[at].draw()
                };
                while batch.len() * TOGETHER < count {
                    batch.push(Calls::Micro((0..TOGETHER).map(|_| next()).collect()));
                }
            }
        }
        Self(batch)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len() * TOGETHER
    }
}

/// A way that was made and loaded.
pub(super) enum Subject {
    Token(Box<Database>),
    Machines(Box<Client<Inline>>, usize),
}

impl Subject {
    pub fn load(system: System, workload: Workload, scale: &Scale) -> anyhow::Result<Self> {
        let catalog = match workload {
            Workload::Tpcc => tpcc::catalog(),
            Workload::Micro => micro::catalog(),
        };
        match system {
            System::Token => {
                let config = Config { partitions: 1, table_bytes: TABLE_BYTES, ..Config::default() };
                let db = Database::in_memory(config, catalog)?;
                let load = db.bulk_load()?;
                match workload {
                    Workload::Tpcc => tpcc::load(scale, LOAD_SEED, 1, || &load, |_| ())?,
                    Workload::Micro => pairs().try_for_each(|pair| load.insert(&pair))?,
                }
                load.finish()?;
                Ok(Self::Token(Box::new(db)))
            }
            System::Machines(together) | System::Messages(together) => {
                let scheme = SchemeKind::Speculation;
                let shape = Shape { scheme, partitions: 1, replicas: 1, coordinators: 1, round_trip: Duration::ZERO };
                let catalog = Arc::new(catalog);
                let shard = |_| shard(&catalog, workload, scale);
                let client = Inline::start(shape, Arc::clone(&catalog), shard)?;
                let by_messages = matches!(system, System::Messages(_));
                Ok(Self::Machines(Box::new(if by_messages { client.by_messages() } else { client }), together))
            }
        }
    }

    /// Runs a batch.
    pub fn run(&mut self, batch: &Batch) -> Result<(), Error> {
        batch.0.iter().try_for_each(|calls| match calls {
            Calls::NewOrder(calls) => self.run_each(calls),
            Calls::Payment(calls) => self.run_each(calls),
            Calls::Micro(calls) => self.run_each(calls),
        })
    }

    fn run_each<P: Procedure + Clone>(&mut self, calls: &[P]) -> Result<(), Error> {
        match self {
            Self::Token(db) => calls.iter().try_for_each(|call| db.call_with(call, look)),
            Self::Machines(client, 1) => calls.iter().try_for_each(|call| client.call_with(call.clone(), look)),
            Self::Machines(client, together) => calls.chunks(*together).try_for_each(|calls| {
                let mut tickets = Vec::with_capacity(TOGETHER);
                for call in calls {
                    tickets.push(client.submit_with(call.clone(), look::<P::Output>)?);
                }
                tickets.into_iter().try_for_each(|ticket| client.wait(ticket))
            }),
        }
    }
}

/// What a caller does with an answer is nobody's cost.
fn look<O>(output: &O) {
    black_box(output);
}

fn pairs() -> impl Iterator<Item = Pair> {
    (0..CLIENTS as u16 * KEYS as u16).map(|id| Pair { home: 0, id, value: 0 })
}

fn shard(catalog: &Catalog, workload: Workload, scale: &Scale) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, 0, 1, TABLE_BYTES)?;
    match workload {
        Workload::Tpcc => tpcc::fill(scale, LOAD_SEED, &mut shard)?,
        Workload::Micro => pairs().try_for_each(|pair| shard.load(&pair))?,
    }
    Ok(shard)
}
