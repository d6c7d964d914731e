//! `glassbox-lab scaling`: each engine on more and more cores.

mod arguments;

use std::io::Write;

use anyhow::Context;
use glassbox::{Durability, LogKind};
use glassbox_lab::points::{self, Points};
use glassbox_lab::scaling::{self, EXPERIMENT, ScaledSystem, TpccProcess, tables};
use serde_json::json;

pub use arguments::ScalingArguments;

use super::child::command;
use super::report;
use super::shared::{MeasureKind, MeasurementBar, check_memory, of_report, put};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{machine, report_to};
use glassbox_workloads::format;

/// Does what the arguments say.
pub fn run(arguments: &ScalingArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let results = &arguments.results;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    headline(&mut *out, arguments)?;
    let mut points = Points::default();
    if arguments.measures.includes(MeasureKind::Instructions) {
        glassbox_lab::count::check()?;
    }
    if arguments.measures.includes(MeasureKind::Throughput) {
        let plan = arguments.plan();
        check_memory(plan.memory_bytes(), "the databases", "measure fewer --warehouses or --cores")?;
        let bar = MeasurementBar::new();
        let rounds = scaling::measure(&plan, &tpcc_command, &bar, &mut points)?;
        bar.0.finish_and_clear();
        if rounds < plan.rounds {
            writeln!(out, "interrupted: the numbers are those of {rounds} complete rounds")?;
        }
    }
    let mut instructions = "instructions not counted".to_owned();
    if arguments.measures.includes(MeasureKind::Instructions) && !exit::interrupted() {
        instructions = count(arguments, &mut points)?;
    }
    for system in ScaledSystem::ALL {
        let of_system = [
            tables::throughput(&points, system),
            tables::core_time(&points, system),
            tables::instructions(&points, system),
        ];
        if of_system.iter().any(Option::is_some) {
            writeln!(out, "\n{}", system.title())?;
        }
        of_system.iter().flatten().try_for_each(|table| writeln!(out, "{}", of_report(table)))?;
    }
    writeln!(out, "\n{instructions}")?;
    write(&mut *out, arguments, &points)?;
    Ok(Verdict::Good)
}

fn headline(out: &mut dyn Write, arguments: &ScalingArguments) -> std::io::Result<()> {
    let plan = arguments.plan();
    let each = plan.warehouses;
    writeln!(
        out,
        "Scaling: TPC-C, full mix; for each core {each} warehouse{}{}, and a client with {} in flight; {} round{} of \
         {} s each\ncommit {}, on {}",
        if each == 1 { "" } else { "s" },
        if plan.small { " of a hundredth of its size" } else { "" },
        plan.in_flight,
        plan.rounds,
        if plan.rounds == 1 { "" } else { "s" },
        plan.seconds,
        glassbox_program::COMMIT,
        machine(),
    )
}

/// Counts, and returns a note on how. Without valgrind, the note says how to install it; this is an error only if
/// instructions are the only measure.
fn count(arguments: &ScalingArguments, points: &mut Points) -> anyhow::Result<String> {
    let valgrind = match glassbox_lab::count::version() {
        Ok(version) => version,
        Err(error) if arguments.measures.is_only(MeasureKind::Instructions) => return Err(error),
        Err(error) => return Ok(format!("instructions not counted: {error}")),
    };
    let (counting, bar) = (arguments.counting(), MeasurementBar::new());
    scaling::count(&counting, &|child| command("count-scaling", child), &bar, points)?;
    bar.0.finish_and_clear();
    let counted = format::count(counting.transactions as u64);
    Ok(format!("instructions: of all clients, one at a time, by {valgrind}, over {counted} transactions"))
}

/// The command line of a process.
fn tpcc_command(process: &TpccProcess) -> Vec<String> {
    let mut command: Vec<_> =
        ["tpcc", "--fresh", "--no-reopen", "--await-start"].iter().map(|&text| text.to_owned()).collect();
    let mut option = |name: &str, value: &dyn std::fmt::Display| command.push(format!("--{name}={value}"));
    option("clients", &process.cores);
    option("warehouses", &process.warehouses);
    option("home", &if process.own { "own" } else { "any" });
    option("in-flight", &process.in_flight);
    option("seconds", &process.seconds);
    option("seed", &process.seed);
    option("dir", &process.dir.display());
    option("json", &process.json.display());
    let durability = match process.system.durability() {
        Durability::Sync => "sync",
        Durability::Async => "async",
        Durability::None => "none",
    };
    option("durability", &durability);
    if process.system.is_classic() {
        option("architecture", &"classic");
    } else {
        option("partitions", &process.cores);
        option("log", &if process.system.log() == LogKind::Commands { "commands" } else { "values" });
    }
    if process.small {
        command.push("--small".to_owned());
    }
    if !process.is_checked {
        command.push("--no-check".to_owned());
    }
    command
}

/// Writes the results and the page.
fn write(out: &mut dyn Write, arguments: &ScalingArguments, points: &Points) -> anyhow::Result<()> {
    let (plan, counting) = (arguments.plan(), arguments.counting());
    let configuration = json!({
        "quick": arguments.quick,
        "cores": plan.cores,
        "warehouses_per_core": plan.warehouses,
        "small": plan.small,
        "in_flight": plan.in_flight,
        "seconds": plan.seconds,
        "rounds": plan.rounds,
        "counted": counting.transactions,
        "seed": plan.seed,
    });
    let file = arguments.results.join("scaling.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put(to, (EXPERIMENT, false), &configuration, points)?;
    }
    let page = arguments.results.join("scaling.html");
    report::write(&page, "How the engines grow with cores", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
