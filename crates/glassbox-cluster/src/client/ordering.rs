//! A client's calls under a deterministic scheme: all go to the sequencer, and each participant answers.

use glassbox::research::shard::{Call, DeclaredKeys, Route};

use crate::client::router::{CallState, Router};
use crate::protocol::input::InputKeys;
use crate::protocol::message::{Message, Outcome, Submission};
use crate::protocol::outbox::Outbox;

impl Router {
    /// Submits a call, or first asks its participants for its keys.
    pub(crate) fn send_ordered(&mut self, id: u64, call: Call, route: &Route, out: &mut Outbox) {
        let key = self.key(id);
        let epoch = self.epoch();
        let ordered = self.calls[key].ordered.get_or_insert_default();
        // Of a single partition, a call that does not declare all keys locks the whole: none is missing.
        let is_complete = route.is_complete || self.primaries.len() == 1;
        if let Some(keys) = ordered.begin(route.partitions, is_complete, epoch) {
            return self.submit_ordered(id, call, keys, out);
        }
        for partition in route.partitions.iter() {
            for (replica, _) in self.configuration.partitions[partition].all() {
                let message = Message::Reconnoitre { id, call: call.clone(), participants: route.partitions };
                out.send(replica, message);
            }
        }
    }

    fn submit_ordered(&mut self, id: u64, call: Call, keys: InputKeys, out: &mut Outbox) {
        let key = self.key(id);
        let ordered = self.calls[key].ordered.as_mut().expect("it is ordered");
        ordered.attempt += 1;
        ordered.begin_answers(self.configuration.epoch);
        let (attempt, participants) = (ordered.attempt, ordered.participants);
        let version = self.catalog.version_of(call.procedure).unwrap_or_default();
        let (shared, before) = (Vec::new(), None);
        let submission = Submission { id, call, participants, shared, before, attempt, version, keys };
        out.send(self.central, Message::Submit(Box::new(submission)));
    }

    /// Receives the keys of a call from a participant.
    pub(crate) fn reconnoitred(&mut self, id: u64, partition: u8, keys: Option<DeclaredKeys>, out: &mut Outbox) {
        let Some(called) = self.calls.get_mut(self.key(id)) else { return };
        let (CallState::Waiting { call, .. }, Some(ordered)) = (&called.state, &mut called.ordered) else { return };
        if let Some(keys) = ordered.find(partition, keys) {
            let call = call.clone();
            self.submit_ordered(id, call, keys, out);
        }
    }

    /// Receives a participant's part of an outcome; the call's number if that ends it.
    pub(crate) fn partially_answered(
        &mut self,
        id: u64,
        attempt: u32,
        outcome: Outcome,
        now_us: u64,
        out: &mut Outbox,
    ) -> Option<u64> {
        let called = self.calls.get_mut(self.key(id))?;
        let (CallState::Waiting { call, .. }, Some(ordered)) = (&called.state, &mut called.ordered) else {
            return None;
        };
        if !ordered.awaits_answer(attempt) {
            return None;
        }
        match outcome {
            Outcome::Done(parts) => {
                let all = ordered.add_parts(parts)?;
                self.answered(id, Outcome::Done(all), now_us, out)
            }
            Outcome::Undeclared => {
                ordered.note_undeclared();
                let (call, partitions, home) = (call.clone(), ordered.participants, called.home);
                self.undeclared += 1;
                let route = Route { partitions, home, shared: Vec::new(), is_complete: false };
                self.send_ordered(id, call, &route, out);
                None
            }
            // A run says which are missing.
            Outcome::Elsewhere(missing) => {
                let all = missing.union(ordered.participants);
                self.answered(id, Outcome::Elsewhere(all), now_us, out)
            }
            outcome => self.answered(id, outcome, now_us, out),
        }
    }
}
