//! Throughput: all systems execute the same inputs, round after round, in an order that changes.
//!
//! One difference remains: the system allocates a kernel's memory for all rounds in advance, and an engine's as its
//! tables grow, in huge pages where the system has them, from [memory that is free](machine::provide_memory).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use glassbox_workloads::tpcc::random::Random;
use glassbox_workloads::tpcc::{self, Inputs, Scale, Settings};

use super::checks;
use super::engine::Engine;
use super::systems::System;
use crate::machine::{self, quietest_first};
use crate::measurement::Progress;
use crate::workload::InputBatch;
use glassbox_kernels::Checksum;
use glassbox_kernels::shared::{self, AnyKernel};

/// The systems that are measured, and the length of the measurement.
#[derive(Debug, Clone)]
pub struct ThroughputPlan {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<System>,
    /// Transactions of a round.
    pub transactions: usize,
    /// Rounds that are measured; one more, before them, warms up.
    pub rounds: usize,
    /// Maximum time of a system in a round. The remaining transactions are executed untimed.
    pub max_time: Duration,
    /// The parent directory of the databases that keep files.
    pub dir: PathBuf,
    /// Seed of the inputs.
    pub seed: u64,
}

/// One system in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Round {
    /// Transactions executed in time.
    pub transactions: usize,
    /// Their duration.
    pub seconds: f64,
    /// Log bytes that they wrote.
    pub log_bytes: u64,
    /// Forces of the log for them.
    pub forces: u64,
    /// How long the executing thread was ready without a core, because the machine was busy; 0 where the system does
    /// not report it.
    pub waited_seconds: f64,
}

impl Round {
    /// Transactions per second.
    pub fn rate(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
}

/// A system measured and checked.
#[derive(Debug, Clone)]
pub struct MeasuredSystem {
    /// The system.
    pub system: System,
    /// Its rounds, in the same order for all systems.
    pub runs: Vec<Round>,
    /// Sums over its data after the last round.
    pub checksum: Checksum,
    /// Violations in its data: TPC-C's conditions that do not hold, indexes that disagree with their tables.
    pub wrong: Vec<String>,
}

/// Approximate memory of a loaded system, with its indexes: of each warehouse, and added by each transaction.
const WAREHOUSE_BYTES: u64 = 90 << 20;
const TRANSACTION_BYTES: u64 = 700;

/// The approximate memory of a plan.
pub fn memory_bytes(plan: &ThroughputPlan) -> u64 {
    let data = u64::from(plan.scale.warehouses) * WAREHOUSE_BYTES * u64::from(plan.scale.items) / 100_000;
    let added = (plan.transactions * (plan.rounds + 1)) as u64 * TRANSACTION_BYTES;
    plan.systems.len() as u64 * (data + added)
}

/// Measures. The calling thread stays where it is: a thread of its own is pinned to a quiet core, and the logs'
/// threads to the least quiet if there is another.
///
/// # Errors
/// When there is not enough memory, or an engine fails. Violations are no error but in [`MeasuredSystem::wrong`].
///
/// # Panics
/// When the measuring thread does.
pub fn measure(plan: &ThroughputPlan, watch: &(dyn Progress + Sync)) -> anyhow::Result<Vec<MeasuredSystem>> {
    std::thread::scope(|scope| {
        scope.spawn(|| ThroughputBench::new(plan, watch)?.measure()).join().expect("it does not panic")
    })
}

enum LoadedSystem {
    Kernel(Box<dyn AnyKernel>),
    Engine(Box<Engine>),
}

struct ThroughputBench<'a> {
    plan: &'a ThroughputPlan,
    watch: &'a dyn Progress,
    subjects: Vec<(System, LoadedSystem, Vec<Round>)>,
    step: usize,
}

impl<'a> ThroughputBench<'a> {
    fn new(plan: &'a ThroughputPlan, watch: &'a dyn Progress) -> anyhow::Result<Self> {
        let mut bench = Self { plan, watch, subjects: Vec::new(), step: 0 };
        let cores = quietest_first();
        let log_core = cores.last().filter(|_| cores.len() > 1).copied();
        for &system in &plan.systems {
            ensure!(!watch.interrupted(), "interrupted while loading");
            bench.step(&format!("loading {system}"));
            let transactions = plan.transactions * (plan.rounds + 1);
            let subject = match system {
                System::Kernel { hash, prefetch } => {
                    LoadedSystem::Kernel(shared::load(hash, prefetch, &plan.scale, tpcc::LOAD_SEED, transactions)?)
                }
                _ => {
                    let table_bytes = glassbox::Config::default().table_bytes;
                    let engine = Engine::load(system, &plan.scale, tpcc::LOAD_SEED, &plan.dir, table_bytes, log_core);
                    LoadedSystem::Engine(Box::new(engine.with_context(|| format!("cannot load {system}"))?))
                }
            };
            bench.subjects.push((system, subject, Vec::new()));
        }
        // Loading used all cores; from here on this thread is pinned to one.
        cores.first().copied().map(core_affinity::set_for_current);
        Ok(bench)
    }

    fn step(&mut self, what: &str) {
        // Loads, rounds with the one that warms up, checks.
        let steps = self.plan.systems.len() * (self.plan.rounds + 3);
        self.watch.step(self.step, steps, what);
        self.step += 1;
    }

    fn measure(mut self) -> anyhow::Result<Vec<MeasuredSystem>> {
        let mut inputs = Inputs::new(&Settings::looking_glass(&self.plan.scale, self.plan.seed), 0);
        let mut order: Vec<usize> = (0..self.subjects.len()).collect();
        let mut random = Random::new(self.plan.seed);
        for round in 0..=self.plan.rounds {
            // At least one measured round is needed; and a round is completed, or the data would differ.
            if round > 1 && self.watch.interrupted() {
                break;
            }
            let batch = InputBatch::new((0..self.plan.transactions).map(|_| inputs.next()).collect());
            random.shuffle(&mut order);
            for &at in &order {
                let name = if round == 0 { "warming up".to_owned() } else { format!("round {round}") };
                self.step(&format!("{name}: {}", self.subjects[at].0));
                let (_, subject, runs) = &mut self.subjects[at];
                machine::rest();
                if let LoadedSystem::Engine(_) = subject {
                    machine::provide_memory(self.plan.transactions, TRANSACTION_BYTES);
                }
                let run = subject.run(&batch, self.plan.max_time)?;
                if round > 0 {
                    runs.push(run);
                }
            }
        }
        self.check()
    }

    fn check(mut self) -> anyhow::Result<Vec<MeasuredSystem>> {
        let mut measured = Vec::new();
        for (system, subject, runs) in std::mem::take(&mut self.subjects) {
            self.step(&format!("checking {system}"));
            let (checksum, wrong) = subject.check(&self.plan.scale)?;
            measured.push(MeasuredSystem { system, runs, checksum, wrong });
        }
        Ok(measured)
    }
}

impl LoadedSystem {
    fn run(&mut self, round: &InputBatch, max_time: Duration) -> anyhow::Result<Round> {
        match self {
            Self::Kernel(kernel) => {
                let (started, waited) = (Instant::now(), machine::waited_seconds());
                kernel.run(&round.kernel);
                let seconds = started.elapsed().as_secs_f64();
                let waited_seconds = machine::waited_seconds() - waited;
                Ok(Round { transactions: round.kernel.len(), seconds, log_bytes: 0, forces: 0, waited_seconds })
            }
            Self::Engine(engine) => {
                let before = engine.db().counts();
                let did = engine.run(&round.engine, max_time)?;
                // The log that is still unwritten belongs to this round, not to the time of the next system.
                engine.db().flush()?;
                let after = engine.db().counts();
                engine.catch_up(&round.engine[did.transactions..])?;
                engine.db().flush()?;
                let (log_bytes, forces) = (after.log_bytes - before.log_bytes, after.log_forces - before.log_forces);
                let (transactions, seconds) = (did.transactions, did.seconds);
                Ok(Round { transactions, seconds, log_bytes, forces, waited_seconds: did.waited_seconds })
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
                let checksum = db.transaction(|tx| checks::checksum(tx, scale))?;
                let reports = tpcc::check_database(db, scale)?;
                let violated = reports.iter().filter(|report| !report.holds()).map(ToString::to_string);
                Ok((checksum, violated.chain(db.verify()).collect()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Silent;

    #[test]
    fn all_systems_do_the_same_work_whatever_the_time() {
        let dir = tempfile::tempdir().unwrap();
        let plan = ThroughputPlan {
            scale: Scale::small(2),
            systems: System::all(),
            transactions: 600,
            rounds: 2,
            // Each runs one chunk: 256 transactions.
            max_time: Duration::ZERO,
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
