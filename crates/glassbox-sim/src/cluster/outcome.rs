//! The results of a run: the clients' histories, and the members' states.

use glassbox::research::shard::Shard;
use glassbox_cluster::{Address, Role};

use super::client::Finished;
use super::node::{Machine, Node};
use super::workload::{CallOf, OutputOf, Workload};
use super::world::World;

/// The results of a part of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Calls that ended.
    pub finished: u64,
    /// In a second of virtual time.
    pub per_second: f64,
    /// Restarts of transactions because of deadlocks.
    pub retries: u64,
    /// Of the calls that ended, those that were distributed.
    pub several: u64,
}

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
                let primary = matches!(member.role(), Role::Primary(_));
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
                Role::Backup(backup) => backup.lost().map(|why| format!("{address}: {why}")),
                Role::Joining { .. } => Some(format!("{address}: it waits for the rows")),
                Role::Coordinator(it) if it.pending() > 0 => Some(format!("{address}: undecided: {it:?}")),
                _ => None,
            }
        };
        self.nodes.iter().filter_map(left).collect()
    }
}
