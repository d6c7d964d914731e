//! Running the program under callgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail, ensure};

use super::attribute::{self, Attributed};
use super::profile::Profile;
use super::request::{self, REGION};
use super::{Calls, Counts, Parts};
use crate::Watch;

/// A child and what is asked of it.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// The command line that runs the child in this very program.
    pub arguments: Vec<String>,
    /// Where callgrind writes: a directory of the child's own.
    pub dir: PathBuf,
    /// The parts that instructions are divided into.
    pub parts: &'a Parts,
    /// The calls that they are divided into as well, if any.
    pub calls: Option<&'a Calls>,
    /// Transactions of each run of the region, in the order in which they are run.
    pub transactions: Vec<usize>,
}

/// Which valgrind there is.
///
/// # Errors
/// That there is none, and what to do.
pub fn version() -> anyhow::Result<String> {
    let output = Command::new("valgrind").arg("--version").output().ok().filter(|output| output.status.success());
    let output = output.context(
        "valgrind is not installed: install the package `valgrind` of your system \
         (`apt-get install valgrind`, `dnf install valgrind`)",
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Does `work` for each of `names`, as many at a time as there are cores.
///
/// # Errors
/// The first that `work` gives; and when it is interrupted.
///
/// # Panics
/// When `work` does.
pub fn each<T: Send>(
    names: &[String],
    watch: &(dyn Watch + Sync),
    work: &(dyn Fn(usize) -> anyhow::Result<T> + Sync),
) -> anyhow::Result<Vec<T>> {
    let (begun, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = begun.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(at).filter(|_| !watch.interrupted()) else { return };
            watch.step(at, names.len(), &format!("counting {name}"));
            let counted = work(at);
            // An interrupt ends the child too, and then it is not the child's failure that is of interest.
            let why = || if watch.interrupted() { "interrupted".to_owned() } else { format!("cannot count {name}") };
            results.lock().expect("nothing panics while it is held").push((at, counted.with_context(why)));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().expect("nothing panics while it is held");
    results.sort_by_key(|(at, _)| *at);
    let results = results.into_iter().map(|(_, counted)| counted).collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(results.len() == names.len(), "interrupted");
    Ok(results)
}

/// Runs a child under callgrind, and tells of each run of the region in their order.
///
/// # Errors
/// When valgrind or the child fails, or what it wrote is not understood.
pub fn run(job: &Job<'_>) -> anyhow::Result<Vec<Counts>> {
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let out = job.dir.join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--fair-sched=try", "--collect-atstart=no", "--separate-threads=yes"])
        .args(["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--instr-atstart={}", if request::KNOWN { "no" } else { "yes" }))
        .arg(format!("--toggle-collect=*{REGION}*"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&program)
        .args(&job.arguments)
        // The program's allocator gives back memory by the clock, and then instructions would not repeat.
        .env("MIMALLOC_PURGE_DELAY", "-1")
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("valgrind ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    job.transactions.iter().enumerate().map(|(at, &transactions)| read(job, &program, at, transactions)).collect()
}

/// Reads what callgrind wrote of one run of the region.
fn read(job: &Job<'_>, program: &Path, at: usize, transactions: usize) -> anyhow::Result<Counts> {
    // The first thread, which executes, has a file of its own. Without requests nothing is written before the end.
    let name = if request::KNOWN { format!("profile.{}-01", at + 1) } else { "profile-01".to_owned() };
    ensure!(request::KNOWN || job.transactions.len() == 1, "on this processor only one region can be counted");
    let file = job.dir.join(name);
    let text = std::fs::read_to_string(&file).with_context(|| format!("callgrind did not write {}", file.display()))?;
    let profile = Profile::parse(&text)?;
    ensure!(profile.total() > 0, "nothing was counted: callgrind did not find `{REGION}`");
    let attributed = attribute::attribute(&profile, program, job.parts, job.calls)?;
    Ok(counts(job, transactions, profile.total(), attributed))
}

fn counts(job: &Job<'_>, transactions: usize, total: u64, attributed: Attributed) -> Counts {
    let per = |instructions: f64| instructions / transactions as f64;
    let mut by_part = vec![0.0; job.parts.count()];
    for (owner, instructions) in &attributed.owners {
        by_part[owner.part] += instructions;
    }
    let owners = attributed.owners.into_iter();
    let mut functions: Vec<_> = owners.map(|(owner, instructions)| (owner.function, per(instructions))).collect();
    functions.sort_by(|one, other| other.1.total_cmp(&one.1));
    let calls = job.calls.into_iter().flat_map(Calls::names);
    Counts {
        total: per(total as f64),
        parts: job.parts.names().zip(by_part.into_iter().map(per)).collect(),
        calls: calls.zip(attributed.calls.into_iter().map(per)).collect(),
        functions,
        copying: per(attributed.copying as f64),
        allocating: per(attributed.allocating as f64),
    }
}
