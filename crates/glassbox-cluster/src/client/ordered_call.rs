//! The progress of a call under a deterministic scheme: its attempts, the keys and the outputs that have arrived.
//!
//! A procedure that does not declare all keys is run without isolation first, to find them (OLLP: optimistic lock
//! location prediction, *Calvin*, section 3.2.1). Under its locks the run is compared with the keys found; if it
//! touches another one, the transaction aborts at all participants, and the call is submitted again. After some
//! attempts it locks its partitions whole, and commits.

use glassbox::research::shard::{DeclaredKeys, PartitionSet};

use crate::protocol::address::Address;
use crate::protocol::configuration::Replicas;
use crate::protocol::input::InputKeys;
use crate::protocol::message::Parts;

/// Attempts with the keys of a reconnaissance; then a call locks its partitions whole.
const MAX_RECONNAISSANCES: u32 = 3;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct OrderedCall {
    /// The present attempt; 0 before the first one.
    pub(crate) attempt: u32,
    /// Attempts that touched a key outside of their set.
    undeclared: u32,
    pub(crate) participants: PartitionSet,
    /// The configuration in which the attempt was submitted.
    submitted_in: u64,
    /// Replicas that may have answered while they were not connected.
    lost: Vec<Address>,
    /// Outputs that have arrived.
    parts: Parts,
    /// Keys of a reconnaissance that have arrived.
    found: Vec<(u8, DeclaredKeys)>,
    /// Whether it is waiting for keys.
    reconnoitres: bool,
}

impl OrderedCall {
    /// Begins an attempt with these participants, in this configuration: the keys that it locks; `None`: they must be
    /// found first.
    pub(crate) fn begin(&mut self, participants: PartitionSet, is_complete: bool, epoch: u64) -> Option<InputKeys> {
        let Self { attempt, undeclared, .. } = *self;
        *self = Self { attempt, undeclared, participants, submitted_in: epoch, ..Self::default() };
        match undeclared {
            0 if is_complete => Some(InputKeys::Declared),
            MAX_RECONNAISSANCES.. => Some(InputKeys::All),
            _ => {
                self.reconnoitres = true;
                None
            }
        }
    }

    /// The attempt is submitted in this configuration.
    pub(crate) fn begin_answers(&mut self, epoch: u64) {
        self.submitted_in = epoch;
        self.lost.clear();
    }

    /// A replica disconnected: what it has answered meanwhile is lost.
    pub(crate) fn note_lost(&mut self, replica: Address) {
        if !self.lost.contains(&replica) {
            self.lost.push(replica);
        }
    }

    /// Whether a participant is left none of whose replicas can answer the attempt.
    pub(crate) fn is_lost(&self, partitions: &[Replicas]) -> bool {
        let answers = |(replica, since): (Address, u64)| since <= self.submitted_in && !self.lost.contains(&replica);
        self.participants.iter().any(|at| partitions.get(at).is_some_and(|it| !it.all().any(answers)))
    }

    /// Notes that an attempt touched a key outside of its set.
    pub(crate) fn note_undeclared(&mut self) {
        self.undeclared += 1;
    }

    /// Receives the keys of a participant; all keys, once they are known.
    pub(crate) fn find(&mut self, partition: u8, keys: Option<DeclaredKeys>) -> Option<InputKeys> {
        let is_known = self.found.iter().any(|(known, _)| *known == partition);
        if !self.reconnoitres || !self.participants.contains(partition.into()) || is_known {
            return None;
        }
        let found = match keys {
            // They depend on rows of other partitions.
            None => InputKeys::All,
            Some(keys) => {
                self.found.push((partition, keys));
                if self.found.len() < self.participants.len() {
                    return None;
                }
                InputKeys::Found(std::mem::take(&mut self.found))
            }
        };
        self.reconnoitres = false;
        Some(found)
    }

    /// Whether an answer is one to the present attempt.
    pub(crate) fn awaits_answer(&self, attempt: u32) -> bool {
        attempt == self.attempt && !self.reconnoitres
    }

    /// Receives the output of a participant; all outputs, once they are here.
    pub(crate) fn add_parts(&mut self, parts: Parts) -> Option<Parts> {
        for (partition, output) in parts {
            let is_new = !self.parts.iter().any(|(known, _)| *known == partition);
            if is_new && self.participants.contains(partition.into()) {
                self.parts.push((partition, output));
            }
        }
        (self.parts.len() == self.participants.len()).then(|| std::mem::take(&mut self.parts))
    }
}

#[cfg(test)]
mod tests {
    use glassbox::research::shard::Output;

    use super::*;

    fn parts(partition: u8) -> Parts {
        [(partition, Output::of(u64::from(partition)))].into_iter().collect()
    }

    #[test]
    fn keys_that_were_not_enough_are_found_again_three_times() {
        let mut call = OrderedCall::default();
        let both = PartitionSet::all(2);
        assert_eq!(call.begin(both, true, 1), Some(InputKeys::Declared));
        for _ in 0..2 {
            call.note_undeclared();
            assert_eq!(call.begin(both, true, 1), None);
            assert_eq!(call.find(1, Some(DeclaredKeys::none())), None);
            assert_eq!(call.find(1, Some(DeclaredKeys::none())), None, "the other participant's are missing");
            assert_eq!(call.find(7, Some(DeclaredKeys::none())), None, "it does not participate");
            let found = call.find(0, Some(DeclaredKeys::none()));
            assert!(matches!(found, Some(InputKeys::Found(found)) if found.len() == 2));
            assert_eq!(call.find(0, None), None, "it waits for keys no more");
        }
        call.note_undeclared();
        assert_eq!(call.begin(both, true, 1), Some(InputKeys::All));
    }

    #[test]
    fn a_call_ends_with_the_outputs_of_all_participants() {
        let mut call = OrderedCall::default();
        call.begin(PartitionSet::all(2), true, 1);
        call.attempt = 1;
        assert!(call.awaits_answer(1) && !call.awaits_answer(0));
        assert!([0, 0, 7].into_iter().all(|partition| call.add_parts(parts(partition)).is_none()));
        assert_eq!(call.add_parts(parts(1)).map(|all| all.len()), Some(2));
    }
}
