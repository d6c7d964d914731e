//! Messages that a node receives before it has a place.

use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, Shard};
use glassbox_workloads::micro::{ReadWrite, catalog};

use super::*;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::message::Outcome;
use crate::protocol::outbox::Action;

/// Requests for the turn are sent once, so they must not be lost.
#[test]
fn a_coordinator_remembers_requests_for_the_turn_from_before_its_beginning() {
    let round_trip = Duration::ZERO;
    let shape = Shape::new(SchemeKind::Blocking, 1).with_coordinators(2).with_round_trip(round_trip);
    let make: MakeShard = Arc::new(|| unreachable!("it has no rows"));
    let (mut out, epoch) = (Outbox::default(), 1);
    let mut node = Node::new(Address::Coordinator(0), shape, Arc::clone(&make), make);
    for (from, number) in [(1, 1), (1, 2), (2, 1)] {
        node.handle(Address::Coordinator(from), Packet { epoch, message: Message::AskTurn { number } }, 0, &mut out);
    }
    assert!(out.actions.is_empty());
    let newest = Packet { epoch, message: Message::AskTurn { number: 2 } };
    assert_eq!(node.asked, [(Address::Coordinator(1), newest)]);
    node.begin(shape.configuration(), 0, &mut out).unwrap();
    let sent: Vec<_> = out.actions.drain(..).collect();
    assert!(matches!(&sent[..], [Action::Send(Address::Coordinator(1), Message::Turn(_))]), "{sent:?}");
    assert!(node.asked.is_empty());
}

/// A client may know of a primary's place before the primary does.
#[test]
fn a_primary_answers_calls_from_before_its_beginning() {
    let round_trip = Duration::ZERO;
    let shape = Shape::new(SchemeKind::Blocking, 1).with_round_trip(round_trip);
    let make: MakeShard = Arc::new(|| Shard::new(&catalog(), 0, 1, 1 << 20).map_err(|error| error.to_string()));
    let (mut out, client) = (Outbox::default(), Address::Client(7));
    let mut node = Node::new(Address::Replica { partition: 0, replica: 0 }, shape, Arc::clone(&make), make);
    let arguments =
        Arguments::of(ReadWrite { keys: std::iter::empty().collect(), stamp: 1, aborts_at: None, two_rounds: false });
    let call = Call { procedure: 0, arguments, now: Timestamp::default(), seed: 0 };
    let calls = |id, epoch| (client, Packet { epoch, message: Message::Call { id, call: call.clone() } });
    // The first one was for a predecessor with the same address.
    for (from, packet) in [calls(1, 0), calls(2, 1), calls(3, 0), calls(4, 1)] {
        node.handle(from, packet, 0, &mut out);
    }
    assert!(out.actions.is_empty());
    node.begin(shape.configuration(), 0, &mut out).unwrap();
    let answered = out.actions.drain(..).filter_map(|action| match action {
        Action::Send(to, Message::Answer { id, outcome: Outcome::Done(_) }) if to == client => Some(id),
        _ => None,
    });
    assert_eq!(answered.collect::<Vec<_>>(), [2, 4]);
}
