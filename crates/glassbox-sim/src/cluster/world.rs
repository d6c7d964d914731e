//! Virtual time: events in order, nodes that work one thing after another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use glassbox::shard::Shard;
use glassbox_cluster::{Action, Address, Backup, Coordinator, Message, Outbox, Partition};
use glassbox_workloads::micro::catalog;

use super::client::{Client, Finished};
use super::link::Links;
use super::micro::Micro;
use super::node::{Machine, Node};
use super::settings::Settings;
use crate::dice::Dice;

/// Memory for each table of a simulated partition.
const TABLE_BYTES: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrives { to: Address, number: u64 },
    Ready(Address),
    LosePatience,
}

/// A simulated cluster and its clients.
pub struct World {
    settings: Settings,
    now_ns: u64,
    /// By time, then in the order in which they were made.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    made: u64,
    /// Messages on their way, by number.
    flying: BTreeMap<u64, (Address, Message)>,
    nodes: BTreeMap<Address, Node>,
    links: Links,
    dice: Dice,
    trace: Option<Vec<String>>,
}

/// What a part of a run came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Transactions that ended.
    pub finished: u64,
    /// A second of virtual time.
    pub per_second: f64,
    /// Transactions that were tried again because of deadlocks.
    pub retries: u64,
}

impl World {
    /// A cluster that has not begun.
    pub fn new(settings: Settings) -> Self {
        let catalog = Arc::new(catalog());
        let primary = |partition| Address::Replica { partition, replica: 0 };
        let primaries: Vec<_> = (0..settings.partitions).map(primary).collect();
        let mut nodes = BTreeMap::new();
        for partition in 0..settings.partitions {
            let shard = || {
                let (at, of) = (usize::from(partition), usize::from(settings.partitions));
                let mut shard = Shard::new(&catalog, at, of, TABLE_BYTES).expect("a small shard");
                Micro::fill(&mut shard, settings.clients, settings.partitions);
                shard
            };
            let backups: Vec<_> =
                (1..settings.replicas).map(|replica| Address::Replica { partition, replica }).collect();
            let machine = Machine::Primary(Partition::new(shard(), settings.scheme, &backups));
            nodes.insert(primary(partition), Node::new(machine));
            for backup in backups {
                nodes.insert(backup, Node::new(Machine::Backup(Backup::new(shard(), primary(partition)))));
            }
        }
        let me = Address::Coordinator(0);
        nodes.insert(me, Node::new(Machine::Coordinator(Coordinator::new(me, primaries.clone()))));
        for number in 0..settings.clients {
            let micro = Micro::new(number, settings.partitions, settings.load, settings.seed);
            let client = Client::new(number, &catalog, primaries.clone(), settings.scheme, micro);
            nodes.insert(Address::Client(number), Node::new(Machine::Client(client)));
        }
        let (links, dice) = (Links::new(settings.link), Dice(settings.seed));
        let (events, flying) = (BinaryHeap::new(), BTreeMap::new());
        let mut world = Self { settings, now_ns: 0, events, made: 0, flying, nodes, links, dice, trace: None };
        for number in 0..settings.clients {
            let mut out = Outbox::default();
            world.client(number).call(0, &mut out);
            world.carry_out(Address::Client(number), 0, out);
        }
        if settings.scheme.is_locking() {
            world.schedule(settings.patience_us * 1_000, Event::LosePatience);
        }
        world
    }

    /// Notes every event from here on.
    pub fn trace(&mut self) {
        self.trace = Some(Vec::new());
    }

    /// The events that were noted, a line for each.
    pub fn traced(&self) -> String {
        self.trace.as_ref().map_or_else(String::new, |lines| lines.join("\n"))
    }

    /// Keeps what clients hear, or only counts it.
    pub fn keep_history(&mut self, keep: bool) {
        for number in 0..self.settings.clients {
            self.client(number).history = keep.then(Vec::new);
        }
    }

    fn client(&mut self, number: u32) -> &mut Client {
        match self.nodes.get_mut(&Address::Client(number)).map(|node| &mut node.machine) {
            Some(Machine::Client(client)) => client,
            _ => unreachable!("clients are numbered from 0"),
        }
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.made += 1;
        self.events.push(Reverse((at_ns, self.made, event)));
    }

    /// Charges what a node did from `now_ns` on, and sends what it sent; when it is done.
    fn carry_out(&mut self, from: Address, now_ns: u64, out: Outbox) -> u64 {
        let mut at_ns = now_ns;
        for action in out.actions {
            at_ns += self.nodes[&from].cost(&action, &self.settings.costs);
            let Action::Send(to, message) = action else { continue };
            let arrival = self.links.arrival(from, to, at_ns, &mut self.dice);
            self.flying.insert(self.made, (from, message));
            self.schedule(arrival, Event::Arrives { to, number: self.made });
        }
        at_ns
    }

    /// Lets a node do its next thing, if it is not at work.
    fn work(&mut self, address: Address) {
        let Some(node) = self.nodes.get_mut(&address).filter(|node| !node.busy) else { return };
        let mut out = Outbox::default();
        let received = !node.inbox.is_empty();
        if !node.work(self.now_ns, &mut out) {
            return;
        }
        node.busy = true;
        let received_ns = if received { node.receiving_ns(&self.settings.costs) } else { 0 };
        let done_ns = self.carry_out(address, self.now_ns + received_ns, out);
        self.nodes.get_mut(&address).expect("it was there a moment ago").worked_ns += done_ns - self.now_ns;
        self.schedule(done_ns, Event::Ready(address));
    }

    /// How long a party has been at work since the beginning; something that it is at counts in full.
    pub fn worked_ns(&self, address: Address) -> u64 {
        self.nodes.get(&address).map_or(0, |node| node.worked_ns)
    }

    /// Lets the next thing happen; `false`: nothing ever will.
    fn step(&mut self) -> bool {
        let Some(Reverse((at_ns, _, event))) = self.events.pop() else { return false };
        self.now_ns = at_ns;
        match event {
            Event::Arrives { to, number } => {
                let (from, message) = self.flying.remove(&number).expect("it was sent");
                if let Some(trace) = &mut self.trace {
                    trace.push(format!("{at_ns} {from} -> {to}: {message:?}"));
                }
                if let Some(node) = self.nodes.get_mut(&to) {
                    node.receive(from, message, self.settings.coordinators_first);
                    self.work(to);
                }
            }
            Event::Ready(address) => {
                if let Some(node) = self.nodes.get_mut(&address) {
                    node.busy = false;
                }
                self.work(address);
            }
            Event::LosePatience => self.lose_patience(),
        }
        true
    }

    fn lose_patience(&mut self) {
        for number in 0..self.settings.clients {
            let (mut out, now_ns, patience_us) = (Outbox::default(), self.now_ns, self.settings.patience_us);
            self.client(number).give_up_waiting(patience_us, now_ns, &mut out);
            self.carry_out(Address::Client(number), now_ns, out);
        }
        if (0..self.settings.clients).any(|number| self.client(number).is_waiting()) {
            self.schedule(self.now_ns + self.settings.patience_us * 1_000 / 4, Event::LosePatience);
        }
    }

    /// Goes on for so long.
    pub fn run_us(&mut self, us: u64) -> Measured {
        let (finished, retries) = (self.finished(), self.retries());
        let end_ns = self.now_ns + us * 1_000;
        while self.events.peek().is_some_and(|Reverse((at_ns, ..))| *at_ns <= end_ns) {
            self.step();
        }
        self.now_ns = end_ns;
        let finished = self.finished() - finished;
        Measured { finished, per_second: finished as f64 * 1e6 / us as f64, retries: self.retries() - retries }
    }

    /// Lets the clients call no more, and everything that is under way come to its end.
    ///
    /// # Errors
    /// When something never ends.
    pub fn finish(&mut self) -> Result<(), String> {
        for number in 0..self.settings.clients {
            self.client(number).ends = true;
        }
        let patience = 10_000_000;
        for _ in 0..patience {
            if !self.step() {
                break;
            }
        }
        let waiting = |world: &mut Self| (0..world.settings.clients).filter(|&it| world.client(it).is_waiting()).count();
        match waiting(self) {
            0 => Ok(()),
            some => Err(format!("{some} clients wait for ever: {}", self.leftovers().join("; "))),
        }
    }

    fn finished(&mut self) -> u64 {
        (0..self.settings.clients).map(|number| self.client(number).finished).sum()
    }

    fn retries(&mut self) -> u64 {
        let own: u64 = (0..self.settings.clients).map(|number| self.client(number).retries()).sum();
        let central = match &self.nodes[&Address::Coordinator(0)].machine {
            Machine::Coordinator(coordinator) => coordinator.retries(),
            _ => 0,
        };
        own + central
    }

    /// What all clients heard, as far as it was kept.
    pub fn history(&mut self) -> Vec<Finished> {
        (0..self.settings.clients).flat_map(|number| self.client(number).history.clone().unwrap_or_default()).collect()
    }

    /// The rows of each replica that is there.
    pub fn shards(&mut self) -> Vec<(Address, &mut Shard)> {
        let shard = |(&address, node): (&Address, _)| match node {
            &mut Node { machine: Machine::Primary(ref mut partition), .. } => Some((address, partition.shard())),
            &mut Node { machine: Machine::Backup(ref mut backup), .. } => Some((address, backup.shard())),
            _ => None,
        };
        self.nodes.iter_mut().filter_map(shard).collect()
    }

    /// What is under way at primaries and lost at backups, after everything has ended: nothing, if all is well.
    pub fn leftovers(&self) -> Vec<String> {
        let left = |(address, node): (&Address, &Node)| match &node.machine {
            Machine::Primary(partition) if !partition.is_idle() => Some(format!("{address}: something is under way: {partition:?}")),
            Machine::Backup(backup) => backup.lost().map(|why| format!("{address}: {why}")),
            Machine::Coordinator(it) if it.pending() > 0 => Some(format!("{address}: {} are undecided", it.pending())),
            _ => None,
        };
        self.nodes.iter().filter_map(left).collect()
    }
}
