//! What a client sends when somebody is gone.

use std::collections::VecDeque;

use glassbox_workloads::micro::{ReadWrite, catalog};

use super::*;
use crate::scheme::SchemeKind;

const ME: Address = Address::Client(1);
const PRIMARY: Address = Address::Replica { partition: 0, replica: 0 };

/// Says what it is told to, and keeps what is sent.
#[derive(Default)]
struct Script {
    letters: VecDeque<Letter>,
    sent: Vec<(Address, Packet)>,
}

impl Link for Script {
    fn send(&mut self, to: Address, packet: Packet) {
        self.sent.push((to, packet));
    }

    fn everybody(&self) -> Vec<Address> {
        Vec::new()
    }

    fn flush(&mut self) {}

    fn receive(&mut self, _wait: Duration) -> Option<Letter> {
        self.letters.pop_front()
    }
}

/// It hears from others that who was gone has begun anew, and calls before it can reach it: that call was lost.
#[test]
fn a_call_waits_for_who_has_begun_and_cannot_be_reached_yet() {
    let shape =
        Shape { scheme: SchemeKind::Blocking, partitions: 1, replicas: 1, coordinators: 1, round_trip: Duration::ZERO };
    let next = shape.configuration().resume(&[PRIMARY], &[], &[]);
    let mut client = Client::new(ME, Arc::new(catalog()), &shape, Script::default());
    let call = || ReadWrite { keys: [(0, 1)].into_iter().collect(), stamp: 1, aborts_at: None, two_rounds: false };
    let calls = |client: &Client<Script>| client.link.sent.iter().filter(|(to, _)| *to == PRIMARY).count();
    let first = client.submit(call()).unwrap();
    assert_eq!(calls(&client), 1);
    client.link.letters.push_back(Letter::Gone(PRIMARY, "its power is gone".to_owned()));
    let told = Packet { epoch: next.epoch, message: Message::Configure(Box::new(next)) };
    client.link.letters.push_back(Letter::Message(Address::Coordinator(0), told));
    client.turn(Duration::ZERO);
    assert!(matches!(client.wait(first), Err(Error::Uncertain { .. })), "nobody knows its end");
    let second = client.submit(call()).unwrap();
    client.turn(Duration::ZERO);
    assert_eq!(calls(&client), 1, "it would be lost");
    client.link.letters.push_back(Letter::Here(PRIMARY));
    client.turn(Duration::ZERO);
    assert_eq!(calls(&client), 2);
    let (_, Packet { epoch, message }) = client.link.sent.last().unwrap();
    assert!(*epoch == 2 && matches!(message, Message::Call { .. }), "{message:?}");
    // It is not sent again.
    client.link.letters.push_back(Letter::Here(PRIMARY));
    client.turn(Duration::ZERO);
    assert_eq!(calls(&client), 2);
    client.router.lost(PRIMARY);
    assert!(client.wait(second).is_err());
}

#[test]
fn who_gives_up_waiting_does_not_send_it_later() {
    let shape =
        Shape { scheme: SchemeKind::Blocking, partitions: 1, replicas: 1, coordinators: 1, round_trip: Duration::ZERO };
    let mut client = Client::new(ME, Arc::new(catalog()), &shape, Script::default());
    let call = ReadWrite { keys: [(0, 1)].into_iter().collect(), stamp: 1, aborts_at: None, two_rounds: false };
    client.gone.insert(PRIMARY, (Instant::now(), "it is gone".to_owned()));
    let ticket = client.submit(call).unwrap();
    let Some(long_ago) = Instant::now().checked_sub(PATIENCE_WITH_GONE * 2) else { return };
    client.gone.insert(PRIMARY, (long_ago, "it is gone".to_owned()));
    assert!(matches!(client.wait(ticket), Err(Error::Stopped { .. })));
    client.link.letters.push_back(Letter::Here(PRIMARY));
    client.turn(Duration::ZERO);
    assert!(client.link.sent.is_empty());
}
