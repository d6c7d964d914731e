//! `glassbox dump`: the rows of a table, from its stored schema.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use glassbox::record::{ColumnSchema, TableSchema};
use glassbox::research::inspect::{Inspector, Moment, Value};

use crate::condition::{Condition, column_of};
use glassbox_program::exit::Verdict;

/// Print the rows of a table, in the order of their keys, as JSON lines or CSV
///
/// Decimals have their point (JSON: in quotes, to stay exact), times are RFC 3339 in UTC, dates and times of day
/// ISO 8601, values of an enum have their names, bytes are hex, null is null (CSV: empty).
#[derive(Args)]
pub struct DumpArguments {
    /// Directory of the database
    dir: PathBuf,
    /// Name of the table
    table: String,
    /// Format of the rows
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// Only rows for which this is true: a column, one of = != < <= > >=, and a value, such as 'price >= 9.50'; null is
    /// equal to itself only. May be repeated: all are true
    #[arg(long = "where", value_name = "CONDITION")]
    conditions: Vec<String>,
    /// Only these columns, in this order [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,
    /// At most this number of rows
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The rows of the last checkpoint, without the log; not for the classic engine, which has no such rows
    #[arg(long)]
    as_of_checkpoint: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line
    Json,
    /// Comma-separated values after a line of column names
    Csv,
}

/// Prints the rows.
pub fn run(arguments: &DumpArguments) -> anyhow::Result<Verdict> {
    let inspector = Inspector::open(&arguments.dir)?;
    let moment = if arguments.as_of_checkpoint { Moment::Checkpoint } else { Moment::Now };
    let (table, dir) = (&arguments.table, arguments.dir.display());
    let schema = inspector.schema(table)?;
    let columns = chosen(schema, &arguments.columns)?;
    let conditions = arguments.conditions.iter().map(|text| Condition::parse(schema, text));
    let conditions = conditions.collect::<anyhow::Result<Vec<_>>>()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if arguments.format == Format::Csv {
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        writeln!(out, "{}", names.join(","))?;
    }
    let left = Cell::new(arguments.limit.unwrap_or(u64::MAX));
    let dumped = inspector.each_row(table, moment, |row| {
        if left.get() == 0 {
            bail!(ENOUGH);
        }
        if !conditions.iter().all(|condition| condition.holds(row)) {
            return Ok(());
        }
        left.set(left.get() - 1);
        match arguments.format {
            Format::Json => json(&mut out, &columns, row),
            Format::Csv => csv(&mut out, &columns, row),
        }
    });
    match dumped {
        // The rest was not asked for.
        Err(error) if left.get() == 0 && error.to_string() == ENOUGH => {}
        dumped => dumped.with_context(|| format!("cannot dump table `{table}` of {dir}"))?,
    }
    out.flush()?;
    Ok(Verdict::Good)
}

/// Ends a dump when as many rows as were asked for are printed.
const ENOUGH: &str = "enough rows";

/// The columns with these names, or all.
fn chosen<'s>(schema: &'s TableSchema, names: &[String]) -> anyhow::Result<Vec<&'s ColumnSchema>> {
    if names.is_empty() {
        return Ok(schema.columns.iter().collect());
    }
    names.iter().map(|name| column_of(schema, name)).collect()
}

fn json(out: &mut impl Write, columns: &[&ColumnSchema], row: &[u8]) -> anyhow::Result<()> {
    let mut before = "{";
    for column in columns {
        write!(out, "{before}")?;
        serde_json::to_writer(&mut *out, &column.name).map_err(io::Error::from)?;
        match Value::read(column, row)? {
            Value::Null => write!(out, ":null")?,
            value @ (Value::Unsigned(_) | Value::Signed(_) | Value::Bool(_)) => write!(out, ":{value}")?,
            value @ Value::F32(number) if number.is_finite() => write!(out, ":{value}")?,
            value @ Value::F64(number) if number.is_finite() => write!(out, ":{value}")?,
            // Decimals as their type reads them; a number would be read as a float. NaN and infinities are no numbers
            // of JSON.
            value @ (Value::Decimal { .. }
            | Value::Timestamp(_)
            | Value::Date(_)
            | Value::TimeOfDay(_)
            | Value::Uuid(_)
            | Value::F32(_)
            | Value::F64(_)
            | Value::Bytes(_)) => write!(out, ":\"{value}\"")?,
            Value::Text(text) | Value::Enum(text) => {
                write!(out, ":")?;
                serde_json::to_writer(&mut *out, text).map_err(io::Error::from)?;
            }
        }
        before = ",";
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn csv(out: &mut impl Write, columns: &[&ColumnSchema], row: &[u8]) -> anyhow::Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        match Value::read(column, row)? {
            // An empty text is quoted, to distinguish it from null.
            Value::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                write!(out, "{comma}\"{}\"", text.replace('"', "\"\""))?;
            }
            value => write!(out, "{comma}{value}")?,
        }
    }
    writeln!(out)?;
    Ok(())
}
