//! A user's program: calls procedures of a cluster, and waits.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::{Catalog, Error, Procedure};

use super::clock::now_us;
use super::late::sleep_precisely;
use super::link::{Letter, Link};
use super::threads::Shape;
use crate::address::Address;
use crate::member::Packet;
use crate::outbox::{Action, Outbox};
use crate::router::{Answered, Router};
use crate::scheme::SchemeKind;

/// Under locking, how long a transaction may take before it is thought to be in a deadlock that no partition sees, at
/// least. To this come some round trips.
const PATIENCE: Duration = Duration::from_millis(3);

/// How long a client that is dropped waits for the ends of its calls.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(2);

/// A connection to a cluster, for one thread.
///
/// It makes progress within its methods only. Under locking a client coordinates its transactions itself; one that has
/// some in flight and goes away for long keeps their locks for as long.
#[derive(Debug)]
pub struct Client<L: Link> {
    link: L,
    router: Router,
    scheme: SchemeKind,
    out: Outbox,
    /// Ended, and not yet waited for.
    ended: BTreeMap<u64, Answered>,
    in_flight: usize,
    patience: Duration,
    looked: Instant,
    seed: u64,
    /// Why it cannot go on.
    lost: Option<String>,
}

/// A call that was submitted; to be given to [`Client::wait`].
#[derive(Debug)]
#[must_use = "the outcome is known only to who waits for it"]
pub struct Ticket<P> {
    id: u64,
    procedure: PhantomData<fn() -> P>,
}

impl<L: Link> Client<L> {
    /// A client of a cluster that it is linked to.
    pub fn new(me: Address, catalog: Arc<Catalog>, shape: &Shape, link: L) -> Self {
        sleep_precisely();
        let router = Router::new(me, catalog, shape.configuration());
        let number = if let Address::Client(number) = me { number } else { 0 };
        let patience = PATIENCE + shape.round_trip * 8;
        Self {
            link,
            router,
            scheme: shape.scheme,
            out: Outbox::default(),
            ended: BTreeMap::new(),
            in_flight: 0,
            // Not all the same: two that block each other would meet again.
            patience: patience + patience * (number % 16) / 16,
            looked: Instant::now(),
            seed: now_us() ^ u64::from(number) << 48,
            lost: None,
        }
    }

    /// Calls a procedure and waits for the outcome.
    ///
    /// # Errors
    /// The procedure's abort; [`Error::Stopped`] when the cluster cannot be reached.
    pub fn call<P: Procedure>(&mut self, procedure: &P) -> Result<P::Output, Error> {
        let ticket = self.submit(procedure)?;
        self.wait(ticket)
    }

    /// Calls a procedure, and does not wait.
    ///
    /// # Errors
    /// When the catalog does not name the procedure, or the cluster cannot be reached.
    pub fn submit<P: Procedure>(&mut self, procedure: &P) -> Result<Ticket<P>, Error> {
        self.check()?;
        // Each gets a number of its own, and from that its random numbers.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let id = self.router.call(procedure, now_us(), self.seed, &mut self.out)?;
        self.in_flight += 1;
        self.send();
        self.link.flush();
        Ok(Ticket { id, procedure: PhantomData })
    }

    /// Waits for the outcome of a call.
    ///
    /// # Errors
    /// As those of [`Client::call`].
    pub fn wait<P: Procedure>(&mut self, ticket: Ticket<P>) -> Result<P::Output, Error> {
        let answered = loop {
            if let Some(answered) = self.ended.remove(&ticket.id) {
                break answered;
            }
            self.check()?;
            self.turn(self.patience / 4);
        };
        Router::output::<P>(&answered)
    }

    /// Calls whose end is not known yet.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// How often a transaction of this client's own coordination was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.router.retries()
    }

    /// The link, for whoever has more to say than calls.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    fn check(&self) -> Result<(), Error> {
        self.lost.as_ref().map_or(Ok(()), |why| Err(Error::Stopped { reason: why.clone() }))
    }

    /// Hears what has come, or waits for something for at most so long.
    fn turn(&mut self, wait: Duration) {
        self.link.flush();
        let mut letter = self.link.receive(wait);
        while let Some(heard) = letter {
            match heard {
                Letter::Message(from, message) => {
                    let packet = Packet { epoch: self.router.epoch(), message };
                    let ended = self.router.handle(from, packet, now_us(), &mut self.out);
                    self.in_flight -= ended.len();
                    self.ended.extend(ended.into_iter().map(|answered| (answered.id, answered)));
                }
                Letter::Question(..) | Letter::Answer(..) => {}
                Letter::Gone(who, why) => self.lost = Some(format!("the connection to {who} is lost: {why}")),
            }
            self.send();
            letter = self.link.receive(Duration::ZERO);
        }
        if self.scheme.is_locking() && self.looked.elapsed() > self.patience / 4 {
            self.looked = Instant::now();
            self.router.give_up_waiting(self.patience.as_micros() as u64, now_us(), &mut self.out);
            self.send();
        }
        self.link.flush();
    }

    fn send(&mut self) {
        for action in self.out.actions.drain(..) {
            if let Action::Send(to, message) = action {
                self.link.send(to, message);
            }
        }
    }
}

impl<L: Link> Drop for Client<L> {
    /// Waits for what is in flight: under locking nobody else would end it.
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE_AT_THE_END;
        while self.in_flight > 0 && self.lost.is_none() && Instant::now() < until && !std::thread::panicking() {
            self.turn(Duration::from_millis(10));
        }
    }
}
