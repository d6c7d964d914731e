//! Runs all lines at all shares, in virtual time, and keeps what came of each.
//!
//! A run depends on its settings and its seed alone, so several go on side by side, and what comes out is the same on
//! every machine.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use glassbox_cluster::Address;
use glassbox_sim::cluster::{Costs, World};

use super::auto;
use super::lines::{COORDINATOR_BUSY, Line, PARTITION_BUSY, RETRIES, THROUGHPUT, all};
use crate::points::{Point, Points};
use crate::spread::Spread;
use crate::watch::Watch;

/// How much is simulated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Virtual time before anything counts.
    pub warm_up_ms: u64,
    /// Virtual time that counts.
    pub measured_ms: u64,
    /// Runs of each point, each with its own seed.
    pub runs: u64,
    /// Shares of transactions on two partitions, in percent.
    pub shares: Vec<u64>,
    /// Whether all loads are simulated under which the scheme is chosen, or some.
    pub whole_grid: bool,
    /// How long each part of a load that shifts is, in virtual time.
    pub part_ms: u64,
    /// Of the first run.
    pub seed: u64,
    /// What work costs, if it is not as in the paper.
    pub costs: Option<Costs>,
}

impl Plan {
    /// Everything, or a first look.
    pub fn new(quick: bool, seed: u64) -> Self {
        if quick {
            let shares = vec![0, 2, 4, 6, 10, 20, 30, 40, 50, 70, 100];
            let (whole_grid, part_ms, costs) = (false, 2_000, None);
            Self { warm_up_ms: 50, measured_ms: 150, runs: 1, shares, whole_grid, part_ms, seed, costs }
        } else {
            let shares = vec![0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 70, 80, 90, 100];
            let (whole_grid, part_ms, costs) = (true, 4_000, None);
            Self { warm_up_ms: 150, measured_ms: 500, runs: 3, shares, whole_grid, part_ms, seed, costs }
        }
    }
}

/// What is to be chosen takes so many times as long to warm up.
const TO_CHOOSE: u64 = 10;

/// What one run came to.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    throughput: f64,
    coordinator_busy: f64,
    partition_busy: f64,
    retries: f64,
}

/// A line at a share.
struct Job {
    line: Line,
    percent: u64,
}

impl Job {
    fn run(&self, plan: &Plan, seed: u64) -> Outcome {
        let mut settings = self.line.settings(self.percent, seed);
        if let Some(costs) = plan.costs {
            settings.costs = costs;
            // What is different on this line may be made of the costs.
            (self.line.change)(&mut settings);
        }
        let mut world = World::new(settings);
        world.keep_history(false);
        let warm_up_ms = if settings.advice_us > 0 { plan.warm_up_ms * TO_CHOOSE } else { plan.warm_up_ms };
        world.run_us(warm_up_ms * 1_000);
        let partitions = (0..settings.partitions).map(|partition| Address::Replica { partition, replica: 0 });
        let coordinators = usize::from(settings.coordinators);
        let parties: Vec<_> = (0..settings.coordinators).map(Address::Coordinator).chain(partitions).collect();
        let before: Vec<_> = parties.iter().map(|&party| world.worked_ns(party)).collect();
        let measured = world.run_us(plan.measured_ms * 1_000);
        let span_ns = (plan.measured_ms * 1_000_000) as f64;
        let worked = parties.iter().zip(before).map(|(&party, before)| (world.worked_ns(party) - before) as f64);
        let busy: Vec<_> = worked.map(|worked_ns| worked_ns / span_ns).collect();
        Outcome {
            throughput: measured.per_second,
            coordinator_busy: busy[..coordinators].iter().sum::<f64>() / f64::from(settings.coordinators),
            partition_busy: busy[coordinators..].iter().sum::<f64>() / f64::from(settings.partitions),
            retries: measured.retries as f64 * 1e9 / span_ns,
        }
    }
}

fn jobs(plan: &Plan) -> Vec<Job> {
    let of_line = |line: Line| {
        let shares = line.shares.clone().unwrap_or_else(|| plan.shares.clone());
        shares.into_iter().map(move |percent| Job { line: line.clone(), percent })
    };
    all(plan.whole_grid).into_iter().flat_map(of_line).collect()
}

/// Runs everything; with an interruption, as far as it came.
pub fn simulate(plan: &Plan, watch: &dyn Watch) -> Points {
    let jobs = jobs(plan);
    let mut outcomes: Vec<Option<Vec<Outcome>>> = jobs.iter().map(|_| None).collect();
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(jobs.len());
    watch.step(0, jobs.len(), "simulated runs");
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..workers {
            let (sender, jobs, next, stop) = (sender.clone(), &jobs, &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    let runs = (plan.seed..plan.seed + plan.runs).map(|seed| job.run(plan, seed)).collect();
                    // Nobody listens any more only when the scope ends by a panic.
                    let _ = sender.send((at, runs));
                }
            });
        }
        drop(sender);
        for (done, (at, runs)) in receiver.into_iter().enumerate() {
            let Job { line, percent } = &jobs[at];
            watch.step(done + 1, jobs.len(), &format!("{}, {} at {percent} %", line.figure, line.row));
            outcomes[at] = Some(runs);
            if watch.interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    let mut points = Points::default();
    if !watch.interrupted() {
        auto::simulate(plan, &mut points);
    }
    for (job, runs) in jobs.iter().zip(&outcomes) {
        if let Some(runs) = runs {
            put(&mut points, job, runs);
        }
    }
    points
}

fn put(points: &mut Points, job: &Job, runs: &[Outcome]) {
    let metrics: [Metric; 4] = [
        (THROUGHPUT, "1/s", |run| run.throughput),
        (COORDINATOR_BUSY, "share", |run| run.coordinator_busy),
        (PARTITION_BUSY, "share", |run| run.partition_busy),
        (RETRIES, "1/s", |run| run.retries),
    ];
    for (metric, unit, of) in metrics {
        let spread = Spread::of(runs.iter().map(of));
        let (figure, row, metric, unit) =
            (job.line.figure.to_owned(), job.line.row.clone(), metric.to_owned(), unit.to_owned());
        let (x, value) = (job.percent as f64, spread.median);
        points.0.push(Point { figure, row, x, metric, value, spread: spread.middle_half(), unit });
    }
}

/// A name, a unit, and how it is taken from what came out.
type Metric = (&'static str, &'static str, fn(&Outcome) -> f64);
