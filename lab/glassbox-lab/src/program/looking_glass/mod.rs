//! `glassbox-lab looking-glass`: a conventional engine without its components, and the cost of each.

mod arguments;

use std::io::Write;

use anyhow::Context;
use glassbox_lab::looking_glass::{
    self, LadderPlan, Workload, checked_stacks, count, count_accesses, measure, measure_left_out, memory_bytes,
    put_schema, tables,
};
use glassbox_lab::measurement::Progress;
use glassbox_lab::points::{self, Points};
use serde_json::json;

pub use arguments::LookingGlassArguments;

use super::child::command;
use super::report;
use super::shared::{MeasureKind, MeasurementBar, check_memory, of_report, put};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{machine, report_to};
use glassbox_workloads::format;

/// The experiment's name in results.
const EXPERIMENT: &str = "looking-glass";

/// Does what the arguments say.
pub fn run(arguments: &LookingGlassArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let results = &arguments.results;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    headline(&mut *out, arguments)?;
    let (mut points, mut wrong) = (Points::default(), Vec::new());
    count_accesses(&mut points, arguments.seed)?;
    put_schema(&mut points)?;
    if arguments.measures.includes(MeasureKind::Instructions) {
        glassbox_lab::count::check()?;
    }
    if arguments.measures.includes(MeasureKind::Throughput) {
        // One plan after the other: all systems of a plan are in memory at the same time.
        let (ladder, left_out) = (arguments.plan(), arguments.plan_left_out());
        [&ladder, &left_out].into_iter().try_for_each(check_plan)?;
        wrong = throughput(&ladder, measure, &mut points)?;
        if !exit::interrupted() {
            wrong.extend(throughput(&left_out, measure_left_out, &mut points)?);
        }
    }
    let mut instructions = None;
    if arguments.measures.includes(MeasureKind::Instructions) && !exit::interrupted() {
        instructions = Some(count_instructions(arguments, &mut points)?);
    }
    print(&mut *out, &points)?;
    writeln!(out, "{}", instructions.unwrap_or_else(|| "instructions not counted".to_owned()))?;
    let ran = points.value("checks", "full", "violations").is_some();
    match (&wrong[..], ran) {
        ([], true) => {
            let (checked, incomplete) = checked_stacks(&points);
            let which =
                if incomplete.is_empty() { String::new() } else { format!(" (all but {})", incomplete.join(", ")) };
            writeln!(
                out,
                "checks: all trees, heap files and indexes are sound; {} of the {checked} stacks{which} ran all \
                 transactions, and ended in the same rows",
                checked - incomplete.len(),
            )?;
        }
        ([], false) => {}
        _ => wrong.iter().try_for_each(|problem| writeln!(out, "WRONG: {problem}"))?,
    }
    write(&mut *out, arguments, &points)?;
    Ok(if wrong.is_empty() { Verdict::Good } else { Verdict::Bad })
}

/// Rejects a plan for which there is not enough memory.
fn check_plan(plan: &LadderPlan) -> anyhow::Result<()> {
    let what = format!("{} stacks", plan.systems.len());
    check_memory(memory_bytes(plan), &what, "measure fewer --warehouses or --transactions")
}

type MeasureLadder = fn(&LadderPlan, &(dyn Progress + Sync), &mut Points) -> anyhow::Result<Vec<String>>;

/// Measures the throughput of a plan's systems; returns the violations in their data.
fn throughput(plan: &LadderPlan, measure: MeasureLadder, points: &mut Points) -> anyhow::Result<Vec<String>> {
    let bar = MeasurementBar::new();
    let wrong = measure(plan, &bar, points)?;
    bar.0.finish_and_clear();
    Ok(wrong)
}

fn headline(out: &mut dyn Write, arguments: &LookingGlassArguments) -> std::io::Result<()> {
    let scale = arguments.scale();
    writeln!(
        out,
        "OLTP through the Looking Glass: the classic engine without its components; {} warehouses{}, 1 client thread\n\
         commit {}, on {}",
        scale.warehouses,
        if arguments.quick { " of a hundredth of their size" } else { "" },
        glassbox_program::COMMIT,
        machine(),
    )
}

/// Counts, and returns a note on how. Without valgrind, the note says how to install it; this is an error only if
/// instructions are the only measure.
fn count_instructions(arguments: &LookingGlassArguments, points: &mut Points) -> anyhow::Result<String> {
    let valgrind = match glassbox_lab::count::version() {
        Ok(version) => version,
        Err(error) if arguments.measures.is_only(MeasureKind::Instructions) => return Err(error),
        Err(error) => return Ok(format!("times only: instructions not counted: {error}")),
    };
    let (counting, bar) = (arguments.counting(), MeasurementBar::new());
    count(&counting, &|child| command("count-looking-glass", child), &bar, points)?;
    bar.0.finish_and_clear();
    let counted = format::count(counting.transactions as u64);
    Ok(format!("instructions: of the executing thread, by {valgrind}, over {counted} transactions of each workload"))
}

/// The tables and the sentences.
fn print(out: &mut dyn Write, points: &Points) -> std::io::Result<()> {
    writeln!(out, "{}", of_report(&tables::ladder(points)))?;
    for workload in Workload::ALL {
        if let Some(table) = tables::components(points, workload) {
            writeln!(out, "\n{}", of_report(&table))?;
        }
    }
    let tables = [looking_glass::taxes(points), looking_glass::orders(points), looking_glass::page_sizes(points)];
    for table in tables.into_iter().flatten() {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    writeln!(out, "\n{}", of_report(&tables::accesses(points)))?;
    let goals = Some(tables::goals_table(points)).filter(|table| !table.rows.is_empty());
    for table in [looking_glass::claims(points), goals].into_iter().flatten() {
        writeln!(out, "\n{}", of_report(&table))?;
    }
    if let Some(outcomes) = looking_glass::outcomes(points) {
        writeln!(out, "\n{outcomes}")?;
    }
    for workload in Workload::ALL {
        for sentence in looking_glass::sentences(points, workload) {
            writeln!(out, "\n{sentence}")?;
        }
    }
    writeln!(out)
}

/// Writes the results and the page.
fn write(out: &mut dyn Write, arguments: &LookingGlassArguments, points: &Points) -> anyhow::Result<()> {
    let (plan, counting) = (arguments.plan(), arguments.counting());
    let configuration = json!({
        "quick": arguments.quick,
        "scale": plan.scale,
        "clients": 1,
        "transactions": plan.transactions,
        "rounds": plan.rounds,
        "counted": counting.transactions,
        "seed": plan.seed,
    });
    let file = arguments.results.join("looking-glass.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put(to, (EXPERIMENT, false), &configuration, points)?;
    }
    let page = arguments.results.join("looking-glass.html");
    report::write(&page, "OLTP through the Looking Glass, measured again", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
