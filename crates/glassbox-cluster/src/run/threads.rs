//! A cluster in one process: a thread for each machine, queues between them.

use std::collections::{BTreeMap, VecDeque};
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
use super::node::Node;
use super::operator::Operator;
use super::shape::Shape;
use super::watcher::Watcher;
use crate::address::Address;
use crate::member::{Member, Packet};
use crate::wire::{Answer, Question};

/// What has arrived for one party.
#[derive(Debug)]
struct Inbox {
    state: Mutex<State>,
    filled: Condvar,
    /// There are no letters. Whoever does not wait need not lock anything to know it.
    is_empty: AtomicBool,
}

#[derive(Debug)]
struct State {
    letters: Late<Letter>,
    /// Whoever it belonged to is gone; another may have its address.
    closed: bool,
    /// Whoever it belongs to sleeps: to wake somebody costs a call of the system, even if nobody sleeps.
    asleep: bool,
}

impl Inbox {
    fn new(round_trip: Duration) -> Self {
        let state = State { letters: Late::new(round_trip), closed: false, asleep: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), is_empty: AtomicBool::new(true) }
    }

    /// Puts a letter in; gives it back if whoever it is for is gone.
    fn put(&self, letter: Letter) -> Option<Letter> {
        let mut state = self.state();
        if state.closed {
            return Some(letter);
        }
        state.letters.push(letter);
        self.is_empty.store(false, Ordering::Release);
        // Whoever sleeps until something arrives that is on its way already does not have to be woken.
        if state.asleep && state.letters.len() == 1 {
            self.filled.notify_one();
        }
        None
    }

    /// Takes all letters that are there into `taken`, which is empty; the first of them.
    fn take(&self, state: &mut State, taken: &mut VecDeque<(Instant, Letter)>) -> Option<Letter> {
        state.letters.take(taken);
        self.is_empty.store(state.letters.len() == 0, Ordering::Relaxed);
        taken.pop_front().map(|(_, letter)| letter)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where everybody is.
#[derive(Debug, Default)]
pub(super) struct Post {
    inboxes: RwLock<BTreeMap<Address, Arc<Inbox>>>,
}

/// One party's queues.
#[derive(Debug)]
pub struct Queues {
    me: Address,
    inbox: Arc<Inbox>,
    post: Arc<Post>,
    /// Those that were looked up already, the one that was written to last first.
    known: Vec<(Address, Arc<Inbox>)>,
    /// What was taken out of the inbox, all that was there at a time.
    taken: VecDeque<(Instant, Letter)>,
}

impl Queues {
    pub(super) fn join(post: &Arc<Post>, me: Address, round_trip: Duration) -> Self {
        let inbox = Arc::new(Inbox::new(round_trip));
        post.inboxes.write().unwrap_or_else(PoisonError::into_inner).insert(me, Arc::clone(&inbox));
        Self { me, inbox, post: Arc::clone(post), known: Vec::new(), taken: VecDeque::new() }
    }

    /// Looks up where somebody is; whether there is such a party.
    fn find(&mut self, to: Address) -> bool {
        if let Some(at) = self.known.iter().position(|(known, _)| *known == to) {
            self.known.swap(0, at);
            return true;
        }
        let inboxes = self.post.inboxes.read().unwrap_or_else(PoisonError::into_inner);
        let Some(inbox) = inboxes.get(&to) else { return false };
        self.known.insert(0, (to, Arc::clone(inbox)));
        true
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        self.inbox.state().closed = true;
        let mut inboxes = self.post.inboxes.write().unwrap_or_else(PoisonError::into_inner);
        if inboxes.get(&self.me).is_some_and(|inbox| Arc::ptr_eq(inbox, &self.inbox)) {
            inboxes.remove(&self.me);
        }
    }
}

impl Queues {
    fn put(&mut self, to: Address, letter: Letter) {
        if self.known.first().is_none_or(|(last, _)| *last != to) && !self.find(to) {
            return;
        }
        if let Some(letter) = self.known[0].1.put(letter) {
            self.known.swap_remove(0);
            // If the other is gone, too, nobody is left to be told.
            if self.find(to) {
                let _ = self.known[0].1.put(letter);
            }
        }
    }
}

impl Link for Queues {
    fn send(&mut self, to: Address, packet: Packet) {
        self.put(to, Letter::Message(self.me, packet));
    }

    fn question(&mut self, to: Address, question: Question) {
        self.put(to, Letter::Question(self.me, question));
    }

    fn reply(&mut self, to: Address, answer: Answer) {
        self.put(to, Letter::Answer(self.me, answer));
    }

    fn everybody(&self) -> Vec<Address> {
        let inboxes = self.post.inboxes.read().unwrap_or_else(PoisonError::into_inner);
        inboxes.keys().copied().filter(|it| *it != self.me).collect()
    }

    fn flush(&mut self) {}

    #[inline]
    fn receive(&mut self, wait: Duration) -> Option<Letter> {
        if let Some((_, letter)) = self.taken.pop_front() {
            return Some(letter);
        }
        if wait.is_zero() && self.inbox.is_empty.load(Ordering::Acquire) {
            return None;
        }
        self.look(wait)
    }
}

impl Queues {
    /// What has arrived, or arrives within so long.
    fn look(&mut self, wait: Duration) -> Option<Letter> {
        let mut state = self.inbox.state();
        if let Some(letter) = self.inbox.take(&mut state, &mut self.taken) {
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
            state = match state.letters.next().sleep(left) {
                Some(time) => {
                    state.asleep = true;
                    let woken = self.inbox.filled.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner);
                    let mut state = woken.0;
                    state.asleep = false;
                    state
                }
                None => {
                    drop(state);
                    std::thread::yield_now();
                    self.inbox.state()
                }
            };
            if let Some(letter) = self.inbox.take(&mut state, &mut self.taken) {
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
        let mut begun = |me| Ok((me, Node::begun(me, shape, shape.member(me, &mut shard)?)));
        let machines = shape.machines().into_iter().map(&mut begun).collect::<Result<Vec<_>, Error>>()?;
        let (post, ends) = (Arc::new(Post::default()), Arc::new(AtomicBool::new(false)));
        let mut cluster = Self { shape, catalog, post, clients: AtomicU32::new(0), ends, machines: Vec::new() };
        // Everybody has an inbox before anybody speaks.
        let queues: Vec<_> =
            machines.iter().map(|(address, _)| Queues::join(&cluster.post, *address, shape.round_trip)).collect();
        for ((address, mut node), mut queues) in machines.into_iter().zip(queues) {
            let ends = Arc::clone(&cluster.ends);
            let work = move || {
                sleep_precisely();
                drive(&mut node, &mut queues, || ends.load(Ordering::Relaxed));
                node.into_member().expect("it has begun")
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
