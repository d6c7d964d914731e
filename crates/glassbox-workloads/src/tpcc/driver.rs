//! A client that calls back to back, with any number of transactions in flight.
//!
//! One thread is one client. It keeps a ring of tickets: when that is full it waits for the oldest, whose force carries
//! the others too, and submits the next in its place. With one in flight that is a caller who waits for each answer;
//! with many, a server that answers whom it can.
//!
//! Nothing here is generic: TPC-C's procedures are compiled for a database once, in this crate, and not again in each
//! program that runs them.
//!
//! The clock is read once for each transaction: the moment at which an answer may be told is also the moment at which
//! the next transaction is entered. A latency so runs from being entered (making its input included, less than a
//! microsecond) to being answered.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use glassbox::procedure::Abort;
use glassbox::{Database, Error, Ticket};

use super::inputs::Inputs;
use super::mix::Kind;
use super::new_order::ABORT_UNUSED_ITEM;
use super::on_database::Submitting;

/// Receives every answer.
pub trait Observer {
    /// A transaction was answered: how long after being entered, and whether it committed (else it was rolled back as
    /// the specification wants of one New-Order in a hundred).
    fn answered(&mut self, kind: Kind, latency_ns: u64, committed: bool);
}

struct Entered<'a> {
    kind: Kind,
    at: Instant,
    ticket: Ticket<'a, ()>,
}

/// Runs a client until `stop`, then waits for what is in flight.
///
/// # Errors
/// When the database cannot go on, or a transaction aborts that should not.
///
/// # Panics
/// When `in_flight` is 0.
pub fn run_client(
    db: &Database,
    inputs: &mut Inputs,
    in_flight: usize,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<(), Error> {
    assert!(in_flight > 0, "a client has at least one transaction in flight");
    let mut ring = VecDeque::with_capacity(in_flight);
    let mut now = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        let input = inputs.next();
        let (kind, at) = (input.kind(), now);
        let ticket = input.give(&mut Submitting(db))?;
        ring.push_back(Entered { kind, at, ticket });
        if ring.len() == in_flight {
            now = answer(ring.pop_front().expect("it is full"), observer)?;
        } else {
            now = Instant::now();
        }
    }
    for entered in ring {
        answer(entered, observer)?;
    }
    Ok(())
}

/// Waits for the answer; when it came.
#[inline]
fn answer(entered: Entered<'_>, observer: &mut dyn Observer) -> Result<Instant, Error> {
    let committed = match entered.ticket.wait() {
        Ok(()) => true,
        Err(Error::Aborted(Abort { code: ABORT_UNUSED_ITEM, .. })) if entered.kind == Kind::NewOrder => false,
        Err(error) => return Err(error),
    };
    let now = Instant::now();
    observer.answered(entered.kind, (now - entered.at).as_nanos() as u64, committed);
    Ok(now)
}
