//! Figure 6: dependent transactions, whose keys an index says.
//!
//! Paper: VLDB 2014, section 3.6; long transactions, low contention, a core less. Claims: the twin does not depend on
//! how often an index entry changes (volatility); the deterministic system's throughput falls with it, by restarts; the
//! cost does not depend on the share of distributed transactions; work before the reading of the index is done twice.
//!
//! An input is restarted with probability 1 − e^(−V Δ), for Δ from reconnaissance to locks: changes of an entry come at
//! random times from a core of their own. The published code changes the entries one after the other, as regularly as
//! clockwork, by which no input with Δ above 1/V would ever succeed.
//!
//! Production restarts an input three times; then it locks its tables whole. That is a row of its own at the higher
//! volatilities, and no claim: the paper has no such rule.

use glassbox_cluster::SchedulerKind;
use glassbox_sim::determinism::{DeterministicSettings, EvaluationSettings, RunReport, SystemKind, WorkloadShape};

use super::inputs::{COMPUTATION, DELAY, EPOCH, LOOKUP, RECORD, VOLATILE};
use super::jobs::{EvaluationJob, THROUGHPUT, rate, value};
use super::plan::{EvaluationPlan, LOW, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, named};
use crate::claim::{Claim, claim, own_check};
use crate::points::Points;
use crate::section::Figure;

const LOCAL: &str = "Figure 6a";
const DISTRIBUTED: &str = "Figure 6b";
pub(super) const BEFORE: &str = "Figure 6c";
/// Changes of each entry, per second.
const VOLATILITY: [f64; 5] = [0.0, 0.1, 1.0, 10.0, 100.0];
/// Parts of the work before the lookup, in percent.
const WORK_BEFORE: [u32; 5] = [0, 25, 50, 75, 100];
/// The cores that are left.
const CORES: usize = 4;

/// Restarts for each try.
const RESTARTS: &str = "restarts_per_try";
/// From reconnaissance to locks.
const EXPOSED_MS: &str = "exposed";

/// Volatilities at which production's rule matters.
const BOUNDED: [f64; 2] = [10.0, 100.0];
/// Production's restarts before tables are locked.
const MAX_RESTARTS: u32 = 3;

/// The name of the deterministic system with production's rule.
fn bounded_row(volatility: f64) -> String {
    format!("{}, ≤ {MAX_RESTARTS} restarts", row(HASH, volatility))
}

fn bounded() -> SystemKind {
    let paper = DeterministicSettings::new(SchedulerKind::OrderedLocks);
    SystemKind::Deterministic(DeterministicSettings { max_restarts: Some(MAX_RESTARTS), ..paper })
}

fn row(system: &str, volatility: f64) -> String {
    format!("{system}, volatility {volatility}")
}

fn put_restarts(job: &EvaluationJob, report: &RunReport, points: &mut Points) {
    if report.tries > 0 {
        let per_try = |count: u64| count as f64 / report.tries as f64;
        points.put(job.figure, &job.row, job.x, RESTARTS, per_try(report.restarts), "share");
        points.put(job.figure, &job.row, job.x, EXPOSED_MS, per_try(report.exposed_ns) / 1e6, "ms");
    }
}

fn job(
    plan: &EvaluationPlan,
    point: (&'static str, String, f64),
    system: SystemKind,
    shape: WorkloadShape,
) -> EvaluationJob {
    let settings = EvaluationSettings { cores: CORES, ..plan.settings(system, shape) };
    EvaluationJob { more: Some(put_restarts), ..EvaluationJob::new(point.0, point.1, point.2, settings) }
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for (figure, percent) in [(LOCAL, 0), (DISTRIBUTED, 100)] {
        for dependent in &plan.dependent {
            let shape = WorkloadShape {
                dependent: share(*dependent),
                ..WorkloadShape::long(LOW).with_distributed(share(percent), 2)
            };
            for volatility in VOLATILITY {
                let (shape, x) = (WorkloadShape { volatility, ..shape }, f64::from(*dependent));
                jobs.push(job(plan, (figure, row(HASH, volatility), x), named(HASH), shape));
                if BOUNDED.contains(&volatility) {
                    jobs.push(job(plan, (figure, bounded_row(volatility), x), bounded(), shape));
                }
            }
            jobs.push(job(plan, (figure, TWIN.to_owned(), f64::from(*dependent)), named(TWIN), shape));
        }
    }
    for percent in WORK_BEFORE {
        let shape = WorkloadShape { dependent: 1.0, before_lookup: share(percent), ..WorkloadShape::long(LOW) };
        jobs.push(job(plan, (BEFORE, HASH.to_owned(), f64::from(percent)), named(HASH), shape));
    }
    jobs
}

pub(super) fn plots() -> [Plot; 3] {
    let plot = |figure, title, x_unit| Plot {
        figure,
        title,
        caption: "Long transactions, contention index 0.0001, four cores for transactions.",
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit,
        x_names: &[],
    };
    let dependent = "% of dependent transactions";
    [
        plot(LOCAL, "Dependent transactions, none distributed", dependent),
        plot(DISTRIBUTED, "Dependent transactions, all distributed", dependent),
        plot(BEFORE, "Work before the reading of the index", "% of the work before"),
    ]
}

pub(super) fn figures(points: &Points) -> Vec<Figure> {
    plots().iter().filter_map(|plot| plot.draw(points)).collect()
}

/// Throughput with dependent transactions alone, of that with none.
fn kept(points: &Points, figure: &str, volatility: f64) -> Option<f64> {
    let row = row(HASH, volatility);
    Some(rate(points, figure, &row, 100.0)? / rate(points, figure, &row, 0.0)?)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let twin = || Some(rate(points, LOCAL, TWIN, 100.0)? / rate(points, LOCAL, TWIN, 0.0)?);
    let restarts = |volatility| value(points, LOCAL, &row(HASH, volatility), 100.0, RESTARTS);
    let formula = |volatility: f64| {
        let exposed = value(points, LOCAL, &row(HASH, volatility), 100.0, EXPOSED_MS)?;
        Some(restarts(volatility)? / (1.0 - (-volatility * exposed / 1e3).exp()))
    };
    let alike_at = |volatility| Some(kept(points, LOCAL, volatility)? / kept(points, DISTRIBUTED, volatility)?);
    let twice = |x| Some(rate(points, BEFORE, HASH, x)? / rate(points, BEFORE, HASH, 0.0)?);
    let restarted = |it: Claim| it.at("§3.6").by_construction(&[VOLATILE, EPOCH]);
    let alike = |name, kept| {
        claim((DISTRIBUTED, name), "independent", kept, (0.9, 1.1), "times")
            .map(|it| it.at("§3.6").resting_on(&[VOLATILE, DELAY]))
    };
    let of_work = |name, says, rate, bounds| {
        claim((BEFORE, name), says, rate, bounds, "times")
            .map(|it| it.at("§3.6").by_construction(&[COMPUTATION, RECORD]))
    };
    vec![
        claim(
            (LOCAL, "twin with dependent transactions alone, of that with none"),
            "slightly less",
            twin(),
            (0.85, 1.0),
            "times",
        )
        .map(|it| it.at("§3.6").by_construction(&[LOOKUP])),
        own_check(
            (LOCAL, "time from reconnaissance to locks"),
            value(points, LOCAL, &row(HASH, 10.0), 100.0, EXPOSED_MS),
            (5.0, 30.0),
            "ms",
        ),
        claim((LOCAL, "restarts per try at volatility 10"), "few", restarts(10.0), (0.05, 0.3), "share").map(restarted),
        claim(
            (LOCAL, "restarts per try at volatility 100"),
            "increasingly many",
            restarts(100.0),
            (0.5, 0.95),
            "share",
        )
        .map(restarted),
        own_check((LOCAL, "restarts over the formula, volatility 10"), formula(10.0), (0.9, 1.1), "times"),
        claim(
            (LOCAL, "deterministic, volatility 1, dependent alone of none"),
            "few restarts",
            kept(points, LOCAL, 1.0),
            (0.8, 1.0),
            "times",
        )
        .map(restarted),
        claim(
            (LOCAL, "deterministic, volatility 100, dependent alone of none"),
            "reduced",
            kept(points, LOCAL, 100.0),
            (0.05, 0.7),
            "times",
        )
        .map(restarted),
        alike("kept without distributed transactions over kept with, volatility 10", alike_at(10.0))
            .map(|it| it.not_reproduced((1.1, 1.6), ALIKE)),
        alike("kept without distributed transactions over kept with, volatility 100", alike_at(100.0))
            .map(|it| it.not_reproduced((1.1, 1.6), ALIKE)),
        of_work("half of the work before the lookup", "decreases", twice(50.0), (0.6, 0.73)),
        of_work("all work before the lookup", "halved", twice(100.0), (0.45, 0.55)),
    ]
}

const ALIKE: &str = "A restart of a local input costs a lookup, for the worker sees the change before it computes; \
                     that of a distributed one costs its remote reads too.";
