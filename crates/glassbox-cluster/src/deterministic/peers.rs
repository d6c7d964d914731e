//! The replicas of other partitions with which an executor exchanges rows and votes, and what it has sent.
//!
//! Each participant of a replica set sends to those of its own set. One of another set is *linked* when a participant
//! of the own set is gone or late: both then send each other what they send within their sets. All replicas of a
//! partition send the same about an input, so an exchange that arrives twice is ignored. An exchange is kept until the
//! disks of all replicas of its receiver have the rows as they were after it.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::input::{Exchange, InputId};
use crate::scheduler::LogPlace;

/// How long the oldest transaction waits for a participant of its replica set, in microseconds, before it turns to
/// another set.
pub(super) const LATE_US: u32 = 20_000;

/// The oldest transaction when it was looked for last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Oldest {
    pub(super) place: LogPlace,
    /// How often those that it exchanges with were asked again.
    pub(super) repeats: u32,
    /// When it is late, in microseconds.
    pub(super) late_at_us: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Peers {
    /// The number of the own replica set.
    set: u8,
    /// The replicas of each partition, each with the configuration since which it has its place.
    replicas: Vec<BTreeMap<Address, u64>>,
    /// Replicas of other sets with which it exchanges too.
    linked: BTreeSet<Address>,
    /// The epoch of each replica's checkpoint.
    checkpoints: BTreeMap<Address, u64>,
    /// Exchanges that were sent to each partition.
    sent: BTreeMap<(InputId, u8), Vec<Exchange>>,
}

impl Peers {
    pub(super) fn new(me: Address, configuration: &Configuration) -> Self {
        let set = if let Address::Replica { replica, .. } = me { replica } else { 0 };
        let replicas = configuration.partitions.iter().map(|it| it.all().collect()).collect();
        let (linked, checkpoints, sent) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        Self { set, replicas, linked, checkpoints, sent }
    }

    /// Adopts the replicas of another configuration: those that have a new place have to be linked again.
    pub(super) fn configure(&mut self, configuration: &Configuration) {
        for (known, now) in self.replicas.iter_mut().zip(&configuration.partitions) {
            let now: BTreeMap<_, _> = now.all().collect();
            for (replica, _) in known.iter().filter(|(replica, since)| now.get(*replica) != Some(*since)) {
                self.linked.remove(replica);
                self.checkpoints.remove(replica);
            }
            *known = now;
        }
        (0..self.replicas.len() as u8).for_each(|partition| self.forget(partition));
    }

    /// The number of partitions.
    pub(super) fn partitions(&self) -> u8 {
        self.replicas.len() as u8
    }

    /// Whether there are several replica sets.
    pub(super) fn has_others(&self) -> bool {
        self.replicas.iter().any(|replicas| replicas.len() > 1)
    }

    /// The replicas of a partition.
    pub(super) fn all_of(&self, partition: u8) -> impl Iterator<Item = Address> + '_ {
        self.replicas.get(usize::from(partition)).into_iter().flat_map(|replicas| replicas.keys().copied())
    }

    /// The replica of a partition in the own set, if it has its place.
    pub(super) fn own(&self, partition: u8) -> Option<Address> {
        let own = Address::Replica { partition, replica: self.set };
        self.all_of(partition).find(|it| *it == own)
    }

    /// The replicas of a partition with which it exchanges.
    pub(super) fn of(&self, partition: u8) -> impl Iterator<Item = Address> + '_ {
        let linked = self.linked.iter().copied().filter(move |it| it.partition() == Some(partition));
        self.own(partition).into_iter().chain(linked)
    }

    /// A replica of this partition in another set that is not linked: the one of the next set.
    pub(super) fn next_of(&self, partition: u8) -> Option<Address> {
        let is_other = |it: &Address| Some(*it) != self.own(partition) && !self.linked.contains(it);
        let number = |it: Address| if let Address::Replica { replica, .. } = it { replica } else { 0 };
        self.all_of(partition).filter(is_other).min_by_key(|it| number(*it).wrapping_sub(self.set))
    }

    /// Exchanges with a replica of another set from now on; whether it did not before.
    pub(super) fn link(&mut self, replica: Address) -> bool {
        let is_peer = replica.partition().is_some_and(|it| self.all_of(it).any(|other| other == replica));
        let is_own = replica.partition().and_then(|it| self.own(it)) == Some(replica);
        is_peer && !is_own && self.linked.insert(replica)
    }

    pub(super) fn unlink(&mut self, replica: Address) {
        self.linked.remove(&replica);
    }

    /// Ends the links to replicas of a partition: which.
    pub(super) fn end_links(&mut self, partition: u8) -> Vec<Address> {
        self.linked.extract_if(.., |it| it.partition() == Some(partition)).collect()
    }

    /// Keeps what is sent to a partition; whether it was not sent before.
    pub(super) fn keep(&mut self, to: u8, exchange: &Exchange) -> bool {
        let sent = self.sent.entry((exchange.input, to)).or_default();
        let is_new = !sent.contains(exchange);
        if is_new {
            sent.push(exchange.clone());
        }
        is_new
    }

    /// All that is kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = (u8, &Exchange)> {
        self.sent.iter().flat_map(|((_, to), sent)| sent.iter().map(|it| (*to, it)))
    }

    /// The exchanges that are kept for a partition about inputs after an epoch.
    pub(super) fn kept_after(&self, to: u8, epoch: u64) -> impl Iterator<Item = &Exchange> {
        let first = InputId { epoch: epoch.saturating_add(1), index: 0 };
        self.sent.range((first, 0)..).filter(move |((_, at), _)| *at == to).flat_map(|(_, sent)| sent)
    }

    /// The disk of a replica has the rows as they were after an epoch.
    pub(super) fn note_checkpoint(&mut self, from: Address, epoch: u64) {
        let Some(partition) = from.partition() else { return };
        self.checkpoints.insert(from, epoch);
        self.forget(partition);
    }

    fn forget(&mut self, partition: u8) {
        let of_all = self.all_of(partition).map(|it| self.checkpoints.get(&it).copied().unwrap_or_default());
        if let Some(epoch) = of_all.min() {
            self.sent.retain(|(input, at), _| *at != partition || input.epoch > epoch);
        }
    }
}
