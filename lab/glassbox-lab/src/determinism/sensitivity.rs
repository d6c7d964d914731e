//! Sensitivity to the delay of the network, which is assumed.
//!
//! The other constants follow from the paper's shares of time and from its code's batch sizes; the delay does not.
//! Locks of distributed transactions are held for several delays, so contention, and with it every distance between
//! the systems, depends on it. Conclusions that change between 100 and 500 µs would be the assumption's, not the
//! paper's.

use glassbox_sim::determinism::{EvaluationSettings, ServiceTimes, WorkloadShape};

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
        let times = ServiceTimes { delay_ns: delay_us * 1_000, ..ServiceTimes::default() };
        let settings = EvaluationSettings { times, ..plan.settings(named(system), shape) };
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
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

/// The paper's main conclusions at each delay.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at = |delay: u64| ratio(points, FIGURE, (VLL, TWIN), delay as f64);
    let commit = |delay: u64| Some(100.0 * (1.0 - ratio(points, FIGURE, (TWIN, NO_2PC), delay as f64)?));
    let (ahead, cost) = ((1.05, 20.0), (5.0, 35.0));
    vec![
        claim((FIGURE, "deterministic over twin, delay of 100 µs"), "more than 1", at(100), ahead, "times"),
        claim((FIGURE, "deterministic over twin, delay of 250 µs"), "more than 1", at(250), ahead, "times"),
        claim((FIGURE, "deterministic over twin, delay of 500 µs"), "more than 1", at(500), ahead, "times"),
        claim((FIGURE, "cost of two-phase commit, delay of 100 µs"), "at most 30 %", commit(100), cost, "%")
            .map(|it| it.because(DEPENDS)),
        claim((FIGURE, "cost of two-phase commit, delay of 500 µs"), "at most 30 %", commit(500), cost, "%")
            .map(|it| it.because(DEPENDS)),
    ]
}

const DEPENDS: &str = "Two-phase commit holds the locks for three or four more delays, whatever they are.";
