//! What a node hears before it has a place.

use super::*;
use crate::outbox::Action;
use crate::scheme::SchemeKind;

/// A request is made once: who hears it before it has a place must not forget it.
#[test]
fn a_coordinator_that_begins_later_knows_who_asked_for_the_turn() {
    let round_trip = Duration::ZERO;
    let shape = Shape { scheme: SchemeKind::Blocking, partitions: 1, replicas: 1, coordinators: 2, round_trip };
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
