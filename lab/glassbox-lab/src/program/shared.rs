//! Parts of all experiments: options, tables, progress and results.

use std::io::{self, Write};
use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use glassbox_lab::claim::{Claim, unexplained};
use glassbox_lab::measurement::Progress;
use glassbox_lab::points::Points;
use glassbox_lab::section;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use glassbox_program::exit;
use glassbox_program::results::{Figure, Results};
use glassbox_workloads::format;

/// One of the two measures of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeasureKind {
    /// Transactions per second
    Throughput,
    /// Instructions per transaction; needs valgrind
    Instructions,
}

/// The choice of measures of an experiment.
#[derive(Args)]
pub struct MeasureOption {
    /// Measure only one of the two
    #[arg(long, value_enum, value_name = "WHAT")]
    only: Option<MeasureKind>,
}

impl MeasureOption {
    /// Whether a measure is chosen.
    pub fn includes(&self, measure: MeasureKind) -> bool {
        self.only.is_none_or(|only| only == measure)
    }

    /// Whether it is the only one.
    pub fn is_only(&self, measure: MeasureKind) -> bool {
        self.only == Some(measure)
    }
}

/// A number of seconds, as an argument.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=3_600.0).contains(&seconds) => Ok(seconds),
        _ => Err("use a number of seconds from 0.1 to 3600, such as 3".to_owned()),
    }
}

/// Rejects a measurement that would make the machine swap, which would measure the disk.
pub fn check_memory(needed: u64, what: &str, advice: &str) -> anyhow::Result<()> {
    if let Some(available) = glassbox_program::results::memory("MemAvailable").filter(|&available| available < needed) {
        bail!(
            "not enough memory: {what} take about {} together, and {} is available; {advice}",
            format::bytes(needed),
            format::bytes(available),
        );
    }
    Ok(())
}

/// A table of a report.
pub fn of_report(of: &section::Table) -> Table {
    table(of.header.iter().map(String::as_str), of.rows.clone())
}

/// Writes the claims that no reason explains; whether there are none.
pub fn put_surprises(claims: &[Claim], out: &mut dyn Write) -> io::Result<bool> {
    let mut are_explained = true;
    for claim in unexplained(claims) {
        writeln!(out, "\nUNEXPLAINED: {}", claim.surprise())?;
        are_explained = false;
    }
    Ok(are_explained)
}

/// Writes an experiment's numbers as JSON lines; `of` is its name, and whether they are simulated.
pub fn put(to: &Path, of: (&'static str, bool), configuration: &Value, points: &Points) -> anyhow::Result<()> {
    let (experiment, simulated) = of;
    put_all(to, &[Group { experiment, simulated, configuration: configuration.clone(), points: points.clone() }])
}

/// The numbers of one experiment.
pub struct Group {
    pub experiment: &'static str,
    pub simulated: bool,
    pub configuration: Value,
    pub points: Points,
}

/// Writes the numbers of several experiments as JSON lines.
pub fn put_all(to: &Path, groups: &[Group]) -> anyhow::Result<()> {
    let mut results = Results::new(Some(to), "", Value::Null)?;
    for group in groups {
        results.switch_to(group.experiment, group.simulated, group.configuration.clone());
        for point in &group.points.0 {
            let (figure, row, metric, unit) = (&point.figure, &point.row, &point.metric, &point.unit);
            results.put(Figure { figure, row, x: point.x, metric, value: point.value, spread: point.spread, unit })?;
        }
    }
    Ok(results.finish()?)
}

/// Shows the progress of a measurement.
pub struct MeasurementBar(pub ProgressBar);

impl MeasurementBar {
    pub fn new() -> Self {
        let bar = ProgressBar::new(1);
        bar.set_style(ProgressStyle::with_template("{bar:30}  {elapsed}  {msg}").expect("a constant"));
        Self(bar)
    }
}

impl Progress for MeasurementBar {
    fn step(&self, done: usize, of: usize, what: &str) {
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
        self.0.set_message(what.to_owned());
    }

    fn interrupted(&self) -> bool {
        exit::interrupted()
    }
}

/// A table whose first column is names and whose others are numbers.
pub fn table<'a>(header: impl IntoIterator<Item = &'a str>, rows: Vec<Vec<String>>) -> Table {
    let mut table = Table::new();
    let line = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(line).bottom_border(line));
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
