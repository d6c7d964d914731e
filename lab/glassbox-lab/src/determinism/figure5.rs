//! Figure 5: a node that is slow.
//!
//! Paper: VLDB 2014, section 3.5. Claims: without distributed transactions only the slow node loses; with 5 % of them
//! all nodes run as fast as the slow one, under either system; a twin that refuses local transactions at the slow
//! node settles at 70 % of them refused, and the other nodes are as fast as before. Footnote 5 leaves throttling
//! before the log to others: here it is, with the same controller.

use glassbox_sim::determinism::{EvaluationSettings, OfferedLoad, RunReport, SlowNode, WorkloadShape};

use super::inputs::{OFFERED, SLOW};
use super::jobs::{EvaluationJob, THROUGHPUT, rate, value};
use super::plan::{EvaluationPlan, LOW, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, named};
use crate::claim::{Claim, claim, own_check};
use crate::points::Points;
use crate::section::Figure;

pub(super) const BY_SHARE: &str = "Figure 5a";
pub(super) const BY_TIME: &str = "Figure 5b";
/// The runs of the time line, each as one point.
pub(super) const RUNS: &str = "Figure 5b, runs";
/// The calls of a node, of what it could execute.
const LOAD: f64 = 0.95;
/// Of the time line: the share of distributed transactions, in percent, and the slow node's speed. Both follow from the
/// paper's equilibrium of 70 % refused.
const SHARE: u32 = 10;
const SPEED: f64 = 0.43;
/// The interval of the time line's points, in 50 ms.
const INTERVAL: usize = 5;

pub(super) const THROTTLED: &str = "nondeterministic, throttled";
pub(super) const BEFORE_LOG: &str = "deterministic, hash, throttled before the log";
const TIMELINES: [(&str, &str, bool); 4] =
    [(HASH, HASH, false), (TWIN, TWIN, false), (THROTTLED, TWIN, true), (BEFORE_LOG, HASH, true)];

/// Throughput of the other nodes, of that before.
pub(super) const OTHERS_KEPT: &str = "others_kept";
/// The same of all nodes.
const ALL_KEPT: &str = "all_kept";
/// The share of the slow node's local calls that is refused.
const REFUSED: &str = "refused";
/// The time until the other nodes are as fast as before for good.
pub(super) const RECOVERY_MS: &str = "recovery";

/// The speed of a node with so many busy threads on the five cores of its workers.
fn speed(threads: u32) -> f64 {
    5.0 / (5.0 + f64::from(threads))
}

fn row(system: &str, threads: u32) -> String {
    format!("{system}, {threads} threads")
}

fn settings(plan: &EvaluationPlan, system: &str, percent: u32, slow: SlowNode) -> EvaluationSettings {
    let shape = WorkloadShape::long(LOW).with_distributed(share(percent), 2);
    let settings = EvaluationSettings { slow: Some(slow), ..plan.settings(named(system), shape) };
    EvaluationSettings { offered: OfferedLoad::PerSecond(LOAD * settings.cpu_bound()), ..settings }
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for (row, system, throttles) in TIMELINES {
        let slow = SlowNode { from_ms: slow_from_ms(plan.timeline_ms), speed: SPEED };
        let settings = EvaluationSettings {
            max_lag_us: throttles.then_some(5_000),
            warm_up_ms: 0,
            measured_ms: plan.timeline_ms,
            ..settings(plan, system, SHARE, slow)
        };
        jobs.push(EvaluationJob { more: Some(put_timeline), ..EvaluationJob::new(RUNS, row, 0.0, settings) });
    }
    for (system, threads) in
        [HASH, TWIN].into_iter().flat_map(|it| plan.threads.iter().map(move |threads| (it, *threads)))
    {
        for percent in &plan.slow_shares {
            let slow = SlowNode { from_ms: 0, speed: speed(threads) };
            let warm_up_ms = if threads > 0 { plan.slow_warm_up_ms } else { plan.warm_up_ms };
            let settings = EvaluationSettings { warm_up_ms, ..settings(plan, system, *percent, slow) };
            jobs.push(EvaluationJob::new(BY_SHARE, row(system, threads), f64::from(*percent), settings));
        }
    }
    jobs
}

fn slow_from_ms(timeline_ms: u64) -> u64 {
    timeline_ms / 5
}

/// The throughput of nodes in each interval.
fn timeline(report: &RunReport, nodes: std::ops::Range<usize>) -> Vec<f64> {
    let of = |interval: &[Vec<u32>]| {
        let finished: u64 = interval.iter().flat_map(|counts| &counts[nodes.clone()]).map(|it| u64::from(*it)).sum();
        finished as f64 / (0.05 * interval.len() as f64)
    };
    report.timeline.chunks_exact(INTERVAL).map(of).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn put_timeline(job: &EvaluationJob, report: &RunReport, points: &mut Points) {
    let nodes = report.finished.len();
    let (all, others) = (timeline(report, 0..nodes), timeline(report, 0..nodes - 1));
    for (at, per_second) in all.iter().enumerate() {
        let seconds = (at * INTERVAL) as f64 * 0.05;
        points.put(BY_TIME, &job.row, seconds, THROUGHPUT, *per_second, "1/s");
    }
    // The first fifth is before; half of it is the warm-up.
    let (from, end) = (all.len() / 5, all.len());
    let last = end - end * 2 / 5;
    let kept = |of: &[f64]| mean(&of[last..]) / mean(&of[from / 2..from]);
    let mut put = |metric: &str, value: f64, unit: &str| points.put(RUNS, &job.row, 0.0, metric, value, unit);
    put(ALL_KEPT, kept(&all), "share");
    put(OTHERS_KEPT, kept(&others), "share");
    let enough = 0.95 * mean(&others[from / 2..from]);
    let recovered = (from..end).rev().take_while(|at| others[*at] >= enough).last().unwrap_or(end);
    put(RECOVERY_MS, ((recovered - from) * INTERVAL) as f64 * 50.0, "ms");
    let refused: Vec<f64> =
        report.refused.iter().map(|nodes| nodes.last().map_or(0.0, |share| f64::from(*share))).collect();
    if !refused.is_empty() {
        put(REFUSED, mean(&refused[refused.len() * 3 / 5..]), "share");
    }
}

pub(super) fn plots() -> [Plot; 2] {
    let unit = "transactions per second";
    [
        Plot {
            figure: BY_SHARE,
            title: "One slow node",
            caption: "Long transactions, contention index 0.0001; busy threads on the cores of one of eight nodes.",
            metric: THROUGHPUT,
            unit,
            x_unit: "% of transactions on two nodes",
            x_names: &[],
        },
        Plot {
            figure: BY_TIME,
            title: "A node becomes slow",
            caption: "10 % of the transactions on two nodes; one of eight nodes has 43 % of its cores left after a \
                      fifth of the time.",
            metric: THROUGHPUT,
            unit,
            x_unit: "seconds",
            x_names: &[],
        },
    ]
}

pub(super) fn figures(points: &Points) -> Vec<Figure> {
    plots().iter().filter_map(|plot| plot.draw(points)).collect()
}

/// The throughput with four threads at a share, of that without.
fn kept(points: &Points, system: &str, percent: f64) -> Option<f64> {
    Some(rate(points, BY_SHARE, &row(system, 4), percent)? / rate(points, BY_SHARE, &row(system, 0), percent)?)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let slow = speed(4);
    let run = |row, metric| value(points, RUNS, row, 0.0, metric);
    // The slow node's part of eight, and all nodes at its speed.
    let (mild, cliff) = (((7.0 + slow) / 8.0 - 0.05, 1.01), (slow - 0.15, slow + 0.15));
    let refused = run(THROTTLED, REFUSED).map(|share| 100.0 * share);
    let minor = |name, system| {
        let kept = kept(points, system, 0.0);
        claim((BY_SHARE, name), "a minor decline", kept, mild, "times").map(|it| it.at("§3.5").by_construction(&[SLOW]))
    };
    let slowed = |name, system, percent| {
        let kept = kept(points, system, percent);
        claim((BY_SHARE, name), "all nodes slow down", kept, cliff, "times").map(|it| it.at("§3.5"))
    };
    vec![
        minor("4 threads, 0 % distributed, deterministic", HASH),
        minor("4 threads, 0 % distributed, twin", TWIN),
        slowed("4 threads, 5 % distributed, deterministic", HASH, 5.0).map(|it| it.by_construction(&[SLOW])),
        slowed("4 threads, 20 % distributed, deterministic", HASH, 20.0).map(|it| it.by_construction(&[SLOW])),
        slowed("4 threads, 20 % distributed, twin", TWIN, 20.0)
            .map(|it| it.resting_on(&[OFFERED]).not_reproduced((0.05, cliff.0), BACKLOG)),
        claim((BY_TIME, "deterministic, all nodes"), "severely impacted", run(HASH, ALL_KEPT), (0.3, 0.6), "times")
            .map(|it| it.at("§3.5").by_construction(&[SLOW])),
        claim((BY_TIME, "twin, all nodes"), "severely impacted", run(TWIN, ALL_KEPT), (0.3, 0.6), "times")
            .map(|it| it.at("§3.5").resting_on(&[OFFERED]).not_reproduced((0.05, 0.3), BACKLOG)),
        claim((BY_TIME, "twin, throttled: local calls refused"), "70 %", refused, (60.0, 80.0), "%")
            .map(|it| it.at("§3.5").by_construction(&[SLOW, OFFERED])),
        claim(
            (BY_TIME, "twin, throttled: other nodes"),
            "not impacted",
            run(THROTTLED, OTHERS_KEPT),
            (0.95, 1.05),
            "times",
        )
        .map(|it| it.at("§3.5").resting_on(&[SLOW, OFFERED])),
        own_check(
            (BY_TIME, "deterministic, throttled before the log: other nodes"),
            run(BEFORE_LOG, OTHERS_KEPT),
            (0.95, 1.05),
            "times",
        ),
    ]
}

const BACKLOG: &str = "The twin falls below the slow node's speed: calls arrive there faster than it executes them, so \
                       a part of a distributed transaction waits in an ever longer queue, and the other nodes' \
                       transactions hold locks and places meanwhile. The paper does not give its load.";
