//! How a party reaches the others.

use std::time::{Duration, Instant};

use super::node::Node;
use crate::address::Address;
use crate::member::Packet;
use crate::wire::{Answer, Question};

/// What arrived.
#[derive(Debug, PartialEq)]
pub enum Letter {
    /// A message.
    Message(Address, Packet),
    /// A question of somebody who looks after the cluster.
    Question(Address, Question),
    /// The answer to one.
    Answer(Address, Answer),
    /// This party can be reached now.
    Here(Address),
    /// This party cannot be reached any more, and why. Nothing comes from it after this. Of a client this is also said
    /// when something is sent to it and it is not here. A member hears it of another only when another process has its
    /// place: as long as it is the same one they find each other again, and nothing is missing.
    Gone(Address, String),
}

/// Why somebody is gone to whom something was sent.
pub(super) const NOT_HERE: &str = "it is not connected";

/// A party's connections to all others, used by one thread.
///
/// Between two parties what was sent arrives in that order, or not at all from some point on.
pub trait Link {
    /// Has a message sent, at the latest by the next [`Link::flush`]. To a party that cannot be reached it is lost.
    fn send(&mut self, to: Address, packet: Packet);

    /// Asks a question. To a party that cannot be reached it is lost.
    fn question(&mut self, to: Address, question: Question) {
        let _ = (to, question);
    }

    /// Answers a question. Who cannot hear of questions has none to answer.
    fn reply(&mut self, to: Address, answer: Answer) {
        let _ = (to, answer);
    }

    /// Has a machine of this process do something at once, if it can be had: it has nothing to do, and has heard all
    /// that this party has sent. `None`: it cannot, or `work` says so.
    fn at_once<T>(&mut self, at: Address, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        let _ = (at, work);
        None
    }

    /// Whether each member announces its configuration ([`Message::Configure`](crate::Message::Configure)) as the first
    /// message of a connection.
    fn announces(&self) -> bool {
        false
    }

    /// Finds out who can be reached, until `until` at the latest, where that changes.
    fn look_around(&mut self, until: Instant) {
        let _ = until;
    }

    /// Those that can be reached.
    fn everybody(&self) -> Vec<Address>;

    /// Sends what was given so far.
    fn flush(&mut self);

    /// What arrived next. If nothing has, waits for at most so long; does not wait for [`Duration::ZERO`].
    fn receive(&mut self, wait: Duration) -> Option<Letter>;
}
