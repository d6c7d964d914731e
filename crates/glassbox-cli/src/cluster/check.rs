//! What is right of a cluster after its clients have gone: nothing is under way, replicas have the same rows, and
//! TPC-C's conditions hold of the rows of all primaries together.
//!
//! The rows are fetched and put into one shard here, which runs the conditions as a procedure.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use glassbox::procedure::{Procedure, Stop, Transaction};
use glassbox::record::Timestamp;
use glassbox::shard::{Arguments, Call, Ran, Shard, Task};
use glassbox_cluster::Address;
use glassbox_cluster::run::Sockets;
use glassbox_cluster::wire::{Answer, Question};
use glassbox_workloads::tpcc::conditions::check_all;
use glassbox_workloads::tpcc::{self, Scale};
use serde::{Deserialize, Serialize};

use super::config::{Config, Workload};

/// How long what is under way may take to end, and backups to follow.
const SETTLE: Duration = Duration::from_secs(20);

/// What the checks found.
pub struct Checked {
    /// Replicas that were compared with their primaries.
    pub replicas: usize,
    /// What is wrong with them, or under way for ever.
    pub problems: Vec<String>,
    /// Each condition: its number, how many things were compared, how many were wrong, and what was found.
    pub conditions: Vec<(u8, u64, u64, String)>,
}

impl Checked {
    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.conditions.iter().all(|(_, _, wrong, _)| *wrong == 0)
    }
}

/// All conditions, as a procedure.
#[derive(Serialize, Deserialize)]
struct Conditions {
    scale: Scale,
}

impl Procedure for Conditions {
    const NAME: &'static str = "conditions";
    type Output = Vec<(u8, u64, u64, String)>;

    fn run<T: Transaction>(&self, tx: &mut T) -> Result<Self::Output, Stop> {
        let reports = check_all(tx, &self.scale)?;
        Ok(reports.into_iter().map(|it| (it.condition, it.checked, it.wrong, it.to_string())).collect())
    }
}

/// Checks all.
pub fn check(config: &Config, until: Instant) -> anyhow::Result<Checked> {
    let told = |line: &str| eprintln!("{line}");
    // Nothing is held up: it is not a part of the cluster.
    let identity = config.identity(Address::Client(u32::MAX));
    let mut sockets = Sockets::new(identity, None, Duration::ZERO, told)?;
    let machines = config.shape().machines();
    for machine in &machines {
        sockets.dial(*machine, config.at(*machine)?, until).map_err(anyhow::Error::msg)?;
    }
    let settled = Instant::now() + SETTLE;
    let mut problems = problems(&mut sockets, &machines, until)?;
    while !problems.is_empty() && Instant::now() < settled {
        std::thread::sleep(Duration::from_millis(20));
        problems = self::problems(&mut sockets, &machines, until)?;
    }
    let conditions = match &config.workload {
        Workload::Tpcc { scale, .. } => conditions(config, scale, &mut sockets, until)?,
        Workload::Micro { .. } => Vec::new(),
    };
    let replicas = machines.len() - 1 - usize::from(config.partitions);
    Ok(Checked { replicas, problems, conditions })
}

fn problems(sockets: &mut Sockets, machines: &[Address], until: Instant) -> anyhow::Result<Vec<String>> {
    let mut problems = Vec::new();
    let mut primary = None;
    for machine in machines {
        let answer = sockets.ask(*machine, Question::State, until).map_err(anyhow::Error::msg)?;
        let Answer::State { unfinished, digest } = answer else { bail!("{machine} does not answer what it was asked") };
        problems.extend(unfinished.map(|what| format!("{machine}: {what}")));
        match (*machine, digest) {
            (_, Some(Err(why))) => problems.push(format!("{machine}: {why}")),
            (Address::Replica { replica: 0, .. }, Some(Ok(digest))) => primary = Some(digest),
            (Address::Replica { .. }, Some(Ok(digest))) if primary != Some(digest) => {
                problems.push(format!("{machine} has other rows than its primary"));
            }
            _ => {}
        }
    }
    Ok(problems)
}

/// All rows in one place.
fn gather(config: &Config, shard: &mut Shard, sockets: &mut Sockets, until: Instant) -> anyhow::Result<()> {
    for primary in config.shape().primaries() {
        for table in 0.. {
            let mut from = Some(0);
            let mut exists = true;
            while let Some(place) = from {
                let question = Question::Rows { table, from: place };
                match sockets.ask(primary, question, until).map_err(anyhow::Error::msg)? {
                    Answer::Rows { replicated, rows, next } => {
                        let known = replicated && primary != config.shape().primaries()[0];
                        if !known {
                            shard.load_stored(table, &rows).map_err(|why| anyhow!("rows of {primary}: {why}"))?;
                        }
                        from = if known { None } else { next };
                    }
                    _ => (from, exists) = (None, false),
                }
            }
            if !exists {
                break;
            }
        }
    }
    Ok(())
}

fn conditions(
    config: &Config,
    scale: &Scale,
    sockets: &mut Sockets,
    until: Instant,
) -> anyhow::Result<Vec<(u8, u64, u64, String)>> {
    let catalog = tpcc::catalog().procedure::<Conditions>();
    let mut shard = Shard::new(&catalog, 0, 1, glassbox::Config::default().table_bytes)?;
    gather(config, &mut shard, sockets, until)?;
    let arguments = Arguments::of(Conditions { scale: *scale });
    let call = Call { procedure: catalog.number_of::<Conditions>()?, arguments, now: Timestamp::default(), seed: 0 };
    match shard.run(&call, Task { participants: 1, given: &[] }, None, None) {
        Ran::Done(output) => output.read().context("the conditions' answer cannot be read"),
        other => bail!("the conditions cannot be checked: {other:?}"),
    }
}
