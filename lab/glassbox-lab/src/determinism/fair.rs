//! The goals: deterministic execution against the best nondeterministic variant, and its own weaknesses.
//!
//! The paper's twin waits and detects. Wait-die, no-wait and a sorted acquisition (node by node) need no waits-for
//! graph, so they are the fairer bar. The bounds are this project's goals; a goal that is not met is reported as
//! such.

use glassbox_cluster::SchedulerKind;
use glassbox_sim::determinism::{DeterministicSettings, SystemKind, WorkloadShape};

use super::jobs::{EvaluationJob, THROUGHPUT, rate, ratio, value};
use super::plan::{EvaluationPlan, HIGH, LOW, share};
use super::plot::Plot;
use super::systems::{HASH, NO_WAIT, SORTED, TWIN, VLL, WAIT_DIE, named};
use super::{figure1, figure4, figure5, figure8};
use crate::claim::{Claim, goal};
use crate::points::Points;
use crate::section::Figure;

const SHORT: &str = "Variants, short";
const LONG: &str = "Variants, long, 4 participants";
const OWN: &str = "Own part";
const OWN_PART: &str = "deterministic, own part";
const SYSTEMS: [&str; 6] = [HASH, VLL, TWIN, WAIT_DIE, NO_WAIT, SORTED];
const SHARES: [u32; 3] = [0, 20, 50];

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for system in SYSTEMS {
        for percent in SHARES {
            let shape = WorkloadShape::short(HIGH).with_distributed(share(percent), 2);
            jobs.push(EvaluationJob::new(SHORT, system, f64::from(percent), plan.settings(named(system), shape)));
            let shape = WorkloadShape::long(HIGH).with_distributed(share(percent), 4);
            jobs.push(EvaluationJob::new(LONG, system, f64::from(percent), plan.settings(named(system), shape)));
        }
    }
    let own = DeterministicSettings { own_part: true, ..DeterministicSettings::new(SchedulerKind::OrderedLocks) };
    for participants in [2, 4] {
        let shape = WorkloadShape::long(LOW).with_distributed(0.5, participants);
        let system = SystemKind::Deterministic(own.clone());
        jobs.push(EvaluationJob::new(OWN, OWN_PART, participants as f64, plan.settings(system, shape)));
    }
    jobs
}

pub(super) fn plots() -> [Plot; 2] {
    let plot = |figure, title| Plot {
        figure,
        title,
        caption: "Contention index 0.01. The paper's twin, and variants without a waits-for graph.",
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit: "% of transactions on several nodes",
        x_names: &[],
    };
    [plot(SHORT, "two participants"), plot(LONG, "contention index 0.01")]
}

pub(super) fn figures(points: &Points) -> Vec<Figure> {
    plots().iter().filter_map(|plot| plot.draw(points)).collect()
}

/// The best deterministic variant over some others.
fn over(points: &Points, figure: &str, others: &[&str], percent: f64) -> Option<f64> {
    let best = |of: &[&str]| of.iter().filter_map(|row| rate(points, figure, row, percent)).reduce(f64::max);
    Some(best(&[HASH, VLL])? / best(others)?)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    [variants(points), weaknesses(points), figure8::goals(points)].concat()
}

/// DT-1: against the paper's twin, and against the best of all variants.
fn variants(points: &Points) -> Vec<Option<Claim>> {
    let all = [TWIN, WAIT_DIE, NO_WAIT, SORTED];
    let twin = |figure, percent| over(points, figure, &[TWIN], percent);
    let best = |figure, percent| over(points, figure, &all, percent);
    let double = |name, over| goal((DT_1, name), "2", over, (2.0, f64::INFINITY), "times");
    let more = |name, over| goal((DT_1, name), "1.5", over, (1.5, f64::INFINITY), "times");
    vec![
        double("short, 20 % distributed, over the twin", twin(SHORT, 20.0)),
        double("short, 50 % distributed, over the twin", twin(SHORT, 50.0)),
        more("short, 20 % distributed, over the best variant", best(SHORT, 20.0)),
        more("short, 50 % distributed, over the best variant", best(SHORT, 50.0)),
        double("long, 4 participants, 50 %, over the twin", twin(LONG, 50.0)),
        more("long, 4 participants, 50 %, over the best variant", best(LONG, 50.0)),
    ]
}

/// DT-2, DT-5, DT-8: what the paper calls disadvantages.
fn weaknesses(points: &Points) -> Vec<Option<Claim>> {
    let run = |row, metric| value(points, figure5::RUNS, row, 0.0, metric);
    let own = || Some(rate(points, OWN, OWN_PART, 4.0)? / rate(points, OWN, OWN_PART, 2.0)?);
    let others = run(figure5::BEFORE_LOG, figure5::OTHERS_KEPT);
    let same = || Some(others? / run(figure5::THROTTLED, figure5::OTHERS_KEPT)?);
    let recovery = run(figure5::BEFORE_LOG, figure5::RECOVERY_MS);
    let long = ratio(points, figure1::LONG, (&figure1::row(VLL, HIGH), &figure1::row(TWIN, HIGH)), 0.0);
    let tpcc = ratio(points, figure4::FIGURE, (VLL, TWIN), 0.0);
    let at_least = |name, asked, here, least: f64| goal(name, asked, here, (least, f64::INFINITY), "times");
    vec![
        at_least(("DT-2", "long, 0 % distributed, over the twin"), "1", long, 1.0),
        at_least(("DT-2", "TPC-C, 0 % distributed, over the twin"), "1", tpcc, 1.0),
        at_least(("DT-5", "other nodes, admission before the log"), "0.95", others, 0.95),
        at_least(("DT-5", "the same over the throttled twin"), "0.98", same(), 0.98),
        goal(("DT-5", "time until the other nodes are as before"), "250 ms", recovery, (0.0, 250.0), "ms"),
        at_least(("DT-8", "2 to 4 participants, each its own part"), "0.65", own(), 0.65),
    ]
}

const DT_1: &str = "DT-1";
