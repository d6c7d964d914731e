//! Deterministic execution against two-phase locking: advantages and disadvantages, simulated.
//!
//! Paper: Ren, Thomson, Abadi, *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*,
//! VLDB 2014. Claim: without deadlocks and two-phase commit a deterministic system has more throughput as soon as
//! transactions are distributed and contend; it pays with latency, with a core for locks, and with its inability to
//! refuse work that is ordered.
//!
//! Here: Figures 1 to 8 and Table 1, by the queueing model of [`glassbox_sim::determinism`], with a verdict for each
//! sentence; the same for fairer variants of the twin, and for throttling before the log, which the paper leaves open.
//!
//! The model is compared with production's code at some points ([`validate`]).
//!
//! Differences: nothing is measured on a machine. The paper gives shares of time, from which the constants are derived;
//! delays of the network are assumed (`sensitivity` varies them). Figures 1a and 1c are there with this machine's
//! constants too ([`constants`]). A claim that does not hold is reported as *not reproduced*, with its number.

mod checks;
pub mod constants;
mod fair;
mod figure1;
mod figure2;
mod figure3;
mod figure4;
mod figure5;
mod figure6;
mod figure7;
mod figure8;
pub mod here;
mod in_flight;
pub mod inputs;
mod jobs;
mod local_clocks;
mod plan;
mod plot;
mod section;
mod sensitivity;
mod systems;
mod table1;
#[cfg(test)]
mod tests;
pub mod validate;

pub use checks::{claims, followers, put as put_claims};
pub use plan::EvaluationPlan;
pub use section::{section, tables};

use self::jobs::{EvaluationJob, run_all};
use crate::measurement::Progress;
use crate::points::Points;

/// The experiment's name in results.
pub const EXPERIMENT: &str = "determinism";

/// Every point; the long runs first.
fn all_jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
    let mut jobs = figure5::jobs(plan);
    jobs.extend(figure8::jobs(plan));
    jobs.extend(figure1::jobs(plan));
    jobs.extend(figure2::jobs(plan));
    jobs.extend(figure3::jobs(plan));
    jobs.extend(figure4::jobs(plan));
    jobs.extend(figure6::jobs(plan));
    jobs.extend(figure7::jobs(plan));
    jobs.extend(fair::jobs(plan));
    jobs.extend(sensitivity::jobs(plan));
    jobs.extend(in_flight::jobs(plan));
    jobs
}

/// The names of the figures, one of which can be simulated alone.
pub fn figures() -> Vec<&'static str> {
    let jobs = all_jobs(&EvaluationPlan::new(true, 1));
    let mut names: Vec<_> = jobs.iter().map(|job| job.figure.strip_suffix(plan::RUNS).unwrap_or(job.figure)).collect();
    names.push(local_clocks::FIGURE);
    names.sort_unstable();
    names.dedup();
    names
}

/// Runs all points of the plan's figures in virtual time; on an interrupt, the results so far.
///
/// A run depends on its settings and its seed alone, so results are the same on every machine.
pub fn simulate(plan: &EvaluationPlan, watch: &dyn Progress) -> Points {
    let mut jobs = all_jobs(plan);
    jobs.retain(|job| plan.has(job.figure));
    if let Some(changed) = plan.changed {
        jobs.iter_mut().flat_map(|job| &mut job.variants).for_each(|settings| changed.late(settings));
    }
    let mut points = run_all(&jobs, watch);
    if plan.has(local_clocks::FIGURE) && !watch.interrupted() {
        local_clocks::put(plan, &mut points);
    }
    points
}
