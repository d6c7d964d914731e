//! Figure 8: more and more nodes.
//!
//! Paper: VLDB 2014, section 3.8; throughput of a node, 1 to 48 nodes. Claims: deterministic execution scales
//! gracefully; what it loses is due to nodes that fall back for a moment, and more so with contention and distributed
//! transactions; the twin loses more.
//!
//! So nodes have a tail here: lognormal service times (σ = 0.25), and stalls of 2 ms, one in two seconds. An order of
//! an epoch by index first and by node second is a variant that the paper has not.

use glassbox_cluster::SchedulerKind;
use glassbox_sim::determinism::{DeterministicSettings, EvaluationSettings, SystemKind, WorkloadShape};

use super::inputs::{EDGE, TAIL};
use super::jobs::{EvaluationJob, PER_NODE, places, value};
use super::plan::{EvaluationPlan, HIGH, LOW, contention, share};
use super::plot::Plot;
use super::systems::{HASH, TWIN, named};
use crate::claim::{Claim, claim, goal};
use crate::points::Points;
use crate::section::Figure;

pub(super) const FIGURE: &str = "Figure 8";
const INTERLEAVED: &str = "deterministic, interleaved";
const SHARES: [u32; 2] = [20, 100];
/// The paper's usual number of nodes.
const USUAL: f64 = 8.0;

fn row(system: &str, hot: u64, percent: u32) -> String {
    format!("{system}, {}, {percent} %", contention(hot))
}

fn job(
    plan: &EvaluationPlan,
    (system, kind): (&str, SystemKind),
    (hot, percent): (u64, u32),
    nodes: usize,
) -> EvaluationJob {
    let shape = WorkloadShape::long(hot).with_distributed(share(percent), 2);
    let settings = plan.settings(kind, shape);
    let settings = EvaluationSettings { nodes, times: settings.times.clone().with_tail(), ..settings };
    EvaluationJob::new(FIGURE, row(system, hot, percent), nodes as f64, settings)
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let interleaved =
        DeterministicSettings { interleaves: true, ..DeterministicSettings::new(SchedulerKind::OrderedLocks) };
    let mut jobs = Vec::new();
    for nodes in plan.nodes.iter().rev() {
        for load in [LOW, HIGH].into_iter().flat_map(|hot| SHARES.map(|percent| (hot, percent))) {
            jobs.extend([HASH, TWIN].map(|system| job(plan, (system, named(system)), load, *nodes)));
        }
        let kind = SystemKind::Deterministic(interleaved.clone());
        jobs.push(job(plan, (INTERLEAVED, kind), (HIGH, 100), *nodes));
    }
    jobs
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "Throughput of a node, by their number",
    caption: "Long transactions; contention index; share of transactions on two nodes.",
    metric: PER_NODE,
    unit: "transactions per second of a node",
    x_unit: "nodes",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

/// What a node keeps from the usual number of nodes to the highest.
pub(super) fn kept(points: &Points, system: &str, hot: u64, percent: u32) -> Option<f64> {
    let row = row(system, hot, percent);
    let most = places(points, FIGURE, &row).last().copied()?;
    Some(value(points, FIGURE, &row, most, PER_NODE)? / value(points, FIGURE, &row, USUAL, PER_NODE)?)
}

pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let more = |hot, percent| Some(kept(points, TWIN, hot, percent)? / kept(points, HASH, hot, percent)?);
    let worse = || Some(kept(points, HASH, HIGH, 100)? / kept(points, HASH, LOW, 20)?);
    let poorly = |name, more| claim((FIGURE, name), "increasingly poor", more, (0.0, 0.99), "times");
    vec![
        claim(
            (FIGURE, "kept from 8 nodes to the most, CI 0.0001, 20 %, deterministic"),
            "gracefully",
            kept(points, HASH, LOW, 20),
            (0.7, 1.02),
            "times",
        )
        .map(|it| it.at("§3.8").resting_on(&[TAIL])),
        claim(
            (FIGURE, "kept with CI 0.01 and 100 %, over CI 0.0001 and 20 %, deterministic"),
            "more pronounced",
            worse(),
            (0.2, 0.99),
            "times",
        )
        .map(|it| it.at("§3.8").resting_on(&[TAIL]).not_reproduced((0.99, 1.05), SKEW)),
        poorly("kept, twin over deterministic, CI 0.01, 20 %", more(HIGH, 20))
            .map(|it| it.at("§3.8").resting_on(&[EDGE])),
        poorly("kept, twin over deterministic, CI 0.01, 100 %", more(HIGH, 100))
            .map(|it| it.at("§3.8").resting_on(&[EDGE])),
    ]
}

/// The goals about it.
pub(super) fn goals(points: &Points) -> Vec<Option<Claim>> {
    let better = || {
        let at = |system| {
            let row = row(system, HIGH, 100);
            value(points, FIGURE, &row, places(points, FIGURE, &row).last().copied()?, PER_NODE)
        };
        Some(at(INTERLEAVED)? / at(HASH)?)
    };
    vec![
        goal(
            ("DT-6", "kept from 8 nodes to the most, CI 0.01, 100 %"),
            "0.7",
            kept(points, HASH, HIGH, 100),
            (0.7, 1.1),
            "times",
        ),
        goal(
            ("DT-6", "interleaved order over the plain one, the most nodes"),
            "1.3",
            better(),
            (1.3, f64::INFINITY),
            "times",
        ),
    ]
}

const SKEW: &str =
    "With long epochs of work in flight at each node, a stall of 2 ms is made up for before others wait.";
