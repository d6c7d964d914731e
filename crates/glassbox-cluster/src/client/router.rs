//! A client's part: knows the catalog, sends each call where it has to go, and puts together what comes back.
//!
//! A call on one partition goes straight to its primary. One on several goes to the coordinator; under locking and occ
//! the client coordinates it itself. A procedure may turn out to need partitions that it had not declared: its call
//! then goes out again.

use std::collections::BTreeSet;
use std::sync::Arc;

use glassbox::record::Timestamp;
use glassbox::shard::{Call, Numbers, PartitionSet, Route, Stamp};
use glassbox::{Catalog, Error, Procedure};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use smallvec::{SmallVec, smallvec};

use crate::client::answered::Answered;
use crate::coordinator::commit::Coordinator;
use crate::coordinator::pending::Ended;
use crate::protocol::address::{Address, Life};
use crate::protocol::configuration::{Configuration, Replicas};
use crate::protocol::message::{FragmentResult, MOST_EARLY, Message, Outcome, Packet, Submission};
use crate::protocol::outbox::Outbox;

/// A client's connection to a cluster, without the connecting.
#[derive(Debug)]
pub struct Router {
    catalog: Arc<Catalog>,
    numbers: Numbers,
    configuration: Configuration,
    pub(crate) primaries: Vec<Address>,
    central: Address,
    /// This client's own: under locking and occ it begins transactions, otherwise it ends those that it has begun.
    pub(crate) own: Coordinator,
    me: Address,
    pub(crate) calls: SlotMap<DefaultKey, Called>,
    /// Added to the place of a call, it is the call's number: a program that had this one's address before had others.
    pub(crate) first: u64,
    /// Of these, how many have not ended.
    pub(crate) waiting: usize,
    /// Messages from configurations that are not here yet.
    early: Vec<(Address, Packet)>,
    /// Members that have not announced their configuration on their present connection.
    unannounced: BTreeSet<Address>,
}

/// The numbers of calls that have ended now. Most messages end one or none.
pub type EndedNow = SmallVec<[u64; 2]>;

#[derive(Debug)]
pub(crate) struct Called {
    home: u8,
    pub(crate) state: State,
    /// In this life of its the client has tried it itself.
    pub(crate) tried: bool,
}

#[derive(Debug)]
pub(crate) enum State {
    /// For whoever `at` is; `None`: this client's own coordinator.
    Waiting {
        call: Call,
        at: Option<Address>,
    },
    /// Not sent yet: a member that it needs has not announced its configuration.
    Held {
        call: Call,
        route: Box<Route>,
    },
    Ended(Outcome),
}

impl Router {
    /// A client of a cluster with this configuration. `life` is any number that no program has had before that had
    /// this address.
    pub fn new(me: Address, catalog: Arc<Catalog>, configuration: Configuration, life: u64) -> Self {
        let (primaries, central) = (configuration.primaries(), configuration.coordinator_of(me));
        let mut own = Coordinator::new(Life::new(me, life), primaries.clone());
        own.let_begin(configuration.scheme.clients_coordinate(), &mut Outbox::default());
        Self {
            numbers: catalog.procedure_numbers(),
            catalog,
            configuration,
            primaries,
            central,
            own,
            me,
            calls: SlotMap::new(),
            first: life,
            waiting: 0,
            early: Vec::new(),
            unannounced: BTreeSet::new(),
        }
    }

    /// Holds calls that need this member until it announces its configuration ([`Message::Configure`]).
    ///
    /// A call that is sent under an older configuration than the member's cannot be told from one that the member's
    /// predecessor received, so its outcome would be unknown.
    pub fn hold(&mut self, member: Address) {
        self.unannounced.insert(member);
    }

    /// Whether a call of this route needs a member that has not announced its configuration.
    #[inline]
    pub(crate) fn is_held(&self, route: &Route) -> bool {
        !self.unannounced.is_empty() && self.needs_unannounced(route)
    }

    #[cold]
    fn needs_unannounced(&self, route: &Route) -> bool {
        let mut primaries = route.partitions.iter().filter_map(|partition| self.primaries.get(partition));
        if self.primary_of(route).is_some() || self.coordinates() {
            return primaries.any(|primary| self.unannounced.contains(primary));
        }
        self.unannounced.contains(&self.central)
    }

    /// Sends the held calls whose members have announced their configurations since.
    #[cold]
    fn send_held(&mut self, now_us: u64, out: &mut Outbox) {
        let held = self.calls.iter().filter_map(|(key, called)| match &called.state {
            State::Held { call, route } => Some((key, call.clone(), route.clone())),
            _ => None,
        });
        for (key, call, route) in held.collect::<Vec<_>>() {
            let id = key.data().as_ffi().wrapping_add(self.first);
            self.send(id, call, *route, now_us, out);
        }
    }

    /// The place of a call with this number.
    fn key(&self, id: u64) -> DefaultKey {
        KeyData::from_ffi(id.wrapping_sub(self.first)).into()
    }

    /// The epoch of what it sends.
    pub fn epoch(&self) -> u64 {
        self.configuration.epoch
    }

    /// Sends a call; its number, for [`Router::take`].
    ///
    /// # Errors
    /// When the catalog does not name the procedure.
    pub fn call<P: Procedure>(&mut self, procedure: P, now_us: u64, seed: u64, out: &mut Outbox) -> Result<u64, Error> {
        let route = self.route(&procedure);
        Ok(self.call_on(procedure, self.stamp::<P>(now_us, seed)?, route, out))
    }

    /// What is assigned to a call, if the catalog names its procedure.
    #[inline(always)]
    pub(crate) fn stamp<P: Procedure>(&self, now_us: u64, seed: u64) -> Result<Stamp, Error> {
        let procedure = self.numbers.of::<P>().ok_or(Error::UnknownProcedure { name: P::NAME })?;
        Ok(Stamp { procedure, now: Timestamp::from_micros(now_us as i64), seed })
    }

    /// Where a call has to go.
    #[inline(always)]
    pub(crate) fn route(&self, procedure: &impl Procedure) -> Route {
        self.catalog.route_of(procedure, self.primaries.len())
    }

    /// Sends a call there; its number.
    pub(crate) fn call_on<P: Procedure>(&mut self, procedure: P, stamp: Stamp, route: Route, out: &mut Outbox) -> u64 {
        let (call, at) = (Call::new(procedure, stamp), self.primary_of(&route).filter(|_| !self.is_held(&route)));
        let called = Called { home: route.home, state: State::Waiting { call: call.clone(), at }, tried: false };
        let id = self.calls.insert(called).data().as_ffi().wrapping_add(self.first);
        self.waiting += 1;
        match at {
            Some(primary) => out.send(primary, Message::Call { id, call }),
            None => self.send(id, call, route, stamp.now.micros() as u64, out),
        }
        id
    }

    /// Where a call goes that is on one partition.
    pub(crate) fn primary_of(&self, route: &Route) -> Option<Address> {
        route.partitions.is_single().then(|| self.primaries[route.partitions.lowest()])
    }

    fn send(&mut self, id: u64, call: Call, route: Route, now_us: u64, out: &mut Outbox) {
        let (key, primary, is_held) = (self.key(id), self.primary_of(&route), self.is_held(&route));
        let called = self.calls.get_mut(key).expect("it waits from when it is called");
        if is_held {
            called.state = State::Held { call, route: Box::new(route) };
            return;
        }
        let alone = self.configuration.scheme.clients_coordinate();
        let at = primary.or_else(|| (!alone).then_some(self.central));
        match &mut called.state {
            State::Waiting { at: before, .. } => *before = at,
            held => *held = State::Waiting { call: call.clone(), at },
        }
        if let Some(primary) = primary {
            return out.send(primary, Message::Call { id, call });
        }
        let before = called.tried.then(|| self.own.life());
        called.tried |= alone;
        let submission = Submission { id, call, participants: route.partitions, shared: route.shared, before };
        if alone {
            self.own.submit(self.me, submission, now_us, out);
        } else {
            out.send(self.central, Message::Submit(Box::new(submission)));
        }
    }

    /// A message arrives; the calls that have ended.
    pub fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) -> EndedNow {
        if let Message::Configure(configuration) = packet.message {
            self.unannounced.remove(&from);
            let mut ended = self.configure(*configuration, now_us, out);
            self.send_held(now_us, out);
            let epoch = self.epoch();
            let due: Vec<_> = self.early.extract_if(.., |(_, packet)| packet.epoch <= epoch).collect();
            ended.extend(due.into_iter().flat_map(|(from, packet)| self.handle(from, packet, now_us, out)));
            return ended;
        }
        if packet.epoch > self.epoch() {
            if self.early.len() < MOST_EARLY {
                self.early.push((from, packet));
            }
            return EndedNow::new();
        }
        match packet.message {
            Message::Answer { id, outcome } => {
                self.answered(id, outcome, now_us, out).map_or_else(EndedNow::new, |id| smallvec![id])
            }
            // Who has lost its role can answer only what was certain before.
            _ if !self.configuration.admits(from, packet.epoch) => EndedNow::new(),
            Message::Result(result) => self.hears(*result, now_us, out),
            Message::HeardSoFar { life, heard } => {
                if life == self.own.life().number {
                    self.own.heard(from, heard);
                }
                EndedNow::new()
            }
            Message::Over(life) => self.is_over(life, out),
            _ => EndedNow::new(),
        }
    }

    /// Another configuration: of what waits at those who have lost their role, nobody knows the end.
    fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) -> EndedNow {
        if !next.follows(&self.configuration) {
            return EndedNow::new();
        }
        let since = |configuration: &Configuration| configuration.coordinator_since(self.central);
        let (before, replaced) = (self.configuration.partitions.clone(), next.replaced(&self.configuration));
        let new_coordinator = since(&next) != since(&self.configuration);
        let mut answered = self.lose(|at, _| match at {
            None => false,
            Some(Address::Coordinator(_)) => new_coordinator,
            Some(primary) => {
                let is_still = |(now, was): (&Replicas, &Replicas)| was.primary == primary && now.since == was.since;
                !next.partitions.iter().zip(&before).any(is_still)
            }
        });
        self.primaries = next.primaries();
        let another_scheme = next.scheme_since != self.configuration.scheme_since;
        self.configuration = next;
        self.own.let_begin(self.configuration.scheme.clients_coordinate(), out);
        // What waits for locks would keep the partitions from another scheme.
        let Self { own, configuration, .. } = self;
        own.configure(configuration, replaced, another_scheme, now_us, out);
        let ended = self.own.take_ended();
        answered.extend(self.ended(ended, now_us, out));
        answered
    }

    /// The end of a call, once; `None`: it has none yet.
    pub fn take(&mut self, id: u64) -> Option<Answered> {
        if !matches!(self.calls.get(self.key(id))?.state, State::Ended(_)) {
            return None;
        }
        let Called { home, state: State::Ended(outcome), .. } = self.calls.remove(self.key(id))? else { return None };
        Some(Answered { id, outcome, home })
    }

    /// Gives up a call that is held: it is not sent any more.
    pub(crate) fn drop_held(&mut self, id: u64) {
        if let Some(Called { state: State::Held { .. }, .. }) = self.calls.get(self.key(id)) {
            self.calls.remove(self.key(id));
            self.waiting -= 1;
        }
    }

    /// Calls that have not ended.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The partition whose output of a call counts, until it is taken.
    pub fn home(&self, id: u64) -> Option<u8> {
        self.calls.get(self.key(id)).map(|called| called.home)
    }

    /// Whether this client coordinates its transactions of several partitions itself.
    pub fn coordinates(&self) -> bool {
        self.configuration.scheme.clients_coordinate()
    }

    /// Whether calls cannot end without this party. Any coordinator can have the turn.
    pub fn needs(&self, party: Address) -> bool {
        self.configuration.coordinator_since(party).is_some() || self.primaries.contains(&party)
    }

    fn hears(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> EndedNow {
        if result.txn.coordinator == self.me && result.txn.life() != self.own.life() {
            // Nobody who has this address now will decide it.
            let primary = self.primaries.get(usize::from(result.partition));
            primary.into_iter().for_each(|&to| out.send(to, Message::Over(result.txn.life().number)));
            return EndedNow::new();
        }
        let ended = self.own.hears(result, now_us, out);
        self.ended(ended, now_us, out)
    }

    /// What this client's own coordinator ended.
    fn ended(&mut self, ended: Vec<Ended>, now_us: u64, out: &mut Outbox) -> EndedNow {
        ended.into_iter().filter_map(|end| self.answered(end.id, end.outcome, now_us, out)).collect()
    }

    /// The end of a call, if it is one; its number then.
    fn answered(&mut self, id: u64, outcome: Outcome, now_us: u64, out: &mut Outbox) -> Option<u64> {
        let called = self.calls.get_mut(self.key(id))?;
        let State::Waiting { call, .. } = &called.state else { return None };
        if let Outcome::Elsewhere(partitions) = outcome {
            let (all, call, home) = (PartitionSet::all(self.primaries.len()), call.clone(), called.home);
            // What it had declared need not be found out again.
            let route = self.catalog.route(&call, self.primaries.len()).ok();
            let (declared, shared) = route.map_or_else(Default::default, |route| (route.partitions, route.shared));
            let partitions = partitions.union(declared).with(home.into()).intersection(all);
            self.send(id, call, Route { partitions, home, shared }, now_us, out);
            return None;
        }
        called.state = State::Ended(outcome);
        self.waiting -= 1;
        Some(id)
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
}
