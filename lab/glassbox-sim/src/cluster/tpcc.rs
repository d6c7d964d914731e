//! TPC-C's clients, as in *Low Overhead Concurrency Control*, section 5.5: a fixed number of clients for any number of
//! warehouses, each entering its transactions at one warehouse and in any district, without a pause.
//!
//! The procedures are the workload's own: New-Order reads everything that can make it abort before it writes; items and
//! the constant part of stock are replicated. Warehouses go to the partitions round-robin.

use glassbox::procedure::Procedure;
use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, Outbox, Router, SchemeKind};
use glassbox_workloads::tpcc::{self, Call, Home, Input, Inputs, Kind, Mix, Remote, Scale};

use super::costs::Costs;
use super::settings::Settings;
use super::workload::{Caller, Workload};

/// TPC-C, loaded at a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tpcc {
    /// Sizes of the database.
    pub scale: Scale,
    /// The transactions.
    pub mix: Mix,
    /// How often another warehouse is involved; it may be on the same partition.
    pub remote: Remote,
}

impl Settings<Tpcc> {
    /// The paper's setting: two partitions, 40 clients, its costs for TPC-C.
    pub fn of_the_paper_s_tpcc(scheme: SchemeKind, load: Tpcc, seed: u64) -> Self {
        Self { costs: Costs::of_the_paper_s_tpcc(), ..Self::of_the_paper(scheme, load, seed) }
    }
}

impl Workload for Tpcc {
    type Caller = Terminal;
    const TABLE_BYTES: usize = 1 << 30;

    fn catalog() -> Catalog {
        tpcc::distributed_catalog()
    }

    fn fill(settings: &Settings<Self>, shard: &mut Shard) {
        tpcc::fill(&settings.load.scale, tpcc::LOAD_SEED, shard).expect("an empty shard with room");
    }

    fn caller(settings: &Settings<Self>, number: u32) -> Terminal {
        let Self { scale, mix, remote } = settings.load;
        let w_id = (number % u32::from(scale.warehouses)) as u16 + 1;
        let home = Home::Between(w_id, w_id);
        let inputs = tpcc::Settings { scale, mix, remote, home, load_seed: tpcc::LOAD_SEED, seed: settings.seed };
        Terminal { inputs: Inputs::new(&inputs, u64::from(number)) }
    }
}

/// A client.
#[derive(Debug)]
pub struct Terminal {
    inputs: Inputs,
}

impl Caller for Terminal {
    type Call = Input;
    type Output = ();

    fn draw(&mut self) -> Input {
        self.inputs.next()
    }

    fn send(call: &Input, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64 {
        call.give(&mut Send { router, now_us, out })
    }

    fn output(call: &Input, answered: Answered) -> Result<(), Error> {
        call.give(&mut Read(Some(answered)))
    }
}

struct Send<'a> {
    router: &'a mut Router,
    now_us: u64,
    out: &'a mut Outbox,
}

impl Call for Send<'_> {
    type Answer = u64;

    fn call<P: Procedure + Copy>(&mut self, _: Kind, procedure: &P) -> u64 {
        // No procedure of TPC-C uses random numbers.
        self.router.call(*procedure, self.now_us, 0, self.out).expect("the catalog has it")
    }
}

struct Read(Option<Answered>);

impl Call for Read {
    type Answer = Result<(), Error>;

    fn call<P: Procedure + Copy>(&mut self, _: Kind, _: &P) -> Result<(), Error> {
        let answered = self.0.take().expect("an answer is read once");
        answered.output::<P>().map(drop)
    }
}
