//! `glassbox dump`: the rows of a table, from its stored schema.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use glassbox::record::ColumnSchema;
use glassbox::research::inspect::{Inspector, Moment, Value};

use glassbox_program::exit::Verdict;

/// Print the rows of a table, in the order of their keys, as JSON lines or CSV
///
/// Decimals have their point (JSON: in quotes, to stay exact), times are RFC 3339 in UTC, bytes are hex, null is null
/// (CSV: empty).
#[derive(Args)]
pub struct DumpArguments {
    /// Directory of the database
    dir: PathBuf,
    /// Name of the table
    table: String,
    /// Format of the rows
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
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
    let mut out = io::BufWriter::new(io::stdout().lock());
    let columns = &inspector.schema(table)?.columns;
    if arguments.format == Format::Csv {
        let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
        writeln!(out, "{}", names.join(","))?;
    }
    let dumped = inspector.each_row(table, moment, |row| match arguments.format {
        Format::Json => json(&mut out, columns, row),
        Format::Csv => csv(&mut out, columns, row),
    });
    dumped.with_context(|| format!("cannot dump table `{table}` of {dir}"))?;
    out.flush()?;
    Ok(Verdict::Good)
}

fn json(out: &mut impl Write, columns: &[ColumnSchema], row: &[u8]) -> anyhow::Result<()> {
    let mut before = "{";
    for column in columns {
        write!(out, "{before}")?;
        serde_json::to_writer(&mut *out, &column.name).map_err(io::Error::from)?;
        match Value::read(column, row)? {
            Value::Null => write!(out, ":null")?,
            value @ (Value::Unsigned(_) | Value::Signed(_) | Value::Bool(_)) => write!(out, ":{value}")?,
            // Decimals as their type reads them; a number would be read as a float.
            value @ (Value::Decimal { .. } | Value::Timestamp(_) | Value::Bytes(_)) => write!(out, ":\"{value}\"")?,
            Value::Text(text) => {
                write!(out, ":")?;
                serde_json::to_writer(&mut *out, text).map_err(io::Error::from)?;
            }
        }
        before = ",";
    }
    writeln!(out, "}}")?;
    Ok(())
}

fn csv(out: &mut impl Write, columns: &[ColumnSchema], row: &[u8]) -> anyhow::Result<()> {
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
