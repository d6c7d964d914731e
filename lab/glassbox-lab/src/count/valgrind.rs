//! Running the program under callgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail, ensure};

use super::attribute::{self, Attributed};
use super::child::{self, REGION};
use super::parts::{CallMap, PartMap};
use super::profile::Profile;

use crate::measurement::Progress;

/// Instructions of one run of the region, by transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    /// All instructions.
    pub total: f64,
    /// By part, in the order of the [`PartMap`]; they sum to the total.
    pub parts: Vec<(&'static str, f64)>,
    /// By call, in the order of the [`CallMap`]; they sum to the total. Empty if no calls were asked for.
    pub calls: Vec<(&'static str, f64)>,
    /// By function of the source, the most expensive first: its file and name. Unowned functions that it calls are
    /// included.
    pub functions: Vec<(String, f64)>,
    /// Those in `memcpy` and similar functions, which are included in the parts that called them.
    pub copying: f64,
    /// Those in the allocator, which are included in the parts that called it.
    pub allocating: f64,
}

/// A child, and how its instructions are divided.
#[derive(Debug, Clone)]
pub struct CountingJob<'a> {
    /// The command line that runs the child in this very program.
    pub arguments: Vec<String>,
    /// The directory of callgrind's files, which is the child's own.
    pub dir: PathBuf,
    /// The parts that instructions are divided into.
    pub parts: &'a PartMap,
    /// The calls that they are divided into as well, if any.
    pub calls: Option<&'a CallMap>,
    /// Transactions of each run of the region, in the order in which they are run.
    pub transactions: Vec<usize>,
}

/// The version of the installed valgrind.
///
/// # Errors
/// When valgrind is not installed.
pub fn version() -> anyhow::Result<String> {
    let output = Command::new("valgrind").arg("--version").output().ok().filter(|output| output.status.success());
    let output = output.context(
        "valgrind is not installed: install the package `valgrind` of your system \
         (`apt-get install valgrind`, `dnf install valgrind`)",
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Refuses, before anything is measured, to count this program. Without valgrind, nothing is counted.
///
/// # Errors
/// When the program has no debugging information, with the command that builds it with that.
pub fn check() -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program's file")?;
    if version().is_ok() { attribute::check_debugging_information(&program) } else { Ok(()) }
}

/// Runs `work` for each of `names`, as many at a time as there are cores.
///
/// # Errors
/// The first that `work` gives; when this program has no debugging information; and when it is interrupted.
///
/// # Panics
/// When `work` does.
pub fn each<T: Send>(
    names: &[String],
    watch: &(dyn Progress + Sync),
    work: &(dyn Fn(usize) -> anyhow::Result<T> + Sync),
) -> anyhow::Result<Vec<T>> {
    check()?;
    let (started, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = started.fetch_add(1, Ordering::Relaxed);
            let Some(name) = names.get(at).filter(|_| !watch.interrupted()) else { return };
            watch.step(at, names.len(), &format!("counting {name}"));
            let counted = work(at);
            // An interrupt ends the child too: then its failure is not the cause.
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

/// Runs a child under callgrind. Returns the counts of each run of the region, in order.
///
/// # Errors
/// When valgrind or the child fails, or its output cannot be parsed.
pub fn run(job: &CountingJob<'_>) -> anyhow::Result<Vec<Counts>> {
    let program = std::env::current_exe().context("cannot find this program's file")?;
    let out = job.dir.join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--fair-sched=try", "--collect-atstart=no", "--separate-threads=yes"])
        .args(["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--instr-atstart={}", if child::KNOWN { "no" } else { "yes" }))
        .arg(format!("--toggle-collect=*{REGION}*"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(&program)
        .args(&job.arguments)
        // The program's allocator releases memory by the clock, and then counts would not repeat.
        .env("MIMALLOC_PURGE_DELAY", "-1")
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("valgrind ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    job.transactions.iter().enumerate().map(|(at, &transactions)| read(job, &program, at, transactions)).collect()
}

/// Reads callgrind's profile of one run of the region.
fn read(job: &CountingJob<'_>, program: &Path, at: usize, transactions: usize) -> anyhow::Result<Counts> {
    ensure!(child::KNOWN || job.transactions.len() == 1, "on this processor only one region can be counted");
    // Each thread has its own file. A request writes that of its thread, and what others counted is written at the end.
    let mut prefixes = vec![format!("profile.{}-", at + 1)];
    prefixes.extend((at + 1 == job.transactions.len()).then(|| "profile-".to_owned()));
    let mut texts = Vec::new();
    for entry in job.dir.read_dir().with_context(|| format!("cannot read {}", job.dir.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            texts.push((name, std::fs::read_to_string(entry.path())?));
        }
    }
    texts.sort();
    let profile = Profile::parse(texts.iter().map(|(_, text)| text.as_str()))?;
    ensure!(profile.total() > 0, "nothing was counted: callgrind did not find `{REGION}`");
    let attributed = attribute::attribute(&profile, program, job.parts, job.calls)?;
    Ok(counts(job, transactions, profile.total(), attributed))
}

fn counts(job: &CountingJob<'_>, transactions: usize, total: u64, attributed: Attributed) -> Counts {
    let per = |instructions: f64| instructions / transactions as f64;
    let mut by_part = vec![0.0; job.parts.count()];
    for (owner, instructions) in &attributed.owners {
        by_part[owner.part] += instructions;
    }
    let owners = attributed.owners.into_iter();
    let mut functions: Vec<_> = owners.map(|(owner, instructions)| (owner.function, per(instructions))).collect();
    functions.sort_by(|one, other| other.1.total_cmp(&one.1));
    let calls = job.calls.into_iter().flat_map(CallMap::names);
    Counts {
        total: per(total as f64),
        parts: job.parts.names().zip(by_part.into_iter().map(per)).collect(),
        calls: calls.zip(attributed.calls.into_iter().map(per)).collect(),
        functions,
        copying: per(attributed.copying as f64),
        allocating: per(attributed.allocating as f64),
    }
}
