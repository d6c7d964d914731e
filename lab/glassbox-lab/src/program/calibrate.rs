//! `glassbox-lab calibrate`: the constants of the simulator, measured on this machine.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use glassbox_lab::calibrate::{self, CalibrationPlan, EXPERIMENT, calibrate, tables};
use glassbox_lab::points::Points;
use serde_json::json;

use super::report::{COSTS, DIRECTORY};
use super::shared::{Group, MeasurementBar, of_report, put_all};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{machine, report_to};

/// Measure the simulator's costs: work, messages and round trips, on this machine
///
/// The state machines of partitions, coordinator and client handle their messages on one thread; round trips are
/// measured between threads. Writes the table of costs to costs.json, for `lab low-overhead --costs`.
#[derive(Args)]
pub struct CalibrateArguments {
    /// Measure less
    #[arg(long)]
    quick: bool,
    /// Directory of the results: costs.json, calibrate.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Does what the arguments say.
pub fn run(arguments: &CalibrateArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let results = &arguments.results;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    let group = measure(&mut *out, arguments.quick)?;
    for to in std::iter::once(&results.join("calibrate.jsonl")).chain(&arguments.json) {
        put_all(to, std::slice::from_ref(&group))?;
    }
    let costs = calibrate::costs(&group.points).context("the measurement is incomplete: it was interrupted")?;
    let file = results.join(COSTS);
    let text = serde_json::to_string_pretty(&costs)?;
    std::fs::write(&file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    writeln!(out, "\nthe table of costs: {}", file.display())?;
    Ok(Verdict::Good)
}

/// Measures, and prints the results.
pub fn measure(out: &mut dyn Write, quick: bool) -> anyhow::Result<Group> {
    let (plan, mut points) = (CalibrationPlan::new(quick), Points::default());
    let bar = MeasurementBar::new();
    calibrate(&plan, &bar, &mut points)?;
    bar.0.finish_and_clear();
    let (costs, round_trips) = (tables::costs(&points), tables::round_trips(&points));
    writeln!(out, "\non {}\n{}\n{}", machine(), of_report(&costs), of_report(&round_trips))?;
    let configuration = json!({ "rounds": plan.rounds, "batches": plan.batches, "calls": plan.calls });
    Ok(Group { experiment: EXPERIMENT, simulated: false, configuration, points })
}
