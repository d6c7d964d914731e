//! How a party reaches the others.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::node::Node;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
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

/// Asks, and waits for the answer. Messages that come meanwhile are lost.
///
/// # Errors
/// When there is none before `until`.
pub fn ask(link: &mut impl Link, to: Address, question: Question, until: Instant) -> Result<Answer, String> {
    ask_all(link, [(to, question)], until).remove(&to).expect("everybody asked has an answer")
}

/// Asks several at once, and waits for all answers.
pub(super) fn ask_all(
    link: &mut impl Link,
    questions: impl IntoIterator<Item = (Address, Question)>,
    until: Instant,
) -> BTreeMap<Address, Result<Answer, String>> {
    // What came before is no answer to what is asked now.
    while link.receive(Duration::ZERO).is_some() {}
    let reached: BTreeSet<_> = link.everybody().into_iter().collect();
    let (mut answers, mut open) = (BTreeMap::new(), BTreeSet::new());
    for (to, question) in questions {
        let is_here = reached.contains(&to);
        let missing = if is_here { "it does not answer" } else { "it cannot be reached" };
        answers.insert(to, Err(format!("{to}: {missing}")));
        if is_here {
            link.question(to, question);
            open.insert(to);
        }
    }
    link.flush();
    while !open.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let (from, answer) = match link.receive(left) {
            Some(Letter::Answer(from, answer)) => (from, Ok(answer)),
            Some(Letter::Gone(from, why)) => (from, Err(format!("{from} is gone: {why}"))),
            None if left.is_zero() => break,
            _ => continue,
        };
        if open.remove(&from) {
            answers.insert(from, answer);
        }
    }
    answers
}
