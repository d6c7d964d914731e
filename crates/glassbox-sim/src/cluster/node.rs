//! One party: its machine, what has arrived, and how its work is charged.

use std::collections::VecDeque;

use glassbox_cluster::{Action, Address, Backup, Coordinator, Message, Outbox, Partition};

use super::client::Client;
use super::costs::Costs;

/// What a node is.
pub(super) enum Machine {
    Primary(Partition),
    Backup(Backup),
    Coordinator(Coordinator),
    Client(Client),
}

pub(super) struct Node {
    pub(super) machine: Machine,
    pub(super) inbox: VecDeque<(Address, Message)>,
    /// It is at work, and looks at its inbox when it is done.
    pub(super) busy: bool,
    /// How long it has been at work, all together.
    pub(super) worked_ns: u64,
}

impl Node {
    pub(super) fn new(machine: Machine) -> Self {
        Self { machine, inbox: VecDeque::new(), busy: false, worked_ns: 0 }
    }

    /// Takes a message in: behind all others, or behind those of coordinators.
    pub(super) fn receive(&mut self, from: Address, message: Message, coordinators_first: bool) {
        let is_coordinator = |from: &Address| matches!(from, Address::Coordinator(_));
        let first = coordinators_first && is_coordinator(&from);
        let at = if first { self.inbox.iter().position(|(from, _)| !is_coordinator(from)) } else { None };
        self.inbox.insert(at.unwrap_or(self.inbox.len()), (from, message));
    }

    /// Does the next thing; whether there was one.
    pub(super) fn work(&mut self, now_ns: u64, out: &mut Outbox) -> bool {
        let Some((from, message)) = self.inbox.pop_front() else {
            return match &mut self.machine {
                Machine::Primary(partition) => partition.proceed(out),
                _ => false,
            };
        };
        match &mut self.machine {
            Machine::Primary(partition) => partition.handle(from, message, out),
            Machine::Backup(backup) => backup.handle(from, message, out),
            Machine::Client(client) => client.handle(message, now_ns, out),
            Machine::Coordinator(coordinator) => match message {
                Message::Submit(submission) => coordinator.submit(from, submission, now_ns / 1_000, out),
                Message::Result(result) => {
                    for end in coordinator.hears(result, now_ns / 1_000, out) {
                        out.send(end.client, Message::Answer { id: end.id, outcome: end.outcome });
                    }
                }
                _ => {}
            },
        }
        true
    }

    /// What an action costs this node.
    pub(super) fn cost(&self, action: &Action, costs: &Costs) -> u64 {
        match (action, &self.machine) {
            (Action::Work(work), _) => costs.of(*work),
            (Action::Send(..), Machine::Coordinator(_)) => costs.coordinator_message_ns,
            (Action::Send(..), _) => 0,
        }
    }

    /// What receiving a message costs this node.
    pub(super) fn receiving_ns(&self, costs: &Costs) -> u64 {
        if matches!(self.machine, Machine::Coordinator(_)) { costs.coordinator_message_ns } else { 0 }
    }
}
