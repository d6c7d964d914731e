//! The end of a client's session as a coordinator, and the beginning of the next.

use glassbox::research::shard::PartitionSet;
use slotmap::Key;

use crate::client::router::{CallState, Called, EndedCalls, Router};
use crate::coordinator::commit::Coordinator;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Outcome};
use crate::protocol::outbox::Outbox;

impl Router {
    /// A party disconnected: calls that were sent to it have an unknown outcome.
    pub fn on_disconnected(&mut self, party: Address) -> EndedCalls {
        self.calls.iter_mut().filter_map(|(_, it)| it.ordered.as_mut()).for_each(|it| it.note_lost(party));
        let partitions = self.configuration.partitions.clone();
        let is_lost = |called: &Called| called.ordered.as_ref().is_some_and(|it| it.is_lost(&partitions));
        self.end_unknown(|at, called| at == Some(party) || is_lost(called))
    }

    /// Waits for a call no more. If this client coordinates it, its session ends, so that coordinator 0 decides it. The
    /// parties that it was waiting for, and whether the call was sent.
    pub fn give_up(&mut self, id: u64, out: &mut Outbox) -> (Vec<Address>, bool) {
        let Some(called) = self.calls.remove(self.key(id)) else { return (Vec::new(), false) };
        if matches!(called.state, CallState::Ended(_)) {
            return (Vec::new(), true);
        }
        let is_sent = called.tried || !matches!(called.state, CallState::Held { .. });
        self.waiting -= 1;
        let participants = called.ordered.map_or(PartitionSet::EMPTY, |ordered| ordered.participants);
        let mut parties = match called.state {
            CallState::Waiting { at, .. } => at.into_iter().collect(),
            CallState::Held { route, .. } => route.partitions.iter().map(|at| self.primaries[at]).collect(),
            CallState::Ended(_) => Vec::new(),
        };
        // Under a deterministic scheme any replica of a participant can answer.
        let replicas = |at: usize| self.configuration.partitions.get(at).into_iter().flat_map(|it| it.all());
        if self.is_ordered {
            parties.retain(|it| it.partition().is_none());
            parties.extend(participants.iter().flat_map(replicas).map(|(replica, _)| replica));
        }
        if called.tried {
            parties.extend_from_slice(&self.primaries);
            self.end_session(out);
        }
        (parties, is_sent)
    }

    /// Ends calls with an unknown outcome, selected by their destination and their state.
    pub(crate) fn end_unknown(&mut self, is_lost: impl Fn(Option<Address>, &Called) -> bool) -> EndedCalls {
        let first = self.first;
        let lost = self.calls.iter_mut().filter_map(|(key, called)| {
            let at = match called.state {
                CallState::Waiting { at, .. } => at,
                // It was not sent; but an earlier attempt that this client coordinated may still be committed.
                CallState::Held { .. } => None,
                CallState::Ended(_) => return None,
            };
            is_lost(at, called).then(|| {
                called.state = CallState::Ended(Outcome::Unknown);
                key.data().as_ffi().wrapping_add(first)
            })
        });
        let lost: EndedCalls = lost.collect();
        self.waiting -= lost.len();
        lost
    }

    /// The same member is connected again: messages sent in the meantime are lost.
    pub fn on_reconnected(&mut self, party: Address, out: &mut Outbox) -> EndedCalls {
        if self.is_ordered {
            return self.on_disconnected(party);
        }
        if self.primaries.contains(&party) { self.end_session(out) } else { EndedCalls::new() }
    }

    /// Ends the session and begins the next one: coordinator 0 decides its transactions. The calls whose outcomes
    /// become unknown.
    pub fn end_session(&mut self, out: &mut Outbox) -> EndedCalls {
        let session = self.own.session();
        if self.own.next == session.first() {
            return EndedCalls::new();
        }
        let mut own = Coordinator::new(session.next(), self.primaries.clone());
        (own.begins, own.retries) = (self.own.begins, self.own.retries);
        self.own = own;
        self.primaries.iter().for_each(|&primary| out.send(primary, Message::SessionOver(session.number)));
        self.end_unknown(|_, called| called.tried)
    }

    /// A primary reports that a session of this client is over.
    pub(crate) fn on_session_over(&mut self, number: u64, out: &mut Outbox) -> EndedCalls {
        if self.own.session().number == number { self.end_session(out) } else { EndedCalls::new() }
    }
}
