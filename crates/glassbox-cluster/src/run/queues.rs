//! Queues between parties that are threads of one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::link::{Letter, Link, NOT_HERE};
use super::node::Node;
use super::seat::Seat;
use super::timing::Late;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
use crate::wire::{Answer, Question};

/// A message that comes so soon is not waited for asleep. To sleep and be woken takes up to 25 µs of a core on a
/// virtual machine, many times what is done with the message; whoever else wants the core meanwhile gets it.
const CLOSE: Duration = Duration::from_micros(110);

/// What has arrived for one party.
#[derive(Debug)]
struct Inbox {
    state: Mutex<State>,
    filled: Condvar,
    /// There are no letters. Whoever does not wait need not lock anything to know it.
    is_empty: AtomicBool,
    /// Letters that were taken out are not all dealt with.
    in_hand: AtomicBool,
    /// The machine whose inbox it is, if clients may take it.
    machine: Option<Arc<Seat>>,
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
    /// `machine`: whose it is, and may be taken by clients unless what is sent to it takes time to arrive.
    fn new(round_trip: Duration, machine: Option<Arc<Seat>>) -> Self {
        let state = Mutex::new(State { letters: Late::new(round_trip), closed: false, asleep: false });
        let (is_empty, in_hand) = (AtomicBool::new(true), AtomicBool::new(false));
        let machine = machine.filter(|_| round_trip.is_zero());
        Self { state, filled: Condvar::new(), is_empty, in_hand, machine }
    }

    /// Whether everything that was put in before by the same thread has been dealt with.
    #[inline]
    fn is_at_rest(&self) -> bool {
        // Who takes letters out has them in hand before the inbox is empty.
        self.is_empty.load(Ordering::Acquire) && !self.in_hand.load(Ordering::Acquire)
    }

    /// Puts a letter in; gives it back if whoever it is for is gone.
    #[inline]
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
    #[inline]
    fn take(&self, state: &mut State, taken: &mut VecDeque<Letter>) -> Option<Letter> {
        state.letters.take(taken);
        if self.machine.is_some() && !taken.is_empty() {
            self.in_hand.store(true, Ordering::Relaxed);
        }
        self.is_empty.store(state.letters.len() == 0, Ordering::Release);
        taken.pop_front()
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
    taken: VecDeque<Letter>,
}

impl Queues {
    pub(super) fn join(post: &Arc<Post>, me: Address, round_trip: Duration) -> Self {
        Self::join_as(post, me, round_trip, None)
    }

    /// As this machine, which others may take.
    pub(super) fn join_as(post: &Arc<Post>, me: Address, round_trip: Duration, machine: Option<Arc<Seat>>) -> Self {
        let inbox = Arc::new(Inbox::new(round_trip, machine));
        post.inboxes.write().unwrap_or_else(PoisonError::into_inner).insert(me, Arc::clone(&inbox));
        Self { me, inbox, post: Arc::clone(post), known: Vec::new(), taken: VecDeque::new() }
    }

    /// Whether nothing has arrived that was not dealt with.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.taken.is_empty() && self.inbox.is_empty.load(Ordering::Acquire)
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

    /// Whether there is such a party: it is the first of those that are known then.
    #[inline]
    fn knows(&mut self, party: Address) -> bool {
        self.known.first().is_some_and(|(last, _)| *last == party) || self.find(party)
    }

    #[inline]
    fn put(&mut self, to: Address, letter: Letter) {
        if !self.knows(to) {
            return self.is_gone(to);
        }
        if let Some(letter) = self.known[0].1.put(letter) {
            self.known.swap_remove(0);
            // Another may have its address.
            if !self.find(to) || self.known[0].1.put(letter).is_some() {
                self.is_gone(to);
            }
        }
    }

    /// Somebody is not there, or not any more. It comes behind what it has sent.
    #[cold]
    fn is_gone(&self, to: Address) {
        if let Address::Client(_) = to {
            self.inbox.put(Letter::Gone(to, NOT_HERE.to_owned()));
        }
    }

    /// What has arrived, or arrives within so long.
    fn look(&mut self, wait: Duration) -> Option<Letter> {
        let mut state = self.inbox.state();
        if let Some(letter) = self.inbox.take(&mut state, &mut self.taken) {
            return Some(letter);
        }
        if wait.is_zero() {
            return None;
        }
        let began = Instant::now();
        loop {
            let waited = began.elapsed();
            let left = wait.saturating_sub(waited);
            if left.is_zero() {
                return None;
            }
            state = match state.letters.next().sleep(waited, left, CLOSE) {
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

impl Drop for Queues {
    fn drop(&mut self) {
        self.inbox.state().closed = true;
        let mut inboxes = self.post.inboxes.write().unwrap_or_else(PoisonError::into_inner);
        if inboxes.get(&self.me).is_some_and(|inbox| Arc::ptr_eq(inbox, &self.inbox)) {
            inboxes.remove(&self.me);
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
    fn at_once<T>(&mut self, at: Address, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        // What has arrived here comes first, too.
        if !self.is_at_rest() || !self.knows(at) {
            return None;
        }
        let inbox = &self.known[0].1;
        let machine = inbox.machine.as_ref()?;
        machine.take_if_free(|node| if inbox.is_at_rest() { work(node) } else { None })
    }

    #[inline]
    fn receive(&mut self, wait: Duration) -> Option<Letter> {
        if let Some(letter) = self.taken.pop_front() {
            return Some(letter);
        }
        if self.inbox.machine.is_some() {
            self.inbox.in_hand.store(false, Ordering::Release);
        }
        if wait.is_zero() && self.inbox.is_empty.load(Ordering::Acquire) {
            return None;
        }
        self.look(wait)
    }
}
