//! `glassbox cluster` and `glassbox node`: partitions that are processes, and messages over TCP.

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

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
pub use arguments::Arguments;
pub use node::{Arguments as NodeArguments, run as run_node};

use crate::results::{Results, report_to};
use crate::{Verdict, interrupt};
use arguments::{ActionOption, WorkloadOption};
use children::Children;
use config::Config;
use incidents::{Incidents, Pauses, Watch};

/// How long until all processes have loaded and found each other.
const PATIENCE: Duration = Duration::from_secs(300);

/// Does what was asked for.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    match &arguments.action {
        ActionOption::Run(workload) => run_load(arguments, workload),
        ActionOption::Operate(option) => operate::run(option),
    }
}

/// Starts a cluster on this machine, runs clients, reports, and checks.
fn run_load(arguments: &Arguments, workload: &WorkloadOption) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    ensure!(
        arguments.incidents == 0 || arguments.replicas > 1,
        "a partition without backups cannot lose its primary: give --incidents with at least --replicas 2"
    );
    let mut out = report_to(workload.json());
    let until = Instant::now() + PATIENCE;
    // Whatever happens from here on, they end when this does.
    let (mut children, config) = Children::start(&arguments.config(workload)?)?;
    if let Some(file) = &arguments.save {
        save(&config, file)?;
    }
    let begun = operate::operator(&config, arguments.save.as_deref())?.begin(config.shape().configuration(), PATIENCE);
    if let Err(why) = begun {
        children.check()?;
        bail!(why);
    }
    let configuration = serde_json::to_value(&config)?;
    let mut results = Results::new(workload.json(), "cluster", configuration)?;
    report::headline(&mut *out, arguments, workload.load(), &config)?;
    let watch = Watch::new(config.partitions);
    let (file, pauses, decides) = (arguments.save.as_deref(), Pauses::default(), Mutex::new(()));
    let (children_of, decided) = (&mut children, &decides);
    let mut incidents =
        Incidents { config: &config, file, children: children_of, watch: &watch, decides: decided, pauses };
    let (mut changes, ended) = (Vec::new(), AtomicBool::new(false));
    let measured = std::thread::scope(|scope| {
        let follow = || {
            let (calls, ends) =
                (Some(workload.load().clients), || ended.load(Ordering::Relaxed) || interrupt::requested());
            auto::follow((&config, file), calls, &decides, ends, |change| changes.push(change.clone()))
        };
        let auto = arguments.scheme.kind().is_none().then(|| scope.spawn(follow));
        let measured = load::run(workload.load(), &config, until, &watch, || incidents.run(arguments.incidents));
        ended.store(true, Ordering::Relaxed);
        auto.map_or(Ok(()), |auto| auto.join().expect("whoever watches does not panic")).and(measured)
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
    children.check()?;
    let checked = check::check(&config, &measured, Instant::now() + PATIENCE)?;
    report::checked(&mut *out, &mut results, &checked)?;
    children.check()?;
    results.finish()?;
    let good = checked.is_good() && measured.failed.is_empty();
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}

/// A new cluster: nothing has been decided about it.
fn save(config: &Config, file: &Path) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(config)? + "\n";
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    match std::fs::remove_file(operate::decided(file)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
