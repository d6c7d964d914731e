//! `glassbox dump`: the rows of a table, from its stored schema.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use glassbox::inspect::{Contents, Inspector, Moment, Value};

use crate::Verdict;

/// Print the rows of a table, in the order of their keys, as JSON lines or CSV
///
/// Decimals have their point, times are ISO 8601 in UTC, bytes are hex, missing values are null (CSV: nothing).
#[derive(Args)]
pub struct Arguments {
    /// Directory of the database
    dir: PathBuf,
    /// Name of the table
    table: String,
    /// How rows are written
    #[arg(long, value_enum, default_value = "json")]
    format: Format,
    /// The rows of the last checkpoint, without what the log adds
    #[arg(long)]
    as_of_checkpoint: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// One JSON object a line
    Json,
    /// Comma-separated values after a line of column names
    Csv,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let inspector = Inspector::open(&arguments.dir)?;
    let moment = if arguments.as_of_checkpoint { Moment::Checkpoint } else { Moment::Now };
    let contents = inspector
        .contents(&arguments.table, moment)
        .with_context(|| format!("cannot dump table `{}` of {}", arguments.table, arguments.dir.display()))?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    match arguments.format {
        Format::Json => json(&mut out, &contents)?,
        Format::Csv => csv(&mut out, &contents)?,
    }
    out.flush()?;
    Ok(Verdict::Good)
}

fn json(out: &mut impl Write, contents: &Contents) -> anyhow::Result<()> {
    let columns = &contents.schema().columns;
    for row in contents.rows() {
        let mut before = "{";
        for column in columns.iter() {
            write!(out, "{before}")?;
            serde_json::to_writer(&mut *out, &column.name).map_err(io::Error::from)?;
            match Value::read(column, row)? {
                Value::Null => write!(out, ":null")?,
                value @ (Value::Unsigned(_) | Value::Signed(_) | Value::Bool(_) | Value::Decimal { .. }) => {
                    write!(out, ":{value}")?;
                }
                value @ (Value::Timestamp(_) | Value::Bytes(_)) => write!(out, ":\"{value}\"")?,
                Value::Text(text) => {
                    write!(out, ":")?;
                    serde_json::to_writer(&mut *out, text).map_err(io::Error::from)?;
                }
            }
            before = ",";
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

fn csv(out: &mut impl Write, contents: &Contents) -> anyhow::Result<()> {
    let columns = &contents.schema().columns;
    let names: Vec<_> = columns.iter().map(|column| &*column.name).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in contents.rows() {
        for (at, column) in columns.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match Value::read(column, row)? {
                // An empty text is quoted, to be told from a missing one.
                Value::Text(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                    write!(out, "{comma}\"{}\"", text.replace('"', "\"\""))?;
                }
                value => write!(out, "{comma}{value}")?,
            }
        }
        writeln!(out)?;
    }
    Ok(())
}
