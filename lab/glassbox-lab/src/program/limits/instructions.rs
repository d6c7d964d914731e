//! The report of instructions.

use std::io::{self, Write};

use comfy_table::CellAlignment;
use glassbox_lab::limits::instructions::{self, Counted};
use glassbox_lab::limits::systems::{BASE, max_instructions};

use super::arguments::LimitsArguments;
use crate::program::child::command;
use crate::program::shared::{MeasureKind, MeasurementBar, table};
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// Counts, and prints the report. Without valgrind, prints how to install it; this is an error only if instructions are
/// the only measure.
pub fn run(out: &mut dyn Write, results: &mut Results, arguments: &LimitsArguments) -> anyhow::Result<()> {
    let valgrind = match glassbox_lab::count::version() {
        Ok(version) => version,
        Err(error) if arguments.measures.is_only(MeasureKind::Instructions) => return Err(error),
        Err(error) => {
            writeln!(out, "\ninstructions not counted: {error}")?;
            return Ok(());
        }
    };
    let (counting, bar) = (arguments.counting(), MeasurementBar::new());
    let counted = instructions::count(&counting, &|child| command("count-limits", child), &bar)?;
    bar.0.finish_and_clear();
    report(out, results, &counted)?;
    counted.iter().filter(|_| arguments.functions > 0).try_for_each(|of| functions(out, of, arguments.functions))?;
    writeln!(
        out,
        "of the executing thread, by {valgrind}, over {} transactions; × kernel: multiples of tree-prefetch",
        format::count(counting.transactions as u64),
    )?;
    Ok(())
}

/// The table, with a column for each system and a row for each part; and the results as JSON.
fn report(out: &mut dyn Write, results: &mut Results, all: &[Counted]) -> io::Result<()> {
    let base = all.iter().find(|counted| counted.system == BASE).expect("it is always counted").total;
    // In two lines, or the table would be too wide for most terminals.
    let names: Vec<_> = all.iter().map(|counted| counted.system.to_string().replacen('-', "\n", 1)).collect();
    let row = |name: &str, cell: &dyn Fn(&Counted) -> String| -> Vec<String> {
        std::iter::once(name.to_owned()).chain(all.iter().map(cell)).collect()
    };
    let number = |value: f64| if value == 0.0 { String::new() } else { format::number(value.round()) };
    let mut rows: Vec<_> = all[0]
        .parts
        .iter()
        .enumerate()
        .filter(|&(at, _)| all.iter().any(|counted| counted.parts[at].1 >= 0.5))
        .map(|(at, (name, _))| row(name, &|counted| number(counted.parts[at].1)))
        .collect();
    rows.push(row("all", &|counted| number(counted.total)));
    rows.push(row("× kernel", &|counted| format!("{:.2}", counted.total / base)));
    let goal = |counted: &Counted| max_instructions(&counted.system);
    rows.push(row("goal", &|counted| goal(counted).map_or_else(String::new, |goal| format!("≤ {goal:.2}"))));
    let met =
        |counted: &Counted| goal(counted).map(|goal| if counted.total / base <= goal { "met" } else { "NOT MET" });
    rows.push(row("", &|counted| met(counted).unwrap_or_default().to_owned()));
    rows.push(row("of which copying", &|counted| number(counted.copying)));
    rows.push(row("of which allocating", &|counted| number(counted.allocating)));
    let header = std::iter::once("instructions per tx").chain(names.iter().map(String::as_str));
    writeln!(out, "\n{}", table(header, rows))?;
    all.iter().try_for_each(|counted| put(results, counted, base))
}

/// The most expensive functions of one system.
fn functions(out: &mut dyn Write, counted: &Counted, max: usize) -> io::Result<()> {
    let number = |value: f64| format::number(value.round());
    let row =
        |(name, value): &(String, f64)| vec![number(*value), format!("{:.3}", value / counted.total), name.clone()];
    let rows = counted.functions.iter().take(max).map(row).collect();
    let name = counted.system.to_string();
    let mut table = table([name.as_str(), "of all", "function"], rows);
    table.column_mut(0).expect("there are three").set_cell_alignment(CellAlignment::Right);
    table.column_mut(2).expect("there are three").set_cell_alignment(CellAlignment::Left);
    writeln!(out, "{table}")
}

fn put(results: &mut Results, counted: &Counted, base: f64) -> io::Result<()> {
    let (row, x) = (counted.system.to_string(), counted.system.in_flight() as f64);
    let mut put = |figure: &str, metric: &str, value: f64, unit: &str| {
        results.put(Figure { figure, row: &row, x, metric, value, spread: None, unit })
    };
    put("instructions", "instructions_per_transaction", counted.total, "instructions")?;
    put("instructions", "times_tree_prefetch", counted.total / base, "ratio")?;
    put("instructions", "copying", counted.copying, "instructions")?;
    put("instructions", "allocating", counted.allocating, "instructions")?;
    if let Some(goal) = max_instructions(&counted.system) {
        put("instructions", "goal", goal, "ratio")?;
        put("instructions", "goal_met", f64::from(u8::from(counted.total / base <= goal)), "yes or no")?;
    }
    for (part, value) in &counted.parts {
        put("instructions by part", part, *value, "instructions")?;
    }
    let significant = counted.functions.iter().filter(|(_, value)| *value >= 1.0);
    significant.into_iter().try_for_each(|(name, value)| put("instructions by function", name, *value, "instructions"))
}
