//! A user's program: calls procedures of a cluster, and waits.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::{Catalog, Error, Procedure};

use super::clock::now_us;
use super::late::sleep_precisely;
use super::link::{Letter, Link};
use super::shape::Shape;
use crate::address::Address;
use crate::member::Packet;
use crate::message::Message;
use crate::outbox::{Action, Outbox};
use crate::router::Router;

/// Under locking and occ, how long a transaction may take before it is thought to be in a deadlock that no partition
/// sees, at least. To this come some round trips.
const PATIENCE: Duration = Duration::from_millis(3);

/// How long a client waits for somebody to be given the place of who is gone.
const PATIENCE_WITH_GONE: Duration = Duration::from_secs(10);

/// How long a client that is dropped waits for the ends of its calls.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(2);

/// A connection to a cluster, for one thread.
///
/// It makes progress within its methods only. Under locking and occ a client coordinates its transactions itself; one
/// that has some in flight and goes away for long keeps their locks for as long. When it is dropped, or its process
/// ends, a coordinator ends them.
#[derive(Debug)]
pub struct Client<L: Link> {
    link: L,
    router: Router,
    out: Outbox,
    patience: Duration,
    looked: Instant,
    seed: u64,
    /// Those who cannot be reached: since when, and why.
    gone: BTreeMap<Address, (Instant, String)>,
    /// Calls for them: sent when somebody can be reached there. A client may hear of who is new before it reaches it.
    unsent: Vec<(Address, u64, Message)>,
}

/// A call that was submitted; to be given to [`Client::wait`].
#[derive(Debug)]
#[must_use = "the outcome is known only to who waits for it"]
pub struct Ticket<P> {
    id: u64,
    home: u8,
    procedure: PhantomData<fn() -> P>,
}

impl<P> Ticket<P> {
    /// The partition whose output counts.
    pub fn home(&self) -> u8 {
        self.home
    }
}

impl<L: Link> Client<L> {
    /// A client of a cluster that it is linked to.
    pub fn new(me: Address, catalog: Arc<Catalog>, shape: &Shape, link: L) -> Self {
        sleep_precisely();
        // Another program may have had this address before.
        let router = Router::new(me, catalog, shape.configuration(), RandomState::new().build_hasher().finish());
        let number = if let Address::Client(number) = me { number } else { 0 };
        let patience = PATIENCE + shape.round_trip * 8;
        Self {
            link,
            router,
            out: Outbox::default(),
            // Not all the same: two that block each other would meet again.
            patience: patience + patience * (number % 16) / 16,
            looked: Instant::now(),
            seed: now_us() ^ u64::from(number) << 48,
            gone: BTreeMap::new(),
            unsent: Vec::new(),
        }
    }

    /// Calls a procedure and waits for the outcome.
    ///
    /// # Errors
    /// The procedure's abort; [`Error::Uncertain`] when who ran it is gone; [`Error::Stopped`] when nobody has taken
    /// the place of who is gone for long.
    pub fn call<P: Procedure>(&mut self, procedure: P) -> Result<P::Output, Error> {
        let ticket = self.submit(procedure)?;
        self.wait(ticket)
    }

    /// Calls a procedure, and does not wait.
    ///
    /// # Errors
    /// When the catalog does not name the procedure, or the cluster cannot be reached.
    pub fn submit<P: Procedure>(&mut self, procedure: P) -> Result<Ticket<P>, Error> {
        self.check()?;
        // Each gets a number of its own, and from that its random numbers.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let id = self.router.call(procedure, now_us(), self.seed, &mut self.out)?;
        self.send();
        self.link.flush();
        let home = self.router.home(id).expect("it was called a moment ago");
        Ok(Ticket { id, home, procedure: PhantomData })
    }

    /// Waits for the outcome of a call.
    ///
    /// # Errors
    /// As those of [`Client::call`].
    pub fn wait<P: Procedure>(&mut self, ticket: Ticket<P>) -> Result<P::Output, Error> {
        let answered = loop {
            if let Some(answered) = self.router.take(ticket.id) {
                break answered;
            }
            if let Err(error) = self.check() {
                self.unsent.retain(|(_, id, _)| *id != ticket.id);
                return Err(error);
            }
            self.turn(self.patience / 4);
        };
        answered.output::<P>()
    }

    /// Calls whose end is not known yet.
    pub fn in_flight(&self) -> usize {
        self.router.waiting()
    }

    /// How often a transaction of this client's own coordination was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.router.retries()
    }

    /// The link, for whoever has more to say than calls.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.gone.is_empty() { Ok(()) } else { self.check_gone() }
    }

    #[cold]
    fn check_gone(&self) -> Result<(), Error> {
        let late = |(who, (since, _)): &(&Address, &(Instant, String))| {
            self.router.needs(**who) && since.elapsed() > PATIENCE_WITH_GONE
        };
        match self.gone.iter().find(late) {
            Some((who, (_, why))) => {
                let seconds = PATIENCE_WITH_GONE.as_secs();
                let reason = format!("{who} is gone ({why}), and for {seconds} s nobody was given its place");
                Err(Error::Stopped { reason })
            }
            None => Ok(()),
        }
    }

    /// Hears what has come, or waits for something for at most so long.
    fn turn(&mut self, wait: Duration) {
        self.link.flush();
        let mut letter = self.link.receive(wait);
        while let Some(heard) = letter {
            match heard {
                Letter::Message(from, packet) => {
                    // Only who coordinates asks for the time.
                    let now_us = if self.router.coordinates() { now_us() } else { 0 };
                    self.router.handle(from, packet, now_us, &mut self.out);
                }
                Letter::Here(who) => {
                    if self.gone.remove(&who).is_some() {
                        self.router.found_again(who, &mut self.out);
                        self.send_unsent(who);
                    }
                }
                Letter::Gone(who, why) => {
                    self.gone.insert(who, (Instant::now(), why));
                    self.router.lost(who);
                }
                Letter::Question(..) | Letter::Answer(..) => {}
            }
            self.send();
            letter = self.link.receive(Duration::ZERO);
        }
        if self.router.coordinates() && self.looked.elapsed() > self.patience / 4 {
            self.looked = Instant::now();
            self.router.give_up_waiting(self.patience.as_micros() as u64, now_us(), &mut self.out);
            self.send();
        }
        self.link.flush();
    }

    fn send(&mut self) {
        if self.out.actions.is_empty() {
            return;
        }
        let epoch = self.router.epoch();
        for action in self.out.actions.drain(..) {
            let Action::Send(to, message) = action else { continue };
            let id = match &message {
                Message::Call { id, .. } => Some(*id),
                Message::Submit(submission) => Some(submission.id),
                // What else is missing there, who is found again is told.
                _ => None,
            };
            match id {
                Some(id) if !self.gone.is_empty() && self.gone.contains_key(&to) => self.unsent.push((to, id, message)),
                _ => self.link.send(to, Packet { epoch, message }),
            }
        }
    }

    fn send_unsent(&mut self, to: Address) {
        let epoch = self.router.epoch();
        for (to, id, message) in self.unsent.extract_if(.., |(at, ..)| *at == to) {
            if self.router.is_waiting(id) {
                self.link.send(to, Packet { epoch, message });
            }
        }
    }
}

impl<L: Link> Drop for Client<L> {
    /// Waits for what is in flight; what has not ended then is left to a coordinator.
    fn drop(&mut self) {
        let until = Instant::now() + PATIENCE_AT_THE_END;
        while self.in_flight() > 0 && self.check().is_ok() && Instant::now() < until && !std::thread::panicking() {
            self.turn(Duration::from_millis(10));
        }
        self.router.give_up(&mut self.out);
        self.send();
        self.link.flush();
    }
}

#[cfg(test)]
mod tests;
