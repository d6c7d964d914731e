//! The numbers as tables.

use super::instructions::{self, INSTRUCTIONS};
use super::systems::{ScaledForm, ScaledSystem};
use crate::points::{Point, Points};
use crate::section::Table;
use glassbox_workloads::format;

/// In results, transactions per second of all processes.
pub(super) const THROUGHPUT: &str = "throughput";
/// The ratio to the processes side by side.
pub(super) const OF_SIDE_BY_SIDE: &str = "of_side_by_side";
/// Time of the cores in use; the sum of the next three.
pub(super) const CORE_TIME: &str = "core_time";
/// The part of it that the program used.
pub(super) const PROGRAM: &str = "program";
/// The part that the system's kernel used for it.
pub(super) const KERNEL: &str = "kernel";
/// The rest: unused, or used by others.
pub(super) const IDLE: &str = "idle";
/// Time that clients waited for locks.
pub(super) const LOCK_WAIT: &str = "lock_wait";
/// Waits for latches.
pub(super) const LATCH_WAITS: &str = "latch_waits";
/// Share of the transactions that a client left for another core's.
pub(super) const HANDED_OVER: &str = "handed_over";
/// Share of the transactions that needed several partitions.
pub(super) const SEVERAL: &str = "several_partitions";
/// Share of the time in which they held them.
pub(super) const SEVERAL_HELD: &str = "several_partitions_held";

/// The numbers of cores that were measured for a system, ascending.
pub(super) fn cores(points: &Points, system: ScaledSystem) -> Vec<f64> {
    let of = |it: &&Point| it.figure == system.name() && it.metric == THROUGHPUT;
    let mut cores: Vec<f64> = points.0.iter().filter(of).map(|point| point.x).collect();
    cores.sort_by(f64::total_cmp);
    cores.dedup();
    cores
}

/// A number with the interquartile range of its rounds.
fn cell(points: &Points, system: ScaledSystem, form: ScaledForm, cores: f64, metric: &str) -> String {
    let Some(point) = points.at(system.name(), form.name(), cores, metric) else { return String::new() };
    match point.spread {
        Some(spread) => format!("{} ± {}", format::number(point.value), format::number(spread / 2.0)),
        None => format::number(point.value),
    }
}

/// Throughput by the number of cores, and the ratios to the processes side by side; `None` if it was not measured.
pub fn throughput(points: &Points, system: ScaledSystem) -> Option<Table> {
    let row = |&cores: &f64| {
        let mut cells = vec![format!("{cores}")];
        cells.extend(ScaledForm::ALL.map(|form| cell(points, system, form, cores, THROUGHPUT)));
        let compared = [ScaledForm::Any, ScaledForm::Own];
        cells.extend(compared.map(|form| cell(points, system, form, cores, OF_SIDE_BY_SIDE)));
        cells
    };
    let rows: Vec<_> = cores(points, system).iter().map(row).collect();
    let header =
        ["cores", "any warehouse", "own warehouses", "side by side", "any of side by side", "own of side by side"];
    (!rows.is_empty()).then(|| Table::new(&header, rows))
}

/// Core time of a transaction and the waits and messages that belong to it, on the most cores.
pub fn core_time(points: &Points, system: ScaledSystem) -> Option<Table> {
    let most = cores(points, system).last().copied()?;
    let (titles, metrics): (&[&str], &[&str]) = if system.is_classic() {
        (&["lock waits, µs", "latch waits per 1,000"], &[LOCK_WAIT, LATCH_WAITS])
    } else {
        (
            &["left to others, %", "several partitions, %", "held for, % of the time"],
            &[HANDED_OVER, SEVERAL, SEVERAL_HELD],
        )
    };
    let row = |form: ScaledForm| {
        let metrics = [CORE_TIME, PROGRAM, KERNEL, IDLE].iter().chain(metrics);
        let cells = metrics.map(|metric| cell(points, system, form, most, metric));
        std::iter::once(form.name().to_owned()).chain(cells).collect()
    };
    let title = format!("{most} core{}", if most == 1.0 { "" } else { "s" });
    let common = [title.as_str(), "core time, µs", "program", "kernel", "idle or others"];
    let header = [&common[..], titles].concat();
    Some(Table::new(&header, ScaledForm::ALL.map(row).to_vec()))
}

/// Instructions of a transaction by part of the program, on one core and on the most; `None` if they were not counted.
pub fn instructions(points: &Points, system: ScaledSystem) -> Option<Table> {
    let row_of = system.name();
    let totals = points.0.iter().filter(|it| it.figure == INSTRUCTIONS && it.row == row_of);
    let mut cores: Vec<f64> = totals.map(|point| point.x).collect();
    cores.sort_by(f64::total_cmp);
    cores.dedup();
    if cores.is_empty() {
        return None;
    }
    let number = |metric: &str, cores: f64| points.at(INSTRUCTIONS, row_of, cores, metric).map_or(0.0, |it| it.value);
    let row = |name: &str| {
        let cells = cores.iter().map(|&cores| format::number(number(name, cores)));
        let more = number(name, cores[cores.len() - 1]) - number(name, cores[0]);
        let last = (cores.len() > 1).then(|| format::signed(more));
        std::iter::once(name.to_owned()).chain(cells).chain(last).collect::<Vec<_>>()
    };
    // The other engine's parts are none of this one's.
    let is_used = |name: &&str| cores.iter().any(|&cores| number(name, cores) >= 1.0);
    let rows = instructions::names().filter(is_used).map(row).chain([row(instructions::ALL)]).collect();
    let mut header = vec!["instructions per transaction".to_owned()];
    header.extend(cores.iter().map(|cores| format!("{cores} core{}", if *cores == 1.0 { "" } else { "s" })));
    header.extend((cores.len() > 1).then(|| "more".to_owned()));
    Some(Table { header, rows })
}
