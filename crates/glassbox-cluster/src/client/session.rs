//! The end of a client's session as a coordinator, and the beginning of the next.

use slotmap::Key;

use crate::client::router::{CallState, EndedNow, Router};
use crate::coordinator::commit::Coordinator;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Outcome};
use crate::protocol::outbox::Outbox;

impl Router {
    /// A party disconnected: calls that were sent to it have an unknown outcome.
    pub fn lost(&mut self, party: Address) -> EndedNow {
        self.lose(|at, _| at == Some(party))
    }

    /// Ends calls with an unknown outcome, selected by their destination and by whether the present session has
    /// coordinated them.
    pub(crate) fn lose(&mut self, is_lost: impl Fn(Option<Address>, bool) -> bool) -> EndedNow {
        let first = self.first;
        let lost = self.calls.iter_mut().filter_map(|(key, called)| {
            let at = match called.state {
                CallState::Waiting { at, .. } => at,
                // It was not sent; but an earlier attempt that this client coordinated may still be committed.
                CallState::Held { .. } => None,
                CallState::Ended(_) => return None,
            };
            is_lost(at, called.tried).then(|| {
                called.state = CallState::Ended(Outcome::Unknown);
                key.data().as_ffi().wrapping_add(first)
            })
        });
        let lost: EndedNow = lost.collect();
        self.waiting -= lost.len();
        lost
    }

    /// The same member is connected again: messages sent in the meantime are lost.
    pub fn on_reconnected(&mut self, party: Address, out: &mut Outbox) -> EndedNow {
        if self.primaries.contains(&party) { self.give_up(out) } else { EndedNow::new() }
    }

    /// Ends the session and begins the next one: coordinator 0 decides its transactions. The calls whose outcomes
    /// become unknown.
    pub fn give_up(&mut self, out: &mut Outbox) -> EndedNow {
        let session = self.own.session();
        if self.own.next == session.first() {
            return EndedNow::new();
        }
        let mut own = Coordinator::new(session.next(), self.primaries.clone());
        (own.begins, own.retries) = (self.own.begins, self.own.retries);
        self.own = own;
        self.primaries.iter().for_each(|&primary| out.send(primary, Message::Over(session.number)));
        self.lose(|_, tried| tried)
    }

    /// A primary reports that a session of this client is over.
    pub(crate) fn is_over(&mut self, number: u64, out: &mut Outbox) -> EndedNow {
        if self.own.session().number == number { self.give_up(out) } else { EndedNow::new() }
    }
}
