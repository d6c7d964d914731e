//! Runs all points of all figures in virtual time, on all cores, and keeps the results.
//!
//! A run depends on its settings and its seed alone, so results are the same on every machine.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use glassbox_sim::determinism::{BusyPart, EvaluationSettings, RunReport, evaluate};

use super::plan::EvaluationPlan;
use super::{fair, figure1, figure2, figure3, figure4, figure5, figure6, figure7, figure8, sensitivity};
use crate::measurement::Progress;
use crate::points::Points;

/// Transactions that finished, per second of virtual time, of all nodes.
pub(super) const THROUGHPUT: &str = "throughput";
/// The same of a node on average.
pub(super) const PER_NODE: &str = "per_node";
/// Deadlock victims and other restarts of two-phase locking, per second.
pub(super) const VICTIMS: &str = "victims";
/// The share of cores without work.
pub(super) const IDLE: &str = "idle";
/// Names of the shares of cores' time, in the order of [`BusyPart::ALL`].
pub(super) const PARTS: [&str; BusyPart::ALL.len()] = ["useful", "locks", "deadlocks", "commit"];

/// Adds a figure's own numbers to the results.
pub(super) type PutMore = fn(&EvaluationJob, &RunReport, &mut Points);

/// One point of one row.
pub(super) struct EvaluationJob {
    pub figure: &'static str,
    pub row: String,
    pub x: f64,
    /// The variants of which the one with the most throughput is shown.
    pub variants: Vec<EvaluationSettings>,
    pub more: Option<PutMore>,
}

impl EvaluationJob {
    /// A point of one variant.
    pub fn new(figure: &'static str, row: impl Into<String>, x: f64, settings: EvaluationSettings) -> Self {
        Self { figure, row: row.into(), x, variants: vec![settings], more: None }
    }

    fn run(&self) -> RunReport {
        let reports = self.variants.iter().map(evaluate);
        reports.max_by(|a, b| a.per_second().total_cmp(&b.per_second())).expect("a job has a variant")
    }

    fn put(&self, report: &RunReport, points: &mut Points) {
        let mut put = |metric: &str, value: f64, unit: &str| {
            points.put(self.figure, &self.row, self.x, metric, value, unit);
        };
        put(THROUGHPUT, report.per_second(), "1/s");
        put(PER_NODE, report.per_node(), "1/s");
        put(VICTIMS, report.rate(report.victims), "1/s");
        let mut idle = 1.0;
        for (name, part) in PARTS.into_iter().zip(BusyPart::ALL) {
            put(name, report.share(part), "share");
            idle -= report.share(part);
        }
        put(IDLE, idle, "share");
        if let Some(more) = self.more {
            more(self, report, points);
        }
    }
}

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

/// A row's number at a point.
pub(super) fn value(points: &Points, figure: &str, row: &str, x: f64, metric: &str) -> Option<f64> {
    points.at(figure, row, x, metric).map(|point| point.value)
}

/// A row's throughput at a point.
pub(super) fn rate(points: &Points, figure: &str, row: &str, x: f64) -> Option<f64> {
    value(points, figure, row, x, THROUGHPUT)
}

/// The ratio of two rows' throughput at a point.
pub(super) fn ratio(points: &Points, figure: &str, (over, under): (&str, &str), x: f64) -> Option<f64> {
    Some(rate(points, figure, over, x)? / rate(points, figure, under, x)?)
}

/// The points of a row: where they are, ascending.
pub(super) fn places(points: &Points, figure: &str, row: &str) -> Vec<f64> {
    let of_row = points.0.iter().filter(|it| it.figure == figure && it.row == row && it.metric == THROUGHPUT);
    let mut places: Vec<f64> = of_row.map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places
}
