//! `glassbox lab low-overhead`: partitions that wait for each other, simulated, and the paper's figures of them.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use glassbox_lab::low_overhead::{self, Plan, checks, put_checks, simulate, tables};
use glassbox_lab::points::{self, Points};
use serde_json::json;

use super::report::{self, DIRECTORY};
use super::shared::{Bar, of_report, put};
use crate::results::report_to;
use crate::{Verdict, interrupt};

/// The experiment's name in results.
const EXPERIMENT: &str = "low-overhead";

/// Simulate what partitions do while they wait for each other: nothing, speculate, or lock
///
/// The microbenchmark of "Low Overhead Concurrency Control for Partitioned Main Memory Databases" (SIGMOD 2010) in
/// virtual time, with the paper's costs: Figures 4 to 7 and 10, Tables 1 and 2. Nothing is measured on this machine,
/// and the same seed gives the same numbers everywhere. Leaves a page to look at and its numbers in the directory of
/// results. Fails if what the paper claims does not come out.
#[derive(Args)]
pub struct Arguments {
    /// Simulate less: fewer shares, each for a shorter time, once
    #[arg(long)]
    quick: bool,
    /// Where the page and the results are left: low-overhead.html, low-overhead.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, and the report to standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seed of the first run of each point
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    let mut out = report_to(arguments.json.as_deref());
    let results = &arguments.results;
    std::fs::create_dir_all(results).with_context(|| format!("cannot make the directory {}", results.display()))?;
    let plan = Plan::new(arguments.quick, arguments.seed);
    writeln!(
        out,
        "Low overhead concurrency control, simulated: two partitions, 40 clients, the paper's costs; {} ms of virtual \
         time, {} of each point\ncommit {}",
        plan.measured_ms,
        if plan.runs == 1 { "1 run".to_owned() } else { format!("{} runs", plan.runs) },
        env!("GLASSBOX_COMMIT"),
    )?;
    let bar = Bar::new();
    let mut points = simulate(&plan, &bar);
    bar.0.finish_and_clear();
    put_checks(&mut points);
    for table in tables::throughput(&points).iter().chain(&tables::others(&points)) {
        writeln!(out, "\n{}", of_report(table))?;
    }
    for sentence in low_overhead::sentences(&points) {
        writeln!(out, "\n{sentence}")?;
    }
    let checks = checks(&points);
    let wrong: Vec<_> = checks.iter().filter(|check| !check.holds()).collect();
    for check in &wrong {
        let (from, to) = check.bounds;
        writeln!(
            out,
            "\nWRONG: {}, {}: {:.2} {}, which has to be from {from} to {to}",
            check.figure, check.claim, check.here, check.unit
        )?;
    }
    if wrong.is_empty() && !interrupt::requested() {
        writeln!(out, "\nchecks: all {} claims are where they have to be", checks.len())?;
    }
    leave(&mut *out, arguments, &plan, &points)?;
    Ok(if wrong.is_empty() { Verdict::Good } else { Verdict::Bad })
}

/// Writes the results and the page.
fn leave(out: &mut dyn std::io::Write, arguments: &Arguments, plan: &Plan, points: &Points) -> anyhow::Result<()> {
    let configuration = json!({
        "partitions": 2,
        "clients": 40,
        "costs": "the paper's",
        "virtual_ms": plan.measured_ms,
        "runs": plan.runs,
        "seed": plan.seed,
    });
    let file = arguments.results.join("low-overhead.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put(to, (EXPERIMENT, true), &configuration, points)?;
    }
    let page = arguments.results.join("low-overhead.html");
    report::write(&page, "Low overhead concurrency control, simulated", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
