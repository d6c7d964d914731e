//! `glassbox lab report`: one page of all experiments that were run.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use glassbox_lab::points::{self, Line};
use glassbox_lab::report::page;

use crate::Verdict;

/// Where experiments leave their results, unless they are told otherwise.
pub const DIRECTORY: &str = "lab-results";
/// How files of results end.
const ENDINGS: [&str; 2] = ["json", "jsonl"];

/// Gather the results of all experiments so far into one page
///
/// Reads every file of JSON lines in the directory (*.json, *.jsonl): `lab looking-glass` and `lab low-overhead`
/// leave their own there, and `--json` puts those of other programs there. The page needs nothing beside itself.
#[derive(Args)]
pub struct Arguments {
    /// Where the results are
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// Where the page goes [default: report.html beside the results]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Makes the page.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let lines = gather(&arguments.results)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.results.join("report.html"));
    write(&out, "What the lab measured", &lines)?;
    println!("{} results are in {}", lines.len(), out.display());
    Ok(Verdict::Good)
}

/// Writes a page of these results.
pub fn write(out: &Path, title: &str, lines: &[Line]) -> anyhow::Result<()> {
    let page = page(title, lines)?;
    std::fs::write(out, page).with_context(|| format!("cannot write {}", out.display()))
}

/// The results of a directory, in the order of its files' names.
fn gather(directory: &Path) -> anyhow::Result<Vec<Line>> {
    let why = || format!("cannot look for results in {}: run an experiment first", directory.display());
    let mut files = Vec::new();
    for entry in directory.read_dir().with_context(why)? {
        let path = entry.with_context(why)?.path();
        if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    files.sort();
    let lines = files.iter().map(|file| points::read(file)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    if lines.is_empty() {
        bail!("there are no results in {}: run an experiment first", directory.display());
    }
    Ok(lines)
}
