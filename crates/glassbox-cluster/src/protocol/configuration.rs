//! The configuration of a cluster: one value with an epoch that every message carries.
//!
//! An operator, or a group that agrees, decides a configuration, which is sent to all members. Each role carries the
//! epoch since which its holder has it. So a message from a former holder is distinguishable from one of the present
//! holder, even if a member lost a role and got it again. A primary waits for the acknowledgements of exactly the
//! backups that the configuration names, and cannot exclude one by itself. So a deposed primary that is partitioned
//! from the cluster cannot answer a client.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use glassbox::research::shard::PartitionSet;
use serde::{Deserialize, Serialize};

pub use glassbox_consensus::Settings as AgreementSettings;

use crate::protocol::address::{Address, Group};

/// The upper bound of epochs: a coordinator's first sequence number is made of the epoch in which it began.
pub(crate) const MAX_EPOCH: u64 = 1 << 20;
/// Each coordinator knows all others, and requests the turn from all of them.
const MAX_COORDINATORS: usize = 64;

/// The roles of all members, and the scheme under which partitions run transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Configuration {
    /// Counts the configurations from 1. The operator uses each number once.
    pub epoch: u64,
    /// The epoch in which each coordinator began. Under a deterministic scheme, the same of each sequencer if several
    /// order inputs by their clocks, and none if there is one sequencer.
    pub coordinators: Vec<u64>,
    /// Under a deterministic scheme with one sequencer: the sequencer, as primary, and its hot backups. Under an
    /// agreement: the elected member, which is the sequencer or the coordinator, and the others.
    pub sequencer: Option<Replicas>,
    /// The sequencer's group agrees by majority on the log, if there is one, and on the configurations, with these
    /// times. `None`: the log is decided when all have it, and configurations are the operator's.
    pub agreement: Option<AgreementSettings>,
    /// The concurrency-control scheme of all partitions.
    pub scheme: SchemeKind,
    /// The epoch since which the scheme is in force. A transaction that began before it ends under the former scheme,
    /// or is restarted.
    pub scheme_since: u64,
    /// The replicas of each partition.
    pub partitions: Vec<Replicas>,
}

/// The replicas of a partition or of the input log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Replicas {
    /// The primary.
    pub primary: Address,
    /// The epoch in which it became the primary.
    pub since: u64,
    /// The backups, each with the epoch in which it became one.
    pub backups: Vec<(Address, u64)>,
}

impl Replicas {
    pub(crate) fn first(group: Group, replicas: u8) -> Self {
        let backups = (1..replicas).map(|number| (group.member(number), 1)).collect();
        Self { primary: group.member(0), since: 1, backups }
    }

    /// All members, each with the epoch since which it has its role: under a deterministic scheme one of each replica
    /// set, which are equal.
    pub fn all(&self) -> impl Iterator<Item = (Address, u64)> {
        std::iter::once((self.primary, self.since)).chain(self.backups.iter().copied())
    }

    /// The epoch since which a member has its role here; `None`: it has none.
    fn since_of(&self, member: Address) -> Option<u64> {
        if self.primary == member {
            return Some(self.since);
        }
        self.backups.iter().find(|(backup, _)| *backup == member).map(|&(_, since)| since)
    }

    /// The member that can become the primary when no live one has what the primary had: the former primary, or a
    /// backup, whose journal has everything that was acknowledged. `kept`: the epoch since which a member had its role
    /// when it wrote its journal.
    pub fn heir(&self, kept: impl Fn(Address) -> Option<u64>) -> Option<Address> {
        if kept(self.primary).is_some() {
            return Some(self.primary);
        }
        self.backups.iter().find(|&&(backup, since)| kept(backup) == Some(since)).map(|&(backup, _)| backup)
    }

    /// The backups' addresses.
    pub fn backups(&self) -> Vec<Address> {
        self.backups.iter().map(|&(backup, _)| backup).collect()
    }
}

impl Configuration {
    /// The initial configuration: replica 0 of each partition is its primary.
    pub fn first(partitions: u8, replicas: u8, scheme: SchemeKind) -> Self {
        let partitions = (0..partitions).map(|it| Replicas::first(Group::Partition(it), replicas)).collect();
        let (coordinators, sequencer, agreement) = (Vec::new(), None, None);
        Self { epoch: 1, coordinators, sequencer, agreement, scheme, scheme_since: 1, partitions }.with_coordinators(1)
    }

    /// The initial configuration with this number of coordinators, at least one; under a deterministic scheme, of a
    /// sequencer and its hot backups.
    #[must_use]
    pub fn with_coordinators(self, count: u16) -> Self {
        let count = count.max(1);
        if self.scheme.is_deterministic() {
            let count = count.min(MAX_COORDINATORS as u16) as u8;
            return Self { sequencer: Some(Replicas::first(Group::Sequencer, count)), ..self };
        }
        Self { coordinators: vec![1; usize::from(count)], ..self }
    }

    /// The initial configuration, of a deterministic scheme, with this number of sequencers, which order inputs by
    /// their clocks.
    #[must_use]
    pub fn with_clocks(self, sequencers: u16) -> Self {
        Self { coordinators: vec![1; usize::from(sequencers.max(1))], sequencer: None, ..self }
    }

    /// The initial configuration of a cluster whose sequencers, or coordinators, agree by majority: one of them is
    /// elected.
    #[must_use]
    pub fn with_agreement(self, settings: AgreementSettings) -> Self {
        let elected = || Replicas::first(Group::Sequencer, self.coordinators.len().min(MAX_COORDINATORS) as u8);
        let sequencer = self.sequencer.clone().or_else(|| Some(elected()));
        Self { agreement: Some(settings), sequencer, coordinators: Vec::new(), ..self }
    }

    /// The initial configuration of a cluster of which only this number of coordinators agree; 0: all.
    #[must_use]
    pub fn with_members(mut self, count: u16) -> Self {
        if let (1.., Some(sequencer)) = (count, &mut self.sequencer) {
            sequencer.backups.truncate(usize::from(count) - 1);
        }
        self
    }

    /// The next configuration: these are the members that agree, the elected one among them.
    pub(crate) fn agreeing(&self, members: &BTreeSet<Address>) -> Option<Self> {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let (epoch, group) = (next.epoch, next.sequencer.as_mut()?);
        let others = members.iter().filter(|it| **it != group.primary);
        let backups = others.map(|&it| (it, group.since_of(it).unwrap_or(epoch))).collect();
        group.backups = backups;
        members.contains(&group.primary).then_some(next)
    }

    /// The members that agree.
    pub fn members(&self) -> BTreeSet<Address> {
        self.sequencer.iter().flat_map(|group| group.all().map(|(member, _)| member)).collect()
    }

    /// Whether the coordinator is elected: any of them, under the name of coordinator 0 in its transactions.
    pub(crate) fn elects_coordinator(&self) -> bool {
        self.agreement.is_some() && !self.scheme.is_deterministic()
    }

    /// Under a deterministic scheme, all sequencers that order inputs, each with the epoch in which it began.
    pub fn sequencers(&self) -> Vec<(Address, u64)> {
        match &self.sequencer {
            Some(sequencer) => vec![(sequencer.primary, sequencer.since)],
            None => (0..).map(Address::Coordinator).zip(self.coordinators.iter().copied()).collect(),
        }
    }

    /// The number of replica sets of the initial configuration, under a deterministic scheme.
    pub(crate) fn sets(&self) -> u8 {
        self.partitions.iter().map(|replicas| replicas.backups.len() as u8 + 1).max().unwrap_or(1)
    }

    /// The hot backups of a single sequencer.
    pub(crate) fn hot_backups(&self) -> Vec<Address> {
        self.sequencer.as_ref().map(Replicas::backups).unwrap_or_default()
    }

    /// The coordinator of a client's distributed transactions, or its sequencer.
    pub fn coordinator_of(&self, client: Address) -> Address {
        if let Some(sequencer) = &self.sequencer {
            return sequencer.primary;
        }
        let Address::Client(number) = client else { return Address::Coordinator(0) };
        Address::Coordinator((number as usize % self.coordinators.len()) as u16)
    }

    /// The epoch since which a coordinator or the sequencer is in place; `None`: it is neither.
    pub fn coordinator_since(&self, coordinator: Address) -> Option<u64> {
        if let Some(sequencer) = &self.sequencer {
            return (sequencer.primary == coordinator).then_some(sequencer.since);
        }
        let Address::Coordinator(number) = coordinator else { return None };
        self.coordinators.get(usize::from(number)).copied()
    }

    /// The epoch since which the coordinators share their present order. All restart the order when a member that knew
    /// a part of it is replaced. `None`: there is one coordinator, whose messages are the order.
    pub fn order_since(&self) -> Option<u64> {
        let begun = self.coordinators.iter().copied().chain(self.partitions.iter().map(|replicas| replicas.since));
        let since = begun.chain([self.scheme_since]).max();
        since.filter(|_| self.coordinators.len() > 1)
    }

    /// The primary of each partition.
    pub fn primaries(&self) -> Vec<Address> {
        self.partitions.iter().map(|replicas| replicas.primary).collect()
    }

    /// All replicas that have a role.
    pub(crate) fn replicas(&self) -> BTreeSet<Address> {
        self.partitions.iter().flat_map(|it| it.all().map(|(replica, _)| replica)).collect()
    }

    /// The partitions whose primary was replaced or restarted.
    pub(crate) fn replaced(&self, before: &Self) -> PartitionSet {
        let pairs = self.partitions.iter().zip(&before.partitions);
        let is_another = |(now, was): (&Replicas, &Replicas)| now.primary != was.primary || now.since != was.since;
        pairs.enumerate().filter(|&(_, pair)| is_another(pair)).map(|(partition, _)| partition).collect()
    }

    /// Whether this is a valid configuration for this number of partitions.
    pub fn is_of(&self, partitions: u8) -> bool {
        let has = |since: u64| (1..=self.epoch).contains(&since);
        let is_right = |group: Group, replicas: &Replicas| {
            let others = replicas.backups.iter().copied();
            let all: BTreeMap<_, _> = others.chain([(replicas.primary, replicas.since)]).collect();
            let is_its = |it: &Address| it.group() == Some(group);
            all.len() == replicas.backups.len() + 1 && all.iter().all(|(it, since)| is_its(it) && has(*since))
        };
        let is_deterministic = self.scheme.is_deterministic();
        let has_order = match &self.sequencer {
            None => (1..=MAX_COORDINATORS).contains(&self.coordinators.len()),
            Some(sequencer) => {
                (is_deterministic || self.agreement.is_some())
                    && self.coordinators.is_empty()
                    && is_right(Group::Sequencer, sequencer)
            }
        };
        let has_backup = self.partitions.iter().any(|replicas| !replicas.backups.is_empty());
        (1..MAX_EPOCH).contains(&self.epoch)
            && has_order
            && (self.agreement.is_none() || self.sequencer.is_some())
            && !(is_deterministic && has_backup && self.agreement.is_none())
            && self.coordinators.iter().all(|&since| has(since))
            && has(self.scheme_since)
            && self.partitions.len() == usize::from(partitions)
            && (0..).zip(&self.partitions).all(|(at, replicas)| is_right(Group::Partition(at), replicas))
    }

    /// Whether this can succeed another configuration of the same cluster.
    pub fn follows(&self, before: &Self) -> bool {
        self.epoch > before.epoch
            && self.sequencer.is_some() == before.sequencer.is_some()
            && self.agreement == before.agreement
            && self.coordinators.len() == before.coordinators.len()
            && self.is_of(before.partitions.len() as u8)
    }

    /// The members of a group; `None`: there is no such group.
    pub fn group(&self, group: Group) -> Option<&Replicas> {
        match group {
            Group::Partition(partition) => self.partitions.get(usize::from(partition)),
            Group::Sequencer => self.sequencer.as_ref(),
        }
    }

    fn group_mut(&mut self, group: Group) -> Option<&mut Replicas> {
        match group {
            Group::Partition(partition) => self.partitions.get_mut(usize::from(partition)),
            Group::Sequencer => self.sequencer.as_mut(),
        }
    }

    /// All groups: the partitions, and under a deterministic scheme the sequencer.
    pub fn groups(&self) -> impl Iterator<Item = Group> + use<> {
        let sequencer = self.sequencer.is_some().then_some(Group::Sequencer);
        (0..self.partitions.len() as u8).map(Group::Partition).chain(sequencer)
    }

    fn replicas_of(&self, address: Address) -> Option<&Replicas> {
        address.group().and_then(|group| self.group(group))
    }

    /// The epoch since which a member of a group has its role; `None`: it has none.
    pub fn since_of(&self, member: Address) -> Option<u64> {
        self.replicas_of(member)?.since_of(member)
    }

    /// A backup's primary, and the epoch since which it is a backup; `None` if it is no backup.
    pub fn backup_since(&self, address: Address) -> Option<(Address, u64)> {
        let replicas = self.replicas_of(address)?;
        let place = replicas.backups.iter().find(|(backup, _)| *backup == address);
        place.map(|&(_, since)| (replicas.primary, since))
    }

    /// Whether the sender of a message still has the role that it had in the message's epoch.
    pub fn admits(&self, from: Address, epoch: u64) -> bool {
        match from {
            Address::Client(_) => true,
            // Others that agree have no role, and one that was elected before is among them.
            Address::Coordinator(_) if self.sequencer.is_none() || self.elects_coordinator() => {
                self.coordinator_since(from).is_some_and(|since| epoch >= since)
            }
            Address::Coordinator(_) | Address::Replica { .. } => {
                self.since_of(from).is_some_and(|since| epoch >= since)
            }
        }
    }

    /// The next configuration: this backup is the primary of its group. The other backups join it again.
    ///
    /// # Errors
    /// When it is no backup.
    pub fn promote(&self, backup: Address) -> Result<Self, String> {
        self.change(backup, |replicas, epoch| {
            replicas.backups.retain(|&(other, _)| other != backup);
            replicas.backups.iter_mut().for_each(|(_, since)| *since = epoch);
            (replicas.primary, replicas.since) = (backup, epoch);
        })
    }

    /// The next configuration: without this backup.
    ///
    /// # Errors
    /// When it is no backup.
    pub fn without(&self, backup: Address) -> Result<Self, String> {
        self.change(backup, |replicas, _| replicas.backups.retain(|&(other, _)| other != backup))
    }

    fn change(&self, backup: Address, change: impl FnOnce(&mut Replicas, u64)) -> Result<Self, String> {
        let is_backup = |replicas: &Replicas| replicas.backups.iter().any(|&(known, _)| known == backup);
        if !self.replicas_of(backup).is_some_and(is_backup) {
            return Err(format!("{backup} is no backup in configuration {}", self.epoch));
        }
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        change(backup.group().and_then(|group| next.group_mut(group)).expect("found"), epoch);
        Ok(next)
    }

    /// The next configuration: this member is a backup of its group, which begins with nothing.
    ///
    /// # Errors
    /// When it is no member of a group, or its primary.
    pub fn with(&self, backup: Address) -> Result<Self, String> {
        let replicas = self.replicas_of(backup).filter(|replicas| replicas.primary != backup);
        if replicas.is_none() {
            return Err(format!("{backup} cannot become a backup in configuration {}", self.epoch));
        }
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        let backups = &mut backup.group().and_then(|group| next.group_mut(group)).expect("found").backups;
        backups.retain(|&(other, _)| other != backup);
        backups.push((backup, epoch));
        Ok(next)
    }

    /// The next configuration: a coordinator was restarted.
    ///
    /// # Errors
    /// When there is no such coordinator.
    pub fn with_new_coordinator(&self, coordinator: Address) -> Result<Self, String> {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        match coordinator {
            Address::Coordinator(number) if usize::from(number) < next.coordinators.len() => {
                next.coordinators[usize::from(number)] = next.epoch;
                Ok(next)
            }
            _ => Err(format!("{coordinator} is no coordinator in configuration {}", self.epoch)),
        }
    }

    /// The next configuration: these processes were restarted. A partition whose primary is among them continues from
    /// the primary's journal, with a new epoch for the role; the replicas in `gone` are removed.
    #[must_use]
    pub fn resume(&self, primaries: &[Address], others: &[Address], gone: &[Address]) -> Self {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        for (number, since) in (0..).zip(&mut next.coordinators) {
            if others.contains(&Address::Coordinator(number)) {
                *since = epoch;
            }
        }
        for replicas in next.partitions.iter_mut().chain(&mut next.sequencer) {
            let is_here = |it: &&Address| **it == replicas.primary || replicas.backups.iter().any(|(at, _)| at == *it);
            if let Some(&primary) = primaries.iter().find(is_here) {
                replicas.backups.push((replicas.primary, epoch));
                replicas.backups.iter_mut().for_each(|(_, since)| *since = epoch);
                replicas.backups.retain(|(backup, _)| *backup != primary);
                (replicas.primary, replicas.since) = (primary, epoch);
            }
            replicas.backups.retain(|(backup, _)| !gone.contains(backup));
            let restarted = replicas.backups.iter_mut().filter(|(backup, _)| others.contains(backup));
            restarted.for_each(|(_, since)| *since = epoch);
        }
        next
    }

    /// The next configuration: this replica of a replica set was restarted, or comes back.
    #[must_use]
    pub(crate) fn returned(&self, replica: Address) -> Self {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        if let Some(replicas) = replica.group().and_then(|group| next.group_mut(group)) {
            if replicas.primary == replica {
                replicas.since = epoch;
            } else {
                replicas.backups.retain(|&(other, _)| other != replica);
                replicas.backups.push((replica, epoch));
            }
        }
        next
    }

    /// The next configuration: this replica of a replica set is the only one of its partition, with a new place.
    #[must_use]
    pub(crate) fn settled(&self, replica: Address) -> Self {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        if let Some(replicas) = replica.group().and_then(|group| next.group_mut(group)) {
            (replicas.primary, replicas.since) = (replica, epoch);
            replicas.backups.clear();
        }
        next
    }

    /// The next configuration: without this replica of a replica set; `None`: it is the last one, or none.
    pub(crate) fn dropped(&self, replica: Address) -> Option<Self> {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let replicas = replica.group().and_then(|group| next.group_mut(group))?;
        let mut left: Vec<_> = replicas.all().filter(|(other, _)| *other != replica).collect();
        if left.is_empty() || left.len() > replicas.backups.len() {
            return None;
        }
        (replicas.primary, replicas.since) = left.remove(0);
        replicas.backups = left;
        Some(next)
    }

    /// The next configuration: another scheme.
    #[must_use]
    pub fn with_scheme(&self, scheme: SchemeKind) -> Self {
        Self { epoch: self.epoch + 1, scheme, scheme_since: self.epoch + 1, ..self.clone() }
    }
}

/// How a partition runs other transactions while a distributed transaction waits for its other participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum SchemeKind {
    /// Other transactions wait. *Low Overhead Concurrency Control*, section 4.1.
    Blocking,
    /// Other transactions run speculatively and are undone if it aborts; coordinators receive speculative results at
    /// once. Section 4.2.2.
    Speculation,
    /// As `Speculation`, but results wait at the partition until what they depend on is decided. Section 4.2.1.
    LocalSpeculation,
    /// Transactions lock the keys that they touch while a distributed transaction is active. Section 4.3.
    Locking,
    /// As `Locking`, with locks always.
    ForcedLocking,
    /// Transactions record what they touch and are validated afterwards. Section 5.7.
    Occ,
    /// Inputs are ordered first, and every partition executes them in that order. *An Evaluation of the Advantages and
    /// Disadvantages of Deterministic Database Systems*, VLDB 2014. A cluster has it from its beginning to its end.
    Deterministic(SchedulerKind),
    /// As `ForcedLocking`, but locks are taken one by one before a run, as far as its call declares keys, and the rule
    /// says what becomes of a transaction that has to wait. The nondeterministic system of that paper.
    TwoPhase(DeadlockRule),
    /// As `Speculation`, but no deeper than the observed aborts allow. Section 5.3 suggests it.
    LimitedSpeculation,
}

/// What becomes of a transaction under two-phase locking that requests a lock which another one has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum DeadlockRule {
    /// It waits. Deadlocks of one partition are found there, others by coordinator 0, to which every wait is reported.
    Graph,
    /// It waits. Deadlocks of one partition are found there; in others, a transaction exceeds its timeout.
    Timeout,
    /// It waits for younger ones, and is restarted, with its age, if one that it would wait for is older.
    WaitDie,
    /// It is restarted.
    NoWait,
    /// A transaction waits if all its locks come before the one that it requests, in one order of partitions and keys,
    /// and is restarted otherwise. The participants of a distributed transaction are visited in that order.
    Sorted,
}

impl DeadlockRule {
    /// All rules.
    pub const ALL: [Self; 5] = [Self::Graph, Self::Timeout, Self::WaitDie, Self::NoWait, Self::Sorted];
}

/// Which transactions a partition may run before earlier ones of the input log have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub enum SchedulerKind {
    /// None.
    Serial,
    /// Those that get all locks of a lock table in which transactions queue in the order of the log.
    OrderedLocks,
    /// The same by counters: very lightweight locking.
    Vll,
}

impl SchedulerKind {
    /// All schedulers.
    pub const ALL: [Self; 3] = [Self::Serial, Self::OrderedLocks, Self::Vll];
}

impl SchemeKind {
    /// The schemes of *Low Overhead Concurrency Control*, and the one that it suggests.
    pub const LOW_OVERHEAD: [Self; 7] = [
        Self::Blocking,
        Self::Speculation,
        Self::LimitedSpeculation,
        Self::LocalSpeculation,
        Self::Locking,
        Self::ForcedLocking,
        Self::Occ,
    ];

    /// All schemes whose partitions do not need an input log; a running cluster changes between them.
    pub const ALL: [Self; 12] = {
        let mut all = [Self::Blocking; 12];
        let (low_overhead, two_phase) = all.split_at_mut(Self::LOW_OVERHEAD.len());
        low_overhead.copy_from_slice(&Self::LOW_OVERHEAD);
        let mut at = 0;
        while at < two_phase.len() {
            two_phase[at] = Self::TwoPhase(DeadlockRule::ALL[at]);
            at += 1;
        }
        all
    };

    /// Whether transactions take locks.
    pub fn is_locking(self) -> bool {
        matches!(self, Self::Locking | Self::ForcedLocking | Self::TwoPhase(_))
    }

    /// Whether transactions take locks also while no distributed one is active.
    pub fn always_locks(self) -> bool {
        matches!(self, Self::ForcedLocking | Self::TwoPhase(_))
    }

    /// Whether inputs are ordered before they are executed.
    pub fn is_deterministic(self) -> bool {
        matches!(self, Self::Deterministic(_))
    }

    /// Whether clients coordinate their own transactions, because no global order is needed.
    pub fn clients_coordinate(self) -> bool {
        self.is_locking() || self == Self::Occ
    }

    /// Whether a coordinator visits the participants of a transaction one after the other, in the order of partitions.
    pub(crate) fn visits_in_order(self) -> bool {
        self == Self::TwoPhase(DeadlockRule::Sorted)
    }

    /// Whether a primary runs calls without locks while no other transaction is active, so that backups can hold them
    /// before.
    pub(crate) fn announces(self) -> bool {
        !matches!(self, Self::ForcedLocking | Self::TwoPhase(_) | Self::Deterministic(_))
    }

    /// Whether an abort undoes the transactions that ran after it.
    pub(crate) fn cascades(self) -> bool {
        matches!(self, Self::Speculation | Self::LimitedSpeculation | Self::LocalSpeculation)
    }
}

impl fmt::Display for SchemeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Speculation => "speculation",
            Self::LimitedSpeculation => "limited speculation",
            Self::LocalSpeculation => "local speculation",
            Self::Locking => "locking",
            Self::ForcedLocking => "forced locking",
            Self::Occ => "occ",
            Self::TwoPhase(DeadlockRule::Graph) => "two-phase",
            Self::TwoPhase(DeadlockRule::Timeout) => "two-phase, timeout",
            Self::TwoPhase(DeadlockRule::WaitDie) => "two-phase, wait-die",
            Self::TwoPhase(DeadlockRule::NoWait) => "two-phase, no-wait",
            Self::TwoPhase(DeadlockRule::Sorted) => "two-phase, sorted",
            Self::Deterministic(SchedulerKind::Serial) => "serial",
            Self::Deterministic(SchedulerKind::OrderedLocks) => "deterministic locks",
            Self::Deterministic(SchedulerKind::Vll) => "vll",
        })
    }
}
