//! A cluster on the thread of its only client: the nodes work while the client waits.
//!
//! Messages go through the same queues as in a [`Cluster`](super::Cluster), and the nodes take the same steps in the
//! same order, but no thread has to be woken. So the instructions of a call are countable and repeatable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};

use super::client::Client;
use super::driver::step;
use super::link::{Link, LinkEvent};
use super::node::Node;
use super::queues::{Mailboxes, Queues};
use super::shape::Shape;
use crate::node::member::Member;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
use crate::protocol::outbox::Outbox;

/// A client's queues, and the cluster behind them.
pub struct Inline {
    own: Queues,
    machines: Vec<(Node, Queues)>,
    out: Outbox,
    /// The injected round trip.
    round_trip: Duration,
}

impl Inline {
    /// Starts a cluster; `shard` gives the initial rows of every replica of a partition.
    ///
    /// # Errors
    /// Those of `shard`.
    pub fn start(
        shape: Shape,
        catalog: Arc<Catalog>,
        mut shard: impl FnMut(u8) -> Result<Shard, Error>,
    ) -> Result<Client<Self>, Error> {
        shape.check().map_err(Error::Config)?;
        let (me, post) = (Address::Client(0), Arc::new(Mailboxes::default()));
        let join = |address| Queues::join(&post, address, shape.round_trip);
        let machines = shape
            .machines()
            .into_iter()
            .map(|it| Ok((Node::begun(it, shape, shape.member(it, &mut shard)?), join(it))));
        let machines = machines.collect::<Result<_, Error>>()?;
        let link = Self { own: join(me), machines, out: Outbox::default(), round_trip: shape.round_trip };
        Ok(Client::new(me, catalog, &shape, link))
    }

    /// The members, after all messages in flight were handled; they do nothing more.
    pub fn stop(&mut self) -> Vec<(Address, Member)> {
        while self.work() || !self.machines.iter().all(|(_, queues)| queues.is_at_rest()) {}
        self.machines.drain(..).filter_map(|(node, _)| Some((node.me, node.member?))).collect()
    }

    /// Has all nodes do what there is to do; whether there was anything.
    fn work(&mut self) -> bool {
        let mut any = false;
        for (machine, queues) in &mut self.machines {
            while step(machine, queues, &mut self.out) {
                any = true;
            }
            queues.flush();
        }
        any
    }
}

impl Link for Inline {
    fn send(&mut self, to: Address, packet: Packet) {
        self.own.send(to, packet);
    }

    #[inline]
    fn at_once<T>(&mut self, at: Address, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        let (node, queues) = self.machines.iter_mut().find(|(node, _)| node.me == at)?;
        let can_be_had = self.round_trip.is_zero() && self.own.is_at_rest() && queues.is_at_rest();
        can_be_had.then(|| work(node))?
    }

    fn connected(&self) -> Vec<Address> {
        self.own.connected()
    }

    fn flush(&mut self) {
        self.own.flush();
    }

    fn receive(&mut self, wait: Duration) -> Option<LinkEvent> {
        let mut since = None;
        loop {
            if let Some(event) = self.own.receive(Duration::ZERO) {
                return Some(event);
            }
            if wait.is_zero() {
                return None;
            }
            if self.work() {
                continue;
            }
            // No other thread sends: either a message is in flight, or none will come.
            if self.round_trip.is_zero() {
                return self.own.receive(wait);
            }
            if since.get_or_insert_with(Instant::now).elapsed() >= wait {
                return None;
            }
        }
    }
}
