//! A cluster in one process: a thread for each machine, queues between them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glassbox::shard::Shard;
use glassbox::{Catalog, Error};

use super::client::Client;
use super::driver::drive;
use super::link::ask_all;
use super::node::Node;
use super::operator::Operator;
use super::queues::{Post, Queues};
use super::seat::Seat;
use super::shape::Shape;
use super::timing::sleep_precisely;
use super::watcher::Watcher;
use crate::node::member::Member;
use crate::protocol::address::Address;
use crate::wire::{Answer, Question};

/// How long the machines may take to tell a new client the configuration.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A cluster of threads in this process.
#[derive(Debug)]
pub struct Cluster {
    shape: Shape,
    catalog: Arc<Catalog>,
    post: Arc<Post>,
    clients: AtomicU32,
    ends: Arc<AtomicBool>,
    machines: Vec<(Address, JoinHandle<Member>)>,
}

impl Cluster {
    /// Starts one. `shard` gives the rows that every replica of a partition begins with.
    ///
    /// # Errors
    /// Those of `shard`; a thread that cannot be started.
    pub fn start(
        shape: Shape,
        catalog: Arc<Catalog>,
        mut shard: impl FnMut(u8) -> Result<Shard, Error>,
    ) -> Result<Self, Error> {
        let mut begun = |me| Ok((me, Arc::new(Seat::new(Node::begun(me, shape, shape.member(me, &mut shard)?)))));
        let machines = shape.machines().into_iter().map(&mut begun).collect::<Result<Vec<_>, Error>>()?;
        let (post, ends) = (Arc::new(Post::default()), Arc::new(AtomicBool::new(false)));
        let mut cluster = Self { shape, catalog, post, clients: AtomicU32::new(0), ends, machines: Vec::new() };
        // Everybody has an inbox before anybody speaks.
        let join = |(address, seat): &(_, Arc<Seat>)| {
            Queues::join_as(&cluster.post, *address, shape.round_trip, Some(Arc::clone(seat)))
        };
        let queues: Vec<_> = machines.iter().map(join).collect();
        for ((address, seat), mut queues) in machines.into_iter().zip(queues) {
            let ends = Arc::clone(&cluster.ends);
            let work = move || {
                sleep_precisely();
                drive(&mut &*seat, &mut queues, || ends.load(Ordering::Relaxed));
                seat.end().expect("it has begun")
            };
            let thread = std::thread::Builder::new().name(address.to_string()).spawn(work);
            let refused = |error| Error::Config(format!("a thread for {address} cannot be started: {error}"));
            cluster.machines.push((address, thread.map_err(refused)?));
        }
        Ok(cluster)
    }

    /// What it is like.
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

    /// Whoever looks after it: there is one at a time.
    pub fn operator(&self) -> Operator<Queues> {
        let link = Queues::join(&self.post, Address::OPERATOR, self.shape.round_trip);
        Operator::new(link, self.shape.machines(), None, Box::new(|_| Ok(())))
    }

    /// Somebody who watches it, with so many calls under way at a time.
    pub fn watcher(&self, calls: u32) -> Watcher<Queues> {
        let link = Queues::join(&self.post, Address::WATCHER, self.shape.round_trip);
        Watcher::new(link, self.shape.machines(), Some(calls))
    }

    /// Ends the threads. The machines, whose clients are to be gone, as they are then.
    ///
    /// # Errors
    /// The first machine that panicked.
    pub fn stop(mut self) -> Result<Vec<(Address, Member)>, String> {
        // What is on its way arrives and is carried out first.
        std::thread::sleep(self.shape.round_trip * 4 + Duration::from_millis(20));
        self.ends.store(true, Ordering::Relaxed);
        let machines = std::mem::take(&mut self.machines);
        let end = |(address, thread): (Address, JoinHandle<Member>)| match thread.join() {
            Ok(machine) => Ok((address, machine)),
            Err(_) => Err(format!("{address} panicked")),
        };
        machines.into_iter().map(end).collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
