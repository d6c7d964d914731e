//! The measurements on this machine: instructions are counted, throughput is measured and predicted.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use glassbox_cluster::SchemeKind;
use glassbox_cluster_cli::{Workload, begin_two};
use glassbox_lab::calibrate::{self, CostTables, link};
use glassbox_lab::count::{self, Counting};
use glassbox_lab::in_process::{self, Benchmark, CallPath, LockedShare};
use glassbox_lab::low_overhead::{self, TpccPlan};
use glassbox_lab::points::Points;
use glassbox_lab::real::{self, AutoPlan, ClusterPlan, Rows, RunningProcesses};
use glassbox_workloads::tpcc::{self, Scale};
use serde_json::json;

use crate::program::calibrate::measure as measure_costs;
use crate::program::child::command;
use crate::program::shared::{Group, MeasurementBar, of_report};
use glassbox_workloads::format;

/// Reads tables of costs.
pub fn read_costs(file: &Path) -> anyhow::Result<CostTables> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let why = || format!("{} is not a table of costs; create one by `glassbox-lab calibrate`", file.display());
    serde_json::from_str(&text).with_context(why)
}

/// Counts the instructions of a call through the machines, and of one that takes the token.
pub fn count(out: &mut dyn Write, quick: bool, dir: &Path, seed: u64) -> anyhow::Result<Option<Group>> {
    let valgrind = match count::version() {
        Ok(version) => version,
        Err(why) => {
            writeln!(out, "\nSKIPPED: instructions through the machines in process: {why:#}")?;
            return Ok(None);
        }
    };
    let counting = Counting {
        scale: Scale::small(1),
        systems: CallPath::ALL.to_vec(),
        warm_up: 320,
        transactions: if quick { 1_600 } else { 16_000 },
        seed,
        dir: dir.to_owned(),
    };
    let (bar, mut points) = (MeasurementBar::new(), Points::default());
    in_process::count(&counting, &|child| command("count-in-process", child), &bar, &mut points)?;
    let Counting { scale, warm_up, transactions, seed, .. } = counting;
    let systems = LockedShare::ALL.to_vec();
    let locks = Counting { scale, systems, warm_up, transactions, seed, dir: dir.to_owned() };
    in_process::count_locks(&locks, &|child| command("count-locks", child), &bar, &mut points)?;
    bar.0.finish_and_clear();
    let counted = format::count(counting.transactions as u64);
    writeln!(
        out,
        "\nOn this machine: instructions of {counted} transactions, by {valgrind}; on one partition if not stated"
    )?;
    writeln!(out, "{}", of_report(&in_process::tables::totals(&points)))?;
    for benchmark in Benchmark::ALL {
        writeln!(out, "\n{}", of_report(&in_process::tables::parts(&points, benchmark)))?;
    }
    if let Some(table) = in_process::locks_table(&points) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    let of_locks = json!({ "partitions": 2, "warehouses": 6, "clients": real::CLIENTS });
    let configuration = json!({
        "partitions": 1,
        "locks": of_locks,
        "scale": counting.scale,
        "counted": counting.transactions,
        "seed": seed,
    });
    Ok(Some(Group { experiment: in_process::EXPERIMENT, simulated: false, configuration, points }))
}

/// Starts processes of this program, with places in a cluster.
fn start_processes(scheme: SchemeKind, rows: Rows) -> anyhow::Result<RunningProcesses> {
    let workload = match rows {
        Rows::Micro(clients, load) => Workload::Micro { clients, load },
        Rows::Tpcc(load) => Workload::Tpcc { scale: load.scale, seed: tpcc::LOAD_SEED },
    };
    let (processes, cluster) = begin_two(scheme, workload)?;
    Ok(RunningProcesses { cluster, guard: Box::new(processes) })
}

/// Measures throughput, and predicts it by a simulation with the constants of this machine.
pub fn measure(out: &mut dyn Write, quick: bool, seed: u64) -> anyhow::Result<Vec<Group>> {
    let costs = measure_costs(out, quick)?;
    let (plan, mut real, mut predicted) = (ClusterPlan::new(quick, seed), Points::default(), Points::default());
    let auto = AutoPlan::new(quick, seed);
    writeln!(out, "\nOn this machine: two partitions, about {:.0} s", plan.seconds() + auto.seconds())?;
    let bar = MeasurementBar::new();
    real::measure(&plan, &start_processes, &bar, &mut real)?;
    real::measure_auto(&auto, &bar, &mut real)?;
    bar.0.finish_and_clear();
    let table = calibrate::costs(&costs.points).context("the calibration is incomplete: it was interrupted")?;
    real::predict(&plan, table, &|us| link(&costs.points, us), &mut predicted);
    let tpcc = TpccPlan::new(quick);
    real::predict_tpcc(&tpcc, table, &|us| link(&costs.points, us), seed, &mut predicted);
    for sweep in real::sweeps(&plan.round_trips_us) {
        for (points, what) in [(&real, "real"), (&predicted, "simulated, calibrated")] {
            if let Some(table) = real::tables::throughput(points, sweep, what) {
                writeln!(out, "\n{}", of_report(&table))?;
            }
        }
    }
    for (.., table) in real::tables::others(&real) {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    for table in low_overhead::tpcc_tables(&predicted, "simulated, calibrated") {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    writeln!(out, "\n{}", of_report(&real::tables::goals(&real)))?;
    writeln!(out, "\n{}", of_report(&real::auto_table(&real)))?;
    writeln!(out, "\n{}", of_report(&real::tables::apart(&real, &predicted)))?;
    let configuration = json!({
        "partitions": 2,
        "clients": real::CLIENTS,
        "more_clients": plan.clients,
        "round_trips_us": plan.round_trips_us,
        "rounds": plan.rounds,
        "measured_ms": plan.time.as_millis() as u64,
        "seed": seed,
    });
    let mut simulated = configuration.clone();
    simulated["costs"] = serde_json::to_value(table)?;
    let (of_real, of_predicted) = (real::EXPERIMENT, real::PREDICTED);
    Ok(vec![
        costs,
        Group { experiment: of_real, simulated: false, configuration, points: real },
        Group { experiment: of_predicted, simulated: true, configuration: simulated, points: predicted },
    ])
}
