//! The points of figures: how each is simulated, and how its numbers are found among the results.

use glassbox_sim::determinism::{BusyPart, EvaluationSettings, RunReport, evaluate};

use crate::measurement::{Progress, run_on_all_cores};
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

    /// Simulates it.
    pub fn run(&self) -> RunReport {
        let reports = self.variants.iter().map(evaluate);
        reports.max_by(|a, b| a.per_second().total_cmp(&b.per_second())).expect("a job has a variant")
    }

    /// Adds its numbers to the results.
    pub fn put(&self, report: &RunReport, points: &mut Points) {
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

/// Runs some jobs, on all cores; on an interrupt, the results so far.
pub(super) fn run_all(jobs: &[EvaluationJob], watch: &dyn Progress) -> Points {
    let name = |EvaluationJob { figure, row, x, .. }: &EvaluationJob| format!("{figure}, {row} at {x}");
    let reports = run_on_all_cores(jobs, EvaluationJob::run, name, watch);
    let mut points = Points::default();
    for (job, report) in jobs.iter().zip(&reports) {
        if let Some(report) = report {
            job.put(report, &mut points);
        }
    }
    points
}
