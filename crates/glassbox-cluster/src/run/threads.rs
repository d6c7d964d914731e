//! A cluster in one process: a thread for each machine, queues between them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use glassbox::shard::Shard;
use glassbox::{Catalog, Error};

use super::client::Client;
use super::drive::drive;
use super::late::{Late, sleep_precisely};
use super::link::{Letter, Link};
use super::machine::Machine;
use crate::address::Address;
use crate::backup::Backup;
use crate::configuration::Configuration;
use crate::coordinator::Coordinator;
use crate::message::Message;
use crate::partition::Partition;
use crate::scheme::SchemeKind;

/// What a cluster is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// What partitions do while they wait for others.
    pub scheme: SchemeKind,
    /// Partitions, 1 to 64.
    pub partitions: u8,
    /// Replicas of each, the primary included, at least 1.
    pub replicas: u8,
    /// How long a message and its answer are held up, together.
    pub round_trip: Duration,
}

impl Shape {
    /// Who is who: this does not change while such a cluster runs.
    pub fn configuration(&self) -> Configuration {
        Configuration::first(self.partitions, self.replicas, self.scheme)
    }

    /// The address of each partition's primary.
    pub fn primaries(&self) -> Vec<Address> {
        (0..self.partitions).map(|partition| Address::Replica { partition, replica: 0 }).collect()
    }

    /// The addresses of a partition's backups.
    pub fn backups(&self, partition: u8) -> Vec<Address> {
        (1..self.replicas).map(|replica| Address::Replica { partition, replica }).collect()
    }

    /// All machines: the coordinator, then partition by partition.
    pub fn machines(&self) -> Vec<Address> {
        let replicas = (0..self.partitions)
            .flat_map(|partition| (0..self.replicas).map(move |replica| Address::Replica { partition, replica }));
        std::iter::once(Address::Coordinator(0)).chain(replicas).collect()
    }

    /// The machine at an address; `shard` gives the rows that a replica begins with.
    ///
    /// # Errors
    /// Those of `shard`; an address that is none of this cluster's machines.
    pub fn machine<E: From<Error>>(
        &self,
        address: Address,
        shard: impl FnOnce(u8) -> Result<Shard, E>,
    ) -> Result<Machine, E> {
        if !self.machines().contains(&address) {
            return Err(Error::Config(format!("{address} is none of the cluster's machines")).into());
        }
        Ok(match address {
            Address::Replica { partition, replica: 0 } => {
                let backups = self.backups(partition);
                Machine::Primary(Partition::new(shard(partition)?, self.scheme, &backups))
            }
            Address::Replica { partition, .. } => {
                Machine::Backup(Backup::new(shard(partition)?, self.primaries()[usize::from(partition)], self.scheme))
            }
            _ => Machine::Coordinator(Coordinator::new(address, self.primaries(), 1)),
        })
    }
}

/// What has arrived for one party.
#[derive(Debug)]
struct Inbox {
    letters: Mutex<Late<Letter>>,
    filled: Condvar,
}

impl Inbox {
    fn letters(&self) -> MutexGuard<'_, Late<Letter>> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where everybody is.
#[derive(Debug, Default)]
struct Post {
    inboxes: RwLock<BTreeMap<Address, Arc<Inbox>>>,
}

/// One party's queues.
#[derive(Debug)]
pub struct Queues {
    me: Address,
    inbox: Arc<Inbox>,
    post: Arc<Post>,
    /// Those that were looked up already.
    known: BTreeMap<Address, Arc<Inbox>>,
}

impl Queues {
    fn join(post: &Arc<Post>, me: Address, round_trip: Duration) -> Self {
        let inbox = Arc::new(Inbox { letters: Mutex::new(Late::new(round_trip)), filled: Condvar::new() });
        post.inboxes.write().unwrap_or_else(PoisonError::into_inner).insert(me, Arc::clone(&inbox));
        Self { me, inbox, post: Arc::clone(post), known: BTreeMap::new() }
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.post.inboxes.write().unwrap_or_else(PoisonError::into_inner).remove(&self.me);
    }
}

impl Link for Queues {
    fn send(&mut self, to: Address, message: Message) {
        if !self.known.contains_key(&to) {
            let inboxes = self.post.inboxes.read().unwrap_or_else(PoisonError::into_inner);
            let Some(inbox) = inboxes.get(&to) else { return };
            self.known.insert(to, Arc::clone(inbox));
        }
        let inbox = &self.known[&to];
        let mut letters = inbox.letters();
        letters.push(Letter::Message(self.me, message));
        // Whoever sleeps does so because there was nothing.
        if letters.len() == 1 {
            inbox.filled.notify_one();
        }
    }

    fn flush(&mut self) {}

    fn receive(&mut self, wait: Duration) -> Option<Letter> {
        let mut letters = self.inbox.letters();
        if let Some(letter) = letters.pop() {
            return Some(letter);
        }
        if wait.is_zero() {
            return None;
        }
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            letters = match letters.next().sleep(left) {
                Some(time) => self.inbox.filled.wait_timeout(letters, time).unwrap_or_else(PoisonError::into_inner).0,
                None => {
                    drop(letters);
                    std::thread::yield_now();
                    self.inbox.letters()
                }
            };
            if let Some(letter) = letters.pop() {
                return Some(letter);
            }
        }
    }
}

/// A cluster of threads in this process.
#[derive(Debug)]
pub struct Cluster {
    shape: Shape,
    catalog: Arc<Catalog>,
    post: Arc<Post>,
    clients: AtomicU32,
    ends: Arc<AtomicBool>,
    machines: Vec<(Address, JoinHandle<Machine>)>,
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
        let machines = shape.machines().into_iter().map(|it| Ok((it, shape.machine(it, &mut shard)?)));
        let machines = machines.collect::<Result<Vec<_>, Error>>()?;
        let (post, ends) = (Arc::new(Post::default()), Arc::new(AtomicBool::new(false)));
        let mut cluster = Self { shape, catalog, post, clients: AtomicU32::new(0), ends, machines: Vec::new() };
        // Everybody has an inbox before anybody speaks.
        let queues: Vec<_> =
            machines.iter().map(|(address, _)| Queues::join(&cluster.post, *address, shape.round_trip)).collect();
        for ((address, mut machine), mut queues) in machines.into_iter().zip(queues) {
            let ends = Arc::clone(&cluster.ends);
            let work = move || {
                sleep_precisely();
                drive(&mut machine, &mut queues, || ends.load(Ordering::Relaxed));
                machine
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
        let link = Queues::join(&self.post, me, self.shape.round_trip);
        Client::new(me, Arc::clone(&self.catalog), &self.shape, link)
    }

    /// Ends the threads. The machines, whose clients are to be gone, as they are then.
    ///
    /// # Errors
    /// The first machine that panicked.
    pub fn stop(mut self) -> Result<Vec<(Address, Machine)>, String> {
        // What is on its way arrives and is carried out first.
        std::thread::sleep(self.shape.round_trip * 4 + Duration::from_millis(20));
        self.ends.store(true, Ordering::Relaxed);
        let machines = std::mem::take(&mut self.machines);
        let end = |(address, thread): (Address, JoinHandle<Machine>)| match thread.join() {
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
