//! One party: its machine, what has arrived, and how its work is charged.

use std::collections::VecDeque;

use glassbox_cluster::auto::Tally;
use glassbox_cluster::{Action, Address, Member, Message, Outbox, Packet, Role};

use super::client::Client;
use super::costs::Costs;
use super::workload::Workload;

/// What a node is.
pub(super) enum Machine<W: Workload> {
    Member(Box<Member>),
    Client(Box<Client<W>>),
}

pub(super) struct Node<W: Workload> {
    pub(super) machine: Machine<W>,
    /// From whom, and what; `None`: their connection broke.
    pub(super) inbox: VecDeque<(Address, Option<Packet>)>,
    /// It is at work, and looks at its inbox when it is done.
    pub(super) busy: bool,
    /// Tells it from those that had its address before.
    pub(super) life: u64,
    /// Its work takes so many times as long.
    pub(super) slow: u64,
    /// How long it has been at work, all together.
    pub(super) worked_ns: u64,
    /// What of it locks cost.
    pub(super) locked_ns: u64,
    /// What of it was spent on what.
    pub(super) tally: Tally,
}

impl<W: Workload> Node<W> {
    pub(super) fn new(machine: Machine<W>, life: u64) -> Self {
        let (inbox, tally) = (VecDeque::new(), Tally::default());
        Self { machine, inbox, busy: false, life, slow: 1, worked_ns: 0, locked_ns: 0, tally }
    }

    /// Takes a message in: behind all others, or behind those of coordinators.
    pub(super) fn receive(&mut self, from: Address, packet: Option<Packet>, coordinators_first: bool) {
        let is_coordinator = |from: &Address| matches!(from, Address::Coordinator(_));
        let first = coordinators_first && is_coordinator(&from);
        let at = if first { self.inbox.iter().position(|(from, _)| !is_coordinator(from)) } else { None };
        self.inbox.insert(at.unwrap_or(self.inbox.len()), (from, packet));
    }

    /// The epoch of what it sends.
    pub(super) fn epoch(&self) -> u64 {
        match &self.machine {
            Machine::Member(member) => member.epoch(),
            Machine::Client(client) => client.epoch(),
        }
    }

    /// Does the next thing; whether there was one.
    pub(super) fn work(&mut self, now_ns: u64, out: &mut Outbox) -> bool {
        let arrived = self.inbox.pop_front();
        match (&mut self.machine, arrived) {
            (Machine::Member(member), Some((from, Some(packet)))) => member.handle(from, packet, now_ns / 1_000, out),
            (Machine::Member(member), Some((from, None))) => member.gone(from, out),
            (Machine::Client(client), Some((from, packet))) => client.handle(from, packet, now_ns, out),
            (Machine::Member(member), None) => return member.proceed(out),
            (Machine::Client(_), None) => return false,
        }
        true
    }

    fn is_coordinator(&self) -> bool {
        matches!(&self.machine, Machine::Member(member) if matches!(member.role(), Role::Coordinator(_)))
    }

    /// What an action costs this node.
    pub(super) fn charge(&mut self, action: &Action, costs: &Costs) -> u64 {
        match action {
            Action::Work(work) => {
                let ns = costs.of(*work) * self.slow;
                self.locked_ns += costs.locks(*work) * self.slow;
                self.tally.did(*work, ns);
                ns
            }
            Action::Send(_, message) => match (&self.machine, message) {
                (Machine::Client(_), Message::Fragment(_) | Message::Decide { .. }) => {
                    costs.client_message_ns * self.slow
                }
                _ => self.message_ns(costs),
            },
            Action::Forget | Action::Base(_) => 0,
        }
    }

    /// What receiving the message costs this node that has arrived first.
    pub(super) fn receiving_ns(&mut self, costs: &Costs) -> u64 {
        match (&self.machine, self.inbox.front()) {
            // One of two of a transaction: with the other one the client calls again.
            (Machine::Client(_), Some((_, Some(Packet { message: Message::Result(_), .. })))) => {
                (costs.client_message_ns + costs.client_ns / 2) * self.slow
            }
            (Machine::Client(_), _) => costs.client_ns * self.slow,
            (Machine::Member(_), _) => self.message_ns(costs),
        }
    }

    /// What a message costs a coordinator.
    fn message_ns(&mut self, costs: &Costs) -> u64 {
        if !self.is_coordinator() {
            return 0;
        }
        let ns = costs.coordinator_message_ns * self.slow;
        self.tally.message(ns);
        ns
    }
}
