//! Throughput: all systems execute the same inputs, round after round, in an order that changes.
//!
//! One thing is not alike: a kernel's memory for all rounds is given by the system beforehand, so that its limit is a
//! limit; the engine's is given as its tables grow, in huge pages where the system has them, from what the system has
//! [at hand](quiet).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use glassbox_workloads::tpcc::conditions::check_all;
use glassbox_workloads::tpcc::population::POPULATED_AT;
use glassbox_workloads::tpcc::random::Random;
use glassbox_workloads::tpcc::{self, Inputs, Mix, Remote, Scale, Settings};

use super::checks;
use super::engine::{self, Engine};
use super::kernel::{self, Checksum};
use super::kernels::{self, AnyKernel};
use super::quiet;
use super::systems::System;
use crate::Watch;
use crate::cores::quietest_first;

/// What is measured, and how long.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<System>,
    /// Transactions of a round.
    pub transactions: usize,
    /// Rounds that count; one more, before them, warms up.
    pub rounds: usize,
    /// Most time that a system gets in a round. What it has not executed by then it executes untimed.
    pub most: Duration,
    /// Below which directories are made for databases that keep something.
    pub dir: PathBuf,
    /// Of the inputs.
    pub seed: u64,
}

/// One system in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// Transactions executed in time.
    pub transactions: usize,
    /// How long they took.
    pub seconds: f64,
    /// Bytes of log they wrote.
    pub log_bytes: u64,
    /// Forces of the log for them.
    pub forces: u64,
    /// How long the thread was ready and had no core, because the machine had something else to do; 0 where the system
    /// does not tell.
    pub waited_seconds: f64,
}

impl Run {
    /// Transactions per second.
    pub fn rate(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
}

/// A system measured and checked.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Which.
    pub system: System,
    /// Its rounds, in the same order for all systems.
    pub runs: Vec<Run>,
    /// Sums over its data after the last round.
    pub checksum: Checksum,
    /// What is wrong with its data: TPC-C's conditions that do not hold, indexes that do not agree.
    pub wrong: Vec<String>,
}

/// Rows that a loaded system takes in memory, about, with its indexes: for each warehouse; and what a transaction adds.
const WAREHOUSE_BYTES: u64 = 90 << 20;
const TRANSACTION_BYTES: u64 = 700;

/// About how much memory a plan takes.
pub fn memory_bytes(plan: &Plan) -> u64 {
    let data = u64::from(plan.scale.warehouses) * WAREHOUSE_BYTES * u64::from(plan.scale.items) / 100_000;
    let added = (plan.transactions * (plan.rounds + 1)) as u64 * TRANSACTION_BYTES;
    plan.systems.len() as u64 * (data + added)
}

/// Measures. The calling thread stays where it is: a thread of its own is pinned to a quiet core, and the logs'
/// threads to the least quiet if there is another.
///
/// # Errors
/// When there is not enough memory, or an engine fails. Wrong results are no error but told in [`Measured::wrong`].
///
/// # Panics
/// When the measuring thread does.
pub fn measure(plan: &Plan, watch: &(dyn Watch + Sync)) -> anyhow::Result<Vec<Measured>> {
    std::thread::scope(|scope| scope.spawn(|| Bench::new(plan, watch)?.measure()).join().expect("it does not panic"))
}

enum Subject {
    Kernel(Box<dyn AnyKernel>),
    Engine(Box<Engine>),
}

/// One round's inputs, for either kind of system.
struct Round {
    shared: Vec<tpcc::Input>,
    kernel: Vec<kernel::Input>,
}

struct Bench<'a> {
    plan: &'a Plan,
    watch: &'a dyn Watch,
    subjects: Vec<(System, Subject, Vec<Run>)>,
    step: usize,
}

impl<'a> Bench<'a> {
    fn new(plan: &'a Plan, watch: &'a dyn Watch) -> anyhow::Result<Self> {
        let mut bench = Self { plan, watch, subjects: Vec::new(), step: 0 };
        let cores = quietest_first();
        let log_core = cores.last().filter(|_| cores.len() > 1).copied();
        for &system in &plan.systems {
            ensure!(!watch.interrupted(), "interrupted while loading");
            bench.step(&format!("loading {system}"));
            let most = plan.transactions * (plan.rounds + 1);
            let subject = match system {
                System::Kernel { hash, prefetch } => {
                    Subject::Kernel(kernels::load(hash, prefetch, &plan.scale, LOAD_SEED, most)?)
                }
                _ => {
                    let table_bytes = glassbox::Config::default().table_bytes;
                    let engine = Engine::load(system, &plan.scale, LOAD_SEED, &plan.dir, table_bytes, log_core);
                    Subject::Engine(Box::new(engine.with_context(|| format!("cannot load {system}"))?))
                }
            };
            bench.subjects.push((system, subject, Vec::new()));
        }
        // Loading had all cores; from here on this thread has one.
        cores.first().copied().map(core_affinity::set_for_current);
        Ok(bench)
    }

    fn step(&mut self, what: &str) {
        // Loads, rounds with the one that warms up, checks.
        let steps = self.plan.systems.len() * (self.plan.rounds + 3);
        self.watch.step(self.step, steps, what);
        self.step += 1;
    }

    fn measure(mut self) -> anyhow::Result<Vec<Measured>> {
        let mut inputs = Inputs::new(&settings(&self.plan.scale, self.plan.seed), 0);
        let mut order: Vec<usize> = (0..self.subjects.len()).collect();
        let mut random = Random::new(self.plan.seed);
        for round in 0..=self.plan.rounds {
            // A round that counts is needed; and a round is ended, or the data would differ.
            if round > 1 && self.watch.interrupted() {
                break;
            }
            let shared: Vec<_> = (0..self.plan.transactions).map(|_| inputs.next()).collect();
            let round_inputs = Round { kernel: for_kernel(&shared), shared };
            random.shuffle(&mut order);
            for &at in &order {
                let name = if round == 0 { "warming up".to_owned() } else { format!("round {round}") };
                self.step(&format!("{name}: {}", self.subjects[at].0));
                let (_, subject, runs) = &mut self.subjects[at];
                quiet::rest();
                if let Subject::Engine(_) = subject {
                    quiet::memory_at_hand(self.plan.transactions, TRANSACTION_BYTES);
                }
                let run = subject.run(&round_inputs, self.plan.most)?;
                if round > 0 {
                    runs.push(run);
                }
            }
        }
        self.check()
    }

    fn check(mut self) -> anyhow::Result<Vec<Measured>> {
        let mut measured = Vec::new();
        for (system, subject, runs) in std::mem::take(&mut self.subjects) {
            self.step(&format!("checking {system}"));
            let (checksum, wrong) = subject.check(&self.plan.scale)?;
            measured.push(Measured { system, runs, checksum, wrong });
        }
        Ok(measured)
    }
}

/// The seed of every load.
pub(crate) const LOAD_SEED: u64 = 0;

/// The *Looking Glass* mix, all of it within the home warehouse.
pub(crate) fn settings(scale: &Scale, seed: u64) -> Settings {
    let (mix, remote) = (Mix::LookingGlass, Remote::NONE);
    Settings { mix, remote, load_seed: LOAD_SEED, seed, ..Settings::new(*scale) }
}

/// The same inputs for a kernel, whose caller also says the time.
pub(crate) fn for_kernel(inputs: &[tpcc::Input]) -> Vec<kernel::Input> {
    let translated = inputs.iter().map(|input| kernel::Input::from_shared(input, POPULATED_AT));
    translated.collect::<Option<_>>().expect("the mix has nothing that the kernel does not know")
}

impl Subject {
    fn run(&mut self, round: &Round, most: Duration) -> anyhow::Result<Run> {
        match self {
            Self::Kernel(kernel) => {
                let (started, waited) = (Instant::now(), engine::waited_seconds());
                kernel.run(&round.kernel);
                let seconds = started.elapsed().as_secs_f64();
                let waited_seconds = engine::waited_seconds() - waited;
                Ok(Run { transactions: round.kernel.len(), seconds, log_bytes: 0, forces: 0, waited_seconds })
            }
            Self::Engine(engine) => {
                let before = engine.db().counts();
                let did = engine.run(&round.shared, most)?;
                // What is written behind belongs to this run, not to the time of the next system.
                engine.db().flush()?;
                let after = engine.db().counts();
                engine.catch_up(&round.shared[did.transactions..])?;
                engine.db().flush()?;
                let (log_bytes, forces) = (after.log_bytes - before.log_bytes, after.log_forces - before.log_forces);
                let (transactions, seconds) = (did.transactions, did.seconds);
                Ok(Run { transactions, seconds, log_bytes, forces, waited_seconds: did.waited_seconds })
            }
        }
    }

    fn check(&self, scale: &Scale) -> anyhow::Result<(Checksum, Vec<String>)> {
        match self {
            Self::Kernel(kernel) => {
                Ok((kernel.checksum(), kernel.check().err().iter().map(ToString::to_string).collect()))
            }
            Self::Engine(engine) => {
                let db = engine.db();
                let (checksum, reports) =
                    db.transaction(|tx| Ok((checks::checksum(tx, scale)?, check_all(tx, scale)?)))?;
                let violated = reports.iter().filter(|report| !report.holds()).map(ToString::to_string);
                Ok((checksum, violated.chain(db.verify()).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Watch for Silent {
        fn step(&self, done: usize, of: usize, _: &str) {
            assert!(done < of);
        }

        fn interrupted(&self) -> bool {
            false
        }
    }

    #[test]
    fn all_systems_do_the_same_work_even_without_time() {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan {
            scale: Scale::small(2),
            systems: System::all(),
            transactions: 600,
            rounds: 2,
            // Each gets one look at the clock: 256 transactions.
            most: Duration::ZERO,
            dir: dir.path().to_owned(),
            seed: 1,
        };
        let measured = measure(&plan, &Silent).unwrap();
        assert_eq!(measured.len(), plan.systems.len());
        for of in &measured {
            assert_eq!((&of.wrong, of.runs.len()), (&vec![], 2), "{}", of.system);
            assert_eq!(of.checksum, measured[0].checksum, "{}", of.system);
            let transactions = if of.system.is_kernel() { 600 } else { 256 };
            assert!(of.runs.iter().all(|run| run.transactions == transactions), "{}", of.system);
            assert!(of.runs.iter().all(|run| (run.log_bytes > 0) == of.system.log().is_some()), "{of:?}");
        }
        // 600 a round, half of them New-Orders, one round more to warm up.
        assert_eq!(measured[0].checksum.order_rows, 2 * 10 * 30 + 900);
        let forces = |at: usize| measured[at].runs[0].forces;
        assert_eq!((measured[6].system.to_string().as_str(), forces(6)), ("commands-sync-1", 256));
        assert!(forces(9) < 256, "256 transactions in flight share no force");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the databases are removed");
    }
}
