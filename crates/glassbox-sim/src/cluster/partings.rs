//! Clients that stop, and connections that break.
//!
//! The last messages on a connection that ends are lost, each way. A member notices the end after the messages that it
//! still received; a successor with the same address can reach it only after that.

use glassbox_cluster::Address;

use super::faults::Fault;
use super::node::Machine;
use super::workload::Workload;
use super::world::World;

impl<W: Workload> World<W> {
    /// Plans this many stops of clients or of their connections before `until_us`.
    pub(super) fn plan_partings(&mut self, until_us: u64) {
        for _ in 0..self.settings.partings {
            let at = self.now_ns / 1_000 + 1 + self.dice.below(until_us);
            let number = self.dice.below(u64::from(self.settings.clients)) as u32;
            if self.dice.one_in(2) {
                let away_us = self.dice.below(until_us / 4);
                self.schedule_fault(at, Fault::KillClient(number));
                self.schedule_fault(at + away_us, Fault::StartClient(number));
            } else {
                let members = self.members();
                let member = *self.dice.pick(&members).expect("a cluster has members");
                let mended = at + self.dice.below(until_us / 4);
                self.schedule_fault(at, Fault::Break(number, member));
                self.schedule_fault(mended, Fault::Mend(number, member));
            }
        }
    }

    fn members(&self) -> Vec<Address> {
        self.nodes.keys().copied().filter(|it| !matches!(it, Address::Client(_))).collect()
    }

    pub(super) fn kill_client(&mut self, number: u32) {
        let (address, now_ns) = (Address::Client(number), self.now_ns);
        for member in self.members() {
            self.break_off(address, member);
            self.broken.remove(&(address, member));
        }
        // A successor is another party.
        let node = self.nodes.remove(&address).expect("clients are there or away");
        let Machine::Client(mut client) = node.machine else { unreachable!("it has a client's address") };
        client.stop(now_ns);
        self.add(address, Machine::Client(client));
    }

    pub(super) fn start_client(&mut self, number: u32) {
        if !self.is_away(Address::Client(number)) {
            return;
        }
        let (now_ns, mut out) = (self.now_ns, Default::default());
        let router = self.router(number);
        self.client(number).start(router, now_ns, &mut out);
        self.carry_out(Address::Client(number), now_ns, out);
    }

    pub(super) fn break_between(&mut self, number: u32, member: Address) {
        if self.nodes.contains_key(&member) && !self.is_away(Address::Client(number)) {
            self.break_off(Address::Client(number), member);
            self.break_off(member, Address::Client(number));
        }
    }

    /// The client notices that its connection was made again; messages that it sent since it noticed the break arrive
    /// first.
    pub(super) fn mend_between(&mut self, number: u32, member: Address) {
        let (now_ns, mut out) = (self.now_ns, Default::default());
        self.client(number).reconnects(member, now_ns, &mut out);
        self.carry_out(Address::Client(number), now_ns, out);
    }

    /// Loses the last messages one way, and lets the receiver notice.
    fn break_off(&mut self, from: Address, to: Address) {
        let sent = self.flying.iter().filter(|(_, it)| (it.from, it.to) == (from, to));
        let sent: Vec<u64> = sent.map(|(&number, _)| number).collect();
        let arrives = self.dice.place(sent.len() + 1);
        sent[arrives..].iter().for_each(|number| drop(self.flying.remove(number)));
        let arrival = self.links.arrival(from, to, self.now_ns, &mut self.dice);
        self.broken.insert((to, from));
        self.fly(from, to, None, arrival);
    }

    /// Whether a client was stopped and has no successor yet.
    pub(super) fn is_away(&self, address: Address) -> bool {
        let machine = self.nodes.get(&address).map(|node| &node.machine);
        matches!(machine, Some(Machine::Client(client)) if client.away)
    }
}
