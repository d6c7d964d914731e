//! Faults planted in the schedulers, one for each, which the checker of histories must detect.
//!
//! The simulator, and clusters of threads, give them to executors in place of the configuration's scheduler; products
//! have no such code.

use std::collections::BTreeMap;

use glassbox::research::shard::{DeclaredKeys, Touch};
use glassbox_cluster::{LogPlace, MakeScheduler, Scheduler, SchedulerKind, new_scheduler};

/// Each scheduler with its fault.
pub const FAULTS: [(SchedulerKind, MakeScheduler); 3] = [
    (SchedulerKind::Serial, |_| Box::new(Overtaking::default())),
    (SchedulerKind::OrderedLocks, |kind| {
        Box::new(ShortReadLocks { locks: new_scheduler(kind), waiting: BTreeMap::new() })
    }),
    (SchedulerKind::Vll, |kind| Box::new(HastyAnalysis { vll: new_scheduler(kind), queue: BTreeMap::new() })),
];

/// The requests of a mode.
fn of_mode(keys: &DeclaredKeys, touch: Touch) -> DeclaredKeys {
    DeclaredKeys::found(keys.requests().iter().filter(|it| it.touch == touch).cloned().collect())
}

/// Serial: a transaction that only reads begins while the one before it, a distributed one, waits for rows or votes.
#[derive(Debug, Default)]
struct Overtaking {
    /// Transactions that have not ended: whether each only reads, and whether it runs.
    queue: BTreeMap<LogPlace, (bool, bool)>,
}

impl Scheduler for Overtaking {
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys) {
        let only_reads = keys.requests().iter().all(|it| it.touch == Touch::Read);
        self.queue.insert(place, (only_reads, false));
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        let mut first = self.queue.iter_mut().take(2).enumerate();
        let may_run = |(at, (_, (only_reads, runs))): &(usize, (&LogPlace, &mut (bool, bool)))| {
            !*runs && (*at == 0 || *only_reads)
        };
        let (_, (place, (_, runs))) = first.find(may_run)?;
        *runs = true;
        Some(*place)
    }

    fn release(&mut self, place: LogPlace) {
        self.queue.remove(&place);
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}

/// Ordered locks: a write lock is granted while readers hold the key. Each transaction is two for the lock table: one
/// with its read locks, which are released as soon as all of them are granted, and one with its write locks.
#[derive(Debug)]
struct ShortReadLocks {
    locks: Box<dyn Scheduler>,
    /// Transactions that are not ready: whether each waits for its read locks, and for its write locks.
    waiting: BTreeMap<LogPlace, [bool; 2]>,
}

impl Scheduler for ShortReadLocks {
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys) {
        self.waiting.insert(place, [true; 2]);
        self.locks.request(2 * place, &of_mode(keys, Touch::Read));
        self.locks.request(2 * place + 1, &of_mode(keys, Touch::Write));
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        while let Some(half) = self.locks.next_ready() {
            let place = half / 2;
            let waits = self.waiting.get_mut(&place).expect("it has requested its locks");
            waits[(half % 2) as usize] = false;
            let is_ready = *waits == [false; 2];
            if half % 2 == 0 {
                self.locks.release(half);
            }
            if is_ready {
                self.waiting.remove(&place);
                return Some(place);
            }
        }
        None
    }

    fn release(&mut self, place: LogPlace) {
        self.locks.release(2 * place + 1);
    }

    fn is_idle(&self) -> bool {
        self.locks.is_idle()
    }
}

/// VLL: selective contention analysis forgets what a blocked transaction reads, and releases one that reads what an
/// earlier one writes.
#[derive(Debug)]
struct HastyAnalysis {
    vll: Box<dyn Scheduler>,
    /// Transactions that have not ended, and whether each runs.
    queue: BTreeMap<LogPlace, (DeclaredKeys, bool)>,
}

/// Blocked transactions after which VLL analyses.
const MANY_BLOCKED: usize = 20;

impl Scheduler for HastyAnalysis {
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys) {
        self.queue.insert(place, (keys.clone(), false));
        self.vll.request(place, keys);
    }

    fn next_ready(&mut self) -> Option<LogPlace> {
        while let Some(place) = self.vll.next_ready() {
            // The analysis may have released it before.
            if self.queue.get_mut(&place).is_some_and(|(_, runs)| !std::mem::replace(runs, true)) {
                return Some(place);
            }
        }
        let blocked = self.queue.iter().filter(|(_, (_, runs))| !runs);
        if blocked.clone().count() <= MANY_BLOCKED {
            return None;
        }
        let is_free = |(place, (keys, _)): &(&LogPlace, &(DeclaredKeys, bool))| {
            let writes = of_mode(keys, Touch::Write);
            self.queue.range(..*place).all(|(_, (earlier, _))| !earlier.conflicts(&writes))
        };
        let place = blocked.into_iter().find(is_free).map(|(place, _)| *place)?;
        self.queue.entry(place).and_modify(|(_, runs)| *runs = true);
        Some(place)
    }

    fn release(&mut self, place: LogPlace) {
        self.queue.remove(&place);
        self.vll.release(place);
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}
