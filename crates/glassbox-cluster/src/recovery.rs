//! What a coordinator that begins decides about the transactions of the one before, from what their partitions hold.
//!
//! Committed is what one partition knows to be committed, and what all of its partitions have voted for: the
//! coordinator before can have decided nothing else. Everything else is aborted (presumed abort), and with it what a
//! partition ran upon it: that is run again, so its vote does not count.

use std::collections::BTreeMap;

use crate::address::{Address, Life};
use crate::message::{Message, Recovered, Submission};
use crate::outbox::Outbox;

/// A coordinator's beginning; or a client's end, which is decided in the same way.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// Of whom; `None`: of the coordinator before.
    life: Option<Life>,
    /// What each partition said.
    answers: Vec<Option<Recovered>>,
    /// What was submitted meanwhile.
    pub(crate) waiting: Vec<(Address, Submission)>,
}

impl Recovery {
    pub(crate) fn begin(life: Option<Life>, primaries: &[Address], out: &mut Outbox) -> Self {
        primaries.iter().for_each(|&primary| out.send(primary, Message::Recover(life)));
        Self { life, answers: vec![None; primaries.len()], waiting: Vec::new() }
    }

    /// Asks those partitions that have another primary now.
    pub(crate) fn ask_again(&mut self, changed: u64, primaries: &[Address], out: &mut Outbox) {
        for partition in (0..primaries.len()).filter(|partition| changed >> partition & 1 == 1) {
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
        let answers: Vec<&Recovered> = self.answers.iter().map(Option::as_ref).collect::<Option<_>>()?;
        // Of each transaction: its participants, those that do not know its end, and those that have voted for it.
        let mut undecided: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
        for (partition, answer) in answers.iter().enumerate() {
            for it in &answer.undecided {
                let entry = undecided.entry(it.sequence).or_default();
                entry.0 |= it.participants;
                entry.1 |= 1 << partition;
                entry.2 |= u64::from(it.prepared) << partition;
            }
        }
        // Partitions that run again what came after an abort.
        let mut run_again = 0;
        let decide = |(sequence, (participants, ignorant, voted)): (u64, (u64, u64, u64))| {
            let known = answers.iter().any(|answer| answer.committed.contains(&sequence));
            let commit = known || (voted & !run_again == participants);
            if !commit {
                run_again |= ignorant;
            }
            let partitions = (0..answers.len()).filter(|partition| ignorant >> partition & 1 == 1).collect();
            (sequence, commit, partitions)
        };
        Some(undecided.into_iter().map(decide).collect())
    }
}
