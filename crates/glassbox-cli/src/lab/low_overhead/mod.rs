//! `glassbox lab low-overhead`: partitions that wait for each other, simulated as in the paper, and on this machine.

mod here;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use glassbox_lab::low_overhead::{self, Plan, checks, put_checks, simulate, tables};
use glassbox_lab::points::{self, Points};
use serde_json::json;

use super::report::{self, DIRECTORY};
use super::shared::{Bar, Group, of_report, put_all};
use crate::results::report_to;
use crate::{Verdict, interrupt};

/// The experiment's name in results.
const EXPERIMENT: &str = "low-overhead";

/// What partitions do while they wait for each other: nothing, speculate, or lock
///
/// The microbenchmark and the TPC-C of "Low Overhead Concurrency Control for Partitioned Main Memory Databases" (SIGMOD
/// 2010). First in virtual time, with the paper's costs: Figures 4 to 10, Tables 1 and 2; the same seed gives the same
/// numbers everywhere. Then on this machine: instructions of a call through the machines (takes valgrind); throughput
/// of partitions, coordinator and clients as threads, with injected round trips; and the same simulated with constants
/// that were measured here. Leaves a page to look at and its numbers in the directory of results. Fails if what the
/// paper claims does not come out; never because of what was measured.
#[derive(Args)]
pub struct Arguments {
    /// Simulate and measure less: fewer shares, each for a shorter time
    #[arg(long)]
    quick: bool,
    /// Do one of the three only
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<What>,
    /// Simulate with this table of costs, which `lab calibrate` has made; then nothing is asserted
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    costs: Option<PathBuf>,
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

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The paper's figures, in virtual time
    Simulated,
    /// Instructions of a call through the machines
    Instructions,
    /// Throughput on this machine, and its prediction
    Real,
}

/// Does what the arguments say.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    let mut out = report_to(arguments.json.as_deref());
    let &Arguments { quick, seed, ref results, .. } = arguments;
    std::fs::create_dir_all(results).with_context(|| format!("cannot make the directory {}", results.display()))?;
    let does = |what| arguments.only.is_none_or(|only| only == what) && !interrupt::requested();
    let (mut groups, mut verdict) = (Vec::new(), Verdict::Good);
    if does(What::Simulated) {
        let (group, good) = simulated(&mut *out, arguments)?;
        groups.push(group);
        verdict = if good { Verdict::Good } else { Verdict::Bad };
    }
    if arguments.costs.is_none() && does(What::Instructions) {
        groups.extend(here::count(&mut *out, quick, results, seed)?);
    }
    if arguments.costs.is_none() && does(What::Real) {
        groups.extend(here::measure(&mut *out, quick, seed)?);
    }
    leave(&mut *out, arguments, &groups)?;
    Ok(verdict)
}

/// Simulates the paper's figures; whether what is asserted holds.
fn simulated(out: &mut dyn std::io::Write, arguments: &Arguments) -> anyhow::Result<(Group, bool)> {
    let mut plan = Plan::new(arguments.quick, arguments.seed);
    plan.costs = arguments.costs.as_deref().map(here::read_costs).transpose()?;
    let whose = if plan.costs.is_some() { "the given" } else { "the paper's" };
    writeln!(
        out,
        "Low overhead concurrency control, simulated: two partitions, 40 clients, {whose} costs; {} ms of virtual \
         time, {} of each point\ncommit {}",
        plan.measured_ms,
        if plan.runs == 1 { "1 run".to_owned() } else { format!("{} runs", plan.runs) },
        env!("GLASSBOX_COMMIT"),
    )?;
    let bar = Bar::new();
    let mut points = simulate(&plan, &bar);
    bar.0.finish_and_clear();
    if plan.costs.is_some() {
        for table in tables::throughput(&points) {
            writeln!(out, "\n{}", of_report(&table))?;
        }
        return Ok((group(&plan, points), true));
    }
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
    Ok((group(&plan, points), wrong.is_empty()))
}

fn group(plan: &Plan, points: Points) -> Group {
    let configuration = json!({
        "partitions": 2,
        "clients": 40,
        "costs": plan.costs.map_or_else(|| json!("the paper's"), |costs| json!(costs)),
        "virtual_ms": plan.measured_ms,
        "runs": plan.runs,
        "tpcc": {
            "items": plan.tpcc.scale.items,
            "customers": plan.tpcc.scale.customers,
            "orders": plan.tpcc.scale.orders,
        },
        "seed": plan.seed,
    });
    Group { experiment: EXPERIMENT, simulated: true, configuration, points }
}

/// Writes the results and the page.
fn leave(out: &mut dyn std::io::Write, arguments: &Arguments, groups: &[Group]) -> anyhow::Result<()> {
    let file = arguments.results.join("low-overhead.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put_all(to, groups)?;
    }
    let page = arguments.results.join("low-overhead.html");
    report::write(&page, "Low overhead concurrency control", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
