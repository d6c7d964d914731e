//! The combined results of a round.

use glassbox::research::shard::{PartitionSet, RemoteRead, RemoteReadResult};

use crate::protocol::message::{FragmentEnd, FragmentResult, Outcome};

/// The combined results of a round.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) refusal: Option<Outcome>,
    pub(crate) elsewhere: PartitionSet,
    again: bool,
    pub(crate) wanted: Vec<RemoteRead>,
    /// Whether the round read rows.
    pub(crate) finding: bool,
    pub(crate) found: Vec<RemoteReadResult>,
}

impl Verdict {
    pub(crate) fn add(&mut self, answer: &FragmentResult) {
        match &answer.end {
            FragmentEnd::Done(_) => {}
            FragmentEnd::Found(found) => {
                self.finding = true;
                self.found.extend(found.iter().cloned());
            }
            FragmentEnd::Wants(wanted) => self.wanted.extend(wanted.iter().cloned()),
            FragmentEnd::Elsewhere(partitions) => self.elsewhere.extend(*partitions),
            FragmentEnd::Aborted(abort) => self.refuse(Outcome::Aborted(abort.clone())),
            FragmentEnd::Again => self.again = true,
            FragmentEnd::Failed(why) => self.refuse(Outcome::Failed(why.clone())),
            FragmentEnd::Unclear => self.refusal = Some(Outcome::Unknown),
        }
    }

    fn refuse(&mut self, outcome: Outcome) {
        if self.refusal != Some(Outcome::Unknown) {
            self.refusal = Some(outcome);
        }
    }

    pub(crate) fn is_restarted(&self) -> bool {
        self.refusal.is_none() && (self.again || !self.elsewhere.is_empty())
    }
}

/// The rows of these that a partition has to read.
pub(crate) fn wanted_of(wanted: &[RemoteRead], partition: usize) -> Vec<RemoteRead> {
    let mut mine: Vec<RemoteRead> = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.partitions.contains(partition)) {
        let known = mine.iter().any(|known| known.table == wanted.table && known.lookup == wanted.lookup);
        if !known {
            mine.push(RemoteRead { partitions: PartitionSet::of(partition), ..wanted.clone() });
        }
    }
    mine
}
