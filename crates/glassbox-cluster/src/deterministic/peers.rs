//! The replicas of other partitions with which an executor exchanges rows and votes, and what it has sent.
//!
//! Each participant of a replica set sends to those of its own set. One of another set is *linked* when a participant
//! of the own set is gone or late: both then send each other what they send within their sets. All replicas of a
//! partition send the same about an input, so an exchange that arrives twice is ignored. An exchange is kept until the
//! disks of all replicas of its receiver have the rows as they were after it. Of what the disk of one of them has, only
//! so many bytes are kept: a replica that is away for longer takes the rows of another set.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::entry::Entry;
use crate::protocol::input::{Exchange, InputId, OrderSettings};
use crate::scheduler::LogPlace;

/// How long the oldest transaction waits for a participant of its replica set, in microseconds, before it turns to
/// another set.
pub(super) const LATE_US: u32 = 20_000;

/// How many times as many bytes are kept for a partition of which a replica has no checkpoint yet.
const WHILE_JOINING: usize = 8;

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
    /// Exchanges that were sent, by partition.
    sent: Vec<SentExchanges>,
    /// Others that have more to send, once the inputs up to an epoch are executed.
    unsent: BTreeMap<Address, u64>,
    /// The most bytes that are kept for a partition.
    most_bytes: usize,
}

/// Exchanges that were sent to a partition.
#[derive(Debug, Default)]
struct SentExchanges {
    kept: BTreeMap<InputId, Vec<Exchange>>,
    /// Of these.
    bytes: usize,
    /// Those up to this epoch that it may need are not kept.
    forgotten: u64,
}

impl Peers {
    pub(super) fn new(me: Address, configuration: &Configuration) -> Self {
        let set = if let Address::Replica { replica, .. } = me { replica } else { 0 };
        let replicas = configuration.partitions.iter().map(|it| it.all().collect()).collect();
        let sent = configuration.partitions.iter().map(|_| SentExchanges::default()).collect();
        let (linked, checkpoints, unsent) = (BTreeSet::new(), BTreeMap::new(), BTreeMap::new());
        let most_bytes = OrderSettings::new().kept_bytes();
        Self { set, replicas, linked, checkpoints, sent, unsent, most_bytes }
    }

    /// Adopts the replicas of another configuration: those that have a new place have to be linked again.
    pub(super) fn configure(&mut self, configuration: &Configuration) {
        for (known, now) in self.replicas.iter_mut().zip(&configuration.partitions) {
            let now: BTreeMap<_, _> = now.all().collect();
            for (replica, _) in known.iter().filter(|(replica, since)| now.get(*replica) != Some(*since)) {
                self.linked.remove(replica);
                self.checkpoints.remove(replica);
                self.unsent.remove(replica);
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

    /// Sets how many bytes are kept for a partition.
    pub(super) fn set_most_bytes(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
    }

    /// Keeps what is sent to a partition; whether it was not sent before.
    pub(super) fn keep(&mut self, to: u8, exchange: &Exchange) -> bool {
        let Some(sent) = self.sent.get_mut(usize::from(to)) else { return false };
        let of_input = sent.kept.entry(exchange.input).or_default();
        if of_input.contains(exchange) {
            return false;
        }
        of_input.push(exchange.clone());
        sent.bytes += exchange.bytes();
        if sent.bytes > self.most_bytes {
            self.forget_oldest(to);
        }
        true
    }

    /// Forgets the oldest of what one disk has, as much as is too much.
    fn forget_oldest(&mut self, to: u8) {
        let durable = self.checkpoints_of(to).max().unwrap_or_default();
        // One that takes the rows of another set needs what follows them.
        let is_joining = self.all_of(to).any(|it| !self.checkpoints.contains_key(&it));
        let most_bytes = if is_joining { WHILE_JOINING * self.most_bytes } else { self.most_bytes };
        let sent = &mut self.sent[usize::from(to)];
        while sent.bytes > most_bytes
            && let Some((&InputId { epoch, .. }, _)) = sent.kept.first_key_value()
            && epoch <= durable
        {
            sent.forget(epoch);
            sent.forgotten = epoch;
        }
    }

    /// The checkpoints of a partition's replicas.
    fn checkpoints_of(&self, partition: u8) -> impl Iterator<Item = u64> + '_ {
        self.all_of(partition).map(|it| self.checkpoints.get(&it).copied().unwrap_or_default())
    }

    /// What a base has of it.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let of = |(to, sent): (u8, &SentExchanges)| {
            let forgotten = (sent.forgotten > 0).then_some(Entry::Purged(to, sent.forgotten));
            let kept = sent.kept.values().flatten().map(move |it| Entry::Sent(to, Box::new(it.clone())));
            forgotten.into_iter().chain(kept).collect::<Vec<_>>()
        };
        (0..).zip(&self.sent).flat_map(of).collect()
    }

    /// Adopts an entry of a base.
    pub(super) fn remember(&mut self, entry: Entry) {
        match entry {
            Entry::Sent(to, exchange) => _ = self.keep(to, &exchange),
            Entry::Purged(to, epoch) => {
                self.sent.get_mut(usize::from(to)).into_iter().for_each(|sent| sent.forgotten = epoch);
            }
            _ => {}
        }
    }

    /// Partitions for which something is kept.
    pub(super) fn kept_for(&self) -> impl Iterator<Item = u8> + '_ {
        (0..).zip(&self.sent).filter(|(_, sent)| !sent.kept.is_empty()).map(|(to, _)| to)
    }

    /// Whether everything is kept that was sent to a partition about inputs after an epoch.
    pub(super) fn keeps_after(&self, to: u8, epoch: u64) -> bool {
        self.sent.get(usize::from(to)).is_some_and(|sent| epoch >= sent.forgotten)
    }

    /// The exchanges that are kept for a partition about inputs after an epoch, in order.
    pub(super) fn kept_after(&self, to: u8, epoch: u64) -> impl Iterator<Item = (InputId, &[Exchange])> {
        let first = InputId { epoch: epoch.saturating_add(1), index: 0 };
        let sent = self.sent.get(usize::from(to));
        sent.into_iter().flat_map(move |sent| sent.kept.range(first..)).map(|(input, all)| (*input, &all[..]))
    }

    /// Another one has sent what it keeps up to an epoch, and has more.
    pub(super) fn note_sent(&mut self, from: Address, epoch: u64) {
        if from.partition().is_some() {
            self.unsent.insert(from, epoch);
        }
    }

    /// Those that have more to send, now that all inputs up to this epoch are executed.
    pub(super) fn take_unsent(&mut self, executed: u64) -> Vec<Address> {
        self.unsent.extract_if(.., |_, epoch| *epoch <= executed).map(|(other, _)| other).collect()
    }

    /// The disk of a replica has the rows as they were after an epoch.
    pub(super) fn note_checkpoint(&mut self, from: Address, epoch: u64) {
        let Some(partition) = from.partition() else { return };
        self.checkpoints.insert(from, epoch);
        self.forget(partition);
    }

    fn forget(&mut self, partition: u8) {
        let of_all = self.checkpoints_of(partition).min();
        if let (Some(epoch), Some(sent)) = (of_all, self.sent.get_mut(usize::from(partition))) {
            sent.forget(epoch);
        }
    }
}

impl SentExchanges {
    /// Forgets those up to an epoch.
    fn forget(&mut self, epoch: u64) {
        let left = self.kept.split_off(&InputId { epoch: epoch.saturating_add(1), index: 0 });
        let forgotten = std::mem::replace(&mut self.kept, left);
        self.bytes -= forgotten.values().flatten().map(Exchange::bytes).sum::<usize>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::configuration::{SchedulerKind, SchemeKind};
    use crate::protocol::input::ExchangeContent;

    const fn replica(partition: u8, replica: u8) -> Address {
        Address::Replica { partition, replica }
    }

    fn vote(epoch: u64) -> Exchange {
        Exchange { input: InputId { epoch, index: 0 }, from: 0, content: ExchangeContent::Vote }
    }

    /// Of two sets, one replica of partition 1 is behind the other one.
    #[test]
    fn what_one_disk_has_is_forgotten_when_it_is_too_much() {
        let configuration = Configuration::first(2, 2, SchemeKind::Deterministic(SchedulerKind::Vll));
        let mut peers = Peers::new(replica(0, 0), &configuration);
        peers.most_bytes = 3 * vote(1).bytes();
        (1..=6).for_each(|epoch| assert!(peers.keep(1, &vote(epoch))));
        assert!(peers.keeps_after(1, 0), "no disk of partition 1 has anything");
        peers.note_checkpoint(replica(1, 1), 5);
        assert!(peers.keep(1, &vote(7)));
        assert!(peers.keeps_after(1, 0), "the other one joins");
        peers.note_checkpoint(replica(1, 0), 1);
        assert!(peers.keep(1, &vote(8)));
        assert!(peers.keeps_after(1, 5) && !peers.keeps_after(1, 4));
        let kept = |peers: &Peers| peers.kept_after(1, 0).map(|(input, _)| input.epoch).collect::<Vec<_>>();
        assert_eq!(kept(&peers), [6, 7, 8]);
        let mut again = Peers::new(replica(0, 0), &configuration);
        peers.entries().into_iter().for_each(|entry| again.remember(entry));
        assert_eq!((kept(&again), again.keeps_after(1, 4)), (vec![6, 7, 8], false));
        peers.note_checkpoint(replica(1, 0), 7);
        peers.note_checkpoint(replica(1, 1), 6);
        assert_eq!(kept(&peers), [7, 8], "all disks have the rest");
    }
}
