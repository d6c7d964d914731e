//! Messages that a node receives before it has a place.

use glassbox::record::Timestamp;
use glassbox::research::shard::{Arguments, Call, Shard};
use glassbox_workloads::micro::{ReadWrite, catalog};

use super::*;
use crate::protocol::configuration::{AgreementSettings, Replicas, SchedulerKind, SchemeKind};
use crate::protocol::entry::Base;
use crate::protocol::input::OrderSettings;
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

/// A crash in between would leave the former log and another base after it, as of a sequencer that begins to agree: the
/// two would lead two groups.
#[test]
fn a_former_hot_backup_discards_its_log_before_it_writes_another_journal() {
    let order = OrderSettings { agreement: Some(AgreementSettings::default()), members: 1, ..OrderSettings::new() };
    let scheme = SchemeKind::Deterministic(SchedulerKind::Vll);
    let shape = Shape::new(scheme, 1).with_coordinators(3).with_order(order);
    let dir = tempfile::tempdir().unwrap();
    let make: MakeShard = Arc::new(|| Shard::new(&catalog(), 0, 1, 1 << 20).map_err(|error| error.to_string()));
    // It was the sequencer once, and another one was promoted.
    let me = Address::Coordinator(0);
    let open = || {
        let shard = Shard::new(&catalog(), 0, 1, 1 << 20).unwrap();
        JournalWriter::open(&dir.path().join("journal"), (me, 7), &catalog(), shard, || {}).unwrap()
    };
    let former = Configuration::first(1, 1, scheme).with_coordinators(3);
    let mut journal = open();
    let mut rows = make().unwrap();
    rows.fix();
    journal.base(Base { held: 0, scheme, remembered: Vec::new() }, 1, &former);
    journal.secure(&mut rows);
    drop(journal);
    let elected = Replicas { primary: Address::Coordinator(1), since: 9, backups: Vec::new() };
    let first = Configuration { epoch: 9, sequencer: Some(elected), agreement: order.agreement, ..former };
    let mut node = Node::new(me, shape, Arc::clone(&make), make).with_journal(open());
    let mut out = Outbox::default();
    node.begin(first.clone(), 0, &mut out).unwrap();
    let of_journal: Vec<_> = out.actions.iter().filter(|it| matches!(it, Action::Forget | Action::Base(_))).collect();
    assert!(matches!(of_journal[..], [Action::Forget, Action::Base(_)]), "{of_journal:?}");
    let known = node.member().unwrap().configuration();
    assert_eq!((known.epoch, known.members()), (9, [Address::Coordinator(1)].into()), "it is no member");
    out.actions.drain(..).for_each(|action| drop(node.keep(action)));
    // As after a kill before the base is complete.
    drop(node);
    assert!(open().recovered().is_none(), "nothing is left of the log");
}
