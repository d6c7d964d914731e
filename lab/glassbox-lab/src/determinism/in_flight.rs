//! Sensitivity to the number of transactions in flight.
//!
//! The published code has 2,000 inputs of a node with locks at most, and the model's VLL has 400; production's executor
//! has [128](Executor::MAX_ACTIVE). An input that waits for remote reads or for a lock is one of these, so with few of
//! them a node has no other input to execute meanwhile. The other figures have the published number; this one shows
//! what production's number changes: VLL, whose lock thread is not the limit, keeps two thirds.

use glassbox_cluster::Executor;
use glassbox_sim::determinism::{DeterministicSettings, SystemKind, WorkloadShape};

use super::inputs::IN_FLIGHT;
use super::jobs::{EvaluationJob, THROUGHPUT, rate};
use super::plan::{EvaluationPlan, HIGH, share};
use super::plot::Plot;
use super::systems::{HASH, VLL, named};
use crate::claim::{Claim, own_check};
use crate::points::Points;
use crate::section::Figure;

const FIGURE: &str = "Transactions in flight";
const SYSTEMS: [&str; 2] = [HASH, VLL];
const SHARES: [u32; 2] = [20, 50];
const PUBLISHED: usize = 2_000;
const COUNTS: [usize; 3] = [Executor::MAX_ACTIVE, 400, PUBLISHED];

fn row(system: &str, percent: u32) -> String {
    format!("{system}, {percent} % distributed")
}

pub(super) fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = Vec::new();
    for (system, percent) in SYSTEMS.into_iter().flat_map(|system| SHARES.map(|percent| (system, percent))) {
        let SystemKind::Deterministic(kind) = named(system) else { continue };
        let shape = WorkloadShape::short(HIGH).with_distributed(share(percent), 2);
        for max_in_flight in COUNTS {
            let system_of = SystemKind::Deterministic(DeterministicSettings { max_in_flight, ..kind.clone() });
            let settings = plan.settings(system_of, shape);
            jobs.push(EvaluationJob::new(FIGURE, row(system, percent), max_in_flight as f64, settings));
        }
    }
    jobs
}

pub(super) const PLOT: Plot = Plot {
    figure: FIGURE,
    title: "128 as in production, 400, and 2,000 as in the published code",
    caption: "Short transactions, contention index 0.01, the paper's node.",
    metric: THROUGHPUT,
    unit: "transactions per second",
    x_unit: "inputs of a node with locks, at most",
    x_names: &[],
};

pub(super) fn figure(points: &Points) -> Option<Figure> {
    PLOT.draw(points)
}

/// The throughput with production's number, of that with the published one.
pub(super) fn claims(points: &Points) -> Vec<Option<Claim>> {
    let kept = |system: &str, percent| {
        let of = |count: usize| rate(points, FIGURE, &row(system, percent), count as f64);
        Some(of(Executor::MAX_ACTIVE)? / of(PUBLISHED)?)
    };
    let kept = |name, system, percent, bounds| {
        own_check((FIGURE, name), kept(system, percent), bounds, "times").map(|it| it.resting_on(&[IN_FLIGHT]))
    };
    vec![
        kept("128 over 2,000, hash table, 20 % distributed", HASH, 20, (0.97, 1.03)),
        kept("128 over 2,000, hash table, 50 % distributed", HASH, 50, (0.85, 1.02)),
        kept("128 over 2,000, VLL, 20 % distributed", VLL, 20, (0.5, 0.9)),
        kept("128 over 2,000, VLL, 50 % distributed", VLL, 50, (0.5, 0.9)),
    ]
}

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::*;
    use crate::PROCESSORS;
    use crate::claim::Outcome;
    use crate::determinism::jobs::run_all;
    use crate::determinism::tests::Steps;

    #[test]
    fn fewer_inputs_in_flight_change_the_throughput_as_much_as_is_known() {
        let _busy = PROCESSORS.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = EvaluationPlan { warm_up_ms: 40, measured_ms: 40, ..EvaluationPlan::new(true, 1) };
        let jobs: Vec<_> = jobs(&plan).into_iter().filter(|job| job.x != 400.0 && job.row.contains("50 %")).collect();
        let points = run_all(&jobs, &Steps::all());
        let claims: Vec<_> = claims(&points).into_iter().flatten().collect();
        assert!(claims.len() == 2 && claims.iter().all(|it| it.outcome() == Outcome::Own), "{claims:#?}");
    }
}
