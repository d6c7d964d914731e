//! One machine on one thread.

use std::time::Duration;

use super::clock::now_us;
use super::link::{Letter, Link};
use super::machine::Machine;
use crate::message::Message;
use crate::outbox::{Action, Outbox};

/// Things done before what they want sent is sent, when there is always more to do.
const DONE_AT_ONCE: u32 = 16;
/// How long to sleep when nothing happens: whoever wants the thread to end waits for so long.
const NAP: Duration = Duration::from_millis(50);

/// Works until `ends` says so; it is asked whenever there is nothing to do, and once in a while otherwise.
pub fn drive(machine: &mut Machine, link: &mut impl Link, mut ends: impl FnMut() -> bool) {
    let mut out = Outbox::default();
    let mut done = 0;
    loop {
        let busy = step(machine, link, &mut out);
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
            hand(machine, letter, link, &mut out);
            send(&mut out, link);
        }
    }
}

/// Takes in what has arrived next, or else does one thing that waited; whether there was either.
pub(super) fn step(machine: &mut Machine, link: &mut impl Link, out: &mut Outbox) -> bool {
    let busy = match link.receive(Duration::ZERO) {
        Some(letter) => {
            hand(machine, letter, link, out);
            true
        }
        None => machine.proceed(out),
    };
    send(out, link);
    busy
}

fn hand(machine: &mut Machine, letter: Letter, link: &mut impl Link, out: &mut Outbox) {
    match letter {
        // A call brings its own time with it.
        Letter::Message(from, message @ Message::Call { .. }) => machine.handle(from, message, 0, out),
        Letter::Message(from, message) => machine.handle(from, message, now_us(), out),
        Letter::Question(from, question) => link.reply(from, machine.answer(question)),
        // Whoever is gone says no more; that is all that a machine would have to know.
        Letter::Gone(..) | Letter::Answer(..) => {}
    }
}

fn send(out: &mut Outbox, link: &mut impl Link) {
    for action in out.actions.drain(..) {
        if let Action::Send(to, message) = action {
            link.send(to, message);
        }
    }
}
