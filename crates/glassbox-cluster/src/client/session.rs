//! The end of a client's session as a coordinator, and the beginning of the next.

use slotmap::Key;

use crate::client::router::{EndedNow, Router, State};
use crate::coordinator::commit::Coordinator;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Outcome};
use crate::protocol::outbox::Outbox;

impl Router {
    /// A party cannot be reached any more: nobody knows the end of what waits there.
    pub fn lost(&mut self, party: Address) -> EndedNow {
        self.lose(|at, _| at == Some(party))
    }

    /// Ends what is lost, by whom it waits for and whether this client has tried it in the life that it is in.
    pub(crate) fn lose(&mut self, is_lost: impl Fn(Option<Address>, bool) -> bool) -> EndedNow {
        let first = self.first;
        let lost = self.calls.iter_mut().filter_map(|(key, called)| {
            let at = match called.state {
                State::Waiting { at, .. } => at,
                // It was not sent to anyone; an earlier attempt of this client's may still be committed.
                State::Held { .. } => None,
                State::Ended(_) => return None,
            };
            is_lost(at, called.tried).then(|| {
                called.state = State::Ended(Outcome::Unknown);
                key.data().as_ffi().wrapping_add(first)
            })
        });
        let lost: EndedNow = lost.collect();
        self.waiting -= lost.len();
        lost
    }

    /// Somebody is here again who could not be reached, and is the same as before: what was said meanwhile is missing.
    pub fn found_again(&mut self, party: Address, out: &mut Outbox) -> EndedNow {
        if self.primaries.contains(&party) { self.give_up(out) } else { EndedNow::new() }
    }

    /// Leaves what this client coordinates to somebody else, and begins another life; the calls whose ends it will not
    /// know.
    pub fn give_up(&mut self, out: &mut Outbox) -> EndedNow {
        let life = self.own.life();
        if self.own.next == life.first() {
            return EndedNow::new();
        }
        let mut own = Coordinator::new(life.next(), self.primaries.clone());
        (own.begins, own.retries) = (self.own.begins, self.own.retries);
        self.own = own;
        self.primaries.iter().for_each(|&primary| out.send(primary, Message::Over(life.number)));
        self.lose(|_, tried| tried)
    }

    /// A primary says that a life of this client's is over.
    pub(crate) fn is_over(&mut self, number: u64, out: &mut Outbox) -> EndedNow {
        if self.own.life().number == number { self.give_up(out) } else { EndedNow::new() }
    }
}
