//! Runs all points of all figures in virtual time, on all cores, and keeps the results.
//!
//! A run depends on its settings and its seed alone, so results are the same on every machine.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use glassbox_sim::determinism::RunReport;

use super::jobs::EvaluationJob;
use super::plan::EvaluationPlan;
use super::{fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, sensitivity};
use crate::measurement::Progress;
use crate::points::Points;

/// Every point; the long runs first.
fn jobs(plan: &EvaluationPlan) -> Vec<EvaluationJob> {
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
    jobs
}

/// Runs everything; on an interrupt, the results so far.
pub fn simulate(plan: &EvaluationPlan, watch: &dyn Progress) -> Points {
    run_all(&jobs(plan), watch)
}

/// Runs some jobs.
pub(super) fn run_all(jobs: &[EvaluationJob], watch: &dyn Progress) -> Points {
    let mut reports: Vec<Option<RunReport>> = jobs.iter().map(|_| None).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    watch.step(0, jobs.len(), "simulated runs");
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    // The receiver is gone only if the scope ends by a panic.
                    let _ = sender.send((at, job.run()));
                }
            });
        }
        drop(sender);
        for (done, (at, report)) in receiver.into_iter().enumerate() {
            let EvaluationJob { figure, row, x, .. } = &jobs[at];
            watch.step(done + 1, jobs.len(), &format!("{figure}, {row} at {x}"));
            reports[at] = Some(report);
            if watch.interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    let mut points = Points::default();
    for (job, report) in jobs.iter().zip(&reports) {
        if let Some(report) = report {
            job.put(report, &mut points);
        }
    }
    points
}
