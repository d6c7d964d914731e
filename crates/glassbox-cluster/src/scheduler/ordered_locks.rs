//! Ordered locks: a lock table in which each transaction requests all of its locks before the next one of the log
//! requests any.
//!
//! Calvin's deterministic lock manager (*Calvin*, section 3.2; VLDB 2014, section 2). Each key has a queue of requests
//! in the order of the log. The first request holds the lock, or all readers at the front do. A release grants the lock
//! to the next request, or to all readers that follow each other. A transaction is ready when all of its requests are
//! granted.
//!
//! Requests may also be for ranges, which the paper leaves out. A range that several transactions request alike has a
//! queue, as a key has. A request that meets other keys or ranges waits in addition for the end of each earlier
//! transaction that it conflicts with there; such pairs are rare, so they are kept as a list at the earlier one.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use foldhash::fast::FixedState;
use glassbox::research::shard::{DeclaredKeys, KeyRequest, Touch, WatchedKey};

use super::{LogPlace, Scheduler};

/// The requests of a key or range, in the order of the log.
#[derive(Debug, Default)]
struct RequestQueue {
    requests: VecDeque<(LogPlace, Touch)>,
    /// The first so many hold the lock: one writer, or readers.
    granted: usize,
}

impl RequestQueue {
    /// Whether the first request without the lock can have it.
    fn can_grant(&self) -> bool {
        let reads = |at: usize| self.requests.get(at).is_some_and(|(_, touch)| *touch == Touch::Read);
        match self.granted {
            0 => !self.requests.is_empty(),
            granted => reads(0) && reads(granted),
        }
    }

    /// Adds a request; whether it holds the lock.
    fn add(&mut self, place: LogPlace, touch: Touch) -> bool {
        self.requests.push_back((place, touch));
        let is_granted = self.granted + 1 == self.requests.len() && self.can_grant();
        self.granted += usize::from(is_granted);
        is_granted
    }

    /// Removes a request; calls `grant` for those that hold the lock now.
    fn remove(&mut self, place: LogPlace, mut grant: impl FnMut(LogPlace)) {
        let at = self.requests.iter().position(|(other, _)| *other == place).expect("it was requested");
        self.requests.remove(at);
        self.granted -= usize::from(at < self.granted);
        while self.can_grant() {
            grant(self.requests[self.granted].0);
            self.granted += 1;
        }
    }
}

/// Keys from one to another.
type KeyRange = (WatchedKey, WatchedKey);

/// The requests of a space.
#[derive(Debug, Default)]
struct LockSpace {
    keys: HashMap<WatchedKey, RequestQueue, FixedState>,
    ranges: BTreeMap<KeyRange, RequestQueue>,
}

impl LockSpace {
    /// The queue of a request, which must exist.
    fn queue(&mut self, request: &KeyRequest) -> Option<&mut RequestQueue> {
        if request.is_single() {
            self.keys.get_mut(&request.low)
        } else {
            self.ranges.get_mut(&(request.low.clone(), request.high.clone()))
        }
    }

    fn remove_queue(&mut self, request: &KeyRequest) {
        if request.is_single() {
            self.keys.remove(&request.low);
        } else {
            self.ranges.remove(&(request.low.clone(), request.high.clone()));
        }
    }

    /// Adds a request to its queue; whether it holds the lock.
    fn add(&mut self, place: LogPlace, request: &KeyRequest) -> bool {
        let queue = if request.is_single() {
            self.keys.entry(request.low.clone()).or_default()
        } else {
            self.ranges.entry((request.low.clone(), request.high.clone())).or_default()
        };
        queue.add(place, request.touch)
    }

    /// Calls `meet` for each transaction with a conflicting request in another queue.
    fn for_each_conflict(&self, request: &KeyRequest, mut meet: impl FnMut(LogPlace)) {
        let mut visit = |queue: &RequestQueue| {
            let conflicts = |touch: &Touch| request.touch == Touch::Write || *touch == Touch::Write;
            queue.requests.iter().filter(|(_, touch)| conflicts(touch)).for_each(|(other, _)| meet(*other));
        };
        let is_own = |(low, high): &KeyRange| *low == request.low && *high == request.high;
        let overlaps = |(low, high): &KeyRange| *low <= request.high && request.low <= *high;
        let ranges = self.ranges.iter().filter(|(range, _)| overlaps(range) && !is_own(range));
        ranges.for_each(|(_, queue)| visit(queue));
        if !request.is_single() {
            let within = |key: &WatchedKey| request.low <= *key && *key <= request.high;
            self.keys.iter().filter(|(key, _)| within(key)).for_each(|(_, queue)| visit(queue));
        }
    }
}

/// A transaction that has not ended.
#[derive(Debug, Default)]
struct LockingTxn {
    requests: Vec<KeyRequest>,
    /// Requests without their lock, and earlier transactions that it waits for in addition.
    waits: usize,
    /// Later transactions that wait for its end.
    followers: Vec<LogPlace>,
}

#[derive(Debug, Default)]
pub(crate) struct OrderedLocks {
    spaces: HashMap<u32, LockSpace, FixedState>,
    txns: BTreeMap<LogPlace, LockingTxn>,
    /// Transactions that have all locks and were not given yet.
    ready: BTreeSet<LogPlace>,
}

impl Scheduler for OrderedLocks {
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys) {
        let requests = keys.requests().to_vec();
        let mut waits = 0;
        for request in &requests {
            let space = self.spaces.entry(request.space).or_default();
            let txns = &mut self.txns;
            space.for_each_conflict(request, |earlier| {
                // Its own requests are no conflicts.
                if let Some(txn) = txns.get_mut(&earlier) {
                    txn.followers.push(place);
                    waits += 1;
                }
            });
            waits += usize::from(!space.add(place, request));
        }
        self.txns.insert(place, LockingTxn { requests, waits, followers: Vec::new() });
        if waits == 0 {
            self.ready.insert(place);
        }
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        self.ready.pop_first()
    }

    fn release(&mut self, place: LogPlace) {
        let LockingTxn { requests, followers, .. } = self.txns.remove(&place).expect("it has requested its locks");
        let mut freed = followers;
        for request in &requests {
            let space = self.spaces.get_mut(&request.space).expect("a request has a space");
            let queue = space.queue(request).expect("a request has a queue");
            queue.remove(place, |next| freed.push(next));
            if queue.requests.is_empty() {
                space.remove_queue(request);
            }
        }
        for next in freed {
            let txn = self.txns.get_mut(&next).expect("a waiting transaction has not ended");
            txn.waits -= 1;
            if txn.waits == 0 {
                self.ready.insert(next);
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.txns.is_empty()
    }
}
