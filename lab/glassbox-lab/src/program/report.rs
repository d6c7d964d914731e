//! `glassbox-lab report`: one page of the results of all experiments.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use glassbox_lab::points::{self, ResultLine};
use glassbox_lab::report::page;

use glassbox_program::exit::Verdict;

/// The default directory of results.
pub const DIRECTORY: &str = "lab-results";
/// The file of the simulator's costs, in the same directory.
pub const COSTS: &str = "costs.json";
/// The extensions of files of results.
const ENDINGS: [&str; 2] = ["json", "jsonl"];

/// Collect the results of all experiments on one page
///
/// Reads every file of JSON lines in the directory (*.json, *.jsonl): `lab looking-glass` and `lab low-overhead` write
/// theirs there, and `--json` those of other commands. The page is self-contained.
#[derive(Args)]
pub struct ReportArguments {
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = DIRECTORY)]
    results: PathBuf,
    /// File of the page [default: report.html in the directory of results]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the page.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Verdict> {
    let lines = gather(&arguments.results)?;
    let out = arguments.out.clone().unwrap_or_else(|| arguments.results.join("report.html"));
    write(&out, "Results of the lab", &lines)?;
    println!("{} results are in {}", lines.len(), out.display());
    Ok(Verdict::Good)
}

/// Writes a page of these results.
pub fn write(out: &Path, title: &str, lines: &[ResultLine]) -> anyhow::Result<()> {
    let page = page(title, lines)?;
    std::fs::write(out, page).with_context(|| format!("cannot write {}", out.display()))
}

/// The results of a directory, in the order of its files' names.
fn gather(directory: &Path) -> anyhow::Result<Vec<ResultLine>> {
    let why = || format!("cannot read results in {}: run an experiment first", directory.display());
    let mut files = Vec::new();
    for entry in directory.read_dir().with_context(why)? {
        let path = entry.with_context(why)?.path();
        // A table, not results.
        let is_table = path.file_name().is_some_and(|name| name == COSTS);
        if !is_table && path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
            files.push(path);
        }
    }
    files.sort();
    let lines = files.iter().map(|file| points::read(file)).collect::<anyhow::Result<Vec<_>>>()?.concat();
    if lines.is_empty() {
        bail!("no results in {}: run an experiment first", directory.display());
    }
    Ok(lines)
}
