//! The router: knows the catalog and the configuration, sends each call to its destination, and collects outcomes.
//!
//! A single-partition call goes to the partition's primary. A distributed transaction goes to the coordinator, or under
//! locking and OCC to the client's own coordinator. A run may turn out to need partitions that the procedure did not
//! declare: its call is then routed again.

use std::collections::BTreeSet;
use std::sync::Arc;

use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, Output, PartitionSet, ProcedureNumbers, Route, Stamp};
use glassbox::{Catalog, Error, Procedure};
use slotmap::{DefaultKey, Key, KeyData, SlotMap};
use smallvec::{SmallVec, smallvec};

use crate::client::ordered_call::OrderedCall;
use crate::coordinator::commit::{Coordinator, Ended};
use crate::protocol::address::{Address, Session};
use crate::protocol::configuration::{Configuration, Replicas};
use crate::protocol::input::InputKeys;
use crate::protocol::message::{FragmentResult, MAX_EARLY_PACKETS, Message, Outcome, Packet, Submission};
use crate::protocol::outbox::Outbox;

/// A call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The number that [`Router::call`](crate::Router::call) gave it.
    pub id: u64,
    /// The outcome.
    pub outcome: Outcome,
    /// The home partition, whose output is the basis of the result.
    pub home: u8,
}

/// The reason of an unknown outcome.
const UNKNOWN: &str = "no answer arrived: the process that ran the call failed, was replaced, or lost its \
                       connection to the client";

impl Answered {
    /// The output of a call of this procedure, merged from all participants.
    ///
    /// # Errors
    /// The abort reason; the failure; an outcome that is unknown or cannot be decoded.
    pub fn output<P: Procedure>(self) -> Result<P::Output, Error> {
        let bad = |problem| Error::Protocol { problem };
        let unreadable = |error| bad(format!("the answer of procedure `{}` cannot be read: {error}", P::NAME));
        let read = |output: Output| output.read_or::<P::Output, _>(unreadable);
        match self.outcome {
            Outcome::Done(mut parts) => {
                if parts.len() == 1
                    && let Some((_, output)) = parts.pop()
                {
                    return read(output);
                }
                let home = parts.iter().position(|(partition, _)| *partition == self.home).unwrap_or(0);
                if parts.is_empty() {
                    return Err(bad("an answer has no parts".to_owned()));
                }
                let mut output = read(parts.remove(home).1)?;
                for (_, part) in parts {
                    P::merge(&mut output, read(part)?);
                }
                Ok(output)
            }
            Outcome::Aborted(reason) => Err(reason.into()),
            Outcome::Elsewhere(_) => Err(bad("a call ended on too few partitions".to_owned())),
            Outcome::Undeclared(..) => Err(bad("a call ended with too few keys".to_owned())),
            Outcome::Failed(failure) => Err((*failure).into()),
            Outcome::Unknown => Err(Error::OutcomeUnknown { reason: UNKNOWN.to_owned() }),
        }
    }
}

/// A client's state machine.
#[derive(Debug)]
pub struct Router {
    pub(crate) catalog: Arc<Catalog>,
    numbers: ProcedureNumbers,
    pub(crate) configuration: Configuration,
    pub(crate) primaries: Vec<Address>,
    pub(crate) central: Address,
    /// The client's own coordinator: active under locking and OCC, otherwise it only finishes what it has begun.
    pub(crate) own: Coordinator,
    me: Address,
    pub(crate) calls: SlotMap<DefaultKey, Called>,
    /// The offset of call numbers: a predecessor with the same address used others.
    pub(crate) first: u64,
    /// The number of calls that have not ended.
    pub(crate) waiting: usize,
    /// Packets of later configurations.
    early: Vec<(Address, Packet)>,
    /// Whether all calls go to the sequencer.
    pub(crate) is_ordered: bool,
    /// Restarts because of a key outside of a call's set.
    pub(crate) undeclared: u64,
    /// Members that have not announced their configuration on their present connection.
    unannounced: BTreeSet<Address>,
}

/// The numbers of calls that a message ended; mostly one or none.
pub type EndedCalls = SmallVec<[u64; 2]>;

#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) home: u8,
    pub(crate) state: CallState,
    /// Whether the client's present session has coordinated an attempt of it.
    pub(crate) tried: bool,
    /// Under a deterministic scheme.
    pub(crate) ordered: Option<Box<OrderedCall>>,
}

#[derive(Debug)]
pub(crate) enum CallState {
    /// Sent to `at`; `None`: to this client's own coordinator.
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
    /// A client of a cluster with this configuration. `session` is a number that no predecessor with this address had.
    pub fn new(me: Address, catalog: Arc<Catalog>, configuration: Configuration, session: u64) -> Self {
        let (primaries, central) = (configuration.primaries(), configuration.coordinator_of(me));
        let is_ordered = configuration.scheme.is_deterministic();
        let mut own = Coordinator::new(Session::new(me, session), primaries.clone());
        own.set_active(configuration.scheme.clients_coordinate(), &mut Outbox::default());
        own.visits_in_order = configuration.scheme.visits_in_order();
        Self {
            numbers: catalog.procedure_numbers(),
            catalog,
            configuration,
            primaries,
            central,
            own,
            me,
            calls: SlotMap::new(),
            first: session,
            waiting: 0,
            early: Vec::new(),
            is_ordered,
            undeclared: 0,
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
        let is_unannounced = |party: &Address| self.unannounced.contains(party);
        if self.primary_of(route).is_some() || self.coordinates() {
            return primaries.any(is_unannounced);
        }
        // Any replica of a participant answers.
        let is_deaf = |partition: usize| {
            self.configuration.partitions.get(partition).is_some_and(|it| it.all().all(|(it, _)| is_unannounced(&it)))
        };
        is_unannounced(&self.central) || self.is_ordered && route.partitions.iter().any(is_deaf)
    }

    /// Sends the held calls whose members have announced their configurations since.
    #[cold]
    fn send_held(&mut self, now_us: u64, out: &mut Outbox) {
        let held = self.calls.iter().filter_map(|(key, called)| match &called.state {
            CallState::Held { call, route } => Some((key, call.clone(), route.clone())),
            _ => None,
        });
        for (key, call, route) in held.collect::<Vec<_>>() {
            let id = key.data().as_ffi().wrapping_add(self.first);
            self.send(id, call, *route, now_us, out);
        }
    }

    /// The slot of a call with this number.
    pub(crate) fn key(&self, id: u64) -> DefaultKey {
        KeyData::from_ffi(id.wrapping_sub(self.first)).into()
    }

    /// The client's epoch.
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

    /// The stamp of a call, if the catalog names its procedure.
    #[inline(always)]
    pub(crate) fn stamp<P: Procedure>(&self, now_us: u64, seed: u64) -> Result<Stamp, Error> {
        let procedure = self.numbers.of::<P>().ok_or(Error::UnknownProcedure { name: P::NAME })?;
        Ok(Stamp { procedure, now: Timestamp::from_micros(now_us as i64), seed })
    }

    /// The route of a call.
    #[inline(always)]
    pub(crate) fn route(&self, procedure: &impl Procedure) -> Route {
        self.catalog.route_of(procedure, self.primaries.len())
    }

    /// Sends a call along a route; its number.
    pub(crate) fn call_on<P: Procedure>(&mut self, procedure: P, stamp: Stamp, route: Route, out: &mut Outbox) -> u64 {
        let (call, at) = (Call::new(procedure, stamp), self.primary_of(&route).filter(|_| !self.is_held(&route)));
        let state = CallState::Waiting { call: call.clone(), at };
        let called = Called { home: route.home, state, tried: false, ordered: None };
        let id = self.calls.insert(called).data().as_ffi().wrapping_add(self.first);
        self.waiting += 1;
        match at {
            Some(primary) => out.send(primary, Message::Call { id, call }),
            None => self.send(id, call, route, stamp.now.micros() as u64, out),
        }
        id
    }

    /// The primary of a single-partition route, if calls go there.
    pub(crate) fn primary_of(&self, route: &Route) -> Option<Address> {
        let goes = route.partitions.is_single() && !self.is_ordered;
        goes.then(|| self.primaries[route.partitions.lowest()])
    }

    fn send(&mut self, id: u64, call: Call, route: Route, now_us: u64, out: &mut Outbox) {
        let (key, primary, is_held) = (self.key(id), self.primary_of(&route), self.is_held(&route));
        let called = self.calls.get_mut(key).expect("it waits from when it is called");
        if is_held {
            called.state = CallState::Held { call, route: Box::new(route) };
            return;
        }
        let alone = self.configuration.scheme.clients_coordinate();
        let at = primary.or_else(|| (!alone).then_some(self.central));
        match &mut called.state {
            CallState::Waiting { at: before, .. } => *before = at,
            held => *held = CallState::Waiting { call: call.clone(), at },
        }
        if let Some(primary) = primary {
            return out.send(primary, Message::Call { id, call });
        }
        if self.is_ordered {
            return self.send_ordered(id, call, &route, out);
        }
        let before = called.tried.then(|| self.own.session());
        called.tried |= alone;
        let Route { partitions: participants, shared, .. } = route;
        let (attempt, version, keys) = (0, 0, InputKeys::Declared);
        let submission = Submission { id, call, participants, shared, before, attempt, version, keys };
        if alone {
            self.own.submit(self.me, submission, now_us, out);
        } else {
            out.send(self.central, Message::Submit(Box::new(submission)));
        }
    }

    /// Receives a message; the calls that it ends.
    pub fn handle(&mut self, from: Address, packet: Packet, now_us: u64, out: &mut Outbox) -> EndedCalls {
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
            if self.early.len() < MAX_EARLY_PACKETS {
                self.early.push((from, packet));
            }
            return EndedCalls::new();
        }
        match packet.message {
            Message::Answer { id, outcome } => {
                self.answered(id, outcome, now_us, out).map_or_else(EndedCalls::new, |id| smallvec![id])
            }
            Message::PartialAnswer { id, attempt, outcome } => {
                self.partially_answered((id, attempt), outcome, now_us, out).into_iter().collect()
            }
            Message::Reconnoitred(result) => self.reconnoitred(*result, now_us, out).into_iter().collect(),
            // A member that has lost its role can only answer calls.
            _ if !self.configuration.admits(from, packet.epoch) => EndedCalls::new(),
            Message::Result(result) => self.on_result(*result, now_us, out),
            Message::DecisionAcks { session, received } => {
                if session == self.own.session().number {
                    self.own.acked(from, received);
                }
                EndedCalls::new()
            }
            Message::SessionOver(session) => self.on_session_over(session, out),
            Message::Deadlock(txn) => {
                self.own.on_deadlock(txn, now_us, out);
                let ended = self.own.take_ended();
                self.ended(ended, now_us, out)
            }
            _ => EndedCalls::new(),
        }
    }

    /// Adopts another configuration. Calls that were sent to members that have lost their roles have an unknown
    /// outcome.
    fn configure(&mut self, next: Configuration, now_us: u64, out: &mut Outbox) -> EndedCalls {
        if !next.follows(&self.configuration) {
            return EndedCalls::new();
        }
        let since = |configuration: &Configuration| configuration.coordinator_since(self.central);
        let (before, replaced) = (self.configuration.partitions.clone(), next.replaced(&self.configuration));
        let new_coordinator = since(&next) != since(&self.configuration);
        let has_lost = |called: &Called| called.ordered.as_ref().is_some_and(|it| it.is_lost(&next.partitions));
        let mut answered = self.end_unknown(|at, called| match at {
            _ if has_lost(called) => true,
            None => false,
            Some(Address::Coordinator(_)) => new_coordinator,
            Some(primary) => {
                let is_still = |(now, was): (&Replicas, &Replicas)| was.primary == primary && now.since == was.since;
                !next.partitions.iter().zip(&before).any(is_still)
            }
        });
        self.primaries = next.primaries();
        let another_scheme = next.scheme_since != self.configuration.scheme_since;
        self.central = next.coordinator_of(self.me);
        self.configuration = next;
        self.own.set_active(self.configuration.scheme.clients_coordinate(), out);
        self.own.visits_in_order = self.configuration.scheme.visits_in_order();
        // Transactions that wait for locks would delay the change of the scheme.
        let Self { own, configuration, .. } = self;
        own.configure(configuration, replaced, another_scheme, now_us, out);
        let ended = self.own.take_ended();
        answered.extend(self.ended(ended, now_us, out));
        answered
    }

    /// The outcome of a call, once; `None`: it has not ended.
    pub fn take(&mut self, id: u64) -> Option<Answered> {
        if !matches!(self.calls.get(self.key(id))?.state, CallState::Ended(_)) {
            return None;
        }
        let Called { home, state: CallState::Ended(outcome), .. } = self.calls.remove(self.key(id))? else {
            return None;
        };
        Some(Answered { id, outcome, home })
    }

    /// Gives up a held call: it will not be sent.
    pub(crate) fn drop_held(&mut self, id: u64) {
        if let Some(Called { state: CallState::Held { .. }, .. }) = self.calls.get(self.key(id)) {
            self.calls.remove(self.key(id));
            self.waiting -= 1;
        }
    }

    /// The number of calls that have not ended.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The home partition of a call, until the outcome is taken.
    pub fn home(&self, id: u64) -> Option<u8> {
        self.calls.get(self.key(id)).map(|called| called.home)
    }

    /// Whether this client coordinates its distributed transactions itself.
    pub fn coordinates(&self) -> bool {
        self.configuration.scheme.clients_coordinate()
    }

    /// Whether calls may depend on this party. Any coordinator can have the turn.
    pub fn needs(&self, party: Address) -> bool {
        let is_primary = || self.primaries.contains(&party);
        let others = |partition: u8| self.configuration.partitions[usize::from(partition)].backups.len();
        // Under a deterministic scheme any replica answers.
        let is_alone = || !self.is_ordered || party.partition().is_some_and(|partition| others(partition) == 0);
        self.configuration.coordinator_since(party).is_some() || is_primary() && is_alone()
    }

    fn on_result(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> EndedCalls {
        if result.txn.coordinator == self.me && result.txn.session() != self.own.session() {
            // The result belongs to a predecessor's session, which has ended.
            let primary = self.primaries.get(usize::from(result.partition));
            primary.into_iter().for_each(|&to| out.send(to, Message::SessionOver(result.txn.session().number)));
            return EndedCalls::new();
        }
        let ended = self.own.on_result(result, now_us, out);
        self.ended(ended, now_us, out)
    }

    /// Outcomes of this client's own coordinator.
    fn ended(&mut self, ended: Vec<Ended>, now_us: u64, out: &mut Outbox) -> EndedCalls {
        ended.into_iter().filter_map(|end| self.answered(end.id, end.outcome, now_us, out)).collect()
    }

    /// Receives the outcome of a call; its number if that ends it.
    pub(crate) fn answered(&mut self, id: u64, outcome: Outcome, now_us: u64, out: &mut Outbox) -> Option<u64> {
        let called = self.calls.get_mut(self.key(id))?;
        let CallState::Waiting { call, .. } = &called.state else { return None };
        if let Outcome::Elsewhere(partitions) = outcome {
            let (all, call, home) = (PartitionSet::all(self.primaries.len()), call.clone(), called.home);
            // The declared partitions and rows need not be discovered again.
            let route = self.catalog.route(&call, self.primaries.len()).ok();
            let (declared, shared) = route.map_or_else(Default::default, |route| (route.partitions, route.shared));
            let partitions = partitions.union(declared).with(home.into()).intersection(all);
            let is_complete = false;
            self.send(id, call, Route { partitions, home, shared, is_complete }, now_us, out);
            return None;
        }
        called.state = CallState::Ended(outcome);
        self.waiting -= 1;
        Some(id)
    }

    /// Restarts transactions that exceed their timeout: under locking and OCC they may be in a distributed deadlock.
    pub fn restart_timed_out(&mut self, patience_us: u64, now_us: u64, out: &mut Outbox) {
        self.own.restart_timed_out(patience_us, now_us, out);
        let ended = self.own.take_ended();
        let answered = self.ended(ended, now_us, out);
        debug_assert!(answered.is_empty(), "a timeout restarts transactions");
    }

    /// The number of restarts: of transactions that this client coordinates, or of calls that touched a key outside of
    /// their set.
    pub fn retries(&self) -> u64 {
        self.own.retries() + self.undeclared
    }
}
