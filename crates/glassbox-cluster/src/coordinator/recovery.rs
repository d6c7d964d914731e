//! The recovery of undecided transactions whose coordinator failed, from their participants' reports.
//!
//! A transaction is committed if one participant knows that it committed, or if all participants have voted for it: the
//! failed coordinator cannot have decided otherwise. Every other transaction is aborted (presumed abort). What a
//! participant ran upon an aborted one is run again, so that vote is void.

use std::collections::{BTreeMap, BTreeSet};

use glassbox::research::shard::PartitionSet;

use crate::protocol::address::{Address, Session};
use crate::protocol::message::{Message, Recovered, Submission};
use crate::protocol::outbox::Outbox;

/// The recovery of a failed coordinator's transactions, or of those of a client's session.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// The client's session; `None`: the predecessor of this coordinator.
    session: Option<Session>,
    /// The report of each partition.
    answers: Vec<Option<Recovered>>,
    /// The transactions of a client that are decided already.
    decided: BTreeSet<u64>,
    /// Submissions that wait for the end of the recovery.
    pub(crate) waiting: Vec<(Address, Submission)>,
}

impl Recovery {
    pub(crate) fn begin(session: Option<Session>, primaries: &[Address], out: &mut Outbox) -> Self {
        primaries.iter().for_each(|&primary| out.send(primary, Message::Recover(session)));
        Self { session, answers: vec![None; primaries.len()], decided: BTreeSet::new(), waiting: Vec::new() }
    }

    /// Asks the partitions that have another primary now.
    pub(crate) fn ask_again(&mut self, changed: PartitionSet, primaries: &[Address], out: &mut Outbox) {
        for partition in changed.iter() {
            self.answers[partition] = None;
            out.send(primaries[partition], Message::Recover(self.session));
        }
    }

    pub(crate) fn add_report(&mut self, partition: usize, found: Recovered) {
        self.answers[partition] = Some(found);
    }

    /// The decision of each undecided transaction, in order, and the partitions that need it. `None`: a report is
    /// missing.
    pub(crate) fn decisions(&self) -> Option<Vec<(u64, bool, Vec<usize>)>> {
        // Partitions that run later transactions again after an abort.
        let mut run_again = PartitionSet::EMPTY;
        let decide = |(sequence, found): (u64, Evidence)| {
            let commit = found.is_known || (found.voted.difference(run_again) == found.participants);
            if !commit {
                run_again.extend(found.uninformed);
            }
            (sequence, commit, found.recipients())
        };
        self.is_complete().then(|| self.undecided().into_iter().map(decide).collect())
    }

    /// The decisions of a client's transactions, each once all of its participants have reported, and once only. No
    /// partition runs a transaction upon an undecided one of a client.
    pub(crate) fn ripe(&mut self) -> Vec<(u64, bool, Vec<usize>)> {
        let answered = (0..).zip(&self.answers).filter(|(_, answer)| answer.is_some());
        let answered: PartitionSet = answered.map(|(partition, _)| partition).collect();
        let undecided = self.undecided().into_iter();
        let ripe = undecided.filter(|(sequence, it)| {
            it.participants.difference(answered).is_empty() && !self.decided.contains(sequence)
        });
        let ripe: Vec<_> = ripe
            .map(|(sequence, it)| (sequence, it.is_known || it.voted == it.participants, it.recipients()))
            .collect();
        self.decided.extend(ripe.iter().map(|(sequence, ..)| *sequence));
        ripe
    }

    /// Whether all partitions have reported.
    pub(crate) fn is_complete(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    /// Whether a transaction was decided.
    pub(crate) fn has_decided(&self) -> bool {
        !self.decided.is_empty()
    }

    /// The combined reports about each undecided transaction.
    fn undecided(&self) -> BTreeMap<u64, Evidence> {
        let mut undecided: BTreeMap<u64, Evidence> = BTreeMap::new();
        let answers = || (0..).zip(&self.answers).filter_map(|(at, answer)| answer.as_ref().map(|answer| (at, answer)));
        for (partition, answer) in answers() {
            for it in &answer.undecided {
                let found = undecided.entry(it.sequence).or_default();
                found.participants.extend(it.participants);
                found.uninformed.insert(partition);
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

/// The combined reports about a transaction.
#[derive(Default)]
struct Evidence {
    participants: PartitionSet,
    /// Participants that do not know the decision.
    uninformed: PartitionSet,
    voted: PartitionSet,
    /// Whether a participant knows that it committed.
    is_known: bool,
}

impl Evidence {
    fn recipients(&self) -> Vec<usize> {
        self.uninformed.iter().collect()
    }
}
