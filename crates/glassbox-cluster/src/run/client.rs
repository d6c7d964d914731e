//! A client: calls procedures of a cluster and waits for the outcomes.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::{Catalog, Error, Procedure};

use super::link::{Link, LinkEvent};
use super::shape::Shape;
use super::timing::{now_us, sleep_precisely};
use crate::client::router::{Answered, Router};
use crate::protocol::address::Address;
use crate::protocol::configuration::Configuration;
use crate::protocol::message::{Message, Packet};
use crate::protocol::outbox::{Action, Outbox};

/// The minimum timeout of a distributed transaction under locking and OCC, after which a deadlock is presumed. Some
/// round trips are added.
const PATIENCE: Duration = Duration::from_millis(3);

/// How long a client waits for an outcome, unless it has another deadline.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long a client waits until a failed member is replaced.
const REPLACEMENT_TIMEOUT: Duration = Duration::from_secs(10);

const HAS_OUTPUT: &str = "a run that ends well has an output";

/// How long a dropped client waits for the outcomes of its calls.
const DROP_TIMEOUT: Duration = Duration::from_secs(2);

/// A connection to a cluster, for one thread.
///
/// It makes progress within its methods only. Under locking and OCC a client coordinates its transactions itself, so an
/// idle client with transactions in flight keeps their locks. When it is dropped or its process ends, coordinator 0
/// decides them.
#[derive(Debug)]
pub struct Client<L: Link> {
    link: L,
    router: Router,
    out: Outbox,
    patience: Duration,
    deadline: Duration,
    looked: Instant,
    seed: u64,
    /// Disconnected members, until they have announced their configuration again: since when, and why.
    disconnected: BTreeMap<Address, (Instant, String)>,
    /// Whether calls are sent even to an idle node of this process.
    by_messages: bool,
}

impl<L: Link> Client<L> {
    /// A client of a cluster.
    pub fn new(me: Address, catalog: Arc<Catalog>, shape: &Shape, link: L) -> Self {
        Self::in_configuration(me, catalog, shape, shape.configuration(), link)
    }

    /// A client of a cluster that has this configuration, as far as is known.
    pub(super) fn in_configuration(
        me: Address,
        catalog: Arc<Catalog>,
        shape: &Shape,
        configuration: Configuration,
        link: L,
    ) -> Self {
        sleep_precisely();
        // A predecessor may have had the same address.
        let session = RandomState::new().build_hasher().finish();
        let mut router = Router::new(me, catalog, configuration, session);
        if link.announces() {
            shape.machines().into_iter().for_each(|member| router.hold(member));
        }
        let number = if let Address::Client(number) = me { number } else { 0 };
        let patience = PATIENCE + shape.round_trip * 8;
        Self {
            link,
            router,
            out: Outbox::default(),
            // Different timeouts, so that two clients that block each other do not restart at the same time for ever.
            patience: patience + patience * (number % 16) / 16,
            deadline: DEADLINE,
            looked: Instant::now(),
            seed: now_us() ^ u64::from(number) << 48,
            disconnected: BTreeMap::new(),
            by_messages: false,
        }
    }

    /// A client that sends every call. Otherwise it runs a single-partition call itself if an idle node of this process
    /// has the partition.
    #[must_use]
    pub fn by_messages(mut self) -> Self {
        self.by_messages = true;
        self
    }

    /// A client that waits at most this long for the outcome of a call. Default: 30 s.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Calls a procedure and waits for the outcome.
    ///
    /// # Errors
    /// The abort reason ([`Error::Aborted`], [`Error::DuplicateKey`], [`Error::TableFull`]); [`Error::Panicked`] and
    /// [`Error::BrokenPromise`] when the procedure is at fault; [`Error::OutcomeUnknown`] when the member that ran it
    /// failed before it answered, or the deadline has passed; [`Error::Stopped`] when the partition has stopped, or a
    /// failed member was not replaced in time.
    pub fn call<P: Procedure>(&mut self, procedure: P) -> Result<P::Output, Error> {
        let ticket = self.submit(procedure)?;
        self.wait(ticket)
    }

    /// As [`Client::call`], but lets `look` see the output in place, which saves moving a large output.
    ///
    /// # Errors
    /// As for [`Client::call`].
    #[inline]
    pub fn call_with<P: Procedure, N>(&mut self, procedure: P, look: impl FnOnce(&P::Output) -> N) -> Result<N, Error> {
        let ticket = self.submit_with(procedure, look)?;
        self.wait(ticket)
    }

    /// Calls a procedure without waiting.
    ///
    /// # Errors
    /// When the catalog does not name the procedure, or the cluster cannot be reached.
    #[inline]
    pub fn submit<P: Procedure>(&mut self, procedure: P) -> Result<Ticket<P>, Error> {
        self.begin(procedure, |output| output.take().expect(HAS_OUTPUT))
    }

    /// As [`Client::submit`], with a ticket for the result of `look`, which is called when the output is here, at the
    /// latest by [`Client::wait`].
    ///
    /// # Errors
    /// As for [`Client::submit`].
    #[inline]
    pub fn submit_with<P: Procedure, N, F: FnOnce(&P::Output) -> N>(
        &mut self,
        procedure: P,
        look: F,
    ) -> Result<Ticket<P, N, impl Then<P, N> + use<P, N, F, L>>, Error> {
        self.begin(procedure, |output: &mut Option<P::Output>| look(output.as_ref().expect(HAS_OUTPUT)))
    }

    /// Runs a call at once, or sends it.
    #[inline(always)]
    fn begin<P: Procedure, N, F: Then<P, N>>(&mut self, procedure: P, then: F) -> Result<Ticket<P, N, F>, Error> {
        self.check()?;
        // A seed of its own for each call, for its random numbers.
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let (stamp, route) = (self.router.stamp::<P>(now_us(), self.seed)?, self.router.route(&procedure));
        let home = route.home;
        // A coordinating client makes progress only while it waits for messages, and others wait for its decisions.
        let is_free = !self.router.coordinates() || self.in_flight() == 0;
        if is_free
            && !self.by_messages
            && !self.router.is_held(&route)
            && let Some(primary) = self.router.primary_of(&route)
        {
            let (epoch, mut output) = (self.router.epoch(), None);
            let told = self.link.at_once(primary, |node| node.run_here(epoch, &procedure, stamp, &mut output));
            if let Some(told) = told {
                let flight = Flight::Ended(told.map(|()| then(&mut output)));
                return Ok(Ticket::new(home, flight));
            }
        }
        let id = self.router.call_on(procedure, stamp, route, &mut self.out);
        self.send();
        self.link.flush();
        Ok(Ticket::new(home, Flight::Sent(id, then)))
    }

    /// Waits for the outcome of a call.
    ///
    /// # Errors
    /// As for [`Client::call`].
    #[inline]
    pub fn wait<P: Procedure, N, F: Then<P, N>>(&mut self, ticket: Ticket<P, N, F>) -> Result<N, Error> {
        match ticket.flight {
            Flight::Ended(told) => told.map_err(|error| *error),
            Flight::Sent(id, then) => self.wait_for(id)?.output::<P>().map(|output| then(&mut Some(output))),
        }
    }

    fn wait_for(&mut self, id: u64) -> Result<Answered, Error> {
        let began = Instant::now();
        loop {
            if let Some(answered) = self.router.take(id) {
                return Ok(answered);
            }
            if began.elapsed() > self.deadline {
                return Err(self.give_up(id));
            }
            if let Err(error) = self.check() {
                self.router.drop_held(id);
                return Err(error);
            }
            self.turn(self.patience / 4);
        }
    }

    /// Waits for a call no more; why.
    #[cold]
    fn give_up(&mut self, id: u64) -> Error {
        let (parties, is_sent) = self.router.give_up(id, &mut self.out);
        self.send();
        let parties: Vec<_> = parties.iter().map(|party| self.state_of(*party)).collect();
        let reason = format!(
            "no answer within {} s from {}; a process that it depends on may not run: see `glassbox-cluster status`, \
             then promote a backup, leave one out, or resume",
            self.deadline.as_secs_f64(),
            parties.join(", ")
        );
        if is_sent { Error::OutcomeUnknown { reason } } else { Error::Stopped { reason } }
    }

    fn state_of(&self, party: Address) -> String {
        match self.disconnected.get(&party) {
            _ if let Some(why) = self.link.why_not(party) => format!("{party} (not connected: {why})"),
            Some((_, why)) => format!("{party} (not connected: {why})"),
            None if self.link.is_connected(party) => format!("{party} (connected)"),
            None => format!("{party} (not connected)"),
        }
    }

    /// The number of calls without an outcome.
    pub fn in_flight(&self) -> usize {
        self.router.waiting()
    }

    /// The number of restarts of transactions that this client coordinates.
    pub fn retries(&self) -> u64 {
        self.router.retries()
    }

    /// The link.
    pub fn link(&mut self) -> &mut L {
        &mut self.link
    }

    #[inline]
    fn check(&self) -> Result<(), Error> {
        if self.disconnected.is_empty() { Ok(()) } else { self.check_disconnected() }
    }

    #[cold]
    fn check_disconnected(&self) -> Result<(), Error> {
        let late = |(who, (since, _)): &(&Address, &(Instant, String))| {
            self.router.needs(**who) && since.elapsed() > REPLACEMENT_TIMEOUT
        };
        match self.disconnected.iter().find(late) {
            Some((who, (_, why))) => {
                let seconds = REPLACEMENT_TIMEOUT.as_secs();
                let reason = format!("{who} is not available: {why}; it was not replaced within {seconds} s");
                Err(Error::Stopped { reason })
            }
            None => Ok(()),
        }
    }

    /// Handles what has arrived, or waits for at most this long until something arrives.
    fn turn(&mut self, wait: Duration) {
        self.link.flush();
        let mut event = self.link.receive(wait);
        while let Some(heard) = event {
            match heard {
                LinkEvent::Message(from, packet) => {
                    let announces = matches!(packet.message, Message::Configure(_));
                    if announces && !self.disconnected.is_empty() {
                        self.disconnected.remove(&from);
                    }
                    // Only a client that coordinates, or may have to from now on, reads the clock.
                    let now_us = if announces || self.router.coordinates() { now_us() } else { 0 };
                    self.router.handle(from, packet, now_us, &mut self.out);
                }
                LinkEvent::Connected(who) => {
                    if let Some((_, why)) = self.disconnected.get_mut(&who) {
                        "it was restarted and has no place in the cluster".clone_into(why);
                        self.router.on_reconnected(who, &mut self.out);
                    }
                }
                LinkEvent::Disconnected(who, why) => {
                    self.disconnected.insert(who, (Instant::now(), why));
                    self.router.on_disconnected(who);
                    if self.link.announces() {
                        self.router.hold(who);
                    }
                }
                LinkEvent::Question(..) | LinkEvent::Answer(..) | LinkEvent::Interrupted(_) => {}
            }
            self.send();
            event = self.link.receive(Duration::ZERO);
        }
        if self.router.coordinates() && self.looked.elapsed() > self.patience / 4 {
            self.looked = Instant::now();
            self.router.restart_timed_out(self.patience.as_micros() as u64, now_us(), &mut self.out);
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
            self.link.send(to, Packet { epoch, message });
        }
    }
}

impl<L: Link> Drop for Client<L> {
    /// Waits for the calls in flight; coordinator 0 decides the rest.
    fn drop(&mut self) {
        let until = Instant::now() + DROP_TIMEOUT;
        while self.in_flight() > 0 && self.check().is_ok() && Instant::now() < until && !std::thread::panicking() {
            self.turn(Duration::from_millis(10));
        }
        self.router.end_session(&mut self.out);
        self.send();
        self.link.flush();
    }
}

/// Makes a result of the output of a call, which is present.
pub trait Then<P: Procedure, N>: FnOnce(&mut Option<P::Output>) -> N {}
impl<P: Procedure, N, F: FnOnce(&mut Option<P::Output>) -> N> Then<P, N> for F {}

/// A submitted call; to be given to [`Client::wait`](super::Client::wait).
#[must_use = "a call's outcome is lost unless its ticket is waited for"]
pub struct Ticket<P: Procedure, N = <P as Procedure>::Output, F = fn(&mut Option<<P as Procedure>::Output>) -> N> {
    home: u8,
    pub(super) flight: Flight<N, F>,
    procedure: PhantomData<fn() -> P>,
}

/// The state of a call.
pub(super) enum Flight<N, F> {
    /// Sent, with this number and this consumer of its output.
    Sent(u64, F),
    /// Run at once. The error is boxed to keep tickets small.
    Ended(Result<N, Box<Error>>),
}

impl<P: Procedure, N, F> fmt::Debug for Ticket<P, N, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("home", &self.home).finish_non_exhaustive()
    }
}

impl<P: Procedure, N, F> Ticket<P, N, F> {
    #[inline]
    pub(super) fn new(home: u8, flight: Flight<N, F>) -> Self {
        Self { home, flight, procedure: PhantomData }
    }

    /// The home partition.
    pub fn home(&self) -> u8 {
        self.home
    }
}

#[cfg(test)]
mod tests;
