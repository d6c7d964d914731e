//! Sensitivity to the delay of the network, which is assumed.
//!
//! The other constants follow from the paper's shares of time and from its code's batch sizes; the delay does not.
//! Locks of distributed transactions are held for several delays, so contention, and with it every distance between
//! the systems, depends on it. Conclusions that change between 100 and 500 µs would be the assumption's, not the
//! paper's.

use glassbox_sim::determinism::{EvaluationSettings, ServiceTimes, WorkloadShape};

use super::inputs::DELAY;
use super::jobs::{EvaluationJob, THROUGHPUT, ratio};
use super::plan::{EvaluationPlan, HIGH};
use super::plot::Plot;
use super::systems::{HASH, NO_2PC, TWIN, VLL, named};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

const FIGURE: &str = "Sensitivity";
const DELAYS_US: [u64; 3] = [100, 250, 500];

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let job = |system: &'static str, delay_us: u64| {
        let shape = WorkloadShape::short(HIGH).with_distributed(0.5, 2);
        let settings = plan.settings(named(system), shape);
        let times = ServiceTimes { delay_ns: delay_us * 1_000, ..settings.times.clone() };
        let settings = EvaluationSettings { times, ..settings };
        EvaluationJob::new(FIGURE, system, delay_us as f64, settings)
    };
    [HASH, VLL, TWIN, NO_2PC].into_iter().flat_map(|system| DELAYS_US.map(|delay| job(system, delay))).collect()
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "The assumed delay of the network",
    caption: "Short transactions, contention index 0.01, 50 % on two nodes.",
    metric: THROUGHPUT,
    unit: "transactions per second",
    x_unit: "mean one-way delay, µs",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

/// The paper's main conclusions at each delay.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at = |delay: u64| ratio(points, FIGURE, (VLL, TWIN), delay as f64);
    let commit = |delay: u64| Some(100.0 * (1.0 - ratio(points, FIGURE, (TWIN, NO_2PC), delay as f64)?));
    let ahead = |name, delay| {
        claim((FIGURE, name), "ahead", at(delay), (1.05, 20.0), "times").map(|it| it.at("§3.3.1").resting_on(&[DELAY]))
    };
    let cost = |name, delay| {
        claim((FIGURE, name), "as much as 30 %", commit(delay), (5.0, 35.0), "%").map(|it| it.at("§3.3.1"))
    };
    vec![
        ahead("deterministic over twin, delay of 100 µs", 100),
        ahead("deterministic over twin, delay of 250 µs", 250),
        ahead("deterministic over twin, delay of 500 µs", 500),
        cost("cost of two-phase commit, delay of 100 µs", 100).map(|it| it.resting_on(&[DELAY])),
        cost("cost of two-phase commit, delay of 500 µs", 500)
            .map(|it| it.resting_on(&[DELAY]).not_reproduced((35.0, 60.0), DEPENDS)),
    ]
}

const DEPENDS: &str = "Two-phase commit holds the locks for three or four more delays, whatever they are.";
