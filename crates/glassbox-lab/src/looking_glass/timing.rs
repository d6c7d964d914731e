//! Throughput: all systems run the same inputs, round after round, in an order that changes.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use glassbox_workloads::tpcc::Scale;
use glassbox_workloads::tpcc::random::Random;

use super::ladder::THROUGHPUT;
use super::subject::{LoadedStack, pool_bytes};
use super::systems::LadderSystem;
use crate::machine::quietest_first;
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};
use crate::workload::{InputBatch, Workload, WorkloadInputs};

/// The systems that are measured, and the length of the measurement.
#[derive(Debug, Clone)]
pub struct LadderPlan {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<LadderSystem>,
    /// Transactions of each system and workload, in all measured rounds together.
    pub transactions: usize,
    /// Rounds that are measured; one more, before them, warms up.
    pub rounds: usize,
    /// Maximum time of a system for a workload in a round.
    pub max_time: Duration,
    /// The parent directory of the databases that write a log.
    pub dir: PathBuf,
    /// Seed of the inputs.
    pub seed: u64,
}

impl LadderPlan {
    fn of_round(&self) -> usize {
        (self.transactions / self.rounds).max(1)
    }

    fn total(&self) -> usize {
        self.of_round() * (self.rounds + 1) * Workload::ALL.len()
    }
}

/// The approximate memory of a plan.
pub fn memory_bytes(plan: &LadderPlan) -> u64 {
    (plan.systems.len() * pool_bytes(&plan.scale, plan.total())) as u64
}

/// A system, its rates by workload, and whether it ran all transactions.
struct TimedStack {
    system: LadderSystem,
    subject: LoadedStack,
    rates: [Vec<f64>; 3],
    complete: bool,
}

/// Measures, in a thread of its own that is pinned to a quiet core, and adds the results to `points`. Returns the
/// violations in the data afterwards.
///
/// # Errors
/// When there is not enough memory, or an engine fails.
///
/// # Panics
/// When the measuring thread does.
pub fn measure(plan: &LadderPlan, watch: &(dyn Progress + Sync), points: &mut Points) -> anyhow::Result<Vec<String>> {
    std::thread::scope(|scope| scope.spawn(|| rounds(plan, watch, points)).join().expect("it does not panic"))
}

fn rounds(plan: &LadderPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<Vec<String>> {
    let steps = plan.systems.len() * (2 + (plan.rounds + 1) * Workload::ALL.len());
    let mut step = 0;
    let mut report = |what: &str| {
        watch.step(step, steps, what);
        step += 1;
    };
    let mut all = Vec::new();
    for &system in &plan.systems {
        ensure!(!watch.interrupted(), "interrupted while loading");
        report(&format!("loading {system}"));
        let subject = LoadedStack::load(system, &plan.scale, plan.total(), &plan.dir);
        let subject = subject.with_context(|| format!("cannot load {system}"))?;
        all.push(TimedStack { system, subject, rates: [const { Vec::new() }; 3], complete: true });
    }
    // Only now, so that the threads of logs and pools, which inherit the cores, may run elsewhere.
    quietest_first().first().copied().map(core_affinity::set_for_current);
    let mut work = WorkloadInputs::new(&plan.scale, plan.seed);
    let (mut order, mut random) = ((0..all.len()).collect::<Vec<_>>(), Random::new(plan.seed));
    for round in 0..=plan.rounds {
        for (workload, at_rates) in Workload::ALL.into_iter().zip(0..) {
            // At least one measured round is needed; and a round is completed, or the data would differ.
            if round > 1 && at_rates == 0 && watch.interrupted() {
                return finish(all, points, &mut report);
            }
            let batch = InputBatch::new(work.draw(workload, plan.of_round()));
            random.shuffle(&mut order);
            for &at in &order {
                let of = &mut all[at];
                report(&format!("round {round} of {}: {}, {}", plan.rounds, workload.name(), of.system));
                let (done, seconds) = of.subject.run(&batch, plan.max_time)?;
                of.complete &= done == batch.len();
                if round > 0 {
                    let rates: &mut Vec<f64> = &mut of.rates[at_rates];
                    rates.push(done as f64 / seconds);
                }
            }
        }
    }
    finish(all, points, &mut report)
}

/// Adds the medians, and compares the data.
fn finish(all: Vec<TimedStack>, points: &mut Points, report: &mut dyn FnMut(&str)) -> anyhow::Result<Vec<String>> {
    let (mut wrong, mut expected) = (Vec::new(), None);
    for (at, of) in all.into_iter().enumerate() {
        let name = of.system.to_string();
        for (workload, rates) in Workload::ALL.into_iter().zip(&of.rates) {
            put(points, &name, at as f64, workload, Spread::of(rates.iter().copied()));
        }
        report(&format!("checking {name}"));
        let (digest, problems) = of.subject.check()?;
        let found = problems.len();
        wrong.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
        points.put("checks", &name, at as f64, "violations", found as f64, "violations");
        let Some(digest) = digest.filter(|_| of.complete) else { continue };
        let (first, same) = expected.get_or_insert_with(|| (name.clone(), digest));
        let agrees = *same == digest;
        points.put("checks", &name, at as f64, "agrees", f64::from(u8::from(agrees)), "yes or no");
        if !agrees {
            wrong.push(format!("{name}: its rows differ from those of {first}"));
        }
    }
    Ok(wrong)
}

fn put(points: &mut Points, row: &str, x: f64, workload: Workload, rate: Spread) {
    let unit = "transactions/s";
    let (figure, row, metric) = (THROUGHPUT.to_owned(), row.to_owned(), workload.name().to_owned());
    let spread = rate.middle_half();
    points.0.push(Point { figure, row: row.clone(), x, metric, value: rate.median, spread, unit: unit.to_owned() });
    points.put(THROUGHPUT, &row, x, &format!("{} least", workload.name()), rate.min, unit);
    points.put(THROUGHPUT, &row, x, &format!("{} most", workload.name()), rate.max, unit);
}
