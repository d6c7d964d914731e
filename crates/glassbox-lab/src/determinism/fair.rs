//! The goals: deterministic execution against the best nondeterministic variant, and its own weaknesses.
//!
//! The paper's twin waits and detects. Wait-die, no-wait and a sorted acquisition (node by node) need no waits-for graph,
//! so they are the fairer bar. The bounds are this project's goals; a goal that is not met is reported as such.

use glassbox_cluster::SchedulerKind;
use glassbox_sim::determinism::{DeterministicSettings, SystemKind, WorkloadShape};

use super::jobs::{EvaluationJob, THROUGHPUT, rate, ratio, value};
use super::plan::{EvaluationPlan, HIGH, LOW, share};
use super::plot::Plot;
use super::systems::{HASH, NO_WAIT, SORTED, TWIN, VLL, WAIT_DIE, named};
use super::{figure1, figure4, figure5, figure8};
use crate::claim::{Claim, claim};
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
    let fair = [TWIN, WAIT_DIE, NO_WAIT, SORTED];
    let run = |row, metric| value(points, figure5::RUNS, row, 0.0, metric);
    let own = || Some(rate(points, OWN, OWN_PART, 4.0)? / rate(points, OWN, OWN_PART, 2.0)?);
    let same =
        || Some(run(figure5::BEFORE_LOG, figure5::OTHERS_KEPT)? / run(figure5::THROTTLED, figure5::OTHERS_KEPT)?);
    let equal = (1.0, 2.0);
    let long = ratio(points, figure1::LONG, (&figure1::row(VLL, HIGH), &figure1::row(TWIN, HIGH)), 0.0);
    let goals = vec![
        claim(
            ("DT-1", "short, 20 % distributed, over the paper's twin"),
            "wins",
            over(points, SHORT, &[TWIN], 20.0),
            (2.0, 10.0),
            "times",
        )
        .map(|it| it.because(TWENTY)),
        claim(
            ("DT-1", "short, 50 % distributed, over the paper's twin"),
            "wins",
            over(points, SHORT, &[TWIN], 50.0),
            (2.0, 10.0),
            "times",
        ),
        claim(
            ("DT-1", "short, 20 % distributed, over the best variant"),
            "not in the paper",
            over(points, SHORT, &fair, 20.0),
            (1.5, 10.0),
            "times",
        )
        .map(|it| it.because(TWENTY)),
        claim(
            ("DT-1", "short, 50 % distributed, over the best variant"),
            "not in the paper",
            over(points, SHORT, &fair, 50.0),
            (1.5, 10.0),
            "times",
        ),
        claim(
            ("DT-1", "long, 4 participants, 50 %, over the paper's twin"),
            "2.2 by batch sizes",
            over(points, LONG, &[TWIN], 50.0),
            (2.0, 10.0),
            "times",
        ),
        claim(
            ("DT-1", "long, 4 participants, 50 %, over the best variant"),
            "not in the paper",
            over(points, LONG, &fair, 50.0),
            (1.5, 10.0),
            "times",
        )
        .map(|it| it.because(SORTED_IS_BEST)),
        claim(("DT-2", "long, 0 % distributed, over the twin"), "0.8 and more", long, equal, "times")
            .map(|it| it.because(LOCK_CORE)),
        claim(
            ("DT-2", "TPC-C, 0 % distributed, over the twin"),
            "0.8 and more",
            ratio(points, figure4::FIGURE, (VLL, TWIN), 0.0),
            equal,
            "times",
        )
        .map(|it| it.because(LOCK_CORE)),
        claim(
            ("DT-5", "other nodes beside a slow one, admission before the log"),
            "0.43 without",
            run(figure5::BEFORE_LOG, figure5::OTHERS_KEPT),
            (0.95, 1.1),
            "times",
        ),
        claim(("DT-5", "the same over the throttled twin"), "not in the paper", same(), (1.0, 3.0), "times")
            .map(|it| it.because(EQUAL)),
        claim(
            ("DT-5", "time until the other nodes are as before"),
            "not in the paper",
            run(figure5::BEFORE_LOG, figure5::RECOVERY_MS),
            (0.0, 250.0),
            "ms",
        )
        .map(|it| it.because(STEPS)),
        claim(
            ("DT-8", "2 to 4 participants at 50 %, each computes its own part"),
            "0.5 with all parts",
            own(),
            (0.65, 1.0),
            "times",
        ),
    ];
    goals.into_iter().chain(figure8::goals(points)).collect()
}

const TWENTY: &str = "At 20 % distributed the twin still has most of its throughput.";
const SORTED_IS_BEST: &str = "Sorted acquisition loses no time to deadlocks and holds few hot rows while it waits.";
const LOCK_CORE: &str = "The lock thread's core is idle most of the time. An engine whose partitions run the log in order \
                         without locks has no such core; it is not in this model.";
const EQUAL: &str = "Both throttles keep the other nodes' throughput; the difference is noise.";
const STEPS: &str = "The controller's step is a tenth every 50 ms, so 70 % takes 350 ms, and what was ordered before must \
                     be executed.";
