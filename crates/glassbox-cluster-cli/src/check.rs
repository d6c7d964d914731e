//! Checks of a cluster after its clients have disconnected: no transaction is active, replicas have the same rows, and
//! TPC-C's consistency conditions hold for the rows of all primaries together.
//!
//! The rows are fetched into one shard here, which runs the conditions as a procedure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use glassbox_cluster::run::{Sockets, ask};
use glassbox_cluster::wire::{Answer, Question};
use glassbox_cluster::{Address, Configuration};
use glassbox_workloads::contention;
use glassbox_workloads::tpcc::{Kind, Scale, Together};

use super::config::{Config, Workload};
use super::load::{Measured, Tally};

/// How long active transactions and backups may take to finish: a replica that was away has the rest of the log to
/// execute.
const SETTLE: Duration = Duration::from_secs(60);
/// How many times as long as it took to ask the members they are left alone: the digest of many rows takes a second, in
/// which a member does nothing else.
const REST: u32 = 4;

/// A condition's number, how many comparisons were made, how many failed, and the findings.
pub type Condition = (u8, u64, u64, String);

/// The result of the checks.
pub struct Checked {
    /// The number of backups that were compared with their primaries.
    pub replicas: usize,
    /// Whether they are of replica sets.
    pub is_set: bool,
    /// Failed or unfinished members.
    pub problems: Vec<String>,
    /// The rows that acknowledged transactions left.
    pub counted: Vec<Counted>,
    /// The conditions.
    pub conditions: Vec<Condition>,
}

impl Checked {
    /// Whether all checks passed.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty()
            && self.counted.iter().all(|it| it.lost() == 0)
            && self.conditions.iter().all(|(_, _, wrong, _)| *wrong == 0)
    }
}

/// Rows that transactions of a type leave, one each.
pub struct Counted {
    pub what: &'static str,
    pub acknowledged: u64,
    pub uncertain: u64,
    pub found: u64,
}

impl Counted {
    /// How many rows are missing or excess.
    pub fn lost(&self) -> u64 {
        let most = self.acknowledged + self.uncertain;
        self.acknowledged.saturating_sub(self.found) + self.found.saturating_sub(most)
    }
}

/// Processes that have ended, and how.
pub type Ended = BTreeMap<Address, String>;

/// Checks all processes but those that have ended. `before`: the counts when the clients began, if they are not those
/// of a new cluster.
pub fn check(
    config: &Config,
    measured: &Measured,
    before: &[Counted],
    ended: &Ended,
    until: Instant,
) -> anyhow::Result<Checked> {
    let told = |line: &str| eprintln!("{line}");
    // Without injected delays: the checker is not part of the cluster.
    let identity = config.identity(Address::CHECKER);
    let mut sockets = Sockets::new(identity, None, Duration::ZERO, told)?;
    let mut machines = config.shape().machines();
    machines.retain(|it| !ended.contains_key(it));
    for (machine, at) in config.calls(Address::CHECKER)?.into_iter().filter(|(it, _)| machines.contains(it)) {
        sockets.dial(machine, at, until).map_err(anyhow::Error::msg)?;
    }
    let settled = Instant::now() + SETTLE;
    let configuration = newest(&mut sockets, &machines, until)?;
    let mut asked = Instant::now();
    let mut problems = problems(&mut sockets, &machines, &configuration, until)?;
    while !problems.is_empty() && Instant::now() < settled {
        std::thread::sleep(REST * asked.elapsed());
        asked = Instant::now();
        problems = self::problems(&mut sockets, &machines, &configuration, until)?;
    }
    let primaries = configuration.primaries();
    let missing = primaries.iter().filter_map(|primary| ended.get(primary));
    problems.extend(missing.map(|obituary| format!("the rows of a partition cannot be checked: {obituary}")));
    let (conditions, mut counted) = match &config.workload {
        Workload::Tpcc { scale, .. } if primaries.iter().all(|it| machines.contains(it)) => {
            conditions(&primaries, scale, measured, &mut sockets, until)?
        }
        Workload::Contention { .. } if primaries.iter().all(|it| machines.contains(it)) => {
            (Vec::new(), vec![increments(&primaries, measured, &mut sockets, until)?])
        }
        _ => Default::default(),
    };
    for (counted, before) in counted.iter_mut().zip(before) {
        counted.found = counted.found.saturating_sub(before.found);
    }
    let replicas = configuration.partitions.iter().map(|it| it.backups.len()).sum();
    let is_set = configuration.agreement.is_some() && configuration.scheme.is_deterministic();
    Ok(Checked { replicas, is_set, problems, counted, conditions })
}

/// The newest configuration that a process knows.
fn newest(sockets: &mut Sockets, machines: &[Address], until: Instant) -> anyhow::Result<Configuration> {
    let mut newest: Option<Configuration> = None;
    for machine in machines {
        let answer = ask(sockets, *machine, Question::Standing, until).map_err(anyhow::Error::msg)?;
        let Answer::Standing(standing) = answer else { bail!("{machine} gave the answer to another question") };
        let known = standing.configuration();
        let newer = known.filter(|known| newest.as_ref().is_none_or(|newest| known.epoch > newest.epoch));
        newest = newer.cloned().or(newest);
    }
    newest.context("the cluster has not begun")
}

fn problems(
    sockets: &mut Sockets,
    machines: &[Address],
    configuration: &Configuration,
    until: Instant,
) -> anyhow::Result<Vec<String>> {
    let (mut problems, mut digests) = (Vec::new(), BTreeMap::new());
    for machine in machines {
        let answer = ask(sockets, *machine, Question::State, until).map_err(anyhow::Error::msg)?;
        let Answer::State { unfinished, digest } = answer else {
            bail!("{machine} gave the answer to another question")
        };
        problems.extend(unfinished.map(|what| format!("{machine}: {what}")));
        match digest {
            Some(Ok(digest)) => drop(digests.insert(*machine, digest)),
            Some(Err(why)) => problems.push(format!("{machine}: {why}")),
            None => {}
        }
    }
    for replicas in &configuration.partitions {
        let primary = digests.get(&replicas.primary);
        for backup in replicas.backups() {
            match digests.get(&backup) {
                None => problems.push(format!("{backup} has no rows here: its process has ended, or it joins")),
                digest if digest == primary => {}
                _ => problems.push(format!("{backup} differs from {}", replicas.primary)),
            }
        }
    }
    Ok(problems)
}

/// Fetches the rows of all primaries.
fn gather(primaries: &[Address], all: &mut Together, sockets: &mut Sockets, until: Instant) -> anyhow::Result<()> {
    for &primary in primaries {
        let stored = |table, from| match ask(sockets, primary, Question::Rows { table, from }, until)? {
            Answer::Rows { replicated, rows, next } => Ok(Some((replicated, rows, next))),
            _ => Ok(None),
        };
        all.add_stored(primary == primaries[0], stored).map_err(|why| anyhow!("rows of {primary}: {why}"))?;
    }
    Ok(())
}

/// The increments of all counters.
fn increments(
    primaries: &[Address],
    measured: &Measured,
    sockets: &mut Sockets,
    until: Instant,
) -> anyhow::Result<Counted> {
    let mut found = 0;
    for &primary in primaries {
        let mut next = Some(0);
        while let Some(from) = next {
            let answer = ask(sockets, primary, Question::Rows { table: 0, from }, until).map_err(anyhow::Error::msg)?;
            let Answer::Rows { rows, next: after, .. } = answer else { bail!("{primary} has no rows") };
            found += contention::increments(&rows).map_err(|why| anyhow!("rows of {primary}: {why}"))?;
            next = after;
        }
    }
    let of = |count: fn(&Tally) -> u64| {
        let tallies = measured.tallies.iter().filter(|((kind, _), _)| *kind < 2);
        tallies.map(|(_, tally)| count(tally)).sum::<u64>() * contention::INCREMENTED as u64
    };
    let (acknowledged, uncertain) = (of(|tally| tally.latency.len()), of(|tally| tally.uncertain));
    Ok(Counted { what: "increments", acknowledged, uncertain, found })
}

fn conditions(
    primaries: &[Address],
    scale: &Scale,
    measured: &Measured,
    sockets: &mut Sockets,
    until: Instant,
) -> anyhow::Result<(Vec<Condition>, Vec<Counted>)> {
    let mut all = Together::new(glassbox::Config::default().table_bytes)?;
    gather(primaries, &mut all, sockets, until)?;
    let found = all.check(scale).map_err(anyhow::Error::msg)?;
    let conditions = found.reports.into_iter().map(|it| (it.condition, it.checked, it.wrong, it.to_string())).collect();
    let counted = |what, kind: Kind, found| {
        let tally = measured.tallies.get(&(kind as usize, kind.name()));
        let acknowledged = tally.map_or(0, |it| it.latency.len() - it.aborted);
        Counted { what, acknowledged, uncertain: tally.map_or(0, |it| it.uncertain), found }
    };
    let orders = counted("orders", Kind::NewOrder, found.orders);
    let payments = counted("payments", Kind::Payment, found.payments);
    Ok((conditions, vec![orders, payments]))
}
