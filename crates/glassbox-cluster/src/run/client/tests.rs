//! Calls of a client whose members disconnect and are replaced.

use std::collections::VecDeque;

use glassbox::research::shard::Output;
use glassbox_workloads::micro::{ReadWrite, Seen, catalog};
use smallvec::smallvec;

use super::*;
use crate::protocol::configuration::Configuration;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::message::Outcome;

const ME: Address = Address::Client(1);
const PRIMARY: Address = Address::Replica { partition: 0, replica: 0 };

/// Delivers scripted events, and records what is sent.
#[derive(Default)]
struct Script {
    events: VecDeque<LinkEvent>,
    sent: Vec<(Address, Packet)>,
}

impl Link for Script {
    fn send(&mut self, to: Address, packet: Packet) {
        self.sent.push((to, packet));
    }

    fn connected(&self) -> Vec<Address> {
        Vec::new()
    }

    fn announces(&self) -> bool {
        true
    }

    fn flush(&mut self) {}

    fn receive(&mut self, _wait: Duration) -> Option<LinkEvent> {
        self.events.pop_front()
    }
}

fn shape() -> Shape {
    Shape::new(SchemeKind::Blocking, 1)
}

fn call() -> ReadWrite {
    ReadWrite { keys: [(0, 1)].into_iter().collect(), stamp: 1, aborts_at: None, two_rounds: false }
}

fn announces(member: Address, configuration: &Configuration) -> LinkEvent {
    let message = Message::Configure(Box::new(configuration.clone()));
    LinkEvent::Message(member, Packet { epoch: configuration.epoch, message })
}

impl Client<Script> {
    fn hears(&mut self, events: impl IntoIterator<Item = LinkEvent>) {
        self.link.events.extend(events);
        self.turn(Duration::ZERO);
    }

    /// The number of calls that were sent to the primary.
    fn calls(&self) -> usize {
        self.link.sent.iter().filter(|(to, it)| *to == PRIMARY && matches!(it.message, Message::Call { .. })).count()
    }
}

#[test]
fn a_session_that_begins_after_a_resume_has_no_call_of_unknown_outcome() {
    let resumed = shape().configuration().resume(&[PRIMARY], &[], &[]);
    let mut client = Client::new(ME, Arc::new(catalog()), &shape(), Script::default());
    let ticket = client.submit(call()).unwrap();
    client.hears([]);
    assert_eq!(client.calls(), 0, "under which configuration?");
    client.hears([
        LinkEvent::Connected(PRIMARY),
        announces(PRIMARY, &resumed),
        announces(Address::Coordinator(0), &resumed),
    ]);
    assert_eq!(client.calls(), 1);
    let (_, Packet { epoch, message: Message::Call { id, .. } }) = &client.link.sent[0] else { panic!("a call") };
    assert_eq!(*epoch, resumed.epoch);
    let answer = Message::Answer { id: *id, outcome: Outcome::Done(smallvec![(0, Output::of(Seen::new()))]) };
    client.hears([LinkEvent::Message(PRIMARY, Packet { epoch: 2, message: answer })]);
    assert!(client.wait(ticket).is_ok());
}

#[test]
fn a_call_is_held_until_a_restarted_member_has_announced_its_configuration() {
    let next = shape().configuration().resume(&[PRIMARY], &[], &[]);
    let mut client = Client::new(ME, Arc::new(catalog()), &shape(), Script::default());
    client.hears([announces(PRIMARY, &shape().configuration())]);
    let first = client.submit(call()).unwrap();
    assert_eq!(client.calls(), 1);
    client.hears([
        LinkEvent::Disconnected(PRIMARY, "its power is gone".to_owned()),
        announces(Address::Coordinator(0), &next),
    ]);
    assert!(matches!(client.wait(first), Err(Error::OutcomeUnknown { .. })), "it was sent and not answered");
    let second = client.submit(call()).unwrap();
    client.hears([LinkEvent::Connected(PRIMARY)]);
    assert_eq!(client.calls(), 1, "it has no place yet, and would lose the call");
    // A connection that breaks again does not lose a call that was never sent on it.
    client.hears([LinkEvent::Disconnected(PRIMARY, "the connection broke".to_owned()), LinkEvent::Connected(PRIMARY)]);
    client.hears([announces(PRIMARY, &next)]);
    assert_eq!(client.calls(), 2);
    assert_eq!(client.link.sent.last().unwrap().1.epoch, 2);
    client.hears([LinkEvent::Connected(PRIMARY), announces(PRIMARY, &next)]);
    assert_eq!(client.calls(), 2, "it is sent once");
    client.router.on_disconnected(PRIMARY);
    assert!(client.wait(second).is_err());
}

#[test]
fn a_call_whose_caller_stopped_waiting_is_not_sent_later() {
    let mut client = Client::new(ME, Arc::new(catalog()), &shape(), Script::default());
    let ticket = client.submit(call()).unwrap();
    let Some(long_ago) = Instant::now().checked_sub(REPLACEMENT_TIMEOUT * 2) else { return };
    client.disconnected.insert(PRIMARY, (long_ago, "it is gone".to_owned()));
    assert!(matches!(client.wait(ticket), Err(Error::Stopped { .. })));
    assert_eq!(client.in_flight(), 0);
    client.hears([LinkEvent::Connected(PRIMARY), announces(PRIMARY, &shape().configuration())]);
    assert_eq!(client.calls(), 0);
}

/// Case 18: a member runs, and a process that it depends on does not.
#[test]
fn a_call_without_an_answer_ends_at_its_deadline_and_says_where_it_was_sent() {
    let mut client = Client::new(ME, Arc::new(catalog()), &shape(), Script::default());
    client.hears([announces(PRIMARY, &shape().configuration())]);
    client = client.with_deadline(Duration::from_millis(20));
    let ticket = client.submit(call()).unwrap();
    let Err(Error::OutcomeUnknown { reason }) = client.wait(ticket) else { panic!("there was no answer") };
    for words in ["0.02 s", "partition 0 replica 0 (not connected)", "`glassbox-cluster status`", "promote"] {
        assert!(reason.contains(words), "no `{words}` in {reason}");
    }
    assert_eq!(client.in_flight(), 0);
    // A call that was held was not sent.
    let gone = LinkEvent::Disconnected(PRIMARY, "the connection broke".to_owned());
    client.hears([gone]);
    let ticket = client.submit(call()).unwrap();
    let Err(Error::Stopped { reason }) = client.wait(ticket) else { panic!("it was not sent") };
    assert!(reason.contains("not connected: the connection broke"), "{reason}");
    client.hears([LinkEvent::Connected(PRIMARY), announces(PRIMARY, &shape().configuration())]);
    assert_eq!((client.calls(), client.in_flight()), (1, 0));
}
