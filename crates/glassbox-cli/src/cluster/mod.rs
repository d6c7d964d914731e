//! `glassbox cluster` and `glassbox node`: partitions that are processes, and messages over TCP.

mod arguments;
mod check;
mod children;
mod config;
mod load;
mod node;
mod report;

use std::time::{Duration, Instant};

pub use arguments::Arguments;
pub use node::{Arguments as NodeArguments, run as run_node};

use crate::results::{Results, report_to};
use crate::{Verdict, interrupt};
use children::Children;

/// How long until all processes have loaded and found each other.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts a cluster on this machine, runs clients, reports, and checks.
pub fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    interrupt::listen()?;
    let mut out = report_to(arguments.workload.json());
    let until = Instant::now() + PATIENCE;
    // Whatever happens from here on, they end when this does.
    let (mut children, config) = Children::start(&arguments.config()?)?;
    let configuration = serde_json::to_value(&config)?;
    let mut results = Results::new(arguments.workload.json(), "cluster", configuration)?;
    report::headline(&mut *out, arguments, &config)?;
    let measured = load::run(arguments, &config, until);
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            children.check()?;
            return Err(error);
        }
    };
    report::measured(&mut *out, &mut results, arguments, &measured)?;
    children.check()?;
    let checked = check::check(&config, Instant::now() + PATIENCE)?;
    report::checked(&mut *out, &mut results, &checked)?;
    children.check()?;
    results.finish()?;
    let good = checked.is_good() && measured.failed.is_empty();
    Ok(if good { Verdict::Good } else { Verdict::Bad })
}
