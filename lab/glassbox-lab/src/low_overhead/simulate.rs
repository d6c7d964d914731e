//! Runs all series at all shares, in virtual time, and keeps the results.
//!
//! A run depends on its settings and its seed alone, so runs are concurrent, and results are the same on every machine.

use std::collections::BTreeSet;

use glassbox_cluster::Address;
use glassbox_sim::cluster::{Settings, Workload, World};

use super::plan::SimulationPlan;
use super::series::{COORDINATOR_BUSY, PARTITION_BUSY, RETRIES, Series, THROUGHPUT};
use super::tpcc::{LOCKS, SEVERAL, TpccPoint};
use super::{
    auto, coordinators, depth, figure4, figure5, figure6, figure7, figure10, other_schemes, overlap, table1, ticks,
    tpcc,
};
use crate::measurement::{Progress, Spread, run_on_all_cores};
use crate::points::{Point, Points};

/// The multiple of the warm-up under the advisor, which has to choose a scheme first.
const ADVISED_WARM_UP: u64 = 10;

/// The result of one run.
#[derive(Debug, Clone, Copy)]
struct RunOutcome {
    throughput: f64,
    coordinator_busy: f64,
    partition_busy: f64,
    retries: f64,
    several: f64,
    locks: f64,
}

/// One point of one row.
struct SimulationJob {
    figure: &'static str,
    row: String,
    x: u64,
    what: JobKind,
}

/// The benchmark of a point.
enum JobKind {
    /// The microbenchmark.
    Series(Series),
    Tpcc(TpccPoint),
}

impl SimulationJob {
    fn run(&self, plan: &SimulationPlan, seed: u64) -> RunOutcome {
        match &self.what {
            JobKind::Series(line) => {
                let mut settings = line.settings(self.x, seed);
                if let Some(costs) = plan.costs {
                    settings.costs = costs.micro;
                    // The change may depend on the costs.
                    (line.change)(&mut settings);
                }
                outcome(plan, settings, plan.measured_ms * line.longer)
            }
            JobKind::Tpcc(cell) => {
                let costs = plan.costs.map_or(cell.settings.costs, |costs| costs.tpcc);
                outcome(plan, Settings { costs, seed, ..cell.settings }, plan.measured_ms)
            }
        }
    }
}

fn outcome<W: Workload>(plan: &SimulationPlan, settings: Settings<W>, measured_ms: u64) -> RunOutcome {
    let mut world = World::new(settings);
    world.keep_history(false);
    let warm_up_ms = if settings.advice_us > 0 { plan.warm_up_ms * ADVISED_WARM_UP } else { plan.warm_up_ms };
    world.run_us(warm_up_ms * 1_000);
    let partitions = (0..settings.partitions).map(|partition| Address::Replica { partition, replica: 0 });
    let coordinators = usize::from(settings.coordinators);
    let parties: Vec<_> = (0..settings.coordinators).map(Address::Coordinator).chain(partitions).collect();
    let spent = |world: &World<W>| -> Vec<_> {
        parties.iter().map(|&party| (world.worked_ns(party), world.locked_ns(party))).collect()
    };
    let before = spent(&world);
    let measured = world.run_us(measured_ms * 1_000);
    let spent: Vec<_> = spent(&world).iter().zip(before).map(|(now, then)| (now.0 - then.0, now.1 - then.1)).collect();
    let span_ns = (measured_ms * 1_000_000) as f64;
    let (of_coordinators, of_partitions) = spent.split_at(coordinators);
    let worked = |of: &[(u64, u64)]| of.iter().map(|it| it.0).sum::<u64>() as f64;
    let locked = of_partitions.iter().map(|it| it.1).sum::<u64>() as f64;
    RunOutcome {
        throughput: measured.per_second,
        coordinator_busy: worked(of_coordinators) / span_ns / f64::from(settings.coordinators),
        partition_busy: worked(of_partitions) / span_ns / f64::from(settings.partitions),
        retries: measured.retries as f64 * 1e9 / span_ns,
        several: 100.0 * measured.several as f64 / measured.finished.max(1) as f64,
        locks: 100.0 * locked / worked(of_partitions).max(1.0),
    }
}

/// Every series of every figure; with the whole grid of loads, or a part of it.
fn all(whole_grid: bool) -> Vec<Series> {
    let grid = auto::series(whole_grid);
    let several = [coordinators::series(), ticks::series(), overlap::series()].concat();
    let of_paper = [
        figure4::series(),
        figure5::series(),
        figure6::series(),
        depth::series(),
        other_schemes::series(),
        figure7::series(),
        figure10::series(),
    ]
    .concat();
    [of_paper, table1::series(), several, grid].concat()
}

fn jobs(plan: &SimulationPlan) -> Vec<SimulationJob> {
    let of_line = |line: Series| {
        let shares = line.shares.clone().unwrap_or_else(|| plan.shares.clone());
        let job = move |x| SimulationJob {
            figure: line.figure,
            row: line.row.clone(),
            x,
            what: JobKind::Series(line.clone()),
        };
        shares.into_iter().map(job)
    };
    let of_cell = |cell: TpccPoint| SimulationJob {
        figure: cell.figure,
        row: cell.row.to_owned(),
        x: cell.x,
        what: JobKind::Tpcc(cell),
    };
    let is_wanted = |figure: &str| plan.figure.as_deref().is_none_or(|wanted| wanted == figure);
    let lines = all(plan.whole_grid).into_iter().filter(|line| is_wanted(line.figure)).flat_map(of_line);
    let cells = tpcc::points(&plan.tpcc).into_iter().filter(|cell| is_wanted(cell.figure));
    lines.chain(cells.map(of_cell)).collect()
}

/// The names of the figures.
pub fn figures() -> BTreeSet<&'static str> {
    let lines = all(false).into_iter().map(|line| line.figure);
    lines.chain([tpcc::FIGURE_8, tpcc::FIGURE_9]).collect()
}

/// Runs everything; on an interrupt, the results so far.
pub fn simulate(plan: &SimulationPlan, watch: &dyn Progress) -> Points {
    let jobs = jobs(plan);
    let run = |job: &SimulationJob| -> Vec<_> {
        (plan.seed..plan.seed + plan.runs).map(|seed| job.run(plan, seed)).collect()
    };
    let name = |SimulationJob { figure, row, x, .. }: &SimulationJob| format!("{figure}, {row} at {x}");
    let outcomes = run_on_all_cores(&jobs, run, name, watch);
    let mut points = Points::default();
    if plan.figure.is_none() && !watch.interrupted() {
        auto::simulate(plan, &mut points);
    }
    for (job, runs) in jobs.iter().zip(&outcomes) {
        if let Some(runs) = runs {
            put(&mut points, job, runs);
        }
    }
    points
}

fn put(points: &mut Points, job: &SimulationJob, runs: &[RunOutcome]) {
    let metrics: [OutcomeMetric; 6] = [
        (THROUGHPUT, "1/s", |run| run.throughput),
        (COORDINATOR_BUSY, "share", |run| run.coordinator_busy),
        (PARTITION_BUSY, "share", |run| run.partition_busy),
        (RETRIES, "1/s", |run| run.retries),
        (SEVERAL, "%", |run| run.several),
        (LOCKS, "%", |run| run.locks),
    ];
    let reported = if matches!(job.what, JobKind::Tpcc(_)) { metrics.len() } else { 4 };
    for &(metric, unit, of) in &metrics[..reported] {
        let spread = Spread::of(runs.iter().map(of));
        let (figure, row, metric, unit) = (job.figure.to_owned(), job.row.clone(), metric.to_owned(), unit.to_owned());
        let (x, value) = (job.x as f64, spread.median);
        points.0.push(Point { figure, row, x, metric, value, spread: spread.middle_half(), unit });
    }
}

/// A name, a unit, and the value of a result.
type OutcomeMetric = (&'static str, &'static str, fn(&RunOutcome) -> f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_series_are_unique() {
        let mut names: Vec<_> = all(true).into_iter().map(|line| (line.figure, line.row)).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
