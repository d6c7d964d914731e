//! One node on one thread.

use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::clock::now_us;
use super::link::{Letter, Link};
use super::node::Node;
use crate::address::Address;
use crate::member::Packet;
use crate::message::Message;
use crate::outbox::{Action, Outbox, Work};
use crate::wire::Answer;

/// Things done before what they want sent is sent, when there is always more to do.
const DONE_AT_ONCE: u32 = 16;
/// How long to sleep when nothing happens: whoever wants the thread to end waits for so long.
const NAP: Duration = Duration::from_millis(50);

/// Works until `ends` says so; it is asked whenever there is nothing to do, and once in a while otherwise.
pub fn drive(node: &mut Node, link: &mut impl Link, mut ends: impl FnMut() -> bool) {
    let mut out = Outbox::default();
    let mut done = 0;
    loop {
        let busy = step(node, link, &mut out);
        done += 1;
        if busy && done < DONE_AT_ONCE {
            continue;
        }
        done = 0;
        link.flush();
        if ends() {
            return;
        }
        if !busy && let Some(letter) = link.receive(NAP) {
            take_in(node, letter, link, &mut out);
        }
    }
}

/// Takes in what has arrived next, or else does one thing that waited; whether there was either.
pub(super) fn step(node: &mut Node, link: &mut impl Link, out: &mut Outbox) -> bool {
    match link.receive(Duration::ZERO) {
        Some(letter) => {
            take_in(node, letter, link, out);
            true
        }
        None => {
            let began = node.is_timed().then(Instant::now);
            let did = node.proceed(out);
            send(node, out, link, began.filter(|_| did));
            did
        }
    }
}

fn take_in(node: &mut Node, letter: Letter, link: &mut impl Link, out: &mut Outbox) {
    let began = node.is_timed().then(Instant::now);
    hand(node, letter, link, out);
    send(node, out, link, began);
}

fn hand(node: &mut Node, letter: Letter, link: &mut impl Link, out: &mut Outbox) {
    let epoch = node.epoch();
    match letter {
        // A call brings its own time with it.
        Letter::Message(from, packet @ Packet { message: Message::Call { .. }, .. }) => {
            node.handle(from, packet, 0, out)
        }
        Letter::Message(from, packet) => node.handle(from, packet, now_us(), out),
        Letter::Question(from, question) => {
            let mut answer = node.answer(question, now_us(), out);
            if let Answer::Counts(counts) = &mut answer {
                let clients = link.everybody().into_iter().filter(|it| matches!(it, Address::Client(_)));
                counts.clients = clients.filter(|it| *it != from && *it != Address::OPERATOR).count() as u32;
            }
            link.reply(from, answer);
        }
        // Whoever is new may not have heard who is who; with two equal ones nothing happens.
        Letter::Here(peer) => tell(node, peer, link),
        // Whoever is gone says no more. What follows from that is for others to decide.
        Letter::Gone(..) | Letter::Answer(..) => {}
    }
    // Whoever decided may have told nobody else.
    if node.epoch() != epoch {
        link.everybody().into_iter().for_each(|peer| tell(node, peer, link));
    }
}

fn tell(node: &Node, peer: Address, link: &mut impl Link) {
    if let Some(configuration) = node.configuration() {
        let message = Message::Configure(Box::new(configuration.clone()));
        link.send(peer, Packet { epoch: configuration.epoch, message });
    }
}

/// Sends what is to be sent. Of what began at `began`, the node hears how long it took.
fn send(node: &mut Node, out: &mut Outbox, link: &mut impl Link, began: Option<Instant>) {
    if out.actions.is_empty() && began.is_none() {
        return;
    }
    let epoch = node.epoch();
    let (mut works, mut sent) = (SmallVec::<[Work; 8]>::new(), 0);
    for action in out.actions.drain(..) {
        match action {
            Action::Send(to, message) => {
                sent += 1;
                link.send(to, Packet { epoch, message });
            }
            Action::Work(work) if began.is_some() => works.push(work),
            Action::Work(_) => {}
        }
    }
    if let Some(began) = began {
        node.took(began.elapsed(), &works, sent);
    }
}
