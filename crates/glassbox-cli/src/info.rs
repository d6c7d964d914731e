//! `glassbox info`: what a database directory holds, from its files alone.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use glassbox::Manifest;
use glassbox::inspect::{Inspector, LogSummary, Summary, TableSummary, describe_type};
use glassbox::record::{Access, TableSchema};

use crate::{Verdict, format};

/// Show what a database holds: tables, rows, schema, log, checkpoint
///
/// Needs no code of the database: everything is read from its files. Nothing is changed.
#[derive(Args)]
pub struct Arguments {
    /// Directory of the database
    dir: PathBuf,
}

/// Prints it.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let inspector = Inspector::open(&arguments.dir)?;
    let summary = inspector.summary()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    storage(&mut out, inspector.manifest(), &summary)?;
    let calls = summary.log.as_ref().is_some_and(|log| log.calls.iter().any(|&calls| calls > 0));
    for (schema, counted) in inspector.manifest().tables.iter().zip(&summary.tables) {
        table(&mut out, schema, counted, calls)?;
    }
    out.flush()?;
    Ok(Verdict::Good)
}

fn storage(out: &mut impl Write, manifest: &Manifest, summary: &Summary) -> io::Result<()> {
    writeln!(out, "database    {:032x}", manifest.database_id)?;
    match &manifest.checkpoint {
        Some(checkpoint) => writeln!(
            out,
            "checkpoint  {}: {} rows, {}",
            checkpoint.file,
            format::count(checkpoint.rows),
            format::bytes(checkpoint.bytes)
        )?,
        None => writeln!(out, "checkpoint  none yet")?,
    }
    match &summary.log {
        Some(found) => log(out, manifest, found),
        None => writeln!(out, "log         none yet"),
    }
}

fn log(out: &mut impl Write, manifest: &Manifest, log: &LogSummary) -> io::Result<()> {
    let LogSummary { start, end, changes, files, file_bytes, .. } = log;
    let plural = if *files == 1 { "" } else { "s" };
    writeln!(
        out,
        "log         position {start} to {end}: {} since the checkpoint, {} row changes, {}",
        format::bytes(end - start),
        format::count(*changes),
        if log.closed { "closed" } else { "not closed: it is recovered when it is opened" },
    )?;
    writeln!(out, "            {files} file{plural}, {}", format::bytes(*file_bytes))?;
    for (procedure, calls) in manifest.procedures.iter().zip(&log.calls).filter(|(_, calls)| **calls > 0) {
        let (name, version) = (&procedure.name, procedure.version);
        writeln!(out, "            {} calls of {name} (version {version})", format::count(*calls))?;
    }
    if log.calls.iter().any(|&calls| calls > 0) {
        writeln!(
            out,
            "            Only the program that has their code can do calls again; rows are as of the checkpoint."
        )?;
    }
    Ok(())
}

fn table(out: &mut impl Write, schema: &TableSchema, counted: &TableSummary, calls: bool) -> io::Result<()> {
    let rows = if calls { counted.checkpoint_rows } else { counted.rows };
    let name = |&position: &usize| &*schema.columns[position].name;
    let names = |positions: &[usize]| positions.iter().map(name).collect::<Vec<_>>().join(", ");
    writeln!(
        out,
        "\ntable {}: {} rows, {} ({} bytes each)",
        schema.name,
        format::count(rows),
        format::bytes(rows * schema.row_width as u64),
        schema.row_width
    )?;
    let placement =
        schema.partition_by.as_ref().map_or("replicated".to_owned(), |it| format!("partitioned by {}", name(it)));
    let access = match schema.access {
        Access::Ordered => "lookups and scans",
        Access::Point => "lookups only",
    };
    writeln!(out, "  key ({}), {placement}, {access}", names(&schema.key))?;
    for index in schema.indexes.iter() {
        let unique = if index.unique { "unique index" } else { "index" };
        writeln!(out, "  {unique} {} ({})", index.name, names(&index.columns))?;
    }
    let width = schema.columns.iter().map(|column| column.name.len()).max().unwrap_or(0);
    for column in schema.columns.iter() {
        writeln!(out, "    {:width$}  {}", column.name, describe_type(column))?;
    }
    Ok(())
}
