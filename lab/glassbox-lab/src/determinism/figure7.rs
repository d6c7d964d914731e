//! Figure 7: latencies.
//!
//! Paper: VLDB 2014, section 3.7; long transactions, low contention. Claims: deterministic transactions have about
//! twice the latency, because of the sequencer; distributed ones of the twin are usually faster than the
//! deterministic ones, in spite of two-phase commit; dependent ones are the slowest.
//!
//! Latency is from the call's arrival at its home to the end of the transaction, at half of the load that a node
//! executes. The paper does not say its load.

use glassbox_sim::determinism::{EvaluationSettings, OfferedLoad, RunReport, TxnClass, WorkloadShape};

use super::inputs::{DELAY, EPOCH, LOOKUP, OFFERED};
use super::jobs::{EvaluationJob, value};
use super::plan::{EvaluationPlan, LOW};
use super::plot::Plot;
use super::systems::{HASH, TWIN, named};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

pub(super) const FIGURE: &str = "Figure 7";
const RUNS: &str = "Figure 7, runs";
const LOAD: f64 = 0.5;
const PERCENTILES: [u32; 9] = [1, 10, 25, 50, 75, 90, 95, 99, 100];
pub(super) const LATENCY: &str = "latency";

/// The classes: a name, the share on two nodes, the dependent share.
const CLASSES: [(&str, f64, f64, TxnClass); 3] = [
    ("single", 0.0, 0.0, TxnClass::Local),
    ("distributed", 1.0, 0.0, TxnClass::Distributed),
    ("dependent", 0.0, 1.0, TxnClass::Dependent),
];

fn row(system: &str, class: &str) -> String {
    format!("{system}, {class}")
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for system in [HASH, TWIN] {
        for (class, distributed, dependent, _) in CLASSES {
            let shape = WorkloadShape { dependent, ..WorkloadShape::long(LOW).with_distributed(distributed, 2) };
            let settings = plan.settings(named(system), shape);
            let offered = OfferedLoad::PerSecond(LOAD * settings.cpu_bound());
            let settings = EvaluationSettings { offered, ..settings };
            let job = EvaluationJob::new(RUNS, row(system, class), 0.0, settings);
            jobs.push(EvaluationJob { more: Some(put_latencies), ..job });
        }
    }
    jobs
}

fn put_latencies(job: &EvaluationJob, report: &RunReport, points: &mut Points) {
    let class = CLASSES.iter().find(|(name, ..)| job.row.ends_with(name)).map(|class| class.3);
    let latencies = report.latencies(class.expect("a row names a class"));
    for percentile in PERCENTILES {
        if let Some(ns) = latencies.at(f64::from(percentile) / 100.0) {
            points.put(FIGURE, &job.row, f64::from(percentile), LATENCY, ns as f64 / 1e6, "ms");
        }
    }
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "Latencies",
    caption: "Long transactions, contention index 0.0001, half load. The paper's axes are exchanged.",
    metric: LATENCY,
    unit: "ms",
    x_unit: "% of transactions that are faster",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let median = |system: &str, class: &str| value(points, FIGURE, &row(system, class), 50.0, LATENCY);
    let over = |over: (&str, &str), under: (&str, &str)| Some(median(over.0, over.1)? / median(under.0, under.1)?);
    let twice = |name, over| claim((FIGURE, name), "often a factor of 2", over, (1.5, 4.0), "times");
    vec![
        twice("median of single ones, deterministic over twin", over((HASH, "single"), (TWIN, "single")))
            .map(|it| it.at("§3.7").resting_on(&[EPOCH, OFFERED]).not_reproduced((20.0, 45.0), FACTOR)),
        twice(
            "median of distributed ones, deterministic over twin",
            over((HASH, "distributed"), (TWIN, "distributed")),
        )
        .map(|it| it.at("§3.7").resting_on(&[EPOCH, OFFERED, DELAY]).not_reproduced((4.0, 6.0), FACTOR)),
        claim(
            (FIGURE, "median of dependent over single, deterministic"),
            "slower",
            over((HASH, "dependent"), (HASH, "single")),
            (1.001, 4.0),
            "times",
        )
        .map(|it| it.at("§3.7").by_construction(&[DELAY, LOOKUP])),
        claim(
            (FIGURE, "median of distributed twin over distributed deterministic"),
            "usually less",
            over((TWIN, "distributed"), (HASH, "distributed")),
            (0.0, 0.99),
            "times",
        )
        .map(|it| it.at("§3.7").by_construction(&[EPOCH, DELAY])),
    ]
}

const FACTOR: &str = "An epoch of 10 ms makes the median at least 5 ms, and a transaction of the twin needs 0.25 ms, \
                      or 2 ms with its messages. A factor of two needs queues of milliseconds in the twin, or shorter \
                      epochs; the paper gives neither.";
