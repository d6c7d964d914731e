//! Parties that are added to a world: at its beginning, or as successors.

use std::sync::Arc;

use glassbox::research::shard::Shard;
use glassbox_cluster::{Address, MakeShard, Member, Outbox, Router};

use super::client::Client;
use super::node::{Machine, Node};
use super::workload::Workload;
use super::world::World;

impl<W: Workload> World<W> {
    /// Adds a replica: with the initial rows, or a restarted one without rows.
    pub(super) fn add_replica(&mut self, address: Address, first: bool) {
        let make = self.empty_shard(address);
        self.stop_disk(address);
        let (configuration, mut out) = (self.configuration.clone(), Outbox::default());
        let mut member = if first {
            let mut shard = make().expect("a small shard");
            W::fill(&self.settings, &mut shard);
            Member::replica(address, configuration, shard, make)
        } else {
            Member::returning(address, configuration, make, &mut out)
        };
        if self.settings.journals {
            member.begin_journal(&mut out);
        }
        if self.settings.advice_us > 0 {
            member.sample();
        }
        self.add(address, Machine::Member(Box::new(member)));
        self.carry_out(address, self.now_ns, out);
    }

    /// Makes shards without rows, of a replica's partition.
    pub(super) fn empty_shard(&self, replica: Address) -> MakeShard {
        let partition = usize::from(replica.partition().expect("only replicas have rows"));
        let (catalog, count) = (Arc::clone(&self.catalog), usize::from(self.settings.partitions));
        Arc::new(move || Ok(Shard::new(&catalog, partition, count, W::TABLE_BYTES).expect("a small shard")))
    }

    /// Adds one of the configuration's coordinators.
    pub(super) fn add_coordinator(&mut self, me: Address) {
        let mut out = Outbox::default();
        let member = Member::coordinator(me, self.configuration.clone(), &mut out);
        self.add(me, Machine::Member(Box::new(member)));
        self.carry_out(me, self.now_ns, out);
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
        self.nodes.insert(address, Node::new(machine, self.lives));
    }
}
