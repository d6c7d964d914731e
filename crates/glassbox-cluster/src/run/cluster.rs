//! A cluster in one process: a thread for each node, queues between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};

use super::client::Client;
use super::driver::drive;
use super::link::ask_all;
use super::node::Node;
use super::operator::Operator;
use super::queues::{Mailboxes, Queues};
use super::shape::Shape;
use super::shared_node::SharedNode;
use super::timing::sleep_precisely;
use super::watcher::Watcher;
use crate::node::member::Member;
use crate::protocol::address::Address;
use crate::wire::{Answer, Question};

/// How long the nodes may take to tell a new client the configuration.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A cluster of threads in this process.
#[derive(Debug)]
pub struct Cluster {
    shape: Shape,
    catalog: Arc<Catalog>,
    post: Arc<Mailboxes>,
    clients: AtomicU32,
    ends: Arc<AtomicBool>,
    machines: Vec<(Address, Arc<SharedNode>, JoinHandle<Member>)>,
}

/// How long a cluster that is stopped waits for its members' work to end.
const REST_WITHIN: Duration = Duration::from_secs(10);

impl Cluster {
    /// Starts a cluster. `shard` gives the initial rows of every replica of a partition.
    ///
    /// # Errors
    /// Those of `shard`; a thread that cannot be started.
    pub fn start(
        shape: Shape,
        catalog: Arc<Catalog>,
        mut shard: impl FnMut(u8) -> Result<Shard, Error>,
    ) -> Result<Self, Error> {
        shape.check().map_err(Error::Config)?;
        if !shape.admits(&shape.configuration()) {
            return Err(Error::Config(format!("a cluster cannot have this shape: {shape:?}")));
        }
        let mut begun = |me| Ok((me, Arc::new(SharedNode::new(Node::begun(me, shape, shape.member(me, &mut shard)?)))));
        let machines = shape.machines().into_iter().map(&mut begun).collect::<Result<Vec<_>, Error>>()?;
        let (post, ends) = (Arc::new(Mailboxes::default()), Arc::new(AtomicBool::new(false)));
        let mut cluster = Self { shape, catalog, post, clients: AtomicU32::new(0), ends, machines: Vec::new() };
        // All inboxes exist before the first message is sent.
        let join = |(address, seat): &(_, Arc<SharedNode>)| {
            Queues::join_as(&cluster.post, *address, shape.round_trip, Some(Arc::clone(seat)))
        };
        let queues: Vec<_> = machines.iter().map(join).collect();
        for ((address, seat), mut queues) in machines.into_iter().zip(queues) {
            let ends = Arc::clone(&cluster.ends);
            let driven = Arc::clone(&seat);
            let work = move || {
                sleep_precisely();
                drive(&mut &*driven, &mut queues, || ends.load(Ordering::Relaxed));
                driven.end().expect("it has begun")
            };
            let thread = std::thread::Builder::new().name(address.to_string()).spawn(work);
            let refused = |error| Error::Config(format!("a thread for {address} cannot be started: {error}"));
            cluster.machines.push((address, seat, thread.map_err(refused)?));
        }
        Ok(cluster)
    }

    /// Its shape.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// A new client.
    pub fn client(&self) -> Client<Queues> {
        let me = Address::Client(self.clients.fetch_add(1, Ordering::Relaxed));
        let mut link = Queues::join(&self.post, me, self.shape.round_trip);
        let standings = self.shape.machines().into_iter().map(|member| (member, Question::Standing));
        let answers = ask_all(&mut link, standings, Instant::now() + ANSWERS_WITHIN);
        let known = answers.into_values().filter_map(|answer| match answer {
            Ok(Answer::Standing(standing)) => standing.configuration().cloned(),
            _ => None,
        });
        let newest = known.max_by_key(|known| known.epoch).unwrap_or_else(|| self.shape.configuration());
        Client::in_configuration(me, Arc::clone(&self.catalog), &self.shape, newest, link)
    }

    /// The operator; there is one at a time.
    pub fn operator(&self) -> Operator<Queues> {
        let link = Queues::join(&self.post, Address::OPERATOR, self.shape.round_trip);
        Operator::new(link, self.shape.machines(), None, Box::new(|_| Ok(())))
    }

    /// A watcher, for this number of calls in flight.
    pub fn watcher(&self, calls: u32) -> Watcher<Queues> {
        let link = Queues::join(&self.post, Address::WATCHER, self.shape.round_trip);
        Watcher::new(link, self.shape.machines(), Some(calls))
    }

    /// Ends the threads, after all clients are dropped; the members in their final states.
    ///
    /// # Errors
    /// The first thread that panicked.
    pub fn stop(mut self) -> Result<Vec<(Address, Member)>, String> {
        // Messages in flight arrive and are handled first. Work that waits for a member that is gone never ends.
        let gives_up = Instant::now() + REST_WITHIN;
        while !self.is_at_rest() && Instant::now() < gives_up {
            std::thread::sleep(Duration::from_micros(200));
        }
        self.ends.store(true, Ordering::Relaxed);
        let machines = std::mem::take(&mut self.machines);
        let end = |(address, _, thread): (Address, Arc<SharedNode>, JoinHandle<Member>)| match thread.join() {
            Ok(machine) => Ok((address, machine)),
            Err(_) => Err(format!("{address} panicked")),
        };
        machines.into_iter().map(end).collect()
    }

    /// Whether no member has work that ends by itself, and no message is on its way.
    fn is_at_rest(&self) -> bool {
        let is_idle = |seat: &SharedNode| seat.take_if_free(|node| Some(!node.member.as_ref()?.is_working()));
        let all_idle =
            || self.machines.iter().all(|(_, seat, thread)| thread.is_finished() || is_idle(seat) == Some(true));
        // A message between two looks leaves its receiver with something, or has ended.
        self.post.members_are_at_rest() && all_idle() && self.post.members_are_at_rest()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
