//! The epochs of the input log that a partition may still ask for: what a sequencer has in memory, what its journal
//! has, and what its hot backups have.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use glassbox::research::shard::PartitionSet;

use crate::protocol::address::Address;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{Digests, Input, InputBatch};

/// A sealed epoch. Its inputs are kept as they are written: while a replica is away there may be millions of them.
#[derive(Debug, Clone)]
pub(super) struct SealedEpoch {
    pub(super) epoch: u64,
    /// As in [`InputBatch`].
    pub(super) sealed_in: u64,
    /// All partitions of its inputs.
    pub(super) participants: PartitionSet,
    count: usize,
    /// The latest time that was assigned to an input, in microseconds.
    now_us: u64,
    written: Arc<[u8]>,
    /// Of replicas that have executed it.
    pub(super) digests: BTreeMap<Address, Digests>,
}

impl SealedEpoch {
    pub(super) fn new(epoch: u64, sealed_in: u64, inputs: &[Input]) -> Self {
        Self {
            epoch,
            sealed_in,
            participants: inputs.iter().fold(PartitionSet::EMPTY, |all, it| all.union(it.participants)),
            count: inputs.len(),
            now_us: inputs.iter().map(|input| input.call.now.micros() as u64).max().unwrap_or_default(),
            written: postcard::to_allocvec(inputs).expect("inputs can be written").into(),
            digests: BTreeMap::new(),
        }
    }

    /// One whose inputs and digests are forgotten, because no replica needs them any more.
    fn cleared(epoch: u64) -> Self {
        Self { written: Arc::default(), ..Self::new(epoch, 0, &[]) }
    }

    fn is_cleared(&self) -> bool {
        self.participants.is_empty()
    }

    /// How many bytes its inputs have.
    pub(super) fn bytes(&self) -> usize {
        self.written.len()
    }

    /// Its inputs.
    pub(super) fn inputs(&self) -> Vec<Input> {
        postcard::from_bytes(&self.written).expect("it was written here")
    }

    /// The inputs of a replica of a partition, which was sent those of `before` last; `None`: there are none.
    pub(super) fn batch(&self, to: Address, partition: usize, before: u64) -> Option<Box<InputBatch>> {
        if !self.participants.contains(partition) {
            return None;
        }
        let mut batch = InputBatch::of(&self.inputs(), partition, (before, self.epoch, self.sealed_in))?;
        batch.digests = self.digests.get(&to).cloned().unwrap_or_default();
        Some(batch)
    }
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct EpochLog {
    /// The number of replica sets, each of which executes the log.
    sets: u8,
    /// A sequencer shares them with what was decided when it was elected: there may be millions.
    pub(super) epochs: VecDeque<Arc<SealedEpoch>>,
    /// Inputs in them.
    pub(super) inputs: usize,
    /// Their bytes.
    bytes: usize,
    /// Epochs in them that are forgotten.
    cleared: usize,
    /// The last epoch, which may not be needed any more.
    pub(super) last: u64,
    /// The epoch of each replica's checkpoint; [`DROPPED`]: nothing is kept for it.
    checkpoints: BTreeMap<Address, u64>,
    /// For each partition, an epoch after which the log has all of its inputs.
    purged: BTreeMap<u8, u64>,
    /// The assigned time of the last input, in microseconds.
    pub(super) now_us: u64,
}

/// The checkpoint of a replica for which nothing is kept.
const DROPPED: u64 = u64::MAX;

impl EpochLog {
    /// An empty log, which this number of replica sets execute.
    pub(super) fn new(sets: u8) -> Self {
        let (epochs, checkpoints, purged) = (VecDeque::new(), BTreeMap::new(), BTreeMap::new());
        Self { sets, epochs, inputs: 0, bytes: 0, cleared: 0, last: 0, checkpoints, purged, now_us: 0 }
    }

    /// The number of replica sets, of those that are left out too.
    pub(crate) fn sets(&self) -> u8 {
        self.sets
    }

    /// The log of a base.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(super) fn of(remembered: Vec<Entry>, sets: u8) -> Result<Self, String> {
        let mut log = Self::new(sets);
        remembered.into_iter().try_for_each(|entry| log.apply(entry))?;
        Ok(log)
    }

    /// Adds an epoch.
    pub(super) fn push(&mut self, sealed: SealedEpoch) {
        self.last = sealed.epoch;
        self.now_us = self.now_us.max(sealed.now_us);
        if sealed.count > 0 {
            (self.inputs, self.bytes) = (self.inputs + sealed.count, self.bytes + sealed.written.len());
            let before = self.epochs.back().map(|it| it.epoch);
            self.epochs.push_back(Arc::new(sealed));
            if let Some(before) = before {
                // It stayed only as the last one.
                self.purge(before.saturating_sub(1), before);
            }
        }
    }

    /// Applies an entry of a sequencer's stream.
    ///
    /// # Errors
    /// When it is none of an input log.
    pub(crate) fn apply(&mut self, entry: Entry) -> Result<(), String> {
        match entry {
            Entry::Inputs(epoch, inputs) => {
                if self.last >= epoch && epoch > 0 {
                    return Err(format!("epoch {epoch} of the input log follows epoch {}", self.last));
                }
                self.push(SealedEpoch::new(epoch, 0, &inputs));
                Ok(())
            }
            Entry::Digests(epoch, (replica, _), digests) => {
                self.note_digests(epoch, replica, digests);
                Ok(())
            }
            Entry::Checkpointed((replica, _), epoch) => {
                self.note_checkpoint(replica, epoch);
                Ok(())
            }
            Entry::Purged(partition, epoch) => {
                self.purged.insert(partition, epoch);
                Ok(())
            }
            Entry::NoOp => Ok(()),
            other => Err(format!("the input log has another entry: {other:?}")),
        }
    }

    /// The last epoch.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The epochs after one.
    pub(super) fn after(&self, epoch: u64) -> impl Iterator<Item = &SealedEpoch> {
        self.epochs.range(self.epochs.partition_point(|it| it.epoch <= epoch)..).map(|it| &**it)
    }

    /// An epoch that may still be needed.
    pub(super) fn sealed(&self, epoch: u64) -> Option<&SealedEpoch> {
        self.at(epoch).map(|at| &*self.epochs[at])
    }

    fn at(&self, epoch: u64) -> Option<usize> {
        let at = self.epochs.binary_search_by_key(&epoch, |it| it.epoch).ok();
        at.filter(|at| !self.epochs[*at].is_cleared())
    }

    /// Notes the digests of an epoch at a replica; whether they are new. The epoch may be one that is not needed any
    /// more.
    pub(super) fn note_digests(&mut self, epoch: u64, replica: Address, digests: Digests) -> bool {
        let Some(at) = self.at(epoch) else { return false };
        let is_new = self.epochs[at].digests.get(&replica) != Some(&digests);
        if is_new {
            Arc::make_mut(&mut self.epochs[at]).digests.insert(replica, digests);
        }
        is_new
    }

    /// Forgets the digests of a replica after an epoch: it has other rows now, or executes them again.
    pub(crate) fn forget_digests(&mut self, replica: Address, after: u64) {
        let first = self.epochs.partition_point(|it| it.epoch <= after);
        for sealed in self.epochs.range_mut(first..).filter(|it| it.digests.contains_key(&replica)) {
            Arc::make_mut(sealed).digests.remove(&replica);
        }
    }

    /// The last epoch with inputs for a partition, of those that may still be needed.
    pub(super) fn last_of(&self, partition: usize) -> u64 {
        let is_of_it = |it: &&Arc<SealedEpoch>| it.participants.contains(partition);
        self.epochs.iter().rev().find(is_of_it).map_or(0, |it| it.epoch)
    }

    /// The epoch of a replica's checkpoint; 0: none is known.
    pub(super) fn checkpoint(&self, replica: Address) -> u64 {
        self.checkpoints.get(&replica).copied().unwrap_or_default()
    }

    /// An epoch after which the log has all inputs of a partition.
    pub(super) fn purged(&self, partition: u8) -> u64 {
        self.purged.get(&partition).copied().unwrap_or_default()
    }

    /// Nothing is kept for this replica any more.
    pub(crate) fn note_dropped(&mut self, replica: Address) {
        self.note_checkpoint(replica, DROPPED);
    }

    /// From now on everything is kept for this replica, for which nothing was kept.
    pub(crate) fn note_returned(&mut self, replica: Address) {
        if self.checkpoint(replica) == DROPPED {
            self.checkpoints.remove(&replica);
        }
    }

    /// Notes the checkpoint of a replica, and forgets what none needs any more, but for the last epoch with inputs:
    /// assigned times count on from there.
    pub(super) fn note_checkpoint(&mut self, replica: Address, epoch: u64) {
        let Some(partition) = replica.partition() else { return };
        let known = self.checkpoints.entry(replica).or_default();
        *known = epoch.max(*known);
        let of_all = (0..self.sets).map(|replica| self.checkpoint(Address::Replica { partition, replica }));
        let Some(checkpoint) = of_all.min() else { return };
        let (purged, upto) = (self.purged(partition), checkpoint.min(self.last));
        if upto > purged {
            self.purged.insert(partition, upto);
            self.purge(purged, upto);
        }
    }

    /// Forgets what no replica needs of the epochs after one, up to another. The log may have millions of epochs, so
    /// others are not looked at. A forgotten one stays, empty, until half of all are.
    fn purge(&mut self, after: u64, upto: u64) {
        let first = self.epochs.partition_point(|it| it.epoch <= after);
        let end = self.epochs.partition_point(|it| it.epoch <= upto).min(self.epochs.len().saturating_sub(1));
        let purged = &self.purged;
        let has = |at: usize, epoch: u64| purged.get(&(at as u8)).is_some_and(|purged| *purged >= epoch);
        for sealed in self.epochs.range_mut(first.min(end)..end) {
            if !sealed.is_cleared() && sealed.participants.iter().all(|at| has(at, sealed.epoch)) {
                (self.inputs, self.bytes) = (self.inputs - sealed.count, self.bytes - sealed.bytes());
                *sealed = Arc::new(SealedEpoch::cleared(sealed.epoch));
                self.cleared += 1;
            }
        }
        // Also one that was the last when others before it were purged.
        while self.epochs.len() > 1
            && let Some(first) = self.epochs.pop_front_if(|it| it.participants.iter().all(|at| has(at, it.epoch)))
        {
            (self.inputs, self.bytes) = (self.inputs - first.count, self.bytes - first.bytes());
            self.cleared -= usize::from(first.is_cleared());
        }
        if 2 * self.cleared > self.epochs.len() {
            self.epochs.retain(|it| !it.is_cleared());
            self.cleared = 0;
        }
    }

    /// About how many bytes a base has.
    pub(crate) fn base_bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// What a base after this entry of the stream has.
    pub(crate) fn base(&self, held: u64, scheme: SchemeKind) -> Base {
        let entries = |it: &Arc<SealedEpoch>| {
            let epoch = it.epoch;
            let digests = it.digests.clone().into_iter();
            let digests = digests.map(move |(replica, digests)| Entry::Digests(epoch, (replica, 0), digests));
            std::iter::once(Entry::Inputs(epoch, it.inputs())).chain(digests)
        };
        let purged = self.purged.iter().map(|(partition, epoch)| Entry::Purged(*partition, *epoch));
        let epochs = self.epochs.iter().filter(|it| !it.is_cleared()).flat_map(entries);
        let mut remembered: Vec<_> = purged.chain(epochs).collect();
        if self.epochs.back().is_none_or(|last| last.epoch != self.last) {
            // Epochs count on.
            remembered.push(Entry::Inputs(self.last, Vec::new()));
        }
        // After the epochs, of which a checkpoint notes what is not needed.
        remembered.extend(self.checkpoints.iter().map(|(replica, epoch)| Entry::Checkpointed((*replica, 0), *epoch)));
        Base { held, scheme, remembered }
    }
}
