//! Failures while clients work: processes are killed, replaced and restarted.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use glassbox_cluster::run::{Operator, Sockets};
use glassbox_cluster::wire::Standing;
use glassbox_cluster::{Address, Configuration, Group, Replicas};

use super::children::Children;
use super::config::Config;
use super::operate::operator;
use glassbox_program::exit;

/// The pause between two incidents.
const REST: Duration = Duration::from_millis(150);
/// How long a member may take to reach a state.
const PATIENCE: Duration = Duration::from_secs(60);

/// For each partition, the time of the first answer to a call that began after a certain moment.
pub struct Watch {
    began: Instant,
    partitions: Vec<(AtomicU64, AtomicU64)>,
    calls: AtomicU64,
}

impl Watch {
    /// A watch of this number of partitions.
    pub fn new(partitions: u8) -> Self {
        let partition = |_| (AtomicU64::new(u64::MAX), AtomicU64::new(u64::MAX));
        let partitions = (0..partitions).map(partition).collect();
        Self { began: Instant::now(), partitions, calls: AtomicU64::new(0) }
    }

    /// Answers so far.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn now(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.began).as_nanos() as u64
    }

    /// Notes the answer of a call.
    pub fn answered(&self, partition: u8, began: Instant) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let (since, first) = &self.partitions[usize::from(partition)];
        if self.now(began) >= since.load(Ordering::Relaxed) {
            first.fetch_min(self.now(Instant::now()), Ordering::Relaxed);
        }
    }

    /// The time from `since` to the first answer of a call that began later.
    fn pause(&self, partition: u8, since: Instant) -> anyhow::Result<Duration> {
        let (begin, first) = &self.partitions[usize::from(partition)];
        first.store(u64::MAX, Ordering::Relaxed);
        begin.store(self.now(since), Ordering::Relaxed);
        let waited = Instant::now();
        while first.load(Ordering::Relaxed) == u64::MAX {
            if waited.elapsed() > PATIENCE {
                bail!("partition {partition} has not answered for {} s", PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Duration::from_nanos(first.load(Ordering::Relaxed) - self.now(since)))
    }
}

/// How long incidents of each kind blocked a partition: from the operator's command to the first answer after it.
#[derive(Debug, Default)]
pub struct Pauses {
    /// A backup was killed and left out.
    pub left_out: Vec<Duration>,
    /// A primary, or the sequencer, was killed and a backup promoted.
    pub promoted: Vec<Duration>,
    /// A coordinator, or the sequencer, was killed, restarted, and given its place.
    pub coordinator: Vec<Duration>,
    /// A participant of a replica set, or a whole set, was killed, and the others answered.
    pub stood_in: Vec<Duration>,
    /// All processes, or one partition's, were killed, restarted and resumed.
    pub resumed: Vec<Duration>,
    /// Until a restarted backup had the rows; only the copying blocks the partition.
    pub returned: Vec<Duration>,
}

/// The cluster in which incidents are caused.
pub struct Incidents<'a> {
    pub config: &'a Config,
    pub file: Option<&'a std::path::Path>,
    pub children: &'a mut Children,
    pub watch: &'a Watch,
    /// Whether there are journals.
    pub has_journals: bool,
    /// Held while an operator decides.
    pub decides: &'a Mutex<()>,
    pub pauses: Pauses,
}

/// An incident of a round, at a partition.
type Incident = fn(&mut Incidents<'_>, u32, u8) -> anyhow::Result<()>;

impl Incidents<'_> {
    /// Runs this many rounds: each kills a backup, a primary and a coordinator, one after the other; under a
    /// deterministic scheme a hot backup, the sequencer, a partition and all. Under an agreement no command is given.
    pub fn run(&mut self, rounds: u32) -> anyhow::Result<()> {
        for round in 0..rounds {
            let partition = (round % u32::from(self.config.partitions)) as u8;
            let agreed: &[Incident] = &[
                |it, _, at| it.lose_and_wait(it.elected()?, at),
                |it, round, at| it.lose_and_wait(it.follower(round)?, at),
                |it, round, at| {
                    let participant = Group::Partition(at).member((round % u32::from(it.config.replicas)) as u8);
                    it.lose_and_wait(participant, at)
                },
                |it, round, at| it.lose_set(round, at),
                |it, _, at| it.lose_all(at),
            ];
            let elected: &[Incident] = &[
                |it, _, at| it.lose_and_wait(it.elected()?, at),
                |it, round, at| it.lose_and_wait(it.follower(round)?, at),
                |it, _, at| it.lose_and_wait(it.replicas(Group::Partition(at))?.primary, at),
                |it, round, at| it.lose_a_backup_and_wait(round, at),
                |it, _, at| it.lose_all(at),
            ];
            let is_agreed = self.config.order.agreement.is_some();
            let (orders, kept): (&[Incident], &[Incident]) = if is_agreed && !self.config.scheme.is_deterministic() {
                (&[], elected)
            } else if is_agreed {
                (&[], agreed)
            } else if self.config.scheme.is_deterministic() {
                let replaced: &[Incident] = &[
                    |it, round, at| it.lose_backup(Group::Sequencer, round, at),
                    |it, _, at| it.lose_primary(Group::Sequencer, at),
                ];
                let restarted: &[Incident] = &[|it, round, at| it.lose_only_sequencer(round, at)];
                let orders = match (self.config.has_hot_backup(), self.has_journals) {
                    (true, _) => replaced,
                    (false, true) => restarted,
                    (false, false) => &[],
                };
                (orders, &[|it, _, at| it.lose_partition(at), |it, _, at| it.lose_all(at)])
            } else {
                let all: &[Incident] = &[
                    |it, round, at| it.lose_backup(Group::Partition(at), round, at),
                    |it, _, at| it.lose_primary(Group::Partition(at), at),
                    |it, round, at| it.lose_coordinator(round, at),
                ];
                (&all[if self.config.replicas > 1 { 0 } else { 2 }..], &[|it, _, at| it.lose_all(at)])
            };
            // Without journals an agreement replaces what a member had voted, and others have a replica's rows.
            let kept = if self.has_journals || is_agreed { kept } else { &[] };
            for incident in orders.iter().chain(kept) {
                std::thread::sleep(REST);
                if exit::interrupted() {
                    return Ok(());
                }
                incident(self, round, partition).with_context(|| format!("in round {round} of incidents"))?;
            }
        }
        Ok(())
    }

    /// Reports processes that have ended by themselves, and the commands that replace them.
    pub fn report_ended(&mut self) -> anyhow::Result<()> {
        for address in self.children.find_ended()? {
            if self.config.order.agreement.is_some() {
                let action = match address {
                    _ if self.has_journals => "start its `glassbox-cluster node` again with its directory",
                    Address::Replica { .. } if self.config.replicas == 1 => "its rows are lost: begin another cluster",
                    _ => "start its `glassbox-cluster node` again: it takes what it needs from the others",
                };
                eprintln!("{}; {action}", self.children.obituary(address));
                continue;
            }
            let Some(file) = self.file else {
                eprintln!(
                    "{}; what needs it waits: interrupt, and run with --save FILE or --dir DIR for commands that \
                     replace it",
                    self.children.obituary(address)
                );
                continue;
            };
            let command = |words: &str| format!("`glassbox-cluster {words} --config {}`", file.display());
            let action = match address {
                Address::Replica { partition, replica } => format!(
                    "what needs it waits: {} if it was a backup, {} if it was the primary",
                    command(&format!("leave-out {partition} {replica}")),
                    command(&format!("promote {partition}"))
                ),
                Address::Coordinator(number) if self.config.has_hot_backup() => format!(
                    "what needs it waits: {} if it was a hot backup, {} if it was the sequencer",
                    command(&format!("leave-out sequencer {number}")),
                    command("promote sequencer")
                ),
                _ if self.config.scheme.is_deterministic() && self.has_journals => {
                    format!(
                        "what needs it waits: start `glassbox-cluster node` for it again, then {}",
                        command("resume")
                    )
                }
                _ => "what needs it waits: interrupt, and run again".to_owned(),
            };
            eprintln!("{}; {action}", self.children.obituary(address));
        }
        Ok(())
    }

    /// The processes that have ended by themselves, as the reason of a wait.
    pub fn missing(&self) -> String {
        let ended: Vec<_> = self.children.ended().map(|it| it.to_string()).collect();
        if ended.is_empty() { String::new() } else { format!(": {} not running", ended.join(" and ")) }
    }

    fn decide<T>(&self, decide: impl FnOnce(&mut Operator<Sockets>) -> Result<T, String>) -> anyhow::Result<T> {
        let _alone = self.decides.lock().map_err(|_| anyhow!("an operator of the cluster has panicked"))?;
        decide(&mut operator(self.config, self.file)?).map_err(anyhow::Error::msg)
    }

    /// Not during a decision: one that only some members received would have to be made again.
    pub fn kill(&mut self, who: Address) -> anyhow::Result<()> {
        let _alone = self.decides.lock().map_err(|_| anyhow!("an operator of the cluster has panicked"))?;
        self.children.kill(who)
    }

    fn newest(&self) -> anyhow::Result<Configuration> {
        self.decide(|operator| {
            operator.standings();
            operator.newest().cloned()
        })
    }

    /// `partition`: the one whose pause is measured.
    fn lose_backup(&mut self, group: Group, round: u32, partition: u8) -> anyhow::Result<()> {
        let backups = self.replicas(group)?.backups();
        let backup = *backups.first().ok_or_else(|| anyhow!("{group} has no backup"))?;
        self.kill(backup)?;
        // Every other time it is brought back at once, while its primary waits for it.
        if round.is_multiple_of(2) {
            let began = Instant::now();
            self.decide(|operator| operator.leave_out(backup))?;
            self.pauses.left_out.push(self.watch.pause(partition, began)?);
        }
        self.bring_back(backup)
    }

    fn replicas(&self, group: Group) -> anyhow::Result<Replicas> {
        let newest = self.newest()?;
        newest.group(group).cloned().ok_or_else(|| anyhow!("the cluster has no replicas of {group}"))
    }

    fn lose_primary(&mut self, group: Group, partition: u8) -> anyhow::Result<()> {
        let primary = self.replicas(group)?.primary;
        self.kill(primary)?;
        let began = Instant::now();
        self.decide(|operator| operator.promote(group))?;
        self.pauses.promoted.push(self.watch.pause(partition, began)?);
        self.bring_back(primary)
    }

    fn bring_back(&mut self, replica: Address) -> anyhow::Result<()> {
        self.children.restart(replica, self.config)?;
        let began = Instant::now();
        self.decide(|operator| {
            operator.wait_for(replica, PATIENCE);
            operator.bring_back(replica)
        })?;
        self.wait_for_rows(replica)?;
        self.pauses.returned.push(began.elapsed());
        Ok(())
    }

    pub fn wait_for_rows(&mut self, replica: Address) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            // A process that was just started may not be connected yet.
            let standing = self.decide(|operator| Ok(operator.standings().remove(&replica)))?;
            match standing {
                Some(Ok(Standing::Backup(_) | Standing::Primary(_) | Standing::Coordinator(_))) => return Ok(()),
                Some(Ok(Standing::Joining(_) | Standing::Idle(_) | Standing::CatchesUp(_)) | Err(_)) | None
                    if began.elapsed() < PATIENCE =>
                {
                    std::thread::sleep(Duration::from_millis(5));
                }
                // Started again without what it had: it asks for its place by itself.
                Some(Ok(Standing::None)) if self.config.order.agreement.is_some() && began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => bail!("{replica} did not become a backup: {other:?}"),
            }
        }
    }

    /// As a power failure does; without journals all would be lost.
    fn lose_all(&mut self, partition: u8) -> anyhow::Result<()> {
        if !self.has_journals {
            return Ok(());
        }
        let machines = self.config.shape().machines();
        {
            let _alone = self.decides.lock().map_err(|_| anyhow!("an operator of the cluster has panicked"))?;
            machines.iter().try_for_each(|&machine| self.children.kill(machine))?;
        }
        machines.iter().try_for_each(|&machine| self.children.restart(machine, self.config))?;
        let began = Instant::now();
        self.decide(|operator| {
            operator.wait_for_all(PATIENCE);
            operator.resume()
        })?;
        self.pauses.resumed.push(self.watch.pause(partition, began)?);
        let newest = self.newest()?;
        for machine in machines.into_iter().filter(|it| it.group().is_some_and(|group| newest.group(group).is_some())) {
            self.wait_for_rows(machine)?;
        }
        Ok(())
    }

    /// The member of the sequencer's group that was elected.
    pub fn elected(&self) -> anyhow::Result<Address> {
        Ok(self.replicas(Group::Sequencer)?.primary)
    }

    /// Another member of the group; the elected one if it is alone.
    pub fn follower(&self, round: u32) -> anyhow::Result<Address> {
        let Replicas { primary, backups, .. } = self.replicas(Group::Sequencer)?;
        let others = backups.len().max(1);
        Ok(backups.get(round as usize % others).map_or(primary, |(backup, _)| *backup))
    }

    /// Under an agreement: a process fails and is started again, and no command is given.
    fn lose_and_wait(&mut self, who: Address, partition: u8) -> anyhow::Result<()> {
        let others =
            if who.partition().is_some() { self.config.replicas > 1 } else { self.newest()?.members().len() > 2 };
        if !self.has_journals && !others {
            // What it has is nowhere else.
            return Ok(());
        }
        let is_ordered = self.config.scheme.is_deterministic();
        let is_primary =
            !is_ordered && who.group().is_some_and(|it| self.replicas(it).is_ok_and(|it| it.primary == who));
        let is_elected = who == self.elected()?;
        let began = Instant::now();
        self.kill(who)?;
        // Without a majority, it is waited for.
        let has_others = self.newest()?.members().len() > 2;
        if is_elected && has_others || is_primary && self.config.replicas > 1 {
            let pause = self.watch.pause(partition, began)?;
            self.pauses.promoted.push(pause);
        } else if who.partition().is_some() && self.config.replicas > 1 && !is_ordered {
            let pause = self.watch.pause(partition, began)?;
            self.pauses.left_out.push(pause);
        } else if who.partition().is_some() && self.config.replicas > 1 {
            let pause = self.watch.pause(partition, began)?;
            self.pauses.stood_in.push(pause);
        }
        self.children.restart(who, self.config)?;
        let pause = self.watch.pause(partition, began)?;
        if who.partition().is_some() && self.config.replicas == 1 {
            self.pauses.resumed.push(pause);
        }
        self.wait_for_rows(who)
    }

    /// Under an agreement without input log: a backup of this partition, if there is one.
    fn lose_a_backup_and_wait(&mut self, round: u32, partition: u8) -> anyhow::Result<()> {
        let backups = self.replicas(Group::Partition(partition))?.backups();
        let Some(backup) = backups.get(round as usize % backups.len().max(1)) else { return Ok(()) };
        self.lose_and_wait(*backup, partition)
    }

    /// Under an agreement: all replicas of a set fail, the others go on, and it is started again without a command.
    fn lose_set(&mut self, round: u32, partition: u8) -> anyhow::Result<()> {
        let set = (round % u32::from(self.config.replicas)) as u8;
        if self.config.replicas == 1 {
            return Ok(());
        }
        let members: Vec<_> = (0..self.config.partitions).map(|it| Group::Partition(it).member(set)).collect();
        let began = Instant::now();
        members.iter().try_for_each(|it| self.kill(*it))?;
        let pause = self.watch.pause(partition, began)?;
        self.pauses.stood_in.push(pause);
        members.iter().try_for_each(|it| self.children.restart(*it, self.config))?;
        members.into_iter().try_for_each(|it| self.wait_for_rows(it))
    }

    /// A partition without a backup.
    fn lose_partition(&mut self, partition: u8) -> anyhow::Result<()> {
        let primary = self.replicas(Group::Partition(partition))?.primary;
        let pause = self.lose_and_resume(primary, partition)?;
        self.pauses.resumed.push(pause);
        Ok(())
    }

    /// A sequencer without a backup.
    fn lose_only_sequencer(&mut self, round: u32, partition: u8) -> anyhow::Result<()> {
        let sequencers = self.newest()?.sequencers();
        let (sequencer, _) = sequencers[round as usize % sequencers.len()];
        let pause = self.lose_and_resume(sequencer, partition)?;
        self.pauses.coordinator.push(pause);
        Ok(())
    }

    /// A process that continues from its journal; how long the partition did not answer.
    fn lose_and_resume(&mut self, who: Address, partition: u8) -> anyhow::Result<Duration> {
        self.kill(who)?;
        self.children.restart(who, self.config)?;
        let began = Instant::now();
        self.decide(|operator| {
            operator.wait_for(who, PATIENCE);
            operator.resume()
        })?;
        let pause = self.watch.pause(partition, began)?;
        self.wait_for_rows(who)?;
        Ok(pause)
    }

    fn lose_coordinator(&mut self, round: u32, partition: u8) -> anyhow::Result<()> {
        let coordinator = Address::Coordinator((round % u32::from(self.config.coordinators)) as u16);
        self.kill(coordinator)?;
        self.children.restart(coordinator, self.config)?;
        let began = Instant::now();
        self.decide(|operator| {
            operator.wait_for(coordinator, PATIENCE);
            operator.begin_coordinator(coordinator)
        })?;
        self.pauses.coordinator.push(self.watch.pause(partition, began)?);
        Ok(())
    }
}
