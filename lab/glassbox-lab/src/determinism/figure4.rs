//! Figure 4: TPC-C.
//!
//! Paper: VLDB 2014, section 3.4: 20 warehouses for each node; the share of New-Orders and Payments with a remote
//! warehouse. Claims: without remote ones the twin is ahead, because the lock thread's core is hardly used; with more
//! and more of them the deterministic system is; throughput drops less than in the microbenchmark.
//!
//! The transactions are a model: rows, hot rows and computation of New-Order and Payment, half of each.

use glassbox_sim::determinism::WorkloadShape;

use super::figure1;
use super::inputs::{COMPUTATION, DELAY, LOCK, LOCK_CORE};
use super::jobs::{EvaluationJob, THROUGHPUT, places, rate, ratio};
use super::plan::{EvaluationPlan, HIGH, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, VLL, named};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

pub(super) const FIGURE: &str = "Figure 4";

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let of = |system: &'static str| {
        plan.shares.iter().map(move |percent| {
            let shape = WorkloadShape::tpcc().with_distributed(share(*percent), 2);
            EvaluationJob::new(FIGURE, system, f64::from(*percent), plan.settings(named(system), shape))
        })
    };
    [HASH, VLL, TWIN].into_iter().flat_map(of).collect()
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "TPC-C",
    caption: "Eight nodes with 20 warehouses each; New-Order and Payment.",
    metric: THROUGHPUT,
    unit: "transactions per second",
    x_unit: "% of transactions with a remote warehouse",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let at_rest = ratio(points, FIGURE, (TWIN, VLL), 0.0);
    let ahead = || {
        let is_ahead = |x: &f64| ratio(points, FIGURE, (VLL, TWIN), *x).is_some_and(|ratio| ratio > 1.0);
        let from = places(points, FIGURE, VLL).into_iter().find(is_ahead);
        (!places(points, FIGURE, VLL).is_empty()).then(|| from.unwrap_or(f64::INFINITY))
    };
    let falls = |figure: &str, row: &str| Some(rate(points, figure, row, 50.0)? / rate(points, figure, row, 0.0)?);
    let less = || Some(falls(FIGURE, VLL)? / falls(figure1::LONG, &figure1::row(VLL, HIGH))?);
    vec![
        claim((FIGURE, "twin over deterministic without remote warehouses"), "ahead", at_rest, (1.01, 1.25), "times")
            .map(|it| it.at("§3.4").by_construction(&[LOCK_CORE, LOCK])),
        claim((FIGURE, "deterministic ahead from"), "some share on", ahead(), (1.0, 50.0), "%")
            .map(|it| it.at("§3.4").resting_on(&[DELAY, COMPUTATION])),
        claim(
            (FIGURE, "kept from 0 to 50 %, TPC-C over the microbenchmark, deterministic"),
            "drops less",
            less(),
            (1.0, 2.0),
            "times",
        )
        .map(|it| it.at("§3.4").resting_on(&[COMPUTATION]).not_reproduced((0.9, 1.0), DROPS)),
    ]
}

const DROPS: &str = "With computation at both participants the processors are the limit, in either workload.";
