//! Figure 1: the microbenchmark by the share of distributed transactions, and by contention.
//!
//! Paper: VLDB 2014, section 3.3.1. Claims: the lock thread with the hash table limits short transactions, and VLL,
//! whose lock work is 2.3 times less, removes the limit; for long ones the two are alike. Two-phase commit costs up
//! to 30 %, and does not explain the distance to deterministic execution, which grows with contention. The part of
//! two-phase commit shrinks with more distributed transactions at high contention.
//!
//! Of the twin's two process models, the better one is shown at each point.

use glassbox_sim::determinism::WorkloadShape;

use super::inputs::{COMPUTATION, DELAY, LOCK, LOCK_BY_VLL, LOCK_CORE};
use super::jobs::{EvaluationJob, THROUGHPUT, rate, ratio};
use super::plan::{EvaluationPlan, HIGH, LOW, contention, share};
use super::plot::Plot;
use super::systems::{HASH, NO_2PC, TWIN, VLL, named, with_threads};
use crate::claim::{Claim, claim};
use crate::points::Points;
use crate::section::Figure;

pub(super) const SHORT: &str = "Figure 1a";
pub(super) const LONG: &str = "Figure 1b";
const SHORT_BY_CI: &str = "Figure 1c";
const LONG_BY_CI: &str = "Figure 1d";
const SYSTEMS: [&str; 4] = [HASH, VLL, TWIN, NO_2PC];
const CONTENDED: [u64; 4] = [10_000, 1_000, 100, 10];
/// The contention indexes of these.
const INDEXES: [&str; 4] = ["0.0001", "0.001", "0.01", "0.1"];
/// The share of Figures 1c and 1d, in percent.
const SHARE: u32 = 20;

/// A row's name.
pub(super) fn row(system: &str, hot: u64) -> String {
    format!("{system}, {}", contention(hot))
}

fn shape(figure: &str, hot: u64) -> WorkloadShape {
    if figure == SHORT || figure == SHORT_BY_CI { WorkloadShape::short(hot) } else { WorkloadShape::long(hot) }
}

fn job(plan: &EvaluationPlan, point: (&'static str, String, f64), system: &str, shape: WorkloadShape) -> EvaluationJob {
    let (figure, row, x) = point;
    let system = named(system);
    let mut job = EvaluationJob::new(figure, row, x, plan.settings(system.clone(), shape));
    job.variants.extend(with_threads(&system).map(|threads| plan.settings(threads, shape)));
    job
}

/// All points.
pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for system in SYSTEMS {
        for figure in [SHORT, LONG] {
            for (hot, percent) in [HIGH, LOW].into_iter().flat_map(|hot| plan.shares.iter().map(move |it| (hot, *it))) {
                let shape = shape(figure, hot).with_distributed(share(percent), 2);
                jobs.push(job(plan, (figure, row(system, hot), f64::from(percent)), system, shape));
            }
        }
        for figure in [SHORT_BY_CI, LONG_BY_CI] {
            for (decade, hot) in CONTENDED.into_iter().enumerate() {
                let shape = shape(figure, hot).with_distributed(share(SHARE), 2);
                jobs.push(job(plan, (figure, system.to_owned(), decade as f64), system, shape));
            }
        }
    }
    jobs
}

/// The figures that were simulated.
pub(super) fn figures(points: &Points) -> Vec<Figure> {
    plots().iter().filter_map(|plot| plot.draw(points)).collect()
}

pub(super) fn plots() -> [Plot; 4] {
    let by_share = "% of transactions on two nodes";
    let by_ci = "contention index";
    let caption = "Eight nodes, 10 records of each transaction, one hot at each node.";
    let plot = |figure, title, x_unit, x_names| Plot {
        figure,
        title,
        caption,
        metric: THROUGHPUT,
        unit: "transactions per second",
        x_unit,
        x_names,
    };
    [
        plot(SHORT, "Short transactions", by_share, &[]),
        plot(LONG, "Long transactions", by_share, &[]),
        plot(SHORT_BY_CI, "Short transactions by contention, 20 % distributed", by_ci, &INDEXES),
        plot(LONG_BY_CI, "Long transactions by contention, 20 % distributed", by_ci, &INDEXES),
    ]
}

/// What two-phase commit costs the twin, in percent.
fn commit_cost(points: &Points, figure: &str, hot: u64, percent: f64) -> Option<f64> {
    Some(100.0 * (1.0 - ratio(points, figure, (&row(TWIN, hot), &row(NO_2PC, hot)), percent)?))
}

/// The claims about it.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    [lock_thread_claims(points), commit_claims(points), contention_claims(points)].concat()
}

/// A system's throughput over another's, at a contention and a share.
fn over(points: &Points, figure: &str, (over, under): (&str, &str), (hot, x): (u64, f64)) -> Option<f64> {
    ratio(points, figure, (&row(over, hot), &row(under, hot)), x)
}

fn lock_thread_claims(points: &Points) -> Vec<Option<Claim>> {
    let of = |figure, x| over(points, figure, (VLL, HASH), (LOW, x));
    let flat = || Some(rate(points, SHORT, &row(HASH, LOW), 50.0)? / rate(points, SHORT, &row(HASH, LOW), 0.0)?);
    let (factor, both) = ((1.8, 2.4), (0.97, 1.03));
    let by_construction = |it: Claim| it.at("§3.3.1").by_construction(&[LOCK, LOCK_BY_VLL]);
    vec![
        claim((SHORT, "hash table at 50 % distributed over 0 %"), "flat", flat(), (0.95, 1.05), "times")
            .map(|it| it.by_construction(&[LOCK])),
        claim((SHORT, "VLL over hash table at 0 %"), "lock work 2.3 times less", of(SHORT, 0.0), factor, "times")
            .map(by_construction),
        claim(
            (SHORT, "VLL over hash table at 20 %, CI 0.0001"),
            "lock work 2.3 times less",
            of(SHORT, 20.0),
            factor,
            "times",
        )
        .map(by_construction),
        claim((LONG, "VLL over hash table at 20 %, CI 0.0001"), "alike", of(LONG, 20.0), both, "times")
            .map(|it| it.resting_on(&[COMPUTATION, LOCK, LOCK_BY_VLL])),
    ]
}

fn commit_claims(points: &Points) -> Vec<Option<Claim>> {
    let most = || {
        let places = [SHORT, LONG].into_iter().flat_map(|figure| [5.0, 20.0, 50.0, 100.0].map(|x| (figure, x)));
        let costs = places.flat_map(|(figure, x)| [HIGH, LOW].map(|hot| commit_cost(points, figure, hot, x)));
        costs.flatten().reduce(f64::max)
    };
    let shrinks = || Some(commit_cost(points, SHORT, HIGH, 100.0)? / commit_cost(points, SHORT, HIGH, 50.0)?);
    let without = |figure| over(points, figure, (NO_2PC, VLL), (HIGH, 50.0));
    vec![
        claim((SHORT, "two-phase commit costs at most"), "as much as 30 %", most(), (20.0, 35.0), "%")
            .map(|it| it.at("§3.3.1").resting_on(&[DELAY]).not_reproduced((35.0, 45.0), COMMIT)),
        claim(
            (SHORT, "two-phase commit's cost at 100 % over 50 %, CI 0.01"),
            "smaller",
            shrinks(),
            (0.0, 0.95),
            "times",
        )
        .map(|it| it.at("§3.3.1").resting_on(&[DELAY]).not_reproduced((0.95, 1.35), SHRINKS)),
        claim((SHORT, "no 2PC over deterministic at 50 %, CI 0.01"), "slower", without(SHORT), (0.0, 0.98), "times")
            .map(|it| it.resting_on(&[DELAY, LOCK_BY_VLL])),
        claim((LONG, "no 2PC over deterministic at 50 %, CI 0.01"), "slower", without(LONG), (0.0, 0.98), "times")
            .map(|it| it.resting_on(&[DELAY, COMPUTATION])),
    ]
}

fn contention_claims(points: &Points) -> Vec<Option<Claim>> {
    let gap = || {
        let lead = |hot| over(points, SHORT, (VLL, TWIN), (hot, 50.0));
        Some(lead(HIGH)? / lead(LOW)?)
    };
    let falls = |figure| {
        let of = |row| Some(rate(points, figure, row, 3.0)? / rate(points, figure, row, 0.0)?);
        Some(of(TWIN)? / of(VLL)?)
    };
    let ahead = |x| over(points, LONG, (VLL, TWIN), (HIGH, x));
    vec![
        claim((SHORT, "lead over the twin at 50 %: CI 0.01 over CI 0.0001"), "more", gap(), (1.1, 10.0), "times")
            .map(|it| it.resting_on(&[DELAY])),
        claim((SHORT_BY_CI, "fall to CI 0.1, twin over deterministic"), "faster", falls(SHORT_BY_CI), FASTER, "times")
            .map(|it| it.resting_on(&[DELAY])),
        claim((LONG_BY_CI, "fall to CI 0.1, twin over deterministic"), "faster", falls(LONG_BY_CI), FASTER, "times")
            .map(|it| it.resting_on(&[DELAY, COMPUTATION])),
        claim((LONG, "deterministic over twin at 0 %, CI 0.01"), "slower", ahead(0.0), (0.8, 1.0), "times")
            .map(|it| it.by_construction(&[LOCK_CORE, LOCK])),
        claim((LONG, "deterministic over twin at 50 %, CI 0.01"), "faster", ahead(50.0), (1.05, 5.0), "times")
            .map(|it| it.resting_on(&[DELAY, COMPUTATION])),
    ]
}

/// The bounds of a ratio of two falls.
const FASTER: (f64, f64) = (0.0, 0.95);
const COMMIT: &str = "The cost is that of the time under locks. It depends on the assumed delay of the network.";
const SHRINKS: &str = "With fewer and fewer local transactions, the locks are held longer in the model with either \
                       commit, and the queue of each hot row is the limit: four message delays more always cost.";
