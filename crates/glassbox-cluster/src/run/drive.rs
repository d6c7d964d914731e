//! One node on one thread.

use std::time::Duration;

use super::clock::now_us;
use super::link::{Letter, Link};
use super::node::Node;
use crate::address::Address;
use crate::member::Packet;
use crate::message::Message;
use crate::outbox::{Action, Outbox};

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
            hand(node, letter, link, &mut out);
            send(node, &mut out, link);
        }
    }
}

/// Takes in what has arrived next, or else does one thing that waited; whether there was either.
pub(super) fn step(node: &mut Node, link: &mut impl Link, out: &mut Outbox) -> bool {
    let busy = match link.receive(Duration::ZERO) {
        Some(letter) => {
            hand(node, letter, link, out);
            true
        }
        None => node.proceed(out),
    };
    send(node, out, link);
    busy
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
            let answer = node.answer(question, now_us(), out);
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
        let message = Message::Configure(configuration.clone());
        link.send(peer, Packet { epoch: configuration.epoch, message });
    }
}

fn send(node: &Node, out: &mut Outbox, link: &mut impl Link) {
    let epoch = node.epoch();
    for action in out.actions.drain(..) {
        if let Action::Send(to, message) = action {
            link.send(to, Packet { epoch, message });
        }
    }
}
