//! `glassbox-lab charm`: two-stage execution against two-phase locking.

mod arguments;

use std::io::Write;

use anyhow::Context;
use glassbox_lab::charm::{self, CharmPart, CharmPlan, EXPERIMENT};
use glassbox_lab::claim::outcomes;
use glassbox_lab::points::{self, Points};
use glassbox_workloads::format;
use serde_json::json;

pub use arguments::CharmArguments;

use super::child::command;
use super::report;
use super::shared::{MeasurementBar, of_report, put, put_surprises};
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{machine, report_to};

/// Does what the arguments say.
pub fn run(arguments: &CharmArguments) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    let mut out = report_to(arguments.json.as_deref());
    let (plan, results) = (arguments.plan(), &arguments.results);
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    headline(&mut *out, &plan)?;
    let (mut points, bar) = (Points::default(), MeasurementBar::new());
    let rounds = charm::measure(&plan, &bar, &mut points)?;
    bar.0.finish_and_clear();
    if rounds < plan.rounds {
        writeln!(out, "interrupted: the numbers are those of {rounds} complete rounds")?;
    }
    let counted = count(&plan, &mut points)?;
    charm::put_claims(&mut points);
    for (title, table) in charm::tables(&points) {
        writeln!(out, "\n{title}\n{}", of_report(&table))?;
    }
    if let Some(verdicts) = charm::verdicts(&points) {
        writeln!(out, "\n{}", of_report(&verdicts))?;
    }
    let are_explained = put_surprises(&charm::claims(&points), &mut *out)?;
    writeln!(out, "\n{}\n{counted}", outcomes(&charm::claims(&points)))?;
    write(&mut *out, arguments, &plan, &points)?;
    // A short run, on a database of a tenth of the size, shows the shape of its numbers only.
    let is_whole = !plan.is_quick && rounds == plan.rounds;
    Ok(if are_explained || !is_whole { Verdict::Good } else { Verdict::Bad })
}

/// Counts instructions of today's part, and returns a note on how; without valgrind, on how to install it.
fn count(plan: &CharmPlan, points: &mut Points) -> anyhow::Result<String> {
    if matches!(plan.part, Some(CharmPart::Paper | CharmPart::Leaves)) || exit::interrupted() {
        return Ok("instructions not counted".to_owned());
    }
    let valgrind = match glassbox_lab::count::version() {
        Ok(version) => version,
        Err(error) => return Ok(format!("instructions not counted: {error}")),
    };
    let (counting, bar) = (plan.counting(), MeasurementBar::new());
    charm::count(&counting, &|child| command("count-charm", child), &bar, points)?;
    bar.0.finish_and_clear();
    let counted = format::count(counting.transactions as u64);
    Ok(format!("instructions: by {valgrind}, over {counted} transactions"))
}

fn headline(out: &mut dyn Write, plan: &CharmPlan) -> std::io::Result<()> {
    writeln!(
        out,
        "Charm: TPC-C on the classic engine, 5 warehouses{}; {} round{} of {} s for each cell\ncommit {}, on {}",
        if plan.is_quick { " of a tenth of their size" } else { "" },
        plan.rounds,
        if plan.rounds == 1 { "" } else { "s" },
        plan.seconds,
        glassbox_program::COMMIT,
        machine(),
    )
}

/// Writes the results and the page.
fn write(out: &mut dyn Write, arguments: &CharmArguments, plan: &CharmPlan, points: &Points) -> anyhow::Result<()> {
    let configuration =
        json!({ "quick": plan.is_quick, "seconds": plan.seconds, "rounds": plan.rounds, "seed": plan.seed });
    let file = arguments.results.join("charm.jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put(to, (EXPERIMENT, false), &configuration, points)?;
    }
    let page = arguments.results.join("charm.html");
    report::write(&page, "Charm: two-stage execution", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
