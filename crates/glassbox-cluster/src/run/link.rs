//! A party's link to the others, and questions over a link.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::node::Node;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
use crate::wire::{Answer, Question};

/// An event on a link.
#[derive(Debug, PartialEq)]
pub enum LinkEvent {
    /// A message arrived.
    Message(Address, Packet),
    /// A question of an operator, watcher or checker arrived.
    Question(Address, Question),
    /// The answer to a question arrived.
    Answer(Address, Answer),
    /// A party connected.
    Connected(Address),
    /// A party disconnected, for this reason, and nothing more comes from it. For a client, also the consequence of
    /// sending to it while it is absent. Between members, only a change of the process: the connections of the same
    /// process are resumed without loss.
    Disconnected(Address, String),
    /// The connection to a member broke; it is dialed, or awaited, and nothing is lost if the same process is there.
    Interrupted(Address),
}

/// The reason when a message is for an absent client.
pub(super) const NOT_HERE: &str = "it is not connected";

/// The reason when another process has the address of a party.
pub(super) const TAKEN: &str = "is connected already; give each party an address of its own";

/// A party's connections to all others, used by one thread.
///
/// Between two parties messages arrive in the order of sending, or not at all from some point on.
pub trait Link {
    /// Sends a message, at the latest at the next [`Link::flush`]. A message to an absent party is lost.
    fn send(&mut self, to: Address, packet: Packet);

    /// Asks a question. A question to an absent party is lost.
    fn question(&mut self, to: Address, question: Question) {
        let _ = (to, question);
    }

    /// Answers a question. Links that deliver no questions ignore it.
    fn reply(&mut self, to: Address, answer: Answer) {
        let _ = (to, answer);
    }

    /// Has an idle node of this process do something at once. `None`: the node is not idle, has messages of this party
    /// to handle, or `work` returned `None`.
    fn at_once<T>(&mut self, at: Address, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        let _ = (at, work);
        None
    }

    /// Whether each member announces its configuration ([`Message::Configure`](crate::Message::Configure)) as the first
    /// message of a connection.
    fn announces(&self) -> bool {
        false
    }

    /// Finds out which parties can be reached, until `until` at the latest.
    fn find_reachable(&mut self, until: Instant) {
        let _ = until;
    }

    /// The connected parties.
    fn connected(&self) -> Vec<Address>;

    /// Whether a party is connected.
    fn is_connected(&self, party: Address) -> bool {
        self.connected().contains(&party)
    }

    /// Why a party is not connected, as far as is known.
    fn why_not(&self, party: Address) -> Option<String> {
        let _ = party;
        None
    }

    /// Sends the output so far.
    fn flush(&mut self);

    /// The next event. Without one, waits for at most this long; [`Duration::ZERO`] does not wait.
    fn receive(&mut self, wait: Duration) -> Option<LinkEvent>;
}

/// Asks a question and waits for the answer. Messages that arrive meanwhile are dropped.
///
/// # Errors
/// When there is none before `until`.
pub fn ask(link: &mut impl Link, to: Address, question: Question, until: Instant) -> Result<Answer, String> {
    ask_all(link, [(to, question)], until).remove(&to).expect("each question has an answer")
}

/// Asks several parties at once and waits for all answers.
pub(super) fn ask_all(
    link: &mut impl Link,
    questions: impl IntoIterator<Item = (Address, Question)>,
    until: Instant,
) -> BTreeMap<Address, Result<Answer, String>> {
    // Drops the answers to earlier questions.
    while link.receive(Duration::ZERO).is_some() {}
    let reached: BTreeSet<_> = link.connected().into_iter().collect();
    let (mut answers, mut open) = (BTreeMap::new(), BTreeSet::new());
    for (to, question) in questions {
        let is_here = reached.contains(&to);
        let why = if is_here { None } else { Some(link.why_not(to)) };
        let missing = match why {
            None => "it does not answer".to_owned(),
            Some(why) => why.unwrap_or_else(|| "it cannot be reached".to_owned()),
        };
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
            Some(LinkEvent::Answer(from, answer)) => (from, Ok(answer)),
            Some(LinkEvent::Disconnected(from, why)) => (from, Err(format!("{from} disconnected: {why}"))),
            None if left.is_zero() => break,
            _ => continue,
        };
        if open.remove(&from) {
            answers.insert(from, answer);
        }
    }
    answers
}
