//! The epochs of the input log that a partition may still ask for: what a sequencer has in memory, what its journal
//! has, and what its hot backups have.

use std::collections::{BTreeMap, VecDeque};

use crate::protocol::configuration::SchemeKind;
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{Digests, Input, InputBatch};

/// A sealed epoch.
#[derive(Debug, Clone)]
pub(super) struct SealedEpoch {
    pub(super) epoch: u64,
    /// As in [`InputBatch`].
    pub(super) sealed_in: u64,
    pub(super) inputs: Vec<Input>,
    /// Of partitions that have executed it.
    pub(super) digests: BTreeMap<u8, Digests>,
}

impl SealedEpoch {
    /// The inputs of a partition, which was sent those of `before` last; `None`: there are none.
    pub(super) fn batch(&self, partition: usize, before: u64) -> Option<Box<InputBatch>> {
        let of_it = self.inputs.iter().filter(|input| input.participants.contains(partition));
        let inputs: Vec<_> = of_it.cloned().collect();
        let &Self { epoch, sealed_in, .. } = self;
        let digests = self.digests.get(&(partition as u8)).cloned().unwrap_or_default();
        let has_more = false;
        (!inputs.is_empty()).then(|| Box::new(InputBatch { before, epoch, sealed_in, has_more, inputs, digests }))
    }
}

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct EpochLog {
    pub(super) epochs: VecDeque<SealedEpoch>,
    /// Inputs in them.
    pub(super) inputs: usize,
    /// The last epoch, which may not be needed any more.
    pub(super) last: u64,
    /// The epoch of each partition's checkpoint.
    checkpoints: BTreeMap<u8, u64>,
    /// The assigned time of the last input, in microseconds.
    pub(super) now_us: u64,
}

impl EpochLog {
    /// The log of a base.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub(super) fn of(remembered: Vec<Entry>) -> Result<Self, String> {
        let mut log = Self::default();
        remembered.into_iter().try_for_each(|entry| log.apply(entry))?;
        Ok(log)
    }

    /// Adds an epoch.
    pub(super) fn push(&mut self, sealed: SealedEpoch) {
        self.last = sealed.epoch;
        let times = sealed.inputs.iter().map(|input| input.call.now.micros() as u64);
        self.now_us = times.fold(self.now_us, u64::max);
        if !sealed.inputs.is_empty() {
            self.inputs += sealed.inputs.len();
            self.epochs.push_back(sealed);
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
                self.push(SealedEpoch { epoch, sealed_in: 0, inputs, digests: BTreeMap::new() });
                Ok(())
            }
            Entry::Digests(epoch, partition, digests) => {
                self.note_digests(epoch, partition, digests);
                Ok(())
            }
            Entry::Checkpointed(partition, epoch) => {
                self.note_checkpoint(partition, epoch);
                Ok(())
            }
            Entry::NoOp => Ok(()),
            other => Err(format!("the input log has another entry: {other:?}")),
        }
    }

    /// Notes the digests of an epoch at a partition; whether they are new. The epoch may be one that is not needed any
    /// more.
    pub(super) fn note_digests(&mut self, epoch: u64, partition: u8, digests: Digests) -> bool {
        let Ok(at) = self.epochs.binary_search_by_key(&epoch, |it| it.epoch) else { return false };
        let known = &mut self.epochs[at].digests;
        let is_new = !known.contains_key(&partition);
        known.entry(partition).or_insert(digests);
        is_new
    }

    /// The epoch of a partition's checkpoint; 0: none is known.
    pub(super) fn checkpoint(&self, partition: u8) -> u64 {
        self.checkpoints.get(&partition).copied().unwrap_or_default()
    }

    /// Notes the checkpoint of a partition, and forgets what no partition needs any more, but for the last epoch with
    /// inputs: assigned times count on from there.
    pub(super) fn note_checkpoint(&mut self, partition: u8, epoch: u64) {
        let known = self.checkpoints.entry(partition).or_default();
        *known = epoch.max(*known);
        let checkpoints = &self.checkpoints;
        let has = |at: usize, epoch: u64| checkpoints.get(&(at as u8)).is_some_and(|checkpoint| *checkpoint >= epoch);
        let needs = |epoch: u64, input: &Input| input.participants.iter().any(|at| !has(at, epoch));
        let last = self.epochs.pop_back();
        self.epochs.retain(|it| it.inputs.iter().any(|input| needs(it.epoch, input)));
        self.epochs.extend(last);
        self.inputs = self.epochs.iter().map(|it| it.inputs.len()).sum();
    }

    /// What a base after this entry of the stream has.
    pub(crate) fn base(&self, held: u64, scheme: SchemeKind) -> Base {
        let entries = |it: &SealedEpoch| {
            let epoch = it.epoch;
            let digests = it.digests.clone().into_iter();
            let digests = digests.map(move |(partition, digests)| Entry::Digests(epoch, partition, digests));
            std::iter::once(Entry::Inputs(epoch, it.inputs.clone())).chain(digests)
        };
        let checkpoints = self.checkpoints.iter().map(|(partition, epoch)| Entry::Checkpointed(*partition, *epoch));
        let mut remembered: Vec<_> = checkpoints.chain(self.epochs.iter().flat_map(entries)).collect();
        if self.epochs.back().is_none_or(|last| last.epoch != self.last) {
            // Epochs count on.
            remembered.push(Entry::Inputs(self.last, Vec::new()));
        }
        Base { held, scheme, remembered }
    }
}
