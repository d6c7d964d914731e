//! Measures all cells, in rounds, and puts the medians into the results.

use std::collections::BTreeMap;

use anyhow::Context;
use glassbox_workloads::tpcc::Kind;

use super::bound::Load;
use super::plan::{Cell, CharmPlan};
use super::pools::{PoolTarget, Pools, TriedSize};
use super::run::{Bench, PAGE_BYTES, RunCounts, RunLength};
use crate::measurement::{Progress, Spread};
use crate::points::{Point, Points};

/// Names of numbers.
pub(super) const THROUGHPUT: &str = "throughput";
pub(super) const NEW_ORDERS: &str = "new_orders";
pub(super) const RESPONSE: &str = "response";
pub(super) const LOCK_WAIT: &str = "lock_wait";
pub(super) const READ_TIME: &str = "read_time";
pub(super) const READ_EACH: &str = "read_each";
pub(super) const READS: &str = "reads";
pub(super) const VICTIMS: &str = "victims";
pub(super) const OTHERS_READS: &str = "others_reads";
pub(super) const MISSED_UNDER_LOCKS: &str = "missed";
pub(super) const NEED_DISK: &str = "need_disk";
pub(super) const BOUND: &str = "bound";
pub(super) const EXECUTION: &str = "execution";
pub(super) const PREDICTED: [&str; 3] = ["predicted_2pl", "predicted_tste", "predicted_otste"];

/// The metrics of every cell.
#[cfg(test)]
pub(super) const METRICS: [&str; 16] = [
    THROUGHPUT,
    NEW_ORDERS,
    RESPONSE,
    LOCK_WAIT,
    READ_TIME,
    READ_EACH,
    READS,
    VICTIMS,
    OTHERS_READS,
    MISSED_UNDER_LOCKS,
    NEED_DISK,
    EXECUTION,
    PREDICTED[0],
    PREDICTED[1],
    PREDICTED[2],
    BOUND,
];

/// In results, the figure of the sizes of pools.
pub(super) const SIZES: &str = "sizes";

/// Pages of a New-Order that are pinned, and so on, by procedure.
pub(super) fn pinned(kind: Kind) -> String {
    format!("pinned_{}", kind.name())
}

/// Measures; returns early on an interrupt. Returns how many rounds are complete.
///
/// # Errors
/// When a database cannot be made or run.
pub fn measure(plan: &CharmPlan, watch: &dyn Progress, points: &mut Points) -> anyhow::Result<usize> {
    let cells = plan.cells();
    let dir = tempfile::Builder::new().prefix("glassbox-charm-").tempdir_in(&plan.dir);
    let dir = dir.with_context(|| format!("cannot create a directory in {}", plan.dir.display()))?;
    let mut pools = BTreeMap::new();
    let used = |warehouses: &u16| cells.iter().any(|cell| cell.warehouses == *warehouses);
    for warehouses in [1, 5].into_iter().filter(used) {
        watch.step(0, 1, "loading");
        let bench_dir = dir.path().join(format!("{warehouses}.db"));
        let bench = Bench { dir: &bench_dir, scale: plan.scale(warehouses), seed: plan.seed, inputs: 0 };
        bench.load()?;
        let mut targets: Vec<PoolTarget> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.warehouses == warehouses) {
            if !targets.contains(&cell.pool) {
                targets.push(cell.pool);
            }
        }
        let of_warehouses = Pools::measure(&bench, plan.warm_up(), (&targets, plan.refinements()), watch)?;
        for &TriedSize { pages, share, .. } in &of_warehouses.0 {
            let row = format!("{warehouses} warehouse{}", if warehouses == 1 { "" } else { "s" });
            points.put(SIZES, &row, (pages * PAGE_BYTES) as f64 / 1e6, NEED_DISK, share, "percent");
        }
        pools.insert(warehouses, (bench_dir, of_warehouses));
    }
    let mut rounds: Vec<Vec<Vec<Number>>> = Vec::new();
    'rounds: for round in 0..plan.rounds {
        let mut measured = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            if watch.interrupted() {
                break 'rounds;
            }
            let Cell { figure, row, x, .. } = cell;
            watch.step(round * cells.len() + at, plan.rounds * cells.len(), &format!("{figure}: {row}, {x}"));
            let (dir, sizes) = &pools[&cell.warehouses];
            let scale = plan.scale(cell.warehouses);
            let bench = Bench { dir, scale, seed: plan.seed + round as u64, inputs: 0 };
            let run = super::run::RunSettings { pool_pages: sizes.size(cell.pool), ..cell.run };
            let ran = bench.run(&run, plan.warm_up(), RunLength::For(plan.length()));
            measured.push(numbers(cell, &ran.with_context(|| format!("{figure}: {row}, {x}"))?));
        }
        rounds.push(measured);
    }
    put(&cells, &rounds, points);
    Ok(rounds.len())
}

/// A name, a value, a unit.
pub(super) type Number = (String, f64, &'static str);

pub(super) fn numbers(cell: &Cell, ran: &RunCounts) -> Vec<Number> {
    let new_order = ran.of(Kind::NewOrder);
    let reads = new_order.fetch_reads + new_order.operate_reads;
    let per_reads = |ns: f64| if reads > 0.0 { ns / reads } else { 0.0 };
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
    let mut numbers = vec![
        (THROUGHPUT, ran.committed as f64 / ran.seconds, "transactions/s"),
        (NEW_ORDERS, ran.new_orders as f64 / ran.seconds, "transactions/s"),
        (RESPONSE, ran.response_ns / 1e6, "ms"),
        (LOCK_WAIT, new_order.lock_wait_ns / 1e6, "ms"),
        (READ_TIME, new_order.read_ns / 1e6, "ms"),
        (READ_EACH, per_reads(new_order.read_ns) / 1e6, "ms"),
        (READS, ran.mean(|it| it.fetch_reads + it.operate_reads), "pages/transaction"),
        (VICTIMS, 100.0 * ran.victims, "percent"),
        (OTHERS_READS, percent(ran.classic.lock_waited_for_disk_ns, ran.classic.lock_waited_ns), "percent"),
        (MISSED_UNDER_LOCKS, 100.0 * ran.mean(|it| it.missed_executions_ratio), "percent"),
        (NEED_DISK, 100.0 * new_order.two_stage_ratio, "percent"),
        (EXECUTION, ran.mean(|it| it.execution_ns) / 1e6, "ms"),
        (PREDICTED[0], ran.mean(|it| it.predicted.conventional_ns) / 1e6, "ms"),
        (PREDICTED[1], ran.mean(|it| it.predicted.two_stage_ns) / 1e6, "ms"),
        (PREDICTED[2], ran.mean(|it| it.predicted.optimistic_ns) / 1e6, "ms"),
        (BOUND, bound(cell, ran), "ratio"),
    ]
    .into_iter()
    .map(|(name, value, unit)| (name.to_owned(), value, unit))
    .collect::<Vec<_>>();
    let kib = |kind: Kind| ran.of(kind).pinned_pages * PAGE_BYTES as f64 / 1024.0;
    numbers.extend(Kind::ALL.map(|kind| (pinned(kind), kib(kind), "KiB")));
    numbers
}

/// The most that two stages can gain in this cell, from the computation, the reads and the disk.
fn bound(cell: &Cell, ran: &RunCounts) -> f64 {
    let (disks, read_ms) = cell.run.disk.map_or((64.0, 0.1), |disk| (disk.servers as f64, disk.mean_ns() as f64 / 1e6));
    // Without a modelled processor, its time for a transaction.
    let operate =
        |it: &glassbox::stats::ProcedureExecution| it.predicted.conventional_ns - it.read_ns - it.lock_wait_ns;
    let (computation_ms, processors) = match cell.run.computation_ns {
        0 => (ran.mean(|it| operate(it).max(5_000.0)) / 1e6, 2.0),
        ns => (ns as f64 / 1e6, 1.0),
    };
    Load {
        sessions: cell.run.sessions as f64,
        computation_ms,
        fetch: if cell.run.computation_ns > 0 { 1.0 } else { 0.2 },
        reads: ran.mean(|it| it.fetch_reads + it.operate_reads),
        read_ms,
        disks,
        processors,
        // New-Order and Payment, of the mix.
        hot: 0.86,
    }
    .bound()
}

/// The medians of all rounds.
fn put(cells: &[Cell], rounds: &[Vec<Vec<Number>>], points: &mut Points) {
    let Some(first) = rounds.first() else { return };
    for (at, (cell, numbers)) in cells.iter().zip(first).enumerate() {
        for (number, (metric, _, unit)) in numbers.iter().enumerate() {
            let spread = Spread::of(rounds.iter().map(|round| round[at][number].1));
            points.0.push(Point {
                figure: cell.figure.to_owned(),
                row: cell.row.clone(),
                x: cell.x,
                metric: metric.clone(),
                value: spread.median,
                spread: spread.middle_half(),
                unit: (*unit).to_owned(),
            });
        }
    }
}
