//! What a coordinator that begins decides about the transactions of the one before, from what their partitions hold.
//!
//! Committed is what one partition knows to be committed, and what all of its partitions have voted for: the
//! coordinator before can have decided nothing else. Everything else is aborted (presumed abort), and with it what a
//! partition ran upon it: that is run again, so its vote does not count.

use std::collections::{BTreeMap, BTreeSet};

use glassbox::shard::PartitionSet;

use crate::protocol::address::{Address, Life};
use crate::protocol::message::{Message, Recovered, Submission};
use crate::protocol::outbox::Outbox;

/// A coordinator's beginning; or a client's end, which is decided in the same way.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// Of whom; `None`: of the coordinator before.
    life: Option<Life>,
    /// What each partition said.
    answers: Vec<Option<Recovered>>,
    /// What was decided of a client's.
    decided: BTreeSet<u64>,
    /// What was submitted meanwhile.
    pub(crate) waiting: Vec<(Address, Submission)>,
}

impl Recovery {
    pub(crate) fn begin(life: Option<Life>, primaries: &[Address], out: &mut Outbox) -> Self {
        primaries.iter().for_each(|&primary| out.send(primary, Message::Recover(life)));
        Self { life, answers: vec![None; primaries.len()], decided: BTreeSet::new(), waiting: Vec::new() }
    }

    /// Asks those partitions that have another primary now.
    pub(crate) fn ask_again(&mut self, changed: PartitionSet, primaries: &[Address], out: &mut Outbox) {
        for partition in changed.iter() {
            self.answers[partition] = None;
            out.send(primaries[partition], Message::Recover(self.life));
        }
    }

    pub(crate) fn hear(&mut self, partition: usize, found: Recovered) {
        self.answers[partition] = Some(found);
    }

    /// Each undecided transaction, in order: whether it is committed, and who is to be told. `None`: not all have
    /// answered yet.
    pub(crate) fn decisions(&self) -> Option<Vec<(u64, bool, Vec<usize>)>> {
        // Partitions that run again what came after an abort.
        let mut run_again = PartitionSet::EMPTY;
        let decide = |(sequence, found): (u64, Found)| {
            let commit = found.is_known || (found.voted.difference(run_again) == found.participants);
            if !commit {
                run_again.extend(found.ignorant);
            }
            (sequence, commit, found.to_be_told())
        };
        self.is_complete().then(|| self.undecided().into_iter().map(decide).collect())
    }

    /// The same of a client, each as soon as all of its partitions have answered, and once. Nothing is run upon what a
    /// client has not decided.
    pub(crate) fn ripe(&mut self) -> Vec<(u64, bool, Vec<usize>)> {
        let answered = (0..).zip(&self.answers).filter(|(_, answer)| answer.is_some());
        let answered: PartitionSet = answered.map(|(partition, _)| partition).collect();
        let undecided = self.undecided().into_iter();
        let ripe = undecided.filter(|(sequence, it)| {
            it.participants.difference(answered).is_empty() && !self.decided.contains(sequence)
        });
        let ripe: Vec<_> = ripe
            .map(|(sequence, it)| (sequence, it.is_known || it.voted == it.participants, it.to_be_told()))
            .collect();
        self.decided.extend(ripe.iter().map(|(sequence, ..)| *sequence));
        ripe
    }

    /// Whether all have answered.
    pub(crate) fn is_complete(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    /// Whether something has been decided.
    pub(crate) fn has_decided(&self) -> bool {
        !self.decided.is_empty()
    }

    /// What those who have answered know of each undecided transaction.
    fn undecided(&self) -> BTreeMap<u64, Found> {
        let mut undecided: BTreeMap<u64, Found> = BTreeMap::new();
        let answers = || (0..).zip(&self.answers).filter_map(|(at, answer)| answer.as_ref().map(|answer| (at, answer)));
        for (partition, answer) in answers() {
            for it in &answer.undecided {
                let found = undecided.entry(it.sequence).or_default();
                found.participants.extend(it.participants);
                found.ignorant.insert(partition);
                if it.prepared {
                    found.voted.insert(partition);
                }
            }
        }
        for (_, answer) in answers() {
            for sequence in &answer.committed {
                undecided.entry(*sequence).and_modify(|found| found.is_known = true);
            }
        }
        undecided
    }
}

/// What is known of a transaction.
#[derive(Default)]
struct Found {
    participants: PartitionSet,
    /// Those that do not know its end.
    ignorant: PartitionSet,
    voted: PartitionSet,
    /// Somebody knows that it is committed.
    is_known: bool,
}

impl Found {
    fn to_be_told(&self) -> Vec<usize> {
        self.ignorant.iter().collect()
    }
}
