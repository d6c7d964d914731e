//! Who is who: one value with a number that every message carries.
//!
//! A configuration is decided outside (a command of an operator today) and told to everybody. Each role says since
//! which epoch it is held, so a message from who has lost it, or had it, lost it and has it again, is told apart from a
//! message of who has it now. A primary counts only on the backups that the configuration names: it cannot leave one
//! out by itself, so an old primary that nobody hears any more can answer nobody.

use std::collections::BTreeMap;

use glassbox::shard::PartitionSet;
use serde::{Deserialize, Serialize};

use crate::protocol::address::Address;
use crate::protocol::scheme_kind::SchemeKind;

/// Epochs are below this: a coordinator's first number is made of the epoch in which it began.
pub(crate) const LARGEST_EPOCH: u64 = 1 << 20;
/// Each knows all others, and asks all of them for its turn.
const MOST_COORDINATORS: usize = 64;

/// Who is primary, who is backup, and by which scheme they run transactions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// Counts the configurations from 1. Whoever decides them sees to it that no number is used twice.
    pub epoch: u64,
    /// The epoch in which each coordinator began.
    pub coordinators: Vec<u64>,
    /// What partitions do while they wait for others.
    pub scheme: SchemeKind,
    /// The epoch since which they do it: what began before ends under the scheme before, or begins anew.
    pub scheme_since: u64,
    /// The replicas of each partition.
    pub partitions: Vec<Replicas>,
}

/// The replicas of a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replicas {
    /// The one that runs transactions.
    pub primary: Address,
    /// The epoch in which it became that.
    pub since: u64,
    /// The others, each with the epoch in which it became one.
    pub backups: Vec<(Address, u64)>,
}

impl Replicas {
    /// The backups' addresses.
    pub fn backups(&self) -> Vec<Address> {
        self.backups.iter().map(|&(backup, _)| backup).collect()
    }
}

impl Configuration {
    /// The first: replica 0 of each partition is its primary.
    pub fn first(partitions: u8, replicas: u8, scheme: SchemeKind) -> Self {
        let replicas_of = |partition| Replicas {
            primary: Address::Replica { partition, replica: 0 },
            since: 1,
            backups: (1..replicas).map(|replica| (Address::Replica { partition, replica }, 1)).collect(),
        };
        let partitions = (0..partitions).map(replicas_of).collect();
        Self { epoch: 1, coordinators: vec![1], scheme, scheme_since: 1, partitions }
    }

    /// The same with so many coordinators, at least one, from the beginning.
    #[must_use]
    pub fn with_coordinators(self, count: u16) -> Self {
        Self { coordinators: vec![1; usize::from(count.max(1))], ..self }
    }

    /// The coordinator that a client's transactions go to.
    pub fn coordinator_of(&self, client: Address) -> Address {
        let Address::Client(number) = client else { return Address::Coordinator(0) };
        Address::Coordinator((number as usize % self.coordinators.len()) as u16)
    }

    /// Since which epoch a coordinator is there; `None`: it is not.
    pub fn coordinator_since(&self, coordinator: Address) -> Option<u64> {
        let Address::Coordinator(number) = coordinator else { return None };
        self.coordinators.get(usize::from(number)).copied()
    }

    /// The epoch since which several coordinators have the order that they keep now: it begins anew for all when
    /// somebody is replaced who knew a part of it. `None`: there is one, whose order is that of its messages.
    pub fn order_since(&self) -> Option<u64> {
        let begun = self.coordinators.iter().copied().chain(self.partitions.iter().map(|replicas| replicas.since));
        let since = begun.chain([self.scheme_since]).max();
        since.filter(|_| self.coordinators.len() > 1)
    }

    /// Where each partition's primary is.
    pub fn primaries(&self) -> Vec<Address> {
        self.partitions.iter().map(|replicas| replicas.primary).collect()
    }

    /// The partitions, bit *i* for partition *i*, whose primary is another one than before, or has begun anew.
    pub(crate) fn replaced(&self, before: &Self) -> PartitionSet {
        let pairs = self.partitions.iter().zip(&before.partitions);
        let is_another = |(now, was): (&Replicas, &Replicas)| now.primary != was.primary || now.since != was.since;
        pairs.enumerate().filter(|&(_, pair)| is_another(pair)).map(|(partition, _)| partition).collect()
    }

    /// Whether this can be who is who of so many partitions.
    pub fn is_of(&self, partitions: u8) -> bool {
        let has = |since: u64| (1..=self.epoch).contains(&since);
        let is_right = |at: u8, replicas: &Replicas| {
            let others = replicas.backups.iter().copied();
            let all: BTreeMap<_, _> = others.chain([(replicas.primary, replicas.since)]).collect();
            let is_its = |it: &Address| matches!(it, Address::Replica { partition, .. } if *partition == at);
            all.len() == replicas.backups.len() + 1 && all.iter().all(|(it, since)| is_its(it) && has(*since))
        };
        (1..LARGEST_EPOCH).contains(&self.epoch)
            && (1..=MOST_COORDINATORS).contains(&self.coordinators.len())
            && self.coordinators.iter().all(|&since| has(since))
            && has(self.scheme_since)
            && self.partitions.len() == usize::from(partitions)
            && (0..).zip(&self.partitions).all(|(at, replicas)| is_right(at, replicas))
    }

    /// Whether this can come after another one of the same cluster.
    pub fn follows(&self, before: &Self) -> bool {
        self.epoch > before.epoch
            && self.coordinators.len() == before.coordinators.len()
            && self.is_of(before.partitions.len() as u8)
    }

    fn replicas_of(&self, address: Address) -> Option<&Replicas> {
        match address {
            Address::Replica { partition, .. } => self.partitions.get(usize::from(partition)),
            _ => None,
        }
    }

    /// The primary of a backup, and since which epoch it is a backup; `None` if it is none.
    pub fn backup_since(&self, address: Address) -> Option<(Address, u64)> {
        let replicas = self.replicas_of(address)?;
        let place = replicas.backups.iter().find(|(backup, _)| *backup == address);
        place.map(|&(_, since)| (replicas.primary, since))
    }

    /// Whether a message that was sent in this epoch comes from who still has the role that it had then.
    pub fn admits(&self, from: Address, epoch: u64) -> bool {
        match from {
            Address::Client(_) => true,
            Address::Coordinator(_) => self.coordinator_since(from).is_some_and(|since| epoch >= since),
            Address::Replica { .. } => {
                let Some(replicas) = self.replicas_of(from) else { return false };
                if replicas.primary == from {
                    return epoch >= replicas.since;
                }
                replicas.backups.iter().any(|&(backup, since)| backup == from && epoch >= since)
            }
        }
    }

    /// The next configuration: this backup is its partition's primary. The other backups begin anew.
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
        let (mut next, Address::Replica { partition, .. }) = (self.clone(), backup) else { unreachable!("found") };
        next.epoch += 1;
        change(&mut next.partitions[usize::from(partition)], next.epoch);
        Ok(next)
    }

    /// The next configuration: this replica is a backup, which begins with nothing.
    ///
    /// # Errors
    /// When it is none of a partition, or its primary.
    pub fn with(&self, backup: Address) -> Result<Self, String> {
        let replicas = self.replicas_of(backup).filter(|replicas| replicas.primary != backup);
        if replicas.is_none() {
            return Err(format!("{backup} cannot become a backup in configuration {}", self.epoch));
        }
        let (mut next, Address::Replica { partition, .. }) = (self.clone(), backup) else { unreachable!("found") };
        next.epoch += 1;
        let backups = &mut next.partitions[usize::from(partition)].backups;
        backups.retain(|&(other, _)| other != backup);
        backups.push((backup, next.epoch));
        Ok(next)
    }

    /// The next configuration: a coordinator begins anew.
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

    /// Who can go on as a partition's primary when nobody who lives has its rows: the one before, or a backup, whose
    /// journal has all that was told to anybody. `kept`: since which epoch a replica had its place when it kept its
    /// rows.
    pub fn heir(&self, partition: usize, kept: impl Fn(Address) -> Option<u64>) -> Option<Address> {
        let Replicas { primary, ref backups, .. } = self.partitions[partition];
        if kept(primary).is_some() {
            return Some(primary);
        }
        backups.iter().find(|&&(backup, since)| kept(backup) == Some(since)).map(|&(backup, _)| backup)
    }

    /// The next configuration: these processes begin anew. A partition whose primary is among them goes on from the
    /// rows that it has kept, as if it were new; `gone` are left out.
    #[must_use]
    pub fn resume(&self, primaries: &[Address], others: &[Address], gone: &[Address]) -> Self {
        let mut next = Self { epoch: self.epoch + 1, ..self.clone() };
        let epoch = next.epoch;
        for (number, since) in (0..).zip(&mut next.coordinators) {
            if others.contains(&Address::Coordinator(number)) {
                *since = epoch;
            }
        }
        for replicas in &mut next.partitions {
            let is_here = |it: &&Address| **it == replicas.primary || replicas.backups.iter().any(|(at, _)| at == *it);
            if let Some(&primary) = primaries.iter().find(is_here) {
                replicas.backups.push((replicas.primary, epoch));
                replicas.backups.iter_mut().for_each(|(_, since)| *since = epoch);
                replicas.backups.retain(|(backup, _)| *backup != primary);
                (replicas.primary, replicas.since) = (primary, epoch);
            }
            replicas.backups.retain(|(backup, _)| !gone.contains(backup));
            let anew = replicas.backups.iter_mut().filter(|(backup, _)| others.contains(backup));
            anew.for_each(|(_, since)| *since = epoch);
        }
        next
    }

    /// The next configuration: another scheme.
    #[must_use]
    pub fn with_scheme(&self, scheme: SchemeKind) -> Self {
        Self { epoch: self.epoch + 1, scheme, scheme_since: self.epoch + 1, ..self.clone() }
    }
}
