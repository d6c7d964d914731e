//! Measures throughput: processes of this program that load, wait for each other, and run at the same time.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use glassbox_program::{READY, sibling};

use super::plan::{ScaledRun, ScalingPlan};
use super::systems::{ScaledForm, ScaledSystem};
use super::tables::{
    CORE_TIME, HANDED_OVER, IDLE, KERNEL, LATCH_WAITS, LOCK_WAIT, OF_SIDE_BY_SIDE, PROGRAM, SEVERAL, SEVERAL_HELD,
    THROUGHPUT,
};
use crate::measurement::{Progress, Spread};
use crate::points::{self, Point, Points};

/// A run of `glassbox tpcc` in a process of its own.
#[derive(Debug, Clone)]
pub struct TpccProcess {
    /// Engine and durability.
    pub system: ScaledSystem,
    /// Partitions, if the engine has them, and clients.
    pub cores: usize,
    /// Whether each client has warehouses of its own partition.
    pub own: bool,
    /// Warehouses.
    pub warehouses: u16,
    /// Whether they have a hundredth of their size.
    pub small: bool,
    /// Transactions in flight of each client.
    pub in_flight: usize,
    /// Measured seconds.
    pub seconds: f64,
    /// Seed of the transactions' inputs.
    pub seed: u64,
    /// Whether the consistency conditions are checked.
    pub is_checked: bool,
    /// Directory of the database.
    pub dir: PathBuf,
    /// File of the results.
    pub json: PathBuf,
}

/// What one run came to: sums over its processes, or per transaction.
struct Measured {
    values: Vec<(&'static str, f64)>,
}

impl Measured {
    fn throughput(&self) -> f64 {
        self.values[0].1
    }
}

/// Measures. `command` makes the command line of a process of `glassbox`, which loads, writes [`READY`] as a line of
/// its own, and begins when it can read a line. Returns early on an interrupt; returns how many rounds are complete.
///
/// # Errors
/// When a process fails, as when a consistency condition is violated.
pub fn measure(
    plan: &ScalingPlan,
    command: &dyn Fn(&TpccProcess) -> Vec<String>,
    watch: &dyn Progress,
    points: &mut Points,
) -> anyhow::Result<usize> {
    let runs = plan.runs();
    let mut rounds: Vec<Vec<Measured>> = Vec::new();
    'rounds: for round in 0..plan.rounds {
        let mut measured = Vec::new();
        for (at, run) in runs.iter().enumerate() {
            if watch.interrupted() {
                break 'rounds;
            }
            let plural = if run.cores == 1 { "" } else { "s" };
            let what = format!("{}, {} core{plural}, {}", run.system.name(), run.cores, run.form.name());
            watch.step(round * runs.len() + at, plan.rounds * runs.len(), &what);
            match one_run(plan, run, round, command) {
                Ok(run) => measured.push(run),
                // An interrupt ends the processes too: then their failure is not the cause.
                Err(_) if watch.interrupted() => break 'rounds,
                Err(error) => return Err(error.context(what)),
            }
        }
        rounds.push(measured);
    }
    if !rounds.is_empty() {
        put(&runs, &rounds, points);
    }
    Ok(rounds.len())
}

fn one_run(
    plan: &ScalingPlan,
    run: &ScaledRun,
    round: usize,
    command: &dyn Fn(&TpccProcess) -> Vec<String>,
) -> anyhow::Result<Measured> {
    let dir = tempfile::Builder::new().prefix("glassbox-scaling-").tempdir_in(&plan.dir);
    let dir = dir.with_context(|| format!("cannot create a directory in {}", plan.dir.display()))?;
    let (processes, cores) = if run.form == ScaledForm::SideBySide { (run.cores, 1) } else { (1, run.cores) };
    let process = |number: usize| TpccProcess {
        system: run.system,
        cores,
        own: run.form == ScaledForm::Own,
        warehouses: plan.warehouses * cores as u16,
        small: plan.small,
        in_flight: plan.in_flight,
        seconds: plan.seconds,
        seed: plan.seed + (round * processes + number) as u64,
        // In the first round: an interrupt may leave out the others.
        is_checked: round == 0,
        dir: dir.path().join(format!("db-{number}")),
        json: dir.path().join(format!("{number}.json")),
    };
    let processes: Vec<_> = (0..processes).map(process).collect();
    let mut started = processes.iter().map(|it| Started::new(&command(it))).collect::<anyhow::Result<Vec<_>>>()?;
    started.iter_mut().try_for_each(Started::await_ready)?;
    started.iter_mut().try_for_each(Started::begin)?;
    // All of them, so that none is left behind by another's failure.
    let ended: Vec<_> = started.into_iter().map(Started::finish).collect();
    ended.into_iter().collect::<anyhow::Result<()>>()?;
    let results = processes.iter().map(|it| read(&it.json)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(sum(&results, run.cores))
}

/// A process that loads, or runs.
struct Started {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Started {
    fn new(arguments: &[String]) -> anyhow::Result<Self> {
        let mut child = Command::new(sibling::find(sibling::GLASSBOX)?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (input, output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn await_ready(&mut self) -> anyhow::Result<()> {
        let mut line = String::new();
        while line.trim_end() != READY {
            line.clear();
            if self.output.read_line(&mut line)? == 0 {
                return Err(self.failed());
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        self.input.write_all(b"\n").and_then(|()| self.input.flush()).context("a process has ended before it ran")
    }

    fn finish(mut self) -> anyhow::Result<()> {
        // The rest of its report, without which it could not go on.
        std::io::copy(&mut self.output, &mut std::io::sink())?;
        if self.child.wait()?.success() { Ok(()) } else { Err(self.failed()) }
    }

    fn failed(&mut self) -> anyhow::Error {
        let mut said = String::new();
        let read = self.child.stderr.as_mut().map(|errors| errors.read_to_string(&mut said));
        let status = self.child.wait();
        match (read, status) {
            (Some(Ok(_)), Ok(status)) => anyhow::anyhow!("a process ended with {status}: {}", said.trim()),
            _ => anyhow::anyhow!("a process ended, and says nothing"),
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // One that has ended cannot be killed; one that has not would wait for its line for ever.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The results of a process for all its transactions.
fn read(json: &Path) -> anyhow::Result<Points> {
    let of_run = points::read(json)?.into_iter().map(|line| line.point).filter(|point| point.figure == "run");
    let points = Points(of_run.collect());
    if points.value("run", "all", "throughput").is_none() {
        bail!("{} has no throughput", json.display());
    }
    Ok(points)
}

/// The numbers of a run from those of its processes.
fn sum(results: &[Points], cores: usize) -> Measured {
    let of = |metric: &str| -> f64 { results.iter().filter_map(|points| points.value("run", "all", metric)).sum() };
    let committed = of("committed").max(1.0);
    let seconds = of("seconds") / results.len() as f64;
    let us = |seconds: f64| seconds / committed * 1e6;
    let (program, kernel) = (us(of("cpu_program")), us(of("cpu_kernel")));
    let all = us(seconds * cores as f64);
    let mean_wait_us = of("lock_wait_mean") / results.len() as f64 / 1e3;
    let lock_wait = of("lock_waits_per_1000") / results.len() as f64 / 1e3 * mean_wait_us;
    let mut values = vec![
        (THROUGHPUT, of("throughput")),
        (CORE_TIME, all),
        (PROGRAM, program),
        (KERNEL, kernel),
        (IDLE, (all - program - kernel).max(0.0)),
    ];
    if results.iter().any(|points| points.get("run", "all", "lock_wait_mean").is_some()) {
        values.extend([(LOCK_WAIT, lock_wait), (LATCH_WAITS, of("latch_waits_per_1000") / results.len() as f64)]);
    } else {
        values.extend([
            (HANDED_OVER, 100.0 * of("handed_over") / committed),
            (SEVERAL, 100.0 * of("multi_partition") / committed),
            (SEVERAL_HELD, 100.0 * of("multi_partition_held") / seconds),
        ]);
    }
    Measured { values }
}

/// The medians of all rounds, and the ratios within each.
fn put(runs: &[ScaledRun], rounds: &[Vec<Measured>], points: &mut Points) {
    let of = |at: usize, value: usize| rounds.iter().map(|round| round[at].values[value].1).collect::<Vec<f64>>();
    let mut add = |run: &ScaledRun, form: ScaledForm, metric: &str, spread: Spread, unit: &str| {
        points.0.push(Point {
            figure: run.system.name().to_owned(),
            row: form.name().to_owned(),
            x: run.cores as f64,
            metric: metric.to_owned(),
            value: spread.median,
            spread: spread.middle_half(),
            unit: unit.to_owned(),
        });
    };
    for (at, run) in runs.iter().enumerate() {
        let forms = if run.cores == 1 { &ScaledForm::ALL[..] } else { &[run.form] };
        for (value, (metric, _)) in rounds[0][at].values.iter().enumerate() {
            let spread = Spread::of(of(at, value));
            forms.iter().for_each(|&form| add(run, form, metric, spread, unit(metric)));
        }
        let base = |other: &ScaledRun| {
            other.system == run.system && other.cores == run.cores && other.form == ScaledForm::SideBySide
        };
        if let Some(base) = runs.iter().position(base) {
            let throughputs = |at: usize| rounds.iter().map(|round| round[at].throughput()).collect::<Vec<_>>();
            let ratios = Spread::of_ratios(&throughputs(at), &throughputs(base));
            add(run, run.form, OF_SIDE_BY_SIDE, ratios, "ratio");
        }
    }
}

fn unit(metric: &str) -> &'static str {
    match metric {
        THROUGHPUT => "transactions/s",
        CORE_TIME | PROGRAM | KERNEL | IDLE | LOCK_WAIT => "µs/transaction",
        LATCH_WAITS => "waits/1,000 transactions",
        _ => "percent",
    }
}
