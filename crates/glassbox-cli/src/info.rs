//! `glassbox info`: the contents of a database directory, from its files alone.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use glassbox::record::{Access, TableSchema};
use glassbox::research::inspect::{
    Inspector, LogSummary, Manifest, Summary, TableSummary, VolumeSummary, describe_type,
};
use glassbox::stats::{PreparedTransaction, TableUsage};

use glassbox_program::exit::Verdict;
use glassbox_workloads::format;

/// Show the contents of a database: tables, rows, schema, log, checkpoint
///
/// Needs no code of the database: it reads the files, and changes nothing.
#[derive(Args)]
pub struct InfoArguments {
    /// Directory of the database
    dir: PathBuf,
}

/// Prints the contents.
pub fn run(arguments: &InfoArguments) -> anyhow::Result<Verdict> {
    let inspector = Inspector::open(&arguments.dir)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let summary = match inspector.summary() {
        Ok(summary) => summary,
        Err(error) => {
            refused(&mut out, &inspector)?;
            out.flush()?;
            return Err(error.into());
        }
    };
    storage(&mut out, inspector.manifest(), &summary)?;
    if summary.volume.is_some() {
        writeln!(out, "batches     of reads, on this machine: {}", inspector.batched_reads())?;
    }
    let is_older = |log: &LogSummary| log.entries > 0 || log.calls.iter().any(|&calls| calls > 0);
    let calls = summary.log.as_ref().is_some_and(is_older);
    for (at, schema) in inspector.manifest().tables.iter().enumerate() {
        let usage = summary.volume.as_ref().and_then(|volume| volume.tables.get(at));
        table(&mut out, schema, &summary.tables[at], calls, usage)?;
    }
    out.flush()?;
    Ok(Verdict::Good)
}

/// Prints the part of a refused database that can be read: its manifest, the names of its files, the schema.
fn refused(out: &mut impl Write, inspector: &Inspector) -> anyhow::Result<()> {
    let current = inspector.manifest();
    writeln!(out, "database    {:032x}", current.database_id)?;
    writeln!(out, "REFUSED     the error follows; from the manifest and the names of files:")?;
    manifest(out, "manifest", current)?;
    if let Some(new) = inspector.new_manifest() {
        manifest(out, "manifest.new", &new)?;
    }
    let files = inspector.files()?;
    let width = files.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, bytes) in &files {
        writeln!(out, "file        {name:width$}  {}", format::bytes(*bytes))?;
    }
    for schema in &current.tables {
        writeln!(out, "\ntable {}: {} bytes each row", schema.name, schema.row_width)?;
        columns(out, schema)?;
    }
    writeln!(out)?;
    Ok(())
}

fn manifest(out: &mut impl Write, file: &str, manifest: &Manifest) -> io::Result<()> {
    let Manifest { generation, log_start, log_end, .. } = manifest;
    writeln!(out, "{file:<12}  generation {generation}: log from position {log_start}, known to reach {log_end}")?;
    if let Some(volume) = &manifest.volume {
        writeln!(
            out,
            "            pages of {} bytes, checkpoint at position {}",
            volume.page_bytes, volume.checkpoint
        )?;
    }
    match &manifest.checkpoint {
        Some(checkpoint) => writeln!(out, "            checkpoint {}", checkpoint.file),
        None => Ok(()),
    }
}

fn storage(out: &mut impl Write, manifest: &Manifest, summary: &Summary) -> io::Result<()> {
    writeln!(out, "database    {:032x}", manifest.database_id)?;
    if manifest.schema_version > 1 {
        writeln!(out, "schema      version {}", manifest.schema_version)?;
    }
    if let Some(whose) = &manifest.journal_of {
        writeln!(out, "journal     of {whose}")?;
    }
    if let Some(volume) = &summary.volume {
        return self::volume(out, manifest, summary, volume);
    }
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
        if log.closed { "closed" } else { "not closed: opening it runs recovery" },
    )?;
    writeln!(out, "            {files} file{plural}, {}", format::bytes(*file_bytes))?;
    for (procedure, calls) in manifest.procedures.iter().zip(&log.calls).filter(|(_, calls)| **calls > 0) {
        let (name, version) = (&procedure.name, procedure.version);
        writeln!(out, "            {} calls of {name} (version {version})", format::count(*calls))?;
    }
    if log.entries > 0 {
        let entries = format::count(log.entries);
        writeln!(
            out,
            "            {entries} entries, which only the replica can replay; rows are as of the checkpoint."
        )?;
    }
    if log.calls.iter().any(|&calls| calls > 0) {
        writeln!(out, "            Only the program with their code can replay calls; rows are as of the checkpoint.")?;
    }
    Ok(())
}

fn volume(out: &mut impl Write, manifest: &Manifest, summary: &Summary, volume: &VolumeSummary) -> io::Result<()> {
    let VolumeSummary { page_bytes, pages, used, .. } = *volume;
    writeln!(out, "engine      classic, pages of {} KiB", page_bytes >> 10)?;
    let Some(log) = summary.log.as_ref().filter(|_| !volume.loading) else {
        return writeln!(
            out,
            "pages       invalid: a bulk load did not end, so opening the database creates it from scratch"
        );
    };
    match volume.checkpoint {
        0 => writeln!(out, "checkpoint  none yet")?,
        position => writeln!(out, "checkpoint  begins at position {position}")?,
    }
    writeln!(
        out,
        "log         position {} to {}: {} from where recovery begins, {}",
        log.start,
        log.end,
        format::bytes(log.end - log.start),
        if log.closed { "closed" } else { "not closed: opening it runs recovery" },
    )?;
    let plural = if log.files == 1 { "" } else { "s" };
    writeln!(out, "            {} file{plural}, {}", log.files, format::bytes(log.file_bytes))?;
    writeln!(
        out,
        "recovery    {} log records, {} changes of pages to redo, {} transactions to roll back",
        format::count(volume.log_records),
        format::count(volume.redone),
        format::count(volume.rolled_back),
    )?;
    for PreparedTransaction { name, transaction, changes, locks } in &volume.prepared {
        let (changes, locks) = (format::count(*changes), format::count(*locks));
        writeln!(
            out,
            "prepared    `{}`, transaction {transaction}: {changes} changes, {locks} locks; it waits for \
             commit_prepared or roll_back_prepared",
            name.escape_debug()
        )?;
    }
    writeln!(
        out,
        "pages       {} in the file ({}): {} used, {} free",
        format::count(pages),
        format::bytes(pages * page_bytes),
        format::count(used),
        // Recovery may use more pages than the file has.
        format::count(pages.saturating_sub(used)),
    )?;
    stores(out, manifest, volume)
}

fn stores(out: &mut impl Write, manifest: &Manifest, volume: &VolumeSummary) -> io::Result<()> {
    let width = volume.stores.iter().map(|store| store.name.len()).max().unwrap_or(0);
    let tables = manifest.tables.len();
    writeln!(out, "stores      {} for {tables} table{}", volume.stores.len(), if tables == 1 { "" } else { "s" })?;
    for store in &volume.stores {
        let (kind, items) = if store.is_tree { ("tree", "keys") } else { ("heap", "records") };
        let left = if store.in_use { "" } else { "; not in use: left by an interrupted or abandoned operation" };
        writeln!(
            out,
            "  {:>4}  {kind}  {:width$}  {} {items} of {} bytes on {} pages{left}",
            store.number,
            store.name,
            format::count(store.items),
            store.width,
            format::count(store.pages),
        )?;
    }
    Ok(())
}

fn table(
    out: &mut impl Write,
    schema: &TableSchema,
    counted: &TableSummary,
    calls: bool,
    usage: Option<&TableUsage>,
) -> io::Result<()> {
    let rows = if calls { counted.checkpoint_rows } else { counted.rows };
    writeln!(
        out,
        "\ntable {}: {} rows, {} ({} bytes each)",
        schema.name,
        format::count(rows),
        format::bytes(rows * schema.row_width as u64),
        schema.row_width
    )?;
    if let Some(usage) = usage {
        let indexes = usage.index_bytes.iter().map(|(_, bytes)| bytes).sum();
        writeln!(out, "  on pages: {} of rows, {} of indexes", format::bytes(usage.row_bytes), format::bytes(indexes))?;
    }
    columns(out, schema)
}

/// Prints the keys, the indexes and the columns of a table.
fn columns(out: &mut impl Write, schema: &TableSchema) -> io::Result<()> {
    let name = |&position: &usize| &*schema.columns[position].name;
    let names = |positions: &[usize]| positions.iter().map(name).collect::<Vec<_>>().join(", ");
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
