//! A client's part: knows the catalog, sends each call where it has to go, and puts together what comes back.
//!
//! A call on one partition goes straight to its primary. One on several goes to the coordinator; under locking and occ
//! the client coordinates it itself. A procedure may turn out to need partitions that it had not declared: its call
//! then goes out again.

use std::sync::Arc;

use glassbox::record::Timestamp;
use glassbox::shard::{Arguments, Call, Output, Route};
use glassbox::{Catalog, Error, Procedure};

use crate::address::Address;
use crate::by_id::ById;
use crate::configuration::Configuration;
use crate::coordinator::Coordinator;
use crate::member::{MOST_EARLY, Packet};
use crate::message::{FragmentResult, Message, Outcome, Submission};
use crate::outbox::Outbox;
use crate::pending::Ended;

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The number that [`Router::call`] gave it.
    pub id: u64,
    /// What came of it; see [`Router::output`].
    pub outcome: Outcome,
    /// The partition whose output counts.
    pub home: u8,
}

/// A client's connection to a cluster, without the connecting.
#[derive(Debug)]
pub struct Router {
    catalog: Arc<Catalog>,
    configuration: Configuration,
    primaries: Vec<Address>,
    central: Address,
    /// This client's own: under locking and occ it begins transactions, otherwise it ends those that it has begun.
    own: Coordinator,
    me: Address,
    next: u64,
    waiting: ById<Waiting>,
    /// Messages from configurations that are not here yet.
    early: Vec<(Address, Packet)>,
}

#[derive(Debug)]
struct Waiting {
    call: Call,
    home: u8,
    /// Who will answer; `None`: this client's own coordinator.
    at: Option<Address>,
}

/// What a caller is told whose transaction may have happened or not.
const UNKNOWN: &str =
    "whoever ran it is gone, so nobody can tell whether it counts: look for what it would have changed";

impl Router {
    /// A client of a cluster with this configuration.
    pub fn new(me: Address, catalog: Arc<Catalog>, configuration: Configuration) -> Self {
        let (primaries, central) = (configuration.primaries(), configuration.coordinator_of(me));
        let mut own = Coordinator::new(me, primaries.clone(), 1);
        own.let_begin(configuration.scheme.clients_coordinate());
        Self {
            catalog,
            configuration,
            primaries,
            central,
            own,
            me,
            next: 0,
            waiting: ById::default(),
            early: Vec::new(),
        }
    }

    /// The epoch of what it sends.
    pub fn epoch(&self) -> u64 {
        self.configuration.epoch
    }

    /// Sends a call; its number.
    ///
    /// # Errors
    /// When the catalog does not name the procedure.
    pub fn call<P: Procedure>(&mut self, procedure: P, now_us: u64, seed: u64, out: &mut Outbox) -> Result<u64, Error> {
        let arguments = Arguments::of(procedure);
        let now = Timestamp::from_micros(now_us as i64);
        let call = Call { procedure: self.catalog.number_of::<P>()?, arguments, now, seed };
        let route = self.catalog.route(&call, self.primaries.len()).map_err(Error::Config)?;
        let id = self.next;
        self.next += 1;
        self.waiting.insert(id, Waiting { call, home: route.home, at: None });
        self.send(id, route, now_us, out);
        Ok(id)
    }

    fn send(&mut self, id: u64, route: Route, now_us: u64, out: &mut Outbox) {
        let waiting = self.waiting.get_mut(&id).expect("it waits from when it is called");
        let call = waiting.call.clone();
        if route.partitions.is_power_of_two() {
            let primary = self.primaries[route.partitions.trailing_zeros() as usize];
            waiting.at = Some(primary);
            return out.send(primary, Message::Call { id, call });
        }
        let alone = self.configuration.scheme.clients_coordinate();
        waiting.at = (!alone).then_some(self.central);
        let submission = Submission { id, call, participants: route.partitions, shared: route.shared };
        if alone {
            self.own.submit(self.me, submission, now_us, out);
        } else {
            out.send(self.central, Message::Submit(submission));
        }
    }

    /// A message arrives; the calls that have ended.
    pub fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        if let Message::Configure(configuration) = packet.message {
            let mut ended = self.configure(configuration, now_us, out);
            let epoch = self.epoch();
            let due: Vec<_> = self.early.extract_if(.., |(_, packet)| packet.epoch <= epoch).collect();
            ended.extend(due.into_iter().flat_map(|(from, packet)| self.handle(from, packet, now_us, out)));
            return ended;
        }
        if packet.epoch > self.epoch() {
            if self.early.len() < MOST_EARLY {
                self.early.push((from, packet));
            }
            return Vec::new();
        }
        let admitted = self.configuration.admits(from, packet.epoch);
        match packet.message {
            // Who has lost its role can answer only what was certain before.
            Message::Result(_) if !admitted => Vec::new(),
            Message::Answer { id, outcome } => self.answered(id, outcome, now_us, out).into_iter().collect(),
            Message::Result(result) => self.hears(result, now_us, out),
            Message::HeardSoFar(heard) if admitted => {
                self.own.heard(from, heard);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Another configuration: of what waits at those who have lost their role, nobody knows the end.
    fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        if !next.follows(&self.configuration) {
            return Vec::new();
        }
        let since = |configuration: &Configuration| configuration.coordinator_since(self.central);
        let new_coordinator = since(&next) != since(&self.configuration);
        let lost = self.waiting.iter().filter(|(_, waiting)| match waiting.at {
            Some(Address::Coordinator(_)) => new_coordinator,
            Some(primary) => next.partitions.iter().all(|replicas| replicas.primary != primary),
            None => false,
        });
        let mut lost: Vec<_> = lost.map(|(&id, waiting)| (id, waiting.home)).collect();
        lost.sort_unstable();
        self.primaries = next.primaries();
        let another_scheme = next.scheme_since != self.configuration.scheme_since;
        self.configuration = next;
        self.own.let_begin(self.configuration.scheme.clients_coordinate());
        // What waits for locks would keep the partitions from another scheme.
        self.own.configure(&self.primaries, another_scheme, now_us, out);
        let ended = self.own.take_ended();
        let mut end = |(id, home)| {
            self.waiting.remove(&id);
            Answered { id, outcome: Outcome::Unknown, home }
        };
        let mut answered: Vec<_> = lost.into_iter().map(&mut end).collect();
        answered.extend(self.ended(ended, now_us, out));
        answered
    }

    /// A party cannot be reached any more: nobody knows the end of what waits there.
    pub fn lost(&mut self, party: Address) -> Vec<Answered> {
        let lost = self.waiting.extract_if(|_, waiting| waiting.at == Some(party));
        lost.map(|(id, waiting)| Answered { id, outcome: Outcome::Unknown, home: waiting.home }).collect()
    }

    /// The partition whose output of a call counts, while nobody has answered it.
    pub fn home(&self, id: u64) -> Option<u8> {
        self.waiting.get(&id).map(|waiting| waiting.home)
    }

    /// Whether this client coordinates its transactions of several partitions itself.
    pub fn coordinates(&self) -> bool {
        self.configuration.scheme.clients_coordinate()
    }

    /// Whether calls cannot end without this party. Any coordinator can have the turn.
    pub fn needs(&self, party: Address) -> bool {
        self.configuration.coordinator_since(party).is_some() || self.primaries.contains(&party)
    }

    fn hears(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        let ended = self.own.hears(result, now_us, out);
        self.ended(ended, now_us, out)
    }

    /// What this client's own coordinator ended.
    fn ended(&mut self, ended: Vec<Ended>, now_us: u64, out: &mut Outbox) -> Vec<Answered> {
        ended.into_iter().filter_map(|end| self.answered(end.id, end.outcome, now_us, out)).collect()
    }

    fn answered(&mut self, id: u64, outcome: Outcome, now_us: u64, out: &mut Outbox) -> Option<Answered> {
        let home = self.waiting.get(&id)?.home;
        if let Outcome::Elsewhere(partitions) = outcome {
            let (all, call) = (u64::MAX >> (64 - self.primaries.len()), &self.waiting[&id].call);
            // What it had declared need not be found out again.
            let route = self.catalog.route(call, self.primaries.len()).ok();
            let (declared, shared) = route.map_or((0, Vec::new()), |route| (route.partitions, route.shared));
            let partitions = (partitions | declared | 1 << home) & all;
            self.send(id, Route { partitions, home, shared }, now_us, out);
            return None;
        }
        self.waiting.remove(&id);
        Some(Answered { id, outcome, home })
    }

    /// Tries again what takes longer than so long: under locking and occ, it may be in a deadlock across partitions.
    pub fn give_up_waiting(&mut self, patience_us: u64, now_us: u64, out: &mut Outbox) {
        self.own.give_up_waiting(patience_us, now_us, out);
        let ended = self.own.take_ended();
        let answered = self.ended(ended, now_us, out);
        debug_assert!(answered.is_empty(), "what is given up is begun anew");
    }

    /// How often a transaction of this client's own coordination was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.own.retries()
    }

    /// The output of a call of this procedure, of all partitions' parts.
    ///
    /// # Errors
    /// The procedure's abort; an outcome that cannot be read.
    pub fn output<P: Procedure>(answered: Answered) -> Result<P::Output, Error> {
        let read = |output: Output| {
            let bad = |error| Error::Config(format!("the answer of procedure `{}` cannot be read: {error}", P::NAME));
            output.read::<P::Output>().map_err(bad)
        };
        match answered.outcome {
            Outcome::Done(mut parts) => {
                if parts.len() == 1 {
                    return read(parts.remove(0).1);
                }
                let home = parts.iter().position(|(partition, _)| *partition == answered.home).unwrap_or(0);
                if parts.is_empty() {
                    return Err(Error::Config("an answer without parts".to_owned()));
                }
                let mut output = read(parts.remove(home).1)?;
                for (_, part) in parts {
                    P::merge(&mut output, read(part)?);
                }
                Ok(output)
            }
            Outcome::Aborted(abort) => Err(Error::Aborted(abort)),
            Outcome::Elsewhere(_) => Err(Error::Config("a call ended on too few partitions".to_owned())),
            Outcome::Failed(why) => Err(Error::Config(why)),
            Outcome::Unknown => Err(Error::Uncertain(UNKNOWN.to_owned())),
        }
    }
}
