//! The progress of a call under a deterministic scheme: its attempts, the keys and the outputs that have arrived.
//!
//! A procedure that does not declare all keys is run without isolation first, to find them (OLLP: optimistic lock
//! location prediction, *Calvin*, section 3.2.1). Under its locks the run is compared with the keys found; if it
//! touches another one, the transaction aborts at all participants, and the call is submitted again.
//!
//! Rows that change all the time could go on so for ever. So a table or index is noted as *volatile* when a
//! reconnaissance finds other keys in it than the one before, or a run is refused a key of it. After some attempts a
//! call locks its volatile tables and indexes whole, at the participants where they are volatile, and its other keys as
//! they were found. An attempt that is refused even so names another table or index, or the stronger mode of one, so
//! the attempts end.

use std::collections::{BTreeMap, BTreeSet};

use glassbox::research::shard::{DeclaredKeys, KeyRequest, PartitionSet, RemoteRead, Touch};

use crate::client::reconnaissance::{Reconnaissance, ReconnaissanceStep};
use crate::protocol::address::Address;
use crate::protocol::configuration::Replicas;
use crate::protocol::input::InputKeys;
use crate::protocol::message::{FragmentWork, Parts, ReconnaissanceResult};

/// Attempts with the keys of a reconnaissance alone; later ones lock volatile tables and indexes whole.
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
    /// Rounds of all reconnaissances.
    rounds: u32,
    /// The reconnaissance that is going on.
    reconnaissance: Option<Reconnaissance>,
    /// The keys of the last reconnaissance.
    found: Vec<(u8, DeclaredKeys)>,
    /// Volatile tables and indexes of participants, each with the strongest mode in which it was touched.
    volatile: BTreeMap<(u8, u32), Touch>,
}

/// The consequence of a result of a reconnaissance.
#[derive(Debug, PartialEq)]
pub(crate) enum SearchStep {
    /// Other results are missing.
    Wait,
    /// The next round: its number, and the work of some participants.
    Round(u32, Vec<(usize, FragmentWork)>),
    /// The keys to submit.
    Submit(InputKeys),
    /// These participants are missing.
    Elsewhere(PartitionSet),
}

impl OrderedCall {
    /// Begins an attempt with these participants, in this configuration: the keys that it locks; `None`: they must be
    /// found first.
    pub(crate) fn begin(&mut self, participants: PartitionSet, is_complete: bool, epoch: u64) -> Option<InputKeys> {
        (self.participants, self.reconnaissance) = (participants, None);
        self.parts.clear();
        self.begin_answers(epoch);
        (self.undeclared == 0 && is_complete).then_some(InputKeys::Declared)
    }

    /// Begins a reconnaissance, which reads these rows in any case.
    pub(crate) fn reconnoitre(&mut self, shared: Vec<RemoteRead>) -> SearchStep {
        self.rounds += 1;
        let (begun, first) = Reconnaissance::begin(self.participants, shared, self.rounds);
        self.reconnaissance = Some(begun);
        SearchStep::Round(self.rounds, first)
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

    /// Notes that an attempt would have touched these keys of a participant, outside of its set.
    pub(crate) fn note_undeclared(&mut self, partition: u8, keys: &KeyRequest) {
        self.undeclared += 1;
        self.note_volatile(partition, keys);
    }

    /// Notes that keys of a participant's table or index change.
    pub(crate) fn note_volatile(&mut self, partition: u8, keys: &KeyRequest) {
        let touch = self.volatile.entry((partition, keys.space)).or_insert(keys.touch);
        *touch = keys.touch.max(*touch);
    }

    /// Receives a result of the reconnaissance.
    pub(crate) fn search(&mut self, result: ReconnaissanceResult) -> SearchStep {
        let Some(reconnaissance) = &mut self.reconnaissance else { return SearchStep::Wait };
        let step = reconnaissance.receive(result);
        self.rounds = reconnaissance.round;
        let keys = match step {
            ReconnaissanceStep::Wait => return SearchStep::Wait,
            ReconnaissanceStep::Round(works) => return SearchStep::Round(self.rounds, works),
            ReconnaissanceStep::Elsewhere(partitions) => return SearchStep::Elsewhere(partitions),
            ReconnaissanceStep::Unknown => InputKeys::All,
            ReconnaissanceStep::Found(found) => InputKeys::Found(self.widened(found)),
        };
        self.reconnaissance = None;
        SearchStep::Submit(keys)
    }

    /// The keys to lock: those found, after some attempts with whole tables and indexes.
    fn widened(&mut self, found: Vec<(u8, DeclaredKeys)>) -> Vec<(u8, DeclaredKeys)> {
        for (partition, before) in std::mem::take(&mut self.found) {
            let Some((_, now)) = found.iter().find(|(other, _)| *other == partition) else { continue };
            let of = |keys: &DeclaredKeys| keys.requests().iter().cloned().collect::<BTreeSet<_>>();
            of(&before).symmetric_difference(&of(now)).for_each(|keys| self.note_volatile(partition, keys));
        }
        self.found = found;
        if self.undeclared < MAX_RECONNAISSANCES {
            return self.found.clone();
        }
        let volatile = |partition: u8| {
            let spaces = self.volatile.range((partition, 0)..=(partition, u32::MAX));
            spaces.map(|(&(_, space), &touch)| (space, touch))
        };
        self.found.iter().map(|(partition, keys)| (*partition, keys.widened(volatile(*partition)))).collect()
    }

    /// Whether an answer is one to the present attempt.
    pub(crate) fn awaits_answer(&self, attempt: u32) -> bool {
        attempt == self.attempt && self.reconnaissance.is_none()
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
    use glassbox::research::shard::{Output, WatchedKey};

    use super::*;
    use crate::protocol::message::ReconnaissanceEnd;

    fn parts(partition: u8) -> Parts {
        [(partition, Output::of(u64::from(partition)))].into_iter().collect()
    }

    /// A result of the first round after this number of rounds, with these keys of one table.
    fn found(call: &OrderedCall, partition: u8, keys: &[u128]) -> ReconnaissanceResult {
        let request = |key: &u128| request(*key, *key, Touch::Read);
        let keys = DeclaredKeys::found(keys.iter().map(request).collect());
        ReconnaissanceResult { id: 1, round: call.rounds, partition, keys, end: ReconnaissanceEnd::Done }
    }

    fn request(low: u128, high: u128, touch: Touch) -> KeyRequest {
        KeyRequest { space: 256, low: WatchedKey::Short(low), high: WatchedKey::Short(high), touch }
    }

    fn whole(touch: Touch) -> KeyRequest {
        KeyRequest { high: WatchedKey::End, ..request(0, 0, touch) }
    }

    #[test]
    fn a_call_locks_volatile_tables_whole_after_three_restarts() {
        let mut call = OrderedCall::default();
        let both = PartitionSet::all(2);
        let other = |space| KeyRequest { space, ..request(7, 7, Touch::Read) };
        assert_eq!(call.begin(both, true, 1), Some(InputKeys::Declared));
        call.note_undeclared(0, &request(1, 1, Touch::Read));
        for restarts in 1..4 {
            assert_eq!(call.begin(both, true, 1), None);
            assert!(matches!(call.reconnoitre(Vec::new()), SearchStep::Round(_, works) if works.len() == 2));
            let changing = found(&call, 1, &[restarts]);
            assert_eq!(call.search(changing.clone()), SearchStep::Wait);
            assert_eq!(call.search(changing), SearchStep::Wait, "the other participant's are missing");
            let mut stable = found(&call, 0, &[1]);
            stable.keys = DeclaredKeys::found([stable.keys.requests(), &[other(512)]].concat());
            let SearchStep::Submit(InputKeys::Found(keys)) = call.search(stable.clone()) else { panic!("not found") };
            assert_eq!(call.search(stable), SearchStep::Wait, "it waits for keys no more");
            let requests: Vec<_> = keys.iter().map(|(at, keys)| (*at, keys.requests().to_vec())).collect();
            let (first, second) = if restarts < 3 {
                (vec![request(1, 1, Touch::Read), other(512)], vec![request(restarts, restarts, Touch::Read)])
            } else {
                // In the one a run was refused, in the other other keys were found; the rest is as it was.
                (vec![other(512), whole(Touch::Read)], vec![whole(Touch::Read)])
            };
            assert_eq!(requests, [(0, first), (1, second)], "after {restarts} restarts");
            call.note_undeclared(0, &request(2, 2, Touch::Read));
        }
        // A stronger mode, and a table that it has not touched before.
        call.note_undeclared(1, &request(2, 2, Touch::Write));
        call.note_volatile(0, &other(768));
        call.begin(both, false, 1);
        call.reconnoitre(Vec::new());
        call.search(found(&call, 0, &[]));
        let SearchStep::Submit(InputKeys::Found(keys)) = call.search(found(&call, 1, &[5])) else {
            panic!("not found")
        };
        let widened = |space| KeyRequest { space, ..whole(Touch::Read) };
        assert_eq!(keys[0].1.requests(), [widened(256), widened(512), widened(768)]);
        assert_eq!(keys[1].1.requests(), [whole(Touch::Write)]);
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
