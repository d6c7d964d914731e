//! Virtual time: ordered events, and nodes that work serially.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use glassbox::Catalog;
use glassbox::research::shard::Shard;
use glassbox_cluster::auto::Advisor;
use glassbox_cluster::{
    Action, Address, Configuration, Input, InputId, MakeShard, Member, Message, Outbox, Packet, Role, Router,
    SchemeKind,
};

use super::canary::Canary;
use super::client::{Client, Finished};
use super::disk::Disk;
use super::event::{Event, Fault, Flying};
use super::link::Links;
use super::node::{Machine, Node};
use super::processors::Processors;
use super::settings::Settings;
use super::workload::{CallOf, OutputOf, Workload};
use glassbox_testing::dice::Dice;

/// The results of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Calls that ended.
    pub finished: u64,
    /// Calls that ended in a second of virtual time.
    pub per_second: f64,
    /// Restarts of transactions because of deadlocks.
    pub retries: u64,
    /// Distributed calls that ended.
    pub several: u64,
}

/// A simulated cluster and its clients.
pub struct World<W: Workload = glassbox_workloads::micro::Load> {
    pub(super) settings: Settings<W>,
    pub(super) catalog: Arc<Catalog>,
    /// The newest configuration.
    pub(super) configuration: Configuration,
    pub(super) now_ns: u64,
    /// By time, then in the order of creation.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    /// When members that always tick come to rest.
    awake_until_ns: u64,
    /// Faults among them.
    planned: u64,
    /// Messages in flight, by number.
    pub(super) flying: BTreeMap<u64, Flying>,
    /// Broken connections that the first party has not noticed yet: nothing gets through to the second.
    pub(super) broken: BTreeSet<(Address, Address)>,
    pub(super) nodes: BTreeMap<Address, Node<W>>,
    pub(super) lives: u64,
    pub(super) links: Links,
    pub(super) dice: Dice,
    canary: Canary,
    pub(super) processors: Processors,
    pub(super) advisor: Option<Advisor>,
    pub(super) switches_made: u64,
    trace: Option<Vec<String>>,
    /// Inputs that a sequencer has sent.
    pub(super) log: BTreeMap<InputId, Input>,
    pub(super) disks: BTreeMap<Address, Disk>,
    /// What members have told the operator.
    pub reports: Vec<String>,
    /// Members with a journal that have taken the rows of another one.
    pub joined: u32,
}

/// How long members tick after everything has ended: some elections.
const REST_AFTER_NS: u64 = 100_000_000;

/// Clients that wait for longer than this, when none makes another call, wait for ever.
const MAX_REST_NS: u64 = 10_000_000_000;
/// Events in which at least one of the waiting clients gets its answer; and how many times that.
const ROUND_EVENTS: u32 = 1_000_000;
const MAX_ROUNDS: u32 = 10;

impl<W: Workload> World<W> {
    /// A cluster at its beginning.
    ///
    /// # Panics
    /// When no scheme can have these settings.
    pub fn new(settings: Settings<W>) -> Self {
        let is_two_phase = matches!(settings.scheme, SchemeKind::TwoPhase(_)) && settings.switches == 0;
        assert!(is_two_phase || !settings.order.without_commit, "`without_commit` needs a two-phase scheme");
        let mut world = Self {
            settings,
            catalog: Arc::new(W::catalog()),
            configuration: settings.configuration(),
            now_ns: 0,
            events: BinaryHeap::new(),
            made: 0,
            awake_until_ns: 0,
            planned: 0,
            flying: BTreeMap::new(),
            broken: BTreeSet::new(),
            nodes: BTreeMap::new(),
            lives: 0,
            links: Links::new(settings.link),
            dice: Dice(settings.seed),
            canary: Canary::default(),
            processors: Processors::new(settings.processors),
            advisor: (settings.advice_us > 0).then(|| Advisor::new(settings.scheme)),
            switches_made: 0,
            trace: None,
            log: BTreeMap::new(),
            disks: BTreeMap::new(),
            reports: Vec::new(),
            joined: 0,
        };
        for partition in 0..settings.partitions {
            for replica in 0..settings.replicas {
                world.add_replica(Address::Replica { partition, replica }, true);
            }
        }
        for number in 0..settings.coordinators {
            world.add_coordinator(Address::Coordinator(number));
        }
        for number in 0..settings.clients {
            world.add_client(number);
        }
        world.schedule(settings.patience_us * 1_000, Event::LosePatience);
        world.schedule(settings.advice_us * 1_000, Event::Advise);
        world
    }

    /// Records all events from now on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The recorded events, one a line.
    pub fn traced(&self) -> String {
        self.trace.as_ref().map_or_else(String::new, |lines| lines.join("\n"))
    }

    pub(super) fn client(&mut self, number: u32) -> &mut Client<W> {
        match self.nodes.get_mut(&Address::Client(number)).map(|node| &mut node.machine) {
            Some(Machine::Client(client)) => client.as_mut(),
            _ => unreachable!("clients are numbered from 0"),
        }
    }

    pub(super) fn schedule_fault(&mut self, at_us: u64, fault: Fault) {
        self.schedule(at_us * 1_000, Event::Fault(fault));
    }

    pub(super) fn schedule(&mut self, at_ns: u64, event: Event) {
        self.made += 1;
        self.planned += u64::from(matches!(event, Event::Fault(_)));
        self.events.push(Reverse((at_ns, self.made, event)));
    }

    /// Charges a node's actions from `now_ns` on, and sends its messages; the time at which it is done.
    pub(super) fn carry_out(&mut self, from: Address, now_ns: u64, out: Outbox) -> u64 {
        let (mut at_ns, mut leaving) = (now_ns, Vec::new());
        for action in out.actions {
            let node = self.nodes.get_mut(&from).expect("it was there when it did that");
            at_ns += node.charge(&action, &self.settings.costs);
            if self.journal(from, at_ns, &action) {
                continue;
            }
            let node = &self.nodes[&from];
            let (epoch, to, message) = match action {
                Action::Send(to, message) => (node.epoch(), to, message),
                Action::SendEarlier(epoch, to, message) => (epoch, to, message),
                _ => continue,
            };
            if let Message::Inputs(batch) = &message {
                let id = |index| InputId { epoch: batch.epoch, index };
                self.log.extend(batch.inputs.iter().map(|input| (id(input.index), input.clone())));
            }
            let (message, back) = match self.settings.bug {
                Some(bug) => self.canary.change(bug, to, message, &mut self.dice),
                None => (Some(message), None),
            };
            match message {
                Some(message) if self.settings.costs.has_batches() => leaving.push((to, Packet { epoch, message })),
                Some(message) => self.send(from, to, at_ns, Some(Packet { epoch, message })),
                None => {}
            }
            if let Some(message) = back {
                self.send(to, from, at_ns, Some(Packet { epoch, message }));
            }
        }
        at_ns = self.send_batches(from, at_ns, leaving);
        self.journal_configuration(from, at_ns);
        self.tell_clients(from, at_ns);
        at_ns
    }

    /// Sends what a node has for others at the end of a step, one message for each of them; when it is done.
    fn send_batches(&mut self, from: Address, at_ns: u64, leaving: Vec<(Address, Packet)>) -> u64 {
        let (mut at_ns, costs) = (at_ns, self.settings.costs);
        if costs.has_batches() {
            let node = self.nodes.get_mut(&from).expect("it was there when it did that");
            let leaving = node.batch.end_step(leaving);
            at_ns += leaving.iter().map(|(.., more)| if *more { 0 } else { node.message_ns(&costs) }).sum::<u64>();
            for (to, packet, more) in leaving {
                self.send_with_more(from, to, at_ns, (Some(packet), more));
            }
        }
        at_ns
    }

    pub(super) fn send(&mut self, from: Address, to: Address, at_ns: u64, packet: Option<Packet>) {
        self.send_with_more(from, to, at_ns, (packet, false));
    }

    /// Sends a packet; whether others follow it in the same batch.
    fn send_with_more(&mut self, from: Address, to: Address, at_ns: u64, packet: (Option<Packet>, bool)) {
        if self.broken.contains(&(from, to)) {
            return;
        }
        if self.is_away(to) || matches!(to, Address::Client(_)) && self.broken.contains(&(to, from)) {
            return self.fly(to, from, (None, false), at_ns);
        }
        let arrival = self.links.arrival(from, to, at_ns, &mut self.dice);
        self.fly(from, to, packet, arrival);
    }

    pub(super) fn fly(&mut self, from: Address, to: Address, (packet, more): (Option<Packet>, bool), arrival: u64) {
        let Some(life) = self.nodes.get(&to).map(|node| node.life) else { return };
        self.flying.insert(self.made, Flying { from, to, life, packet, more });
        self.schedule(arrival, Event::Arrives { number: self.made });
    }

    /// Lets the next event happen; `false`: there is none.
    fn step(&mut self) -> bool {
        let Some(Reverse((at_ns, _, event))) = self.events.pop() else { return false };
        self.now_ns = at_ns;
        match event {
            Event::Arrives { number } => {
                // It was lost with its connection.
                let Some(Flying { from, to, life, packet, more }) = self.flying.remove(&number) else { return true };
                self.note(|| format!("{at_ns} {from} -> {to}: {packet:?}"));
                if packet.is_none() {
                    self.broken.remove(&(to, from));
                }
                let coordinators_first = self.settings.coordinators_first;
                if let Some(node) = self.nodes.get_mut(&to).filter(|node| node.life == life) {
                    node.receive(from, (packet, more), coordinators_first);
                    self.work(to);
                }
            }
            Event::Ready { at, life } => {
                // A party keeps its processor while it has work.
                match self.nodes.get_mut(&at).filter(|node| node.life == life) {
                    Some(node) => {
                        node.busy = false;
                        self.go_on(at);
                    }
                    None => self.give_way(at),
                }
            }
            Event::LosePatience => self.lose_patience(),
            Event::CallAgain { client: number } => {
                let mut out = Outbox::default();
                self.client(number).call(at_ns, &mut out);
                self.carry_out(Address::Client(number), at_ns, out);
            }
            Event::Tick { at, life } => self.tick(at, life),
            Event::Advise => {
                self.advise();
                self.schedule_while_waiting(self.settings.advice_us, Event::Advise);
            }
            Event::Forced { at, life, upto } => self.forced(at, life, upto),
            Event::Based { at, life } => self.based(at, life),
            Event::Fault(fault) => {
                self.planned -= 1;
                self.note(|| format!("{at_ns} {fault:?}"));
                self.happen(fault);
            }
        }
        true
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Runs for this time.
    pub fn run_us(&mut self, us: u64) -> Measured {
        let finished = self.finished();
        let several = self.several();
        let retries = self.retries();
        let end_ns = self.now_ns + us * 1_000;
        while self.events.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= end_ns) {
            self.step();
        }
        self.now_ns = end_ns;
        let finished = self.finished() - finished;
        let per_second = finished as f64 * 1e6 / us as f64;
        Measured { finished, per_second, retries: self.retries() - retries, several: self.several() - several }
    }

    /// The clients that wait for an answer.
    fn waiting(&mut self) -> Vec<u32> {
        (0..self.settings.clients).filter(|&number| self.client(number).is_waiting()).collect()
    }

    /// Lets the clients make no more calls, and everything active finish.
    ///
    /// # Errors
    /// When something never ends.
    pub fn finish(&mut self) -> Result<(), String> {
        for number in 0..self.settings.clients {
            self.client(number).ends = true;
        }
        // Sequencers that order by their clocks go on while a client waits.
        let until_ns = if self.settings.always_tick() { self.now_ns + MAX_REST_NS } else { u64::MAX };
        for _ in 0..MAX_ROUNDS {
            let finished = self.finished();
            let has_more = (0..ROUND_EVENTS).all(|_| self.step() && self.now_ns <= until_ns);
            if !has_more || self.finished() == finished && !self.waiting().is_empty() {
                break;
            }
        }
        let waiting = self.waiting();
        if waiting.is_empty() {
            return Ok(());
        }
        Err(format!("progress: clients {waiting:?} wait for ever: {}", self.leftovers().join("; ")))
    }
}

// Parties: added at the beginning of a world, or as successors.

impl<W: Workload> World<W> {
    /// Adds a replica: with the initial rows, or a restarted one without rows.
    pub(super) fn add_replica(&mut self, address: Address, first: bool) {
        let make = self.empty_shard(address);
        self.stop_disk(address);
        let (configuration, mut out) = (self.configuration.clone(), Outbox::default());
        let member = if first {
            let mut shard = make().expect("a small shard");
            W::fill(&self.settings, &mut shard);
            Member::replica(address, configuration, shard, make)
        } else {
            Member::returning(address, configuration, make, &mut out)
        };
        let mut member = self.set_up(member);
        if self.settings.journals {
            member.begin_journal(&mut out);
        }
        if self.settings.advice_us > 0 {
            member.sample();
        }
        self.add(address, Machine::Member(Box::new(member)));
        self.carry_out(address, self.now_ns, out);
    }

    /// A member with the settings of the world.
    pub(super) fn set_up(&self, member: Member) -> Member {
        let member = member.with_order(self.settings.order).with_coordinators(self.settings.coordinators);
        if let Some(make) = self.settings.scheduler { member.with_scheduler(make) } else { member }
    }

    /// Makes shards without rows, of a replica's partition; a sequencer's has none ever.
    pub(super) fn empty_shard(&self, member: Address) -> MakeShard {
        let partition = usize::from(member.partition().unwrap_or_default());
        let (catalog, count) = (Arc::clone(&self.catalog), usize::from(self.settings.partitions));
        Arc::new(move || Ok(Shard::new(&catalog, partition, count, W::TABLE_BYTES).expect("a small shard")))
    }

    pub(super) fn add_client(&mut self, number: u32) {
        let caller = W::caller(&self.settings, number);
        let router = self.router(number);
        let mut client = Client::new(number, router, caller);
        let mut out = Outbox::default();
        client.call(0, &mut out);
        self.add(Address::Client(number), Machine::Client(Box::new(client)));
        self.carry_out(Address::Client(number), 0, out);
    }

    /// The initial state of a client.
    pub(super) fn router(&mut self, number: u32) -> Router {
        // A client counts on from there in its later sessions.
        let life = self.lives << 8;
        Router::new(Address::Client(number), Arc::clone(&self.catalog), self.configuration.clone(), life)
    }

    pub(super) fn add(&mut self, address: Address, machine: Machine<W>) {
        self.lives += 1;
        // A new party finds out by itself which others are absent.
        self.broken.retain(|(at, _)| *at != address);
        let mut node = Node::new(machine, self.lives);
        if self.settings.clock_skew_us > 0 && address.is_member() {
            node.fast_us = Dice(self.settings.seed ^ self.lives << 32).below(self.settings.clock_skew_us);
        }
        self.nodes.insert(address, node);
        self.schedule_tick(address);
    }
}

// Processors: work of parties that share them.

impl<W: Workload> World<W> {
    /// Lets an idle node work.
    pub(super) fn work(&mut self, address: Address) {
        if self.nodes.get(&address).is_none_or(|node| node.busy) {
            return;
        }
        if self.processors.take(address) {
            self.go_on(address);
        }
    }

    /// Lets a node that has a processor, if it needs one, take its next step, or release it.
    pub(super) fn go_on(&mut self, address: Address) {
        let Some(node) = self.nodes.get_mut(&address) else { return self.give_way(address) };
        let mut out = Outbox::default();
        let received_ns = node.receiving_ns(&self.settings.costs);
        if !node.work(self.now_ns, &mut out) {
            return self.give_way(address);
        }
        node.busy = true;
        let life = node.life;
        let done_ns = self.carry_out(address, self.now_ns + received_ns, out);
        self.begin_due_base(address);
        self.go_on_ticking(address);
        self.schedule_call(address);
        let worked_ns = done_ns - self.now_ns;
        self.nodes.get_mut(&address).expect("it was there a moment ago").worked_ns += worked_ns;
        self.schedule(done_ns, Event::Ready { at: address, life });
    }

    /// Schedules the next call of a client that pauses.
    fn schedule_call(&mut self, address: Address) {
        if let Address::Client(number) = address
            && let Some(at_ns) = self.client(number).calls_at_ns.take()
        {
            self.schedule(at_ns, Event::CallAgain { client: number });
        }
    }

    /// Lets queued parties work.
    pub(super) fn give_way(&mut self, address: Address) {
        for waiting in self.processors.give_back(address) {
            self.work(waiting);
        }
    }
}

// Timeouts of clients, and other periodic events, which are scheduled as long as a client waits.

impl<W: Workload> World<W> {
    /// Schedules what a member has to do later.
    fn schedule_tick(&mut self, at: Address) {
        let Some(node) = self.nodes.get_mut(&at) else { return };
        let Machine::Member(member) = &node.machine else { return };
        // A tick that is scheduled before will look again.
        let is_sooner = |next_us: &u64| node.tick_us.is_none_or(|scheduled_us| scheduled_us > *next_us);
        let next_us = member.next_tick_us().filter(is_sooner);
        if let Some(next_us) = next_us {
            node.tick_us = Some(next_us);
            let (life, at_us) = (node.life, next_us.saturating_sub(node.fast_us));
            self.schedule((at_us * 1_000).max(self.now_ns), Event::Tick { at, life });
        }
    }

    fn tick(&mut self, at: Address, life: u64) {
        let now_ns = self.now_ns;
        let Some(node) = self.nodes.get_mut(&at).filter(|node| node.life == life) else { return };
        node.tick_us = None;
        let (Machine::Member(member), mut out) = (&mut node.machine, Outbox::default()) else { return };
        member.tick(now_ns / 1_000 + node.fast_us, &mut out);
        let done_ns = self.carry_out(at, now_ns, out);
        if let (true, Some(node)) = (self.settings.costs.has_batches(), self.nodes.get_mut(&at)) {
            node.batch.owed_ns += done_ns - now_ns;
        }
        self.go_on_ticking(at);
    }

    /// A sequencer that orders by its clock always has something to do: it rests once nothing else is under way.
    fn go_on_ticking(&mut self, at: Address) {
        let is_scheduled = self.nodes.get(&at).is_some_and(|node| node.tick_us.is_some());
        if !self.settings.always_tick() || !is_scheduled && self.is_awake() {
            self.schedule_tick(at);
        }
    }

    /// Whether something is under way, or was a moment ago: a partition that has its place again does not know yet
    /// which inputs it lacks.
    fn is_awake(&mut self) -> bool {
        if self.is_under_way() {
            self.awake_until_ns = self.now_ns + REST_AFTER_NS;
        }
        self.now_ns < self.awake_until_ns
    }

    /// Whether clients wait, or members have something to finish or to repair.
    fn is_under_way(&mut self) -> bool {
        self.is_waited_for() || self.planned > 0 || !self.leftovers().is_empty()
    }

    fn is_waited_for(&mut self) -> bool {
        (0..self.settings.clients).any(|number| self.client(number).is_waiting())
    }

    /// When everything has ended nothing is scheduled, so that the world comes to rest.
    pub(super) fn schedule_while_waiting(&mut self, in_us: u64, event: Event) {
        if in_us > 0 && self.is_waited_for() {
            self.schedule(self.now_ns + in_us * 1_000, event);
        }
    }
}

// Results: the clients' histories, and the members' states.

impl<W: Workload> World<W> {
    /// The total working time of a party; a step in progress counts in full.
    pub fn worked_ns(&self, address: Address) -> u64 {
        self.nodes.get(&address).map_or(0, |node| node.worked_ns)
    }

    /// The part of it that locks cost.
    pub fn locked_ns(&self, address: Address) -> u64 {
        self.nodes.get(&address).map_or(0, |node| node.locked_ns)
    }

    pub(super) fn finished(&mut self) -> u64 {
        (0..self.settings.clients).map(|number| self.client(number).finished).sum()
    }

    pub(super) fn several(&mut self) -> u64 {
        (0..self.settings.clients).map(|number| self.client(number).several).sum()
    }

    pub(super) fn retries(&mut self) -> u64 {
        let own: u64 = (0..self.settings.clients).map(|number| self.client(number).retries()).sum();
        let central = self.nodes.values().map(|node| match &node.machine {
            Machine::Member(member) => match member.role() {
                Role::Coordinator(coordinator) => coordinator.retries(),
                _ => 0,
            },
            Machine::Client(_) => 0,
        });
        own + central.sum::<u64>()
    }

    /// Has a party take so many times as long for its work.
    pub fn slow_down(&mut self, address: Address, times: u64) {
        if let Some(node) = self.nodes.get_mut(&address) {
            node.slow = times;
        }
    }

    /// Records the clients' histories, or only counts.
    pub fn keep_history(&mut self, keep: bool) {
        for number in 0..self.settings.clients {
            self.client(number).history = keep.then(Vec::new);
        }
    }

    /// The histories of all clients, as far as they were recorded.
    pub fn history(&mut self) -> Vec<Finished<CallOf<W>, OutputOf<W>>> {
        (0..self.settings.clients).flat_map(|number| self.client(number).history.clone().unwrap_or_default()).collect()
    }

    /// The rows of each replica that has some; whether it is a primary.
    pub fn shards(&mut self) -> Vec<(Address, bool, &mut Shard)> {
        let shard = |(&address, node): (&Address, _)| match node {
            &mut Node { machine: Machine::Member(ref mut member), .. } => {
                let primary = matches!(member.role(), Role::Primary(_) | Role::Executor(_));
                member.shard().map(|shard| (address, primary, shard))
            }
            _ => None,
        };
        self.nodes.iter_mut().filter_map(shard).collect()
    }

    /// After everything has ended: active transactions at primaries and stopped replication at backups. Normally
    /// nothing.
    pub fn leftovers(&self) -> Vec<String> {
        let left = |(address, node): (&Address, &Node<W>)| {
            let Machine::Member(member) = &node.machine else { return None };
            match member.role() {
                Role::Primary(it) if !it.is_idle() => Some(format!("{address}: something is under way: {it:?}")),
                Role::Coordinator(it) if it.pending() > 0 => Some(format!("{address}: undecided: {it:?}")),
                Role::Primary(_) | Role::Coordinator(_) | Role::Unfit(_) | Role::Follower | Role::Idle => None,
                _ => member.unfinished().map(|why| format!("{address}: {why}")),
            }
        };
        self.nodes.iter().filter_map(left).collect()
    }
}
