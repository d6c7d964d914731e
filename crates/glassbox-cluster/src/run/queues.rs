//! Queues between parties that are threads of one process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::link::{Link, LinkEvent, NOT_HERE};
use super::node::Node;
use super::shared_node::SharedNode;
use super::timing::DelayQueue;
use crate::protocol::address::Address;
use crate::protocol::message::Packet;
use crate::wire::{Answer, Question};

/// A wait shorter than this is a busy-wait. Sleeping and waking takes up to 25 µs of a core on a virtual machine, many
/// times the work of a message; the thread yields its core meanwhile.
const CLOSE: Duration = Duration::from_micros(110);

/// The inbox of one party.
#[derive(Debug)]
struct Inbox {
    state: Mutex<InboxState>,
    filled: Condvar,
    /// Whether the inbox is empty, readable without the lock.
    is_empty: AtomicBool,
    /// Whether events that were taken out are still being handled.
    in_hand: AtomicBool,
    /// The node of the inbox, if clients may run calls on it.
    machine: Option<Arc<SharedNode>>,
}

#[derive(Debug)]
struct InboxState {
    events: DelayQueue<LinkEvent>,
    /// Whether the party has gone; a successor may have its address.
    closed: bool,
    /// Whether the party sleeps: waking costs a system call even if no thread sleeps.
    asleep: bool,
}

impl Inbox {
    /// `machine`: the node, which clients may use unless messages are delayed.
    fn new(round_trip: Duration, machine: Option<Arc<SharedNode>>) -> Self {
        let state = Mutex::new(InboxState { events: DelayQueue::new(round_trip), closed: false, asleep: false });
        let (is_empty, in_hand) = (AtomicBool::new(true), AtomicBool::new(false));
        let machine = machine.filter(|_| round_trip.is_zero());
        Self { state, filled: Condvar::new(), is_empty, in_hand, machine }
    }

    /// Whether everything that the same thread put in before has been handled.
    #[inline]
    fn is_at_rest(&self) -> bool {
        // The reader sets `in_hand` before it marks the inbox empty.
        self.is_empty.load(Ordering::Acquire) && !self.in_hand.load(Ordering::Acquire)
    }

    /// Adds an event; returns it if the party has gone.
    #[inline]
    fn put(&self, event: LinkEvent) -> Option<LinkEvent> {
        let mut state = self.state();
        if state.closed {
            return Some(event);
        }
        state.events.push(event);
        self.is_empty.store(false, Ordering::Release);
        // A party that sleeps until a delayed event is due need not be woken.
        if state.asleep && state.events.len() == 1 {
            self.filled.notify_one();
        }
        None
    }

    /// Moves all available events into `taken`, which is empty; the first of them.
    #[inline]
    fn take(&self, state: &mut InboxState, taken: &mut VecDeque<LinkEvent>) -> Option<LinkEvent> {
        state.events.take(taken);
        if !taken.is_empty() {
            self.in_hand.store(true, Ordering::Relaxed);
        }
        self.is_empty.store(state.events.len() == 0, Ordering::Release);
        taken.pop_front()
    }

    fn state(&self) -> MutexGuard<'_, InboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The inboxes of all parties.
#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    inboxes: RwLock<BTreeMap<Address, Arc<Inbox>>>,
}

impl Mailboxes {
    /// Whether all events of members, those that are not due yet included, have been handled.
    pub(super) fn members_are_at_rest(&self) -> bool {
        let inboxes = self.inboxes.read().unwrap_or_else(PoisonError::into_inner);
        inboxes.iter().filter(|(owner, _)| owner.is_member()).all(|(_, inbox)| inbox.is_at_rest())
    }
}

/// One party's queues.
#[derive(Debug)]
pub struct Queues {
    me: Address,
    inbox: Arc<Inbox>,
    post: Arc<Mailboxes>,
    /// Inboxes that were looked up, the last one used first.
    known: Vec<(Address, Arc<Inbox>)>,
    /// Events that were taken out of the inbox.
    taken: VecDeque<LinkEvent>,
}

impl Queues {
    pub(super) fn join(post: &Arc<Mailboxes>, me: Address, round_trip: Duration) -> Self {
        Self::join_as(post, me, round_trip, None)
    }

    /// Joins as a node on which clients may run calls.
    pub(super) fn join_as(
        post: &Arc<Mailboxes>,
        me: Address,
        round_trip: Duration,
        machine: Option<Arc<SharedNode>>,
    ) -> Self {
        let inbox = Arc::new(Inbox::new(round_trip, machine));
        post.inboxes.write().unwrap_or_else(PoisonError::into_inner).insert(me, Arc::clone(&inbox));
        Self { me, inbox, post: Arc::clone(post), known: Vec::new(), taken: VecDeque::new() }
    }

    /// Whether everything that has arrived was handled.
    #[inline]
    pub(super) fn is_at_rest(&self) -> bool {
        self.taken.is_empty() && self.inbox.is_empty.load(Ordering::Acquire)
    }

    /// Looks up a party's inbox; whether it exists.
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

    /// Whether a party exists; its inbox is the first known one then.
    #[inline]
    fn knows(&mut self, party: Address) -> bool {
        self.known.first().is_some_and(|(last, _)| *last == party) || self.find(party)
    }

    #[inline]
    fn put(&mut self, to: Address, event: LinkEvent) {
        if !self.knows(to) {
            return self.is_gone(to);
        }
        if let Some(event) = self.known[0].1.put(event) {
            self.known.swap_remove(0);
            // A successor may have its address.
            if !self.find(to) || self.known[0].1.put(event).is_some() {
                self.is_gone(to);
            }
        }
    }

    /// A party is absent. The event queues behind what the party has sent.
    #[cold]
    fn is_gone(&self, to: Address) {
        if let Address::Client(_) = to {
            self.inbox.put(LinkEvent::Disconnected(to, NOT_HERE.to_owned()));
        }
    }

    /// The next event, waiting for at most this long.
    fn look(&mut self, wait: Duration) -> Option<LinkEvent> {
        let mut state = self.inbox.state();
        if let Some(event) = self.inbox.take(&mut state, &mut self.taken) {
            return Some(event);
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
            state = match state.events.next().sleep(waited, left, CLOSE) {
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
            if let Some(event) = self.inbox.take(&mut state, &mut self.taken) {
                return Some(event);
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
        self.put(to, LinkEvent::Message(self.me, packet));
    }

    fn question(&mut self, to: Address, question: Question) {
        self.put(to, LinkEvent::Question(self.me, question));
    }

    fn reply(&mut self, to: Address, answer: Answer) {
        self.put(to, LinkEvent::Answer(self.me, answer));
    }

    fn connected(&self) -> Vec<Address> {
        let inboxes = self.post.inboxes.read().unwrap_or_else(PoisonError::into_inner);
        inboxes.keys().copied().filter(|it| *it != self.me).collect()
    }

    fn flush(&mut self) {}

    #[inline]
    fn at_once<T>(&mut self, at: Address, work: impl FnOnce(&mut Node) -> Option<T>) -> Option<T> {
        // Events that have arrived here are handled first.
        if !self.is_at_rest() || !self.knows(at) {
            return None;
        }
        let inbox = &self.known[0].1;
        let machine = inbox.machine.as_ref()?;
        machine.take_if_free(|node| if inbox.is_at_rest() { work(node) } else { None })
    }

    #[inline]
    fn receive(&mut self, wait: Duration) -> Option<LinkEvent> {
        if let Some(event) = self.taken.pop_front() {
            return Some(event);
        }
        self.inbox.in_hand.store(false, Ordering::Release);
        if wait.is_zero() && self.inbox.is_empty.load(Ordering::Acquire) {
            return None;
        }
        self.look(wait)
    }
}
