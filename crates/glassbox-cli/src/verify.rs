//! `glassbox verify`: all checks that the files alone allow.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use glassbox::research::inspect::{Inspector, VolumeVerification};

use glassbox_program::exit::Verdict;
use glassbox_workloads::format;

/// Check every checksum, every row, and every key of a database
///
/// Needs no code of the database, and changes nothing. The exit status is 1 if a check fails.
#[derive(Args)]
pub struct VerifyArguments {
    /// Directory of the database
    dir: PathBuf,
}

/// Runs the checks.
pub fn run(arguments: &VerifyArguments) -> anyhow::Result<Verdict> {
    let inspector = Inspector::open(&arguments.dir)?;
    let found = inspector.verify()?;
    let mut out = io::stdout().lock();
    match &found.volume {
        Some(volume) => self::volume(&mut out, volume)?,
        None => {
            writeln!(out, "checkpoint  {} blocks are whole", format::count(found.blocks))?;
            writeln!(out, "log         {} row changes were replayed", format::count(found.changes))?;
        }
    }
    if found.calls > 0 {
        let (calls, of) = match &inspector.manifest().journal_of {
            Some(_) => ("entries of a journal", "the replica's"),
            None => ("calls of procedures", "their"),
        };
        let count = format::count(found.calls);
        writeln!(out, "            {count} {calls} are whole, but were not replayed: that needs {of} code")?;
    }
    let indexes: usize = inspector.manifest().tables.iter().map(|table| table.indexes.len() + 1).sum();
    if found.compared {
        let what = "their columns, keys and";
        writeln!(out, "rows        {}, {what} {indexes} indexes checked", format::count(found.rows))?;
    } else {
        writeln!(out, "rows        not compared: some could not be read")?;
    }
    for wrong in &found.wrong {
        writeln!(out, "WRONG       {wrong}")?;
    }
    if found.wrong.is_empty() && found.calls > 0 && inspector.manifest().journal_of.is_none() {
        writeln!(out, "The files are well. An opening will replay the calls, and is refused if its program has other")?;
        writeln!(out, "versions of their procedures, or if one of them is not deterministic.")?;
        return Ok(Verdict::Good);
    }
    if found.wrong.is_empty() {
        writeln!(out, "All is well.")?;
        return Ok(Verdict::Good);
    }
    Ok(Verdict::Bad)
}

fn volume(out: &mut impl Write, volume: &VolumeVerification) -> io::Result<()> {
    let count = format::count;
    writeln!(out, "pages       {} are whole on disk", count(volume.pages))?;
    if volume.repaired > 0 {
        writeln!(out, "            {} of them were torn, and their copies are whole", count(volume.repaired))?;
    }
    writeln!(
        out,
        "log         {} records were read, {} changes of pages redone, {} transactions rolled back, all in memory",
        count(volume.log_records),
        count(volume.redone),
        count(volume.rolled_back),
    )?;
    if volume.prepared > 0 {
        writeln!(out, "prepared    {}, wait for a decision; checked without their changes", count(volume.prepared))?;
    }
    writeln!(out, "space       {} pages are in use, each compared with its owner", count(volume.used))?;
    Ok(())
}
