//! VLL: two counters for each key instead of a queue of requests.
//!
//! Ren, Thomson, Abadi, *Lightweight Locking for Main Memory Database Systems*, PVLDB 6(2), 2013; VLDB 2014, section 2.
//! A transaction adds one to the counter of readers or of writers of each of its keys. If it is the only writer of the
//! keys that it writes, and there is no writer of the keys that it reads, it is *free*; else it is *blocked*. The
//! transactions stand in a queue in the order of the log until they end. The first one of the queue may always run: all
//! that it can conflict with has ended.
//!
//! A blocked transaction learns that nothing blocks it any more only at the front of the queue. So, when many are
//! blocked, *selective contention analysis* walks the queue with the set of keys that earlier transactions touch, and
//! releases blocked ones that meet none of them.
//!
//! Counters are hashed, as in the authors' code: two keys that share a counter are one key to it, which makes it more
//! careful than it had to be, never less. A range whose keys all begin alike has counters as a key has. Where keys and
//! ranges, or ranges of different lengths, are requested in one space at the same time, the requests of each *shape*
//! are counted too: a request conflicts with all of another shape, however far away. Selective contention analysis does
//! the same.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use glassbox::research::shard::{DeclaredKeys, KeyRequest, Touch, WatchedKey};

use super::{LogPlace, Scheduler};

/// Counters of keys, 2 to this. With 1,500 keys requested, one in 170 requests meets another one's counter by chance.
const COUNTERS_LOG: u32 = 18;

/// Blocked transactions that make an analysis worth its time; the paper's 20.
const MANY_BLOCKED: usize = 20;

/// Requests that are counted together: readers and writers. Zeroed memory of many is not touched before it is used.
type RequestCounts = [u32; 2];

fn count_of(counts: &mut RequestCounts, touch: Touch) -> &mut u32 {
    match touch {
        Touch::Read => &mut counts[0],
        Touch::Write => &mut counts[1],
    }
}

/// Whether one of the counted requests conflicts with one of the same key.
fn block([readers, writers]: RequestCounts, touch: Touch) -> bool {
    writers > 0 || touch == Touch::Write && readers > 0
}

/// The part of a key's form that a request leaves open. Two requests of one shape and space have the same keys or none
/// in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeShape {
    Key,
    /// All short keys that agree in the other bits.
    ShortPrefix(u128),
    /// All long keys that agree in so many bytes.
    LongPrefix(usize),
    /// Another range, which conflicts with requests of its own shape too.
    Irregular,
}

impl RangeShape {
    fn of(request: &KeyRequest) -> Self {
        if request.is_single() {
            return Self::Key;
        }
        match (&request.low, &request.high) {
            (WatchedKey::Short(low), WatchedKey::Short(high)) => {
                let open = low ^ high;
                // One run of bits, all 0 in the first key and all 1 in the last; the bits after it are 0 in both.
                let is_run = (open >> open.trailing_zeros()).wrapping_add(1).is_power_of_two() || open == u128::MAX;
                let last = open | (open & open.wrapping_neg()).wrapping_sub(1);
                if is_run && low & last == 0 { Self::ShortPrefix(open) } else { Self::Irregular }
            }
            (WatchedKey::Long(low), WatchedKey::Long(high)) => {
                let shared = low.iter().zip(high).take_while(|(low, high)| low == high).count();
                let is_open = |bytes: &[u8], rest: u8| bytes[shared..].iter().all(|byte| *byte == rest);
                if is_open(low, 0) && is_open(high, 255) { Self::LongPrefix(shared) } else { Self::Irregular }
            }
            _ => Self::Irregular,
        }
    }

    /// Whether requests of the two shapes may have keys in common that their counters do not show.
    fn may_meet(self, other: Self) -> bool {
        self != other || self == Self::Irregular
    }
}

/// A request as it is counted.
#[derive(Debug, Clone, Copy)]
struct CountedRequest {
    counter: usize,
    space: u32,
    shape: RangeShape,
    touch: Touch,
}

impl CountedRequest {
    fn of(request: &KeyRequest) -> Self {
        let hash = FixedState::default().hash_one((request.space, &request.low, &request.high));
        let counter = (hash >> (64 - COUNTERS_LOG)) as usize;
        Self { counter, space: request.space, shape: RangeShape::of(request), touch: request.touch }
    }
}

/// KeyCounters of keys, and of the shapes in each space.
#[derive(Debug)]
struct KeyCounters {
    keys: Vec<RequestCounts>,
    /// Shapes of each space that were ever requested there.
    shapes: HashMap<u32, Vec<(RangeShape, RequestCounts)>, FixedState>,
}

impl Default for KeyCounters {
    fn default() -> Self {
        Self { keys: vec![RequestCounts::default(); 1 << COUNTERS_LOG], shapes: HashMap::default() }
    }
}

impl KeyCounters {
    /// Whether a counted request conflicts with this one, or may do so.
    fn block(&self, request: &CountedRequest) -> bool {
        let CountedRequest { shape, touch, .. } = *request;
        let may_meet = |(other, counts): &(RangeShape, RequestCounts)| shape.may_meet(*other) && block(*counts, touch);
        block(self.keys[request.counter], request.touch)
            || self.shapes.get(&request.space).is_some_and(|shapes| shapes.iter().any(may_meet))
    }

    fn shape(&mut self, request: &CountedRequest) -> &mut RequestCounts {
        let shapes = self.shapes.entry(request.space).or_default();
        let known = shapes.iter().position(|(shape, _)| *shape == request.shape);
        let at = known.unwrap_or_else(|| {
            shapes.push((request.shape, RequestCounts::default()));
            shapes.len() - 1
        });
        &mut shapes[at].1
    }

    fn add(&mut self, request: &CountedRequest) {
        *count_of(&mut self.keys[request.counter], request.touch) += 1;
        *count_of(self.shape(request), request.touch) += 1;
    }

    fn remove(&mut self, request: &CountedRequest) {
        *count_of(&mut self.keys[request.counter], request.touch) -= 1;
        *count_of(self.shape(request), request.touch) -= 1;
    }
}

/// A transaction that has not ended.
#[derive(Debug)]
struct QueuedTxn {
    place: LogPlace,
    requests: Vec<CountedRequest>,
    is_blocked: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Vll {
    counters: KeyCounters,
    /// In the order of the log.
    queue: VecDeque<QueuedTxn>,
    blocked: usize,
    /// Transactions that may run and were not given yet.
    ready: BTreeSet<LogPlace>,
    /// Whether a transaction has ended since the last analysis.
    has_changed: bool,
    /// The counters of an analysis, all 0 outside of one.
    passed: KeyCounters,
}

impl Vll {
    /// Selective contention analysis: releases blocked transactions that conflict with no earlier one.
    fn analyse_contention(&mut self) {
        for txn in &mut self.queue {
            if txn.is_blocked && !txn.requests.iter().any(|request| self.passed.block(request)) {
                txn.is_blocked = false;
                self.blocked -= 1;
                self.ready.insert(txn.place);
            }
            txn.requests.iter().for_each(|request| self.passed.add(request));
        }
        for txn in &self.queue {
            txn.requests.iter().for_each(|request| self.passed.remove(request));
        }
    }
}

impl Scheduler for Vll {
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys) {
        let requests: Vec<_> = keys.requests().iter().map(CountedRequest::of).collect();
        // The first of the queue is never blocked, whatever shares its counters.
        let is_blocked = !self.queue.is_empty() && requests.iter().any(|request| self.counters.block(request));
        requests.iter().for_each(|request| self.counters.add(request));
        self.queue.push_back(QueuedTxn { place, requests, is_blocked });
        if is_blocked {
            self.blocked += 1;
        } else {
            self.ready.insert(place);
        }
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        if self.ready.is_empty() && self.blocked > MANY_BLOCKED && std::mem::take(&mut self.has_changed) {
            self.analyse_contention();
        }
        self.ready.pop_first()
    }

    fn release(&mut self, place: LogPlace) {
        let at = self.queue.binary_search_by_key(&place, |txn| txn.place).expect("it has requested its locks");
        let ended = self.queue.remove(at).expect("it was found there");
        ended.requests.iter().for_each(|request| self.counters.remove(request));
        self.has_changed = true;
        if let Some(first) = self.queue.front_mut()
            && std::mem::take(&mut first.is_blocked)
        {
            self.blocked -= 1;
            self.ready.insert(first.place);
        }
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: u128, high: u128) -> KeyRequest {
        let (low, high) = (WatchedKey::Short(low), WatchedKey::Short(high));
        KeyRequest { space: 1, low, high, touch: Touch::Write }
    }

    #[test]
    fn ranges_of_one_shape_are_equal_or_apart() {
        assert_eq!(RangeShape::of(&range(5, 5)), RangeShape::Key);
        assert_eq!(RangeShape::of(&range(0x30, 0x3f)), RangeShape::ShortPrefix(0xf));
        let padded = RangeShape::of(&range(0x3000, 0x3ff0));
        assert_eq!(padded, RangeShape::ShortPrefix(0xff0), "keys are followed by zeros");
        assert_eq!(RangeShape::of(&range(0, u128::MAX)), RangeShape::ShortPrefix(u128::MAX));
        for (low, high) in [(0x31, 0x3f), (0x3f, 0x40), (1, 3), (2, 5), (0, 5)] {
            assert_eq!(RangeShape::of(&range(low, high)), RangeShape::Irregular, "{low} to {high}");
        }
        assert!(RangeShape::Irregular.may_meet(RangeShape::Irregular) && !RangeShape::Key.may_meet(RangeShape::Key));
        assert!(RangeShape::Key.may_meet(RangeShape::ShortPrefix(1)));
        let long = |rest: u8| WatchedKey::of(&[[1; 20], [rest; 20]].concat());
        let prefix = KeyRequest { space: 1, low: long(0), high: long(255), touch: Touch::Read };
        assert_eq!(RangeShape::of(&prefix), RangeShape::LongPrefix(20));
        assert_eq!(RangeShape::of(&KeyRequest { high: long(254), ..prefix }), RangeShape::Irregular);
    }
}
