//! Runs all lines at all shares, in virtual time, and keeps what came of each.
//!
//! A run depends on its settings and its seed alone, so several go on side by side, and what comes out is the same on
//! every machine.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use glassbox_cluster::Address;
use glassbox_sim::cluster::{Settings, Workload, World};

use super::auto;
use super::lines::{COORDINATOR_BUSY, Line, PARTITION_BUSY, RETRIES, THROUGHPUT, all};
use super::tpcc::{Cell, LOCKS, SEVERAL, TpccPlan};
use crate::calibrate::CostTables;
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
    /// Of TPC-C.
    pub tpcc: TpccPlan,
    /// Whether all loads are simulated under which the scheme is chosen, or some.
    pub whole_grid: bool,
    /// How long each part of a load that shifts is, in virtual time.
    pub part_ms: u64,
    /// Of the first run.
    pub seed: u64,
    /// What work costs, if it is not as in the paper.
    pub costs: Option<CostTables>,
}

impl Plan {
    /// Everything, or a first look.
    pub fn new(quick: bool, seed: u64) -> Self {
        let tpcc = TpccPlan::new(quick);
        if quick {
            let shares = vec![0, 2, 4, 6, 10, 20, 30, 40, 50, 70, 100];
            let (whole_grid, part_ms, costs) = (false, 2_000, None);
            Self { warm_up_ms: 50, measured_ms: 150, runs: 1, shares, tpcc, whole_grid, part_ms, seed, costs }
        } else {
            let shares = vec![0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 30, 40, 50, 60, 70, 80, 90, 100];
            let (whole_grid, part_ms, costs) = (true, 4_000, None);
            Self { warm_up_ms: 150, measured_ms: 500, runs: 3, shares, tpcc, whole_grid, part_ms, seed, costs }
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
    several: f64,
    locks: f64,
}

/// One point of one row.
struct Job {
    figure: &'static str,
    row: String,
    x: u64,
    what: What,
}

/// What it is a point of.
enum What {
    /// The microbenchmark.
    Line(Line),
    Tpcc(Cell),
}

impl Job {
    fn run(&self, plan: &Plan, seed: u64) -> Outcome {
        match &self.what {
            What::Line(line) => {
                let mut settings = line.settings(self.x, seed);
                if let Some(costs) = plan.costs {
                    settings.costs = costs.micro;
                    // What is different on this line may be made of the costs.
                    (line.change)(&mut settings);
                }
                outcome(plan, settings, plan.measured_ms * line.longer)
            }
            What::Tpcc(cell) => {
                let costs = plan.costs.map_or(cell.settings.costs, |costs| costs.tpcc);
                outcome(plan, Settings { costs, seed, ..cell.settings }, plan.measured_ms)
            }
        }
    }
}

fn outcome<W: Workload>(plan: &Plan, settings: Settings<W>, measured_ms: u64) -> Outcome {
    let mut world = World::new(settings);
    world.keep_history(false);
    let warm_up_ms = if settings.advice_us > 0 { plan.warm_up_ms * TO_CHOOSE } else { plan.warm_up_ms };
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
    Outcome {
        throughput: measured.per_second,
        coordinator_busy: worked(of_coordinators) / span_ns / f64::from(settings.coordinators),
        partition_busy: worked(of_partitions) / span_ns / f64::from(settings.partitions),
        retries: measured.retries as f64 * 1e9 / span_ns,
        several: 100.0 * measured.several as f64 / measured.finished.max(1) as f64,
        locks: 100.0 * locked / worked(of_partitions).max(1.0),
    }
}

fn jobs(plan: &Plan) -> Vec<Job> {
    let of_line = |line: Line| {
        let shares = line.shares.clone().unwrap_or_else(|| plan.shares.clone());
        let job = move |x| Job { figure: line.figure, row: line.row.clone(), x, what: What::Line(line.clone()) };
        shares.into_iter().map(job)
    };
    let of_cell = |cell: Cell| Job { figure: cell.figure, row: cell.row.to_owned(), x: cell.x, what: What::Tpcc(cell) };
    let lines = all(plan.whole_grid).into_iter().flat_map(of_line);
    lines.chain(plan.tpcc.cells().into_iter().map(of_cell)).collect()
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
            let Job { figure, row, x, .. } = &jobs[at];
            watch.step(done + 1, jobs.len(), &format!("{figure}, {row} at {x}"));
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
    let metrics: [Metric; 6] = [
        (THROUGHPUT, "1/s", |run| run.throughput),
        (COORDINATOR_BUSY, "share", |run| run.coordinator_busy),
        (PARTITION_BUSY, "share", |run| run.partition_busy),
        (RETRIES, "1/s", |run| run.retries),
        (SEVERAL, "%", |run| run.several),
        (LOCKS, "%", |run| run.locks),
    ];
    let told = if matches!(job.what, What::Tpcc(_)) { metrics.len() } else { 4 };
    for &(metric, unit, of) in &metrics[..told] {
        let spread = Spread::of(runs.iter().map(of));
        let (figure, row, metric, unit) = (job.figure.to_owned(), job.row.clone(), metric.to_owned(), unit.to_owned());
        let (x, value) = (job.x as f64, spread.median);
        points.0.push(Point { figure, row, x, metric, value, spread: spread.middle_half(), unit });
    }
}

/// A name, a unit, and how it is taken from what came out.
type Metric = (&'static str, &'static str, fn(&Outcome) -> f64);
