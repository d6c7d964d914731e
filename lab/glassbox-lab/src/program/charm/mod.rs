//! `glassbox-lab charm`: two-stage execution against two-phase locking, and the grid of hybrid execution.

mod arguments;

use std::io::Write;

use anyhow::Context;
use glassbox_lab::charm::{self, CharmPart, CharmPlan, EXPERIMENT};
use glassbox_lab::claim::outcomes;
use glassbox_lab::points::{self, Points};
use glassbox_workloads::format;
use serde_json::{Value, json};

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
    let results = &arguments.results;
    std::fs::create_dir_all(results).with_context(|| format!("cannot create the directory {}", results.display()))?;
    if arguments.grid {
        return run_grid(&mut *out, arguments);
    }
    let plan = arguments.plan();
    if counts(&plan) {
        glassbox_lab::count::check()?;
    }
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
    for (_, verdicts) in charm::verdicts(&points) {
        writeln!(out, "\n{}", of_report(&verdicts))?;
    }
    let are_explained = put_surprises(&charm::claims(&points), &mut *out)?;
    writeln!(out, "\n{}\n{counted}", outcomes(&charm::claims(&points)))?;
    let configuration =
        json!({ "quick": plan.is_quick, "seconds": plan.seconds, "rounds": plan.rounds, "seed": plan.seed });
    write(&mut *out, arguments, ("charm", &configuration), &points)?;
    // A short run, on a database of a tenth of the size, shows the shape of its numbers only.
    let is_whole = !plan.is_quick && rounds == plan.rounds;
    Ok(if are_explained || !is_whole { Verdict::Good } else { Verdict::Bad })
}

/// Whether instructions are counted.
const fn counts(plan: &CharmPlan) -> bool {
    !matches!(plan.part, Some(CharmPart::Paper | CharmPart::Leaves))
}

/// Counts instructions of today's part, and returns a note on how; without valgrind, on how to install it.
fn count(plan: &CharmPlan, points: &mut Points) -> anyhow::Result<String> {
    if !counts(plan) || exit::interrupted() {
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

/// Measures the grid.
fn run_grid(out: &mut dyn Write, arguments: &CharmArguments) -> anyhow::Result<Verdict> {
    let plan = arguments.grid_plan();
    let (cells, about) = plan.estimate()?;
    writeln!(
        out,
        "Charm: a grid of {cells} cells, TPC-C on the classic engine, 5 warehouses{}; {} round{} of {} s for each \
         policy; about {} minutes\ncommit {}, on {}",
        if plan.is_quick { " of a tenth of their size" } else { "" },
        plan.rounds,
        if plan.rounds == 1 { "" } else { "s" },
        plan.seconds,
        about.as_secs().div_ceil(60),
        glassbox_program::COMMIT,
        machine(),
    )?;
    out.flush()?;
    let (mut points, bar) = (Points::default(), MeasurementBar::new());
    let is_complete = charm::measure_grid(&plan, &bar, &mut points)?;
    bar.0.finish_and_clear();
    if !is_complete {
        writeln!(out, "interrupted: the numbers are those of the complete cells")?;
    }
    let is_right = charm::is_grid_right(&points);
    charm::put_claims(&mut points);
    for (title, table) in charm::tables(&points) {
        writeln!(out, "\n{title}\n{}", of_report(&table))?;
    }
    charm::grid_sentence(&points).map_or(Ok(()), |text| writeln!(out, "\n{text}"))?;
    let configuration = json!({
        "grid": true,
        "quick": plan.is_quick,
        "seconds": plan.seconds,
        "rounds": plan.rounds,
        "cells": plan.only,
        "seed": plan.seed,
    });
    write(out, arguments, ("charm-grid", &configuration), &points)?;
    // One short round, on a database of a tenth of the size, decides nothing.
    Ok(if is_complete && is_right || plan.is_quick { Verdict::Good } else { Verdict::Bad })
}

/// Writes the results and the page, to files of this name.
fn write(
    out: &mut dyn Write,
    arguments: &CharmArguments,
    (name, configuration): (&str, &Value),
    points: &Points,
) -> anyhow::Result<()> {
    let file = arguments.results.join(name).with_extension("jsonl");
    for to in std::iter::once(&file).chain(&arguments.json) {
        put(to, (EXPERIMENT, false), configuration, points)?;
    }
    let page = file.with_extension("html");
    report::write(&page, "Charm: two-stage execution", &points::read(&file)?)?;
    writeln!(out, "the page: {}\nits numbers: {}", page.display(), file.display())?;
    Ok(())
}
