//! A client's calls under a deterministic scheme: all go to the sequencer, and each participant answers.

use glassbox::research::shard::{Call, Route};

use crate::client::ordered_call::SearchStep;
use crate::client::router::{CallState, Router};
use crate::protocol::input::InputKeys;
use crate::protocol::message::{Message, Outcome, ReconnaissanceRequest, ReconnaissanceResult, Submission};
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
        // A restart has no route with the rows that every run needs.
        let shared = self.catalog.route(&call, self.primaries.len()).map(|route| route.shared).unwrap_or_default();
        let step = self.calls[key].ordered.as_mut().expect("it is ordered").reconnoitre(shared);
        self.search_on(id, call, step, out);
    }

    /// Sends a round of a reconnaissance to all replicas of its participants, or submits the call with the keys.
    fn search_on(&mut self, id: u64, call: Call, step: SearchStep, out: &mut Outbox) {
        let (round, works) = match step {
            SearchStep::Submit(keys) => return self.submit_ordered(id, call, keys, out),
            SearchStep::Round(round, works) => (round, works),
            SearchStep::Wait | SearchStep::Elsewhere(_) => return,
        };
        let key = self.key(id);
        let epoch = self.epoch();
        let ordered = self.calls[key].ordered.as_mut().expect("it is ordered");
        ordered.begin_answers(epoch);
        let participants = ordered.participants;
        for (partition, work) in works {
            let request = ReconnaissanceRequest { id, round, call: call.clone(), participants, work };
            for (replica, _) in self.configuration.partitions[partition].all() {
                out.send(replica, Message::Reconnoitre(Box::new(request.clone())));
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

    /// Receives a participant's result of a round; the call's number if that ends it.
    pub(crate) fn reconnoitred(&mut self, result: ReconnaissanceResult, now_us: u64, out: &mut Outbox) -> Option<u64> {
        let id = result.id;
        let called = self.calls.get_mut(self.key(id))?;
        let (CallState::Waiting { call, .. }, Some(ordered)) = (&called.state, &mut called.ordered) else {
            return None;
        };
        match ordered.search(result) {
            SearchStep::Elsewhere(missing) => {
                let all = missing.union(ordered.participants);
                self.answered(id, Outcome::Elsewhere(all), now_us, out)
            }
            step => {
                let call = call.clone();
                self.search_on(id, call, step, out);
                None
            }
        }
    }

    /// Receives a participant's part of an outcome; the call's number if that ends it.
    pub(crate) fn partially_answered(
        &mut self,
        (id, attempt): (u64, u32),
        outcome: Outcome,
        now_us: u64,
        out: &mut Outbox,
    ) -> Option<u64> {
        let called = self.calls.get_mut(self.key(id))?;
        let (CallState::Waiting { call, .. }, Some(ordered)) = (&called.state, &mut called.ordered) else {
            return None;
        };
        if !ordered.awaits_answer(attempt) {
            // Another participant was refused keys too.
            if let Outcome::Undeclared(partition, keys) = &outcome {
                ordered.note_volatile(*partition, keys);
            }
            return None;
        }
        match outcome {
            Outcome::Done(parts) => {
                let all = ordered.add_parts(parts)?;
                self.answered(id, Outcome::Done(all), now_us, out)
            }
            Outcome::Undeclared(partition, keys) => {
                ordered.note_undeclared(partition, &keys);
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
