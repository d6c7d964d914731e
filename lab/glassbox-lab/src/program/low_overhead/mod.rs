//! `glassbox-lab low-overhead`: partitions that wait for each other, simulated as in the paper, and on this machine.

mod here;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use glassbox_lab::low_overhead::{self, SimulationPlan, put_claims, simulate};
use glassbox_lab::points::{self, Points};
use serde_json::json;

use super::report::{self, DIRECTORY};
use super::shared::{Group, MeasurementBar, of_report, put_all, put_surprises};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::report_to;

/// The experiment's name in results.
const EXPERIMENT: &str = "low-overhead";

/// Compare blocking, speculation and locking between partitions
///
/// The microbenchmark and the TPC-C of "Low Overhead Concurrency Control for Partitioned Main Memory Databases" (SIGMOD
/// 2010). First in virtual time, with the paper's costs: Figures 4 to 10, Tables 1 and 2; the same seed gives the same
/// numbers everywhere. Then on this machine: instructions of a call through the machines (needs valgrind); throughput
/// of partitions, coordinator and clients as threads, with injected round trips; and the same simulated with constants
/// of this machine. Writes a page and its numbers to the directory of results. Fails if a simulated result is outside
/// of the asserted bounds; never because of a measurement.
#[derive(Args)]
pub struct LowOverheadArguments {
    /// Simulate and measure less: fewer shares, each for a shorter time
    #[arg(long)]
    quick: bool,
    /// Simulate as long as the paper measured, 60 s after 15 s of warm-up, three times: hours, or with --figure minutes
    #[arg(long, conflicts_with = "quick")]
    long: bool,
    /// Simulate this figure only, such as "Figure 4"
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    /// Simulate a thousandth of the time: for tests
    #[arg(long, hide = true)]
    small: bool,
    /// Do only one of the three
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<Part>,
    /// Simulate with this table of costs from `lab calibrate`, without asserting the paper's claims
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    costs: Option<PathBuf>,
    /// Directory of the page and the results: low-overhead.html, low-overhead.jsonl
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// Also write the results as JSON lines to this file; -: to standard output, with the report on standard error
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Seed of the first run of each point
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u64).range(..1 << 32))]
    seed: u64,
}

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The paper's figures, in virtual time
    Simulated,
    /// Instructions of a call through the machines
    Instructions,
    /// Throughput on this machine, and its prediction
    Real,
}

/// Does what the arguments say.
pub fn run(arguments: &LowOverheadArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let &LowOverheadArguments { quick, seed, ref results, .. } = arguments;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    ensure!(
        !(arguments.long || arguments.figure.is_some()) || arguments.only.is_none_or(|only| only == Part::Simulated),
        "--long and --figure are for what is simulated; leave out --only, or give --only simulated"
    );
    let only = arguments.only.or(arguments.figure.as_ref().map(|_| Part::Simulated));
    let does = |what| only.is_none_or(|only| only == what) && !exit::interrupted();
    let (mut groups, mut verdict) = (Vec::new(), Verdict::Good);
    if arguments.costs.is_none() && does(Part::Instructions) {
        glassbox_lab::count::check()?;
    }
    if does(Part::Simulated) {
        let (group, good) = simulated(&mut *out, arguments)?;
        groups.push(group);
        verdict = if good { Verdict::Good } else { Verdict::Bad };
    }
    if arguments.costs.is_none() && does(Part::Instructions) {
        groups.extend(here::count(&mut *out, quick, results, seed)?);
    }
    if arguments.costs.is_none() && does(Part::Real) {
        groups.extend(here::measure(&mut *out, quick, seed)?);
    }
    write(&mut *out, arguments, &groups)?;
    Ok(verdict)
}

/// Simulates the paper's figures. Returns whether all claims hold, too.
fn simulated(out: &mut dyn std::io::Write, arguments: &LowOverheadArguments) -> anyhow::Result<(Group, bool)> {
    let seed = arguments.seed;
    let mut plan = if arguments.long { SimulationPlan::long(seed) } else { SimulationPlan::new(arguments.quick, seed) };
    if let Some(figure) = &arguments.figure {
        let known = low_overhead::figures();
        let names = || known.iter().copied().collect::<Vec<_>>().join(", ");
        ensure!(known.contains(&**figure), "there is no figure \"{figure}\"; choose one of {}", names());
        plan.figure = Some(figure.clone());
    }
    if arguments.small {
        (plan.warm_up_ms, plan.measured_ms) = (plan.warm_up_ms / 1_000, plan.measured_ms / 1_000);
    }
    plan.costs = arguments.costs.as_deref().map(here::read_costs).transpose()?;
    let whose = if plan.costs.is_some() { "the given" } else { "the paper's" };
    writeln!(
        out,
        "Low overhead concurrency control, simulated: two partitions, 40 clients, {whose} costs; {} ms of virtual \
         time, {} of each point\ncommit {}",
        plan.measured_ms,
        if plan.runs == 1 { "1 run".to_owned() } else { format!("{} runs", plan.runs) },
        glassbox_program::COMMIT,
    )?;
    let bar = MeasurementBar::new();
    let mut points = simulate(&plan, &bar);
    bar.0.finish_and_clear();
    if plan.costs.is_some() {
        for table in low_overhead::throughput_tables(&points) {
            writeln!(out, "\n{}", of_report(&table))?;
        }
        return Ok((group(arguments.quick, &plan, points), true));
    }
    put_claims(&mut points);
    if let Some(outcomes) = low_overhead::outcomes(&points) {
        writeln!(out, "\n{outcomes}")?;
    }
    for table in low_overhead::throughput_tables(&points).iter().chain(&low_overhead::other_tables(&points)) {
        writeln!(out, "\n{}", of_report(table))?;
    }
    for sentence in low_overhead::sentences(&points) {
        writeln!(out, "\n{sentence}")?;
    }
    let are_explained = put_surprises(&low_overhead::claims(&points), out)?;
    if are_explained && !exit::interrupted() {
        writeln!(out, "\nchecks: every claim is within its bounds, or it is known why not")?;
    }
    Ok((group(arguments.quick, &plan, points), are_explained))
}

fn group(quick: bool, plan: &SimulationPlan, points: Points) -> Group {
    let configuration = json!({
        "quick": quick,
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
fn write(out: &mut dyn std::io::Write, arguments: &LowOverheadArguments, groups: &[Group]) -> anyhow::Result<()> {
    let file = arguments.results.join("low-overhead.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put_all(to, groups)?;
    }
    let page = arguments.results.join("low-overhead.html");
    report::write(&page, "Low overhead concurrency control", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
