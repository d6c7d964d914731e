//! The program `glassbox-cluster`: partitions that are processes, and messages over TCP.

mod absence;
mod arguments;
mod auto;
mod check;
mod children;
mod config;
mod incidents;
mod load;
mod node;
mod operate;
mod report;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
pub use arguments::Arguments;
use arguments::{ActionOption, WorkloadOption};
pub use children::Children;
pub use config::Workload;
use config::{Config, save};
use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::Processes;
use glassbox_program::exit::{self, Verdict};
use glassbox_program::results::{Results, report_to};
use incidents::{Incidents, Pauses, Watch};

/// How long all processes may take to load and to connect.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs the command.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.action {
        ActionOption::Run(workload) => run_load(arguments, workload),
        ActionOption::Operate(option) => operate::run(option),
        ActionOption::Node(arguments) => node::run(arguments),
    }
}

/// Starts a cluster on this machine, runs clients, reports, and checks.
fn run_load(arguments: &Arguments, workload: &WorkloadOption) -> anyhow::Result<Verdict> {
    exit::handle_interrupts()?;
    check_options(arguments)?;
    let mut out = report_to(workload.json());
    let (until, file) = (Instant::now() + PATIENCE, arguments.file());
    let (mut children, config, is_resumed) = start(arguments, workload, file.as_deref())?;
    let configuration = serde_json::to_value(&config)?;
    let mut results = Results::new(workload.json(), "cluster", configuration)?;
    report::headline(&mut *out, arguments, workload.load(), &config)?;
    let (mut before, mut was_good) = (Vec::new(), true);
    if is_resumed {
        let mut found = check::check(&config, &load::Measured::default(), &[], &BTreeMap::new(), until)?;
        // The counts of earlier runs have no expected values here.
        before = std::mem::take(&mut found.counted);
        writeln!(out, "resumed from its journals:")?;
        report::checked(&mut *out, &mut results, &found)?;
        was_good = found.is_good();
    }
    let watch = Watch::new(config.partitions);
    let (file, pauses, decides) = (file.as_deref(), Pauses::default(), Mutex::new(()));
    let mut incidents = Incidents {
        config: &config,
        file,
        children: &mut children,
        watch: &watch,
        has_journals: arguments.dir.is_some(),
        decides: &decides,
        pauses,
    };
    let (mut changes, ended) = (Vec::new(), AtomicBool::new(false));
    let measured = std::thread::scope(|scope| {
        let follow = || {
            let (calls, ends) =
                (Some(workload.load().clients), || ended.load(Ordering::Relaxed) || exit::interrupted());
            auto::follow((&config, file), calls, &decides, ends, |change| changes.push(change.clone()))
        };
        let auto = arguments.scheme.kind().is_none().then(|| scope.spawn(follow));
        let faults = (arguments.incidents, arguments.away_mb.map(|mb| mb << 20));
        let measured = load::run(workload.load(), &config, until, &mut incidents, faults);
        ended.store(true, Ordering::Relaxed);
        auto.map_or(Ok(()), |auto| auto.join().expect("the watcher does not panic")).and(measured)
    });
    let pauses = incidents.pauses;
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            children.check()?;
            return Err(error);
        }
    };
    report::measured(&mut *out, &mut results, arguments.rtt_us, &measured)?;
    report::changes(&mut *out, &mut results, &changes)?;
    report::pauses(&mut *out, &mut results, &pauses)?;
    measured.absence.iter().try_for_each(|it| report::absence(&mut *out, &mut results, it))?;
    children.find_ended()?;
    let ended = children.ended().map(|it| (it, children.obituary(it))).collect();
    let checked = check::check(&config, &measured, &before, &ended, Instant::now() + PATIENCE)?;
    report::checked(&mut *out, &mut results, &checked)?;
    children.find_ended()?;
    children.ended().try_for_each(|it| writeln!(out, "{}", children.obituary(it)))?;
    results.finish()?;
    let good = checked.is_good() && was_good && measured.failed.is_empty() && children.ended().next().is_none();
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// Begins a cluster of two partitions and a coordinator, processes of this program that end with the first of the
/// results.
pub fn begin_two(scheme: SchemeKind, workload: Workload) -> anyhow::Result<(Children, Processes)> {
    let (children, config) = Children::start(&Config::of_two(scheme, workload)?, None)?;
    let mut operator = operate::operator(&config, None)?;
    operator.begin(config.shape().configuration(), PATIENCE).map_err(anyhow::Error::msg)?;
    Ok((children, config.processes()))
}

/// Refuses options that make no sense together.
fn check_options(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(
        arguments.incidents == 0 || arguments.has_backups() || arguments.dir.is_some(),
        "--incidents needs backups or journals: give at least {}, or --dir",
        if arguments.is_deterministic() { "--coordinators 2" } else { "--replicas 2" }
    );
    ensure!(
        arguments.away_mb.is_none()
            || arguments.is_agreed() && arguments.is_deterministic() && arguments.replicas() > 1,
        "--away-mb needs replica sets, which go on without one: give --scheme vll --replicas 3 --log raft"
    );
    Ok(())
}

/// Starts the processes and begins the cluster, or resumes the one that is there already; whether it was resumed.
fn start(
    arguments: &Arguments,
    workload: &WorkloadOption,
    file: Option<&Path>,
) -> anyhow::Result<(Children, Config, bool)> {
    let existing = arguments.existing(workload)?;
    let (is_resumed, asked) = (existing.is_some(), existing.map_or_else(|| arguments.config(workload), Ok)?);
    if let (Some(file), false) = (file, is_resumed) {
        refuse_another_cluster(file)?;
    }
    // From here on the processes end with this one.
    let (mut children, config) = Children::start(&asked, arguments.dir.as_deref())?;
    if let (Some(file), false) = (file, is_resumed) {
        // A new cluster has no decisions.
        forget_decided(file)?;
        save(&config, file)?;
    }
    let (mut probe, until) = (operate::operator(&config, None)?, Instant::now() + PATIENCE);
    while !probe.wait_for_all(Duration::from_millis(100)) && Instant::now() < until {
        // A process that cannot use its directory has reported the reason.
        children.check()?;
    }
    drop(probe);
    if let (Some(file), true) = (file, is_resumed) {
        // The processes hold their directories, so no other command runs this cluster at other addresses.
        save(&config, file)?;
    }
    let mut operator = operate::operator(&config, file)?;
    // A cluster that was stopped before it had begun begins now.
    let begun = if is_resumed && operator.newest().is_ok() {
        operator.resume()
    } else {
        operator.begin(config.shape().configuration(), PATIENCE)
    };
    if let Err(why) = begun {
        children.check()?;
        bail!(why);
    }
    Ok((children, config, is_resumed))
}

/// Refuses a file, or a file of decisions, of another cluster than one that such a command began on this machine and
/// that has ended with it. Without its decisions a cluster cannot be resumed.
fn refuse_another_cluster(file: &Path) -> anyhow::Result<()> {
    let is_own = |config: &Config| config.ends_with_command && config.nodes.iter().all(|it| it.ip().is_loopback());
    if file.exists() && Config::read(file).is_ok_and(|config| is_own(&config)) {
        return Ok(());
    }
    let is_there = |path: &Path| path.symlink_metadata().is_ok();
    for path in [file, &operate::decided(file)] {
        ensure!(
            !is_there(path),
            "{} is there already: it is not of a cluster that this command began; choose another file, or remove this \
             one",
            path.display()
        );
    }
    Ok(())
}

fn forget_decided(file: &Path) -> anyhow::Result<()> {
    match std::fs::remove_file(operate::decided(file)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
