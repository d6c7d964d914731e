//! Running the program under callgrind.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, bail, ensure};
use glassbox_workloads::tpcc::Scale;

use super::attribute::{self, Attributed};
use super::child::{Child, REGION};
use super::profile::Profile;
use super::{Counted, parts, request};
use crate::limits::Watch;
use crate::limits::systems::System;

/// What is counted.
#[derive(Debug, Clone)]
pub struct Counting {
    /// Size of the data.
    pub scale: Scale,
    /// The systems, each once.
    pub systems: Vec<System>,
    /// Transactions before those that are counted.
    pub warm_up: usize,
    /// Transactions that are counted.
    pub transactions: usize,
    /// Of the inputs.
    pub seed: u64,
    /// Below which directories are made.
    pub dir: PathBuf,
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

/// Counts, as many systems at a time as there are cores. `command` makes the command line that runs a child in this
/// very program.
///
/// # Errors
/// When valgrind or the child fails, or what it wrote is not understood.
///
/// # Panics
/// When a counting thread does.
pub fn count(
    counting: &Counting,
    command: &(dyn Fn(&Child) -> Vec<String> + Sync),
    watch: &(dyn Watch + Sync),
) -> anyhow::Result<Vec<Counted>> {
    let program = std::env::current_exe().context("this program does not know where it is")?;
    let (begun, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = begun.fetch_add(1, Ordering::Relaxed);
            let Some(&system) = counting.systems.get(at) else { return };
            watch.step(at, counting.systems.len(), &format!("counting {system}"));
            let counted = if watch.interrupted() {
                Err(anyhow::anyhow!("interrupted"))
            } else {
                count_one(counting, system, &program, command).with_context(|| format!("cannot count {system}"))
            };
            results.lock().expect("nothing panics while it is held").push((at, counted));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut results = results.into_inner().expect("nothing panics while it is held");
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, counted)| counted).collect()
}

fn count_one(
    counting: &Counting,
    system: System,
    program: &Path,
    command: &dyn Fn(&Child) -> Vec<String>,
) -> anyhow::Result<Counted> {
    let Counting { scale, warm_up, transactions, seed, .. } = *counting;
    let dir = tempfile::Builder::new().prefix("glassbox-counted-").tempdir_in(&counting.dir);
    let dir = dir.with_context(|| format!("cannot make a directory in {}", counting.dir.display()))?;
    let child = Child { system, scale, warm_up, transactions, seed, dir: dir.path().to_owned() };
    let out = dir.path().join("profile");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--fair-sched=try", "--collect-atstart=no", "--separate-threads=yes"])
        .args(["--dump-instr=yes", "--dump-line=no", "--compress-strings=no", "--compress-pos=no"])
        .arg(format!("--instr-atstart={}", if request::KNOWN { "no" } else { "yes" }))
        .arg(format!("--toggle-collect=*{REGION}*"))
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(program)
        .args(command(&child))
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        bail!("valgrind ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    // The first thread, which executes, has a file of its own.
    let file = dir.path().join("profile-01");
    let text = std::fs::read_to_string(&file).with_context(|| format!("callgrind did not write {}", file.display()))?;
    let profile = Profile::parse(&text)?;
    ensure!(profile.total() > 0, "nothing was counted: callgrind did not find `{REGION}`");
    Ok(counted(system, transactions, &profile, attribute::attribute(&profile, program)?))
}

fn counted(system: System, transactions: usize, profile: &Profile, attributed: Attributed) -> Counted {
    let per = |instructions: f64| instructions / transactions as f64;
    let mut by_part = [0.0; parts::COUNT];
    for (owner, instructions) in &attributed.owners {
        by_part[owner.part] += instructions;
    }
    let owners = attributed.owners.into_iter();
    let mut functions: Vec<_> = owners.map(|(owner, instructions)| (owner.function, per(instructions))).collect();
    functions.sort_by(|one, other| other.1.total_cmp(&one.1));
    Counted {
        system,
        transactions,
        total: per(profile.total() as f64),
        parts: parts::names().zip(by_part.map(per)).collect(),
        functions,
        copying: per(attributed.copying as f64),
        allocating: per(attributed.allocating as f64),
    }
}
