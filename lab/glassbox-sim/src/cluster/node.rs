//! One party: its state machine, its inbox, and the charge for its work.

use std::collections::VecDeque;

use glassbox_cluster::auto::Tally;
use glassbox_cluster::{Action, Address, Member, Message, Outbox, Packet, Role};

use super::batch::Batch;
use super::client::Client;
use super::costs::Costs;
use super::workload::Workload;

/// The state machine of a node.
pub(super) enum Machine<W: Workload> {
    Member(Box<Member>),
    Client(Box<Client<W>>),
}

pub(super) struct Node<W: Workload> {
    pub(super) machine: Machine<W>,
    /// Senders and packets; `None`: their connection broke. Whether others of the same batch follow.
    pub(super) inbox: VecDeque<(Address, (Option<Packet>, bool))>,
    pub(super) batch: Batch,
    /// Whether it is at work; it then looks into its inbox when it is done.
    pub(super) busy: bool,
    /// Its incarnation, which distinguishes it from predecessors with the same address.
    pub(super) life: u64,
    /// A factor for the duration of its work.
    pub(super) slow: u64,
    /// By how many microseconds its clock is fast.
    pub(super) fast_us: u64,
    /// When it is to do what is due, if that is scheduled.
    pub(super) tick_us: Option<u64>,
    /// The epoch of the last configuration that it told all clients.
    pub(super) told: u64,
    /// The total duration of its work.
    pub(super) worked_ns: u64,
    /// The part of it that locks cost.
    pub(super) locked_ns: u64,
    /// The same by kind of work.
    pub(super) tally: Tally,
}

impl<W: Workload> Node<W> {
    pub(super) fn new(machine: Machine<W>, life: u64) -> Self {
        let (inbox, batch, tally) = (VecDeque::new(), Batch::default(), Tally::default());
        Self {
            machine,
            inbox,
            batch,
            busy: false,
            life,
            slow: 1,
            fast_us: 0,
            tick_us: None,
            told: 0,
            worked_ns: 0,
            locked_ns: 0,
            tally,
        }
    }

    /// Receives a message: after all others, or after those of coordinators.
    pub(super) fn receive(&mut self, from: Address, packet: (Option<Packet>, bool), coordinators_first: bool) {
        let is_coordinator = |from: &Address| matches!(from, Address::Coordinator(_));
        let first = coordinators_first && is_coordinator(&from);
        let at = if first { self.inbox.iter().position(|(from, _)| !is_coordinator(from)) } else { None };
        self.inbox.insert(at.unwrap_or(self.inbox.len()), (from, packet));
    }

    /// The party's epoch.
    pub(super) fn epoch(&self) -> u64 {
        match &self.machine {
            Machine::Member(member) => member.epoch(),
            Machine::Client(client) => client.epoch(),
        }
    }

    /// Takes the next step; whether there was one.
    pub(super) fn work(&mut self, now_ns: u64, out: &mut Outbox) -> bool {
        let (arrived, clock_us) = (self.inbox.pop_front(), now_ns / 1_000 + self.fast_us);
        self.batch.next(arrived.as_ref().map(|(from, (_, more))| (*from, *more)));
        let arrived = arrived.map(|(from, (packet, _))| (from, packet));
        match (&mut self.machine, arrived) {
            (Machine::Member(member), Some((from, Some(packet)))) => member.handle(from, packet, clock_us, out),
            (Machine::Member(member), Some((from @ Address::Replica { .. }, None))) => {
                member.on_replica_disconnected(from, clock_us);
            }
            (Machine::Member(member), Some((from, None))) => member.on_client_disconnected(from, out),
            (Machine::Client(client), Some((from, packet))) => client.handle(from, packet, now_ns, out),
            (Machine::Member(member), None) => return member.proceed(out),
            (Machine::Client(_), None) => return false,
        }
        true
    }

    fn is_coordinator(&self) -> bool {
        matches!(&self.machine, Machine::Member(member) if matches!(member.role(), Role::Coordinator(_)))
    }

    /// The cost of an action.
    pub(super) fn charge(&mut self, action: &Action, costs: &Costs) -> u64 {
        match action {
            Action::Work(work) => {
                let ns = costs.of(*work).saturating_sub(self.batch.shared_ns(*work, costs)) * self.slow;
                self.locked_ns += costs.locks(*work) * self.slow;
                self.tally.did(*work, ns);
                ns
            }
            Action::Send(_, message) | Action::SendEarlier(_, _, message) => match (&self.machine, message) {
                (Machine::Client(_), Message::Fragment(_) | Message::Decide { .. }) => {
                    costs.client_message_ns * self.slow
                }
                // A batch is charged once.
                _ if costs.has_batches() => 0,
                (Machine::Member(_), message) if !self.is_coordinator() => costs.of_sending(message) * self.slow,
                _ => self.message_ns(costs),
            },
            Action::Forget | Action::Report(_) | Action::Base(_) => 0,
        }
    }

    /// The cost of receiving the next message, if there is one, and what is owed from before.
    pub(super) fn receiving_ns(&mut self, costs: &Costs) -> u64 {
        if self.inbox.is_empty() {
            return 0;
        }
        let owed_ns = std::mem::take(&mut self.batch.owed_ns);
        let message_ns = match (&self.machine, self.inbox.front()) {
            // One of two results of a transaction: after the second the client calls again.
            (Machine::Client(_), Some((_, (Some(Packet { message: Message::Result(_), .. }), _)))) => {
                (costs.client_message_ns + costs.client_ns / 2) * self.slow
            }
            (Machine::Client(_), _) => costs.client_ns * self.slow,
            (Machine::Member(_), Some((from, _))) if self.batch.continues(*from) => 0,
            (Machine::Member(_), Some((_, (Some(packet), _)))) if !self.is_coordinator() => {
                costs.of_participant(&packet.message) * self.slow
            }
            (Machine::Member(_), _) => self.message_ns(costs),
        };
        owed_ns + message_ns
    }

    /// A coordinator's cost of a message.
    pub(super) fn message_ns(&mut self, costs: &Costs) -> u64 {
        if !self.is_coordinator() {
            return 0;
        }
        let ns = costs.coordinator_message_ns * self.slow;
        self.tally.message(ns);
        ns
    }
}
