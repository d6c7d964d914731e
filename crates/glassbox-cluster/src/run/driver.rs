//! The loop that drives one node on one thread.

use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::link::{Link, LinkEvent};
use super::node::Node;
use super::shared_node::Driven;
use super::timing::now_us;
use crate::protocol::address::Address;
use crate::protocol::message::{Message, Packet};
use crate::protocol::outbox::{Action, Outbox, Work};
use crate::wire::Answer;

/// Steps between two flushes of the output, while there is always more to do.
const DONE_AT_ONCE: u32 = 16;
/// The maximum sleep, which bounds the time to notice that the thread should end.
const NAP: Duration = Duration::from_millis(50);

/// Drives a node until `ends` returns true or its journal has failed. `ends` is called when there is nothing to do, and
/// now and then otherwise.
pub fn drive(node: &mut impl Driven, link: &mut impl Link, mut ends: impl FnMut() -> bool) {
    let mut out = Outbox::default();
    loop {
        let (busy, failed, idle) = node.with(|node| {
            let busy = work(node, link, &mut out);
            (busy, node.failed().is_some(), node.idle_time().unwrap_or(NAP))
        });
        link.flush();
        if ends() || failed {
            return;
        }
        if !busy && let Some(event) = link.receive(idle.min(NAP)) {
            node.with(|node| take_in(node, event, link, &mut out));
        }
    }
}

/// Takes some steps; whether there may be more to do.
fn work(node: &mut Node, link: &mut impl Link, out: &mut Outbox) -> bool {
    let busy = (0..DONE_AT_ONCE).all(|_| step(node, link, out));
    if busy {
        // Messages may never cease, and must not starve waiting work.
        proceed(node, link, out);
    }
    busy
}

/// Handles the next event, or else runs one piece of waiting work; whether there was either.
pub(super) fn step(node: &mut Node, link: &mut impl Link, out: &mut Outbox) -> bool {
    match link.receive(Duration::ZERO) {
        Some(event) => {
            take_in(node, event, link, out);
            true
        }
        None => {
            if node.take_unsent() {
                link.flush();
            }
            proceed(node, link, out)
        }
    }
}

/// Runs one piece of waiting work; whether there was one.
fn proceed(node: &mut Node, link: &mut impl Link, out: &mut Outbox) -> bool {
    let (began, epoch) = (node.is_timed().then(Instant::now), node.epoch());
    let did = node.proceed(out);
    send(node, out, link, began.filter(|_| did));
    tell_all(node, epoch, link);
    did
}

fn take_in(node: &mut Node, event: LinkEvent, link: &mut impl Link, out: &mut Outbox) {
    let began = node.is_timed().then(Instant::now);
    hand(node, event, link, out);
    send(node, out, link, began);
}

fn hand(node: &mut Node, event: LinkEvent, link: &mut impl Link, out: &mut Outbox) {
    let epoch = node.epoch();
    match event {
        // A call carries its own time.
        LinkEvent::Message(from, packet @ Packet { message: Message::Call { .. }, .. }) => {
            node.handle(from, packet, 0, out)
        }
        LinkEvent::Message(from, packet) => node.handle(from, packet, now_us(), out),
        LinkEvent::Question(from, question) => {
            let mut answer = node.answer(question, now_us(), out);
            if let Answer::Counts(counts) = &mut answer {
                let clients = link.connected().into_iter().filter(|it| matches!(it, Address::Client(_)));
                counts.clients =
                    clients.filter(|it| *it != from && *it != Address::OPERATOR && !it.is_monitor()).count() as u32;
            }
            link.reply(from, answer);
        }
        // A new peer may not know the configuration. An equal one has no effect.
        LinkEvent::Connected(peer) => {
            tell(node, peer, link);
            node.on_connected(peer, out);
        }
        LinkEvent::Disconnected(peer, _) | LinkEvent::Interrupted(peer) => node.on_disconnected(peer, out),
        LinkEvent::Answer(..) => {}
    }
    tell_all(node, epoch, link);
}

/// Sends a configuration that came after this epoch to all: the operator may have told no other member.
fn tell_all(node: &Node, epoch: u64, link: &mut impl Link) {
    if node.epoch() != epoch {
        link.connected().into_iter().for_each(|peer| tell(node, peer, link));
    }
}

fn tell(node: &Node, peer: Address, link: &mut impl Link) {
    if let Some(configuration) = node.configuration() {
        let message = Message::Configure(Box::new(configuration.clone()));
        link.send(peer, Packet { epoch: configuration.epoch, message });
    }
}

/// Sends the output. The time since `began` is charged to the node.
fn send(node: &mut Node, out: &mut Outbox, link: &mut impl Link, began: Option<Instant>) {
    if out.actions.is_empty() && began.is_none() {
        return;
    }
    let epoch = node.epoch();
    let (mut works, mut sent) = (SmallVec::<[Work; 8]>::new(), 0);
    while !out.actions.is_empty() {
        let mut actions = std::mem::take(&mut out.actions);
        for action in actions.drain(..) {
            match node.keep(action) {
                Some(Action::Send(to, message)) if node.may_drop(&message) && !link.is_connected(to) => {}
                Some(Action::Send(to, message)) => {
                    sent += 1;
                    link.send(to, Packet { epoch, message });
                }
                Some(Action::SendEarlier(epoch, to, message)) => {
                    sent += 1;
                    link.send(to, Packet { epoch, message });
                }
                Some(Action::Report(line)) => eprintln!("{line}"),
                Some(Action::Work(work)) if began.is_some() => works.push(work),
                Some(_) | None => {}
            }
        }
        // Its capacity is reused.
        out.actions = actions;
        node.force(out);
    }
    if let Some(began) = began {
        node.took(began.elapsed(), &works, sent);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Arguments, Call, PartitionSet, Shard};
    use glassbox_workloads::micro::{Pair, ReadWrite, catalog};

    use super::*;
    use crate::protocol::address::TxnId;
    use crate::protocol::configuration::SchemeKind;
    use crate::protocol::message::{Fragment, FragmentWork};
    use crate::run::Shape;

    /// A link on which a message is always available.
    struct Chatter {
        first: VecDeque<(Address, Message)>,
        answers: std::rc::Rc<std::cell::Cell<u32>>,
    }

    impl Link for Chatter {
        fn send(&mut self, _: Address, packet: Packet) {
            let answer = u32::from(matches!(packet.message, Message::Answer { .. }));
            self.answers.set(self.answers.get() + answer);
        }

        fn connected(&self) -> Vec<Address> {
            Vec::new()
        }

        fn flush(&mut self) {}

        fn receive(&mut self, _: Duration) -> Option<LinkEvent> {
            let (from, message) = self.first.pop_front().unwrap_or((Address::Client(9), Message::QueryAcks));
            Some(LinkEvent::Message(from, Packet { epoch: 1, message }))
        }
    }

    #[test]
    fn waiting_work_is_run_although_messages_never_cease() {
        let (client, coordinator) = (Address::Client(0), Address::Coordinator(0));
        let (partitions, round_trip) = (2, Duration::ZERO);
        for scheme in SchemeKind::ALL {
            let shape = Shape::new(scheme, partitions).with_round_trip(round_trip);
            let catalog = catalog();
            let me = Address::Replica { partition: 0, replica: 0 };
            let shard = |_| {
                let mut shard = Shard::new(&catalog, 0, 2, 1 << 20)?;
                shard.load(&Pair { home: 0, id: 0, value: 0 })?;
                Ok::<_, glassbox::Error>(shard)
            };
            let mut node = Node::begun(me, shape, shape.member(me, shard).unwrap());
            let by = if scheme.clients_coordinate() { client } else { coordinator };
            let call = |keys: &[(u8, u16)], stamp| {
                let keys = keys.iter().copied().collect();
                let arguments = Arguments::of(ReadWrite { keys, stamp, aborts_at: None, two_rounds: false });
                Call { procedure: 0, arguments, now: Timestamp::from_micros(0), seed: 0 }
            };
            let txn = TxnId { coordinator: by, sequence: 0 };
            let (work, call_of_two) = (FragmentWork::Run(Vec::new()), call(&[(0, 0), (1, 0)], 1));
            let fragment = Fragment {
                txn,
                round: 0,
                call: call_of_two,
                participants: PartitionSet::all(2),
                work,
                settled: 0,
                place: 0,
                before: None,
            };
            let first = [
                (by, Message::Fragment(Box::new(fragment))),
                (client, Message::Call { id: 1, call: call(&[(0, 0)], 2) }),
                (by, Message::Decide { txn, commit: true }),
            ];
            let answers = std::rc::Rc::default();
            let mut link = Chatter { first: first.into(), answers: std::rc::Rc::clone(&answers) };
            let mut asked = 0;
            drive(&mut node, &mut link, || {
                asked += 1;
                answers.get() > 0 || asked > 100
            });
            assert_eq!(answers.get(), 1, "{scheme}");
        }
    }
}
