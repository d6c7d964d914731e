//! Throughput: all systems run the same inputs, round after round, in an order that changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use glassbox_workloads::tpcc::Scale;
use glassbox_workloads::tpcc::random::Random;

use super::ladder::{CYCLES, KERNEL, THROUGHPUT, TIMED_LEFT_OUT};
use super::subject::{LoadedStack, pool_bytes};
use super::systems::LadderSystem;
use crate::machine::quietest_first;
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};
use crate::workload::{InputBatch, Workload, WorkloadInputs};

/// The figure of the checks of a plan's stacks; and of those beside the ladder.
const CHECKED: &str = "checks";
const CHECKED_LEFT_OUT: &str = "checks, one left out";

/// The systems that are measured, and the length of the measurement.
#[derive(Debug, Clone)]
pub struct LadderPlan {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once; all are in memory at the same time.
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

/// Cycles of the thread that made it, in user mode, by the processor's counter. Virtual machines seldom have one.
struct CycleCounter {
    #[cfg(target_os = "linux")]
    counter: perf_event::Counter,
}

impl CycleCounter {
    /// A counter that counts from now on; none if the machine has none, or it may not be read.
    #[cfg(target_os = "linux")]
    fn new() -> Option<Self> {
        let counter = perf_event::Builder::new(perf_event::events::Hardware::CPU_CYCLES).build().ok()?;
        let mut counter = Self { counter };
        counter.counter.enable().ok()?;
        // Some machines open a counter that does not count.
        std::hint::black_box((0..10_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number)));
        (counter.read()? > 0).then_some(counter)
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Option<Self> {
        None
    }

    /// The cycles so far.
    fn read(&mut self) -> Option<u64> {
        #[cfg(target_os = "linux")]
        return self.counter.read().ok();
        #[cfg(not(target_os = "linux"))]
        None
    }
}

/// A system, its rates by workload, and whether it ran all transactions.
struct TimedStack {
    system: LadderSystem,
    subject: LoadedStack,
    rates: [Vec<f64>; 3],
    /// Cycles of a transaction, where they can be counted.
    cycles: [Vec<f64>; 3],
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

/// As [`measure`], of stacks that are not on the ladder; some that are on it are measured again, in the same rounds.
///
/// # Errors
/// As there.
///
/// # Panics
/// As there.
pub fn measure_left_out(
    plan: &LadderPlan,
    watch: &(dyn Progress + Sync),
    points: &mut Points,
) -> anyhow::Result<Vec<String>> {
    let mut measured = Points::default();
    let wrong = measure(plan, watch, &mut measured)?;
    for mut point in measured.0 {
        point.figure = match &*point.figure {
            THROUGHPUT => TIMED_LEFT_OUT.to_owned(),
            CHECKED => CHECKED_LEFT_OUT.to_owned(),
            other => format!("{other}, one left out"),
        };
        points.0.push(point);
    }
    Ok(wrong)
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
        let [rates, cycles] = [const { [const { Vec::new() }; 3] }; 2];
        all.push(TimedStack { system, subject, rates, cycles, complete: true });
    }
    // Only now, so that the threads of logs and pools, which inherit the cores, may run elsewhere.
    quietest_first().first().copied().map(core_affinity::set_for_current);
    let mut counter = CycleCounter::new();
    let mut count = || counter.as_mut().and_then(CycleCounter::read);
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
                let before = count();
                let (done, seconds) = of.subject.run(&batch, plan.max_time)?;
                let cycles = count().zip(before).map(|(after, before)| after - before);
                of.complete &= done == batch.len();
                if round > 0 {
                    let rates: &mut Vec<f64> = &mut of.rates[at_rates];
                    rates.push(done as f64 / seconds);
                    of.cycles[at_rates].extend(cycles.map(|cycles| cycles as f64 / done.max(1) as f64));
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
        for (workload, cycles) in Workload::ALL.into_iter().zip(&of.cycles).filter(|(_, cycles)| !cycles.is_empty()) {
            let median = Spread::of(cycles.iter().copied()).median;
            points.put(CYCLES, &name, at as f64, workload.name(), median, "cycles/transaction");
        }
        report(&format!("checking {name}"));
        let (digest, problems) = of.subject.check()?;
        let found = problems.len();
        wrong.extend(problems.into_iter().map(|problem| format!("{name}: {problem}")));
        points.put(CHECKED, &name, at as f64, "violations", found as f64, "violations");
        let Some(digest) = digest.filter(|_| of.complete) else { continue };
        let (first, same) = expected.get_or_insert_with(|| (name.clone(), digest));
        let agrees = *same == digest;
        points.put(CHECKED, &name, at as f64, "agrees", f64::from(u8::from(agrees)), "yes or no");
        if !agrees {
            wrong.push(format!("{name}: its rows differ from those of {first}"));
        }
    }
    Ok(wrong)
}

/// The stacks that were checked, and of these the ones that did not run all transactions; the kernel is no stack.
pub fn checked_stacks(points: &Points) -> (usize, Vec<&str>) {
    let of = |metric: &str| -> BTreeSet<&str> {
        let of = |point: &&Point| point.figure.starts_with(CHECKED) && point.metric == metric;
        points.0.iter().filter(of).map(|point| &*point.row).filter(|row| *row != KERNEL).collect()
    };
    let checked = of("violations");
    (checked.len(), checked.difference(&of("agrees")).copied().collect())
}

fn put(points: &mut Points, row: &str, x: f64, workload: Workload, rate: Spread) {
    let unit = "transactions/s";
    let (figure, row, metric) = (THROUGHPUT.to_owned(), row.to_owned(), workload.name().to_owned());
    let spread = rate.middle_half();
    points.0.push(Point { figure, row: row.clone(), x, metric, value: rate.median, spread, unit: unit.to_owned() });
    points.put(THROUGHPUT, &row, x, &format!("{} least", workload.name()), rate.min, unit);
    points.put(THROUGHPUT, &row, x, &format!("{} most", workload.name()), rate.max, unit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_a_counter_of_cycles_it_counts() {
        let Some(mut counter) = CycleCounter::new() else { return };
        let before = counter.read().unwrap();
        std::hint::black_box((0..1_000_000_u64).fold(0, |sum, number| std::hint::black_box(sum ^ number)));
        assert!(counter.read().unwrap() > before + 1_000_000 / 8);
    }
}
