//! Waiting for a lock: from the queue to the grant, the timeout or the deadlock.

use std::cell::Cell;
use std::sync::Arc;

use super::blame::DiskShare;
use super::deadlock::{Detector, Registered};
use super::descend::LockPlace;
use super::held::{HeldLock, HeldLocks};
use super::history::{BLOCKERS_KEPT, InTheWay, Wait, WaitEnd};
use super::locks::{Duration, Outcome};
use super::manager::LockManager;
use super::mode::LockMode;
use super::name::{LockName, PackedName};
use super::owner::{LockWaiter, Owner, WaitState};
use super::sync::latch;
use super::table::{LockPartition, NONE, Wanted};
use crate::classic::ids::TxnId;
use crate::classic::page::miss::DiskRead;

/// Maximum number of owners: the counts in the heads have this width.
const MAX_OWNERS: usize = u16::MAX as usize;

/// The request that waits.
struct WantedLock {
    key: PackedName,
    hash: u64,
    mode: LockMode,
    /// Position and entry in the owner's list, if the lock is held in a weaker mode.
    held: Option<(usize, HeldLock)>,
}

/// A wait that has not ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitUnderWay {
    pub(crate) owner: u32,
    pub(crate) txn: TxnId,
    pub(crate) name: LockName,
    /// The first owner in the way.
    pub(crate) behind: Option<u32>,
}

thread_local! {
    static WAITED_NS: Cell<u64> = const { Cell::new(0) };
    static CAUSED_NS: Cell<u64> = const { Cell::new(0) };
}

/// The time that this thread has waited for locks, nanoseconds.
pub(crate) fn waited_ns() -> u64 {
    WAITED_NS.get()
}

/// The time that others have waited for locks of this thread's transactions while these read the disk, nanoseconds.
pub(crate) fn caused_ns() -> u64 {
    CAUSED_NS.get()
}

impl LockManager {
    /// Locks a name that could not be locked without a wait.
    ///
    /// # Errors
    /// [`Outcome::Deadlock`] or [`Outcome::Timeout`]. A mode that was held before is still held.
    #[cold]
    pub(super) fn wait(
        &self,
        owner: &mut Owner,
        key: PackedName,
        mode: LockMode,
        duration: Duration,
    ) -> Result<(), Outcome> {
        let LockPlace { hash, at, .. } = self.place(owner, key);
        let held = at.map(|at| (at, owner.held.entries()[at]));
        let mode = held.map_or(mode, |(_, held)| held.mode.supremum(mode));
        let wanted = WantedLock { key, hash, mode, held };
        let mut detector = latch(&self.detector);
        let mut partition = self.partition(hash);
        // It may be available now.
        let available = match (duration, held) {
            (Duration::Commit, None) => partition.request(key, hash, owner.by(), mode),
            (Duration::Commit, Some((_, held))) => partition.convert(held.request, mode).then_some(held.request),
            (Duration::Momentary, None) => partition.would_grant(key, hash, mode).then_some(NONE),
            (Duration::Momentary, Some((_, held))) => partition.would_convert(held.request, mode).then_some(NONE),
        };
        if let Some(request) = available {
            drop((partition, detector));
            self.keep(owner, &wanted, request, duration);
            return Ok(());
        }
        let asked = Wanted { mode, duration };
        let began_ns = self.clock.monotonic_ns();
        *latch(&owner.waiter.disk) = DiskShare::new(began_ns);
        let request = match held {
            None => partition.enqueue(key, hash, owner.by(), asked, &owner.waiter),
            Some((_, HeldLock { request, .. })) => {
                partition.enqueue_conversion(request, asked, &owner.waiter);
                request
            }
        };
        let mut wait = describe(owner, &wanted, request, &partition, &detector);
        drop(partition);
        detector.waits_at(owner.number, hash, request);
        if self.config.detect_every_ns.is_none() {
            self.break_cycles(&mut detector, owner.number);
        }
        drop(detector);

        wait.end = self.sleep(owner, hash, request, began_ns);
        wait.waited_ns = self.clock.monotonic_ns().saturating_sub(began_ns);
        WAITED_NS.set(WAITED_NS.get() + wait.waited_ns);
        wait.disk = *latch(&owner.waiter.disk);
        latch(&self.history).add(wait);
        match wait.end {
            WaitEnd::Granted => self.keep(owner, &wanted, request, duration),
            WaitEnd::Deadlock => return Err(Outcome::Deadlock),
            WaitEnd::Timeout => return Err(Outcome::Timeout),
        }
        Ok(())
    }

    /// Sleeps until the wait ends; ends it at the lock timeout.
    fn sleep(&self, owner: &Owner, hash: u64, request: u32, began_ns: u64) -> WaitEnd {
        let deadline_ns = self.config.timeout_ns.map(|timeout_ns| began_ns.saturating_add(timeout_ns));
        let mut signal = self.sleep_until(owner, deadline_ns);
        let timed_out = signal == WaitState::Waiting;
        if timed_out {
            // During a search for deadlocks only grants end waits.
            let _detector = latch(&self.detector);
            let mut partition = self.partition(hash);
            if partition.waits(request, owner.number) {
                partition.cancel(request, WaitState::TimedOut);
            }
            drop(partition);
            signal = owner.waiter.sleep(None, &*self.clock);
        }
        match signal {
            WaitState::Granted => WaitEnd::Granted,
            WaitState::Deadlock => WaitEnd::Deadlock,
            WaitState::TimedOut => WaitEnd::Timeout,
            WaitState::None | WaitState::Waiting => panic!("a wait is over when it has ended"),
        }
    }

    /// Sleeps until the wait ends or this time has come. Where deadlocks are searched for from time to time, the owner
    /// wakes to do so; all at the same times, which are multiples of the period.
    fn sleep_until(&self, owner: &Owner, deadline_ns: Option<u64>) -> WaitState {
        loop {
            let search_ns = self.config.detect_every_ns.map(|every| (self.clock.monotonic_ns() / every + 1) * every);
            let is_first = search_ns.is_some_and(|at| deadline_ns.is_none_or(|deadline_ns| at < deadline_ns));
            let signal = owner.waiter.sleep(if is_first { search_ns } else { deadline_ns }, &*self.clock);
            if signal != WaitState::Waiting || !is_first {
                return signal;
            }
            self.break_cycles(&mut latch(&self.detector), owner.number);
        }
    }

    /// Lists a granted request, unless it was for an instant.
    fn keep(&self, owner: &mut Owner, wanted: &WantedLock, request: u32, duration: Duration) {
        match (duration, wanted.held) {
            (Duration::Commit, None) => self.note(owner, wanted.key, wanted.hash, request, wanted.mode),
            (Duration::Commit, Some((at, _))) => owner.held.entry(at).mode = wanted.mode,
            (Duration::Momentary, _) => {}
        }
    }
}

/// The report of a wait that begins.
fn describe(owner: &Owner, wanted: &WantedLock, request: u32, partition: &LockPartition, detector: &Detector) -> Wait {
    let mut wait = Wait {
        owner: owner.number,
        txn: owner.waiter.txn(),
        name: wanted.key.name(),
        held: wanted.held.map(|(_, held)| held.mode),
        wanted: wanted.mode,
        blockers: [None; BLOCKERS_KEPT],
        more_blockers: 0,
        waited_ns: 0,
        disk: DiskShare::default(),
        end: WaitEnd::Granted,
    };
    partition.blockers(request, |blocker| match wait.blockers.iter_mut().find(|kept| kept.is_none()) {
        Some(free) => *free = Some(InTheWay { blocker, txn: detector.txn(blocker.owner) }),
        None => wait.more_blockers += 1,
    });
    wait
}

impl LockManager {
    /// The number of a new owner: numbers of dropped owners are reused.
    pub(super) fn register(&self) -> Owner {
        let mut detector = latch(&self.detector);
        let free = detector.owners.iter_mut().position(|owner| Arc::get_mut(&mut owner.waiter).is_some());
        let number = free.unwrap_or(detector.owners.len());
        assert!(number < MAX_OWNERS, "more than {MAX_OWNERS} transactions at once");
        let waiter = Arc::<LockWaiter>::default();
        let registered = Registered { waiter: waiter.clone(), hash: 0, request: NONE };
        if number == detector.owners.len() {
            detector.owners.push(registered);
        } else {
            detector.owners[number] = registered;
        }
        Owner { number: number as u32, held: HeldLocks::new(), waiter, escalates: true }
    }

    /// Ends all waits as timeouts do.
    pub(crate) fn end_waits(&self) {
        let detector = latch(&self.detector);
        for (number, owner) in detector.owners.iter().enumerate().filter(|(_, owner)| owner.request != NONE) {
            let mut partition = self.partition(owner.hash);
            if partition.waits(owner.request, number as u32) {
                partition.cancel(owner.request, WaitState::TimedOut);
            }
        }
    }

    /// Whether an owner is in a queue, and stays there until another owner acts.
    #[cfg(test)]
    pub(crate) fn is_waiting(&self, number: u32) -> bool {
        latch(&self.detector).owners[number as usize].waiter.waits()
    }

    /// All waits under way.
    pub(crate) fn waiting(&self) -> Vec<WaitUnderWay> {
        let detector = latch(&self.detector);
        let mut waiting = Vec::new();
        for (number, owner) in detector.owners.iter().enumerate().filter(|(_, owner)| owner.request != NONE) {
            let partition = self.partition(owner.hash);
            if partition.waits(owner.request, number as u32) {
                let mut behind = None;
                partition.blockers(owner.request, |blocker| behind = behind.or(Some(blocker.owner)));
                let (txn, name) = (owner.waiter.txn(), partition.name_of(owner.request));
                waiting.push(WaitUnderWay { owner: number as u32, txn, name, behind });
            }
        }
        waiting
    }

    /// Attributes `reads`, which the owner made while it held its locks, to all who wait for it.
    #[cold]
    pub(super) fn attribute_reads(&self, owner: &Owner, reads: &[DiskRead]) {
        let mut detector = latch(&self.detector);
        for at in 0..detector.owners.len() as u32 {
            let Some(last) = (at != owner.number).then(|| self.find_path(&mut detector, at, owner.number)).flatten()
            else {
                continue;
            };
            let began_ns = |number: u32| latch(&detector.owners[number as usize].waiter.disk).began_ns;
            let from_ns = detector.path(at, last).map(began_ns).max().unwrap_or(0);
            let mut share = latch(&detector.owners[at as usize].waiter.disk);
            let before_ns = share.ns;
            reads.iter().for_each(|read| share.add(owner.waiter.txn(), *read, from_ns));
            CAUSED_NS.set(CAUSED_NS.get() + share.ns - before_ns);
        }
    }

    /// Ends all cycles through `start`, which has just begun to wait.
    pub(super) fn break_cycles(&self, detector: &mut Detector, start: u32) {
        while let Some(last) = self.find_path(detector, start, start) {
            let victim = detector.victim(start, last);
            let Registered { hash, request, .. } = detector.owners[victim as usize];
            let mut partition = self.partition(hash);
            assert!(partition.waits(request, victim), "who is on a cycle waits");
            partition.cancel(request, WaitState::Deadlock);
            if victim == start {
                break;
            }
        }
    }

    /// Searches for a shortest way from `start` to `goal` in the waits-for graph, of one step or more; returns the
    /// owner on it that waits for `goal`.
    pub(super) fn find_path(&self, detector: &mut Detector, start: u32, goal: u32) -> Option<u32> {
        let Detector { owners, reached_from, reached } = detector;
        reached_from.clear();
        reached_from.resize(owners.len(), NONE);
        reached.clear();
        reached.push(start);
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            let Registered { hash, request, .. } = owners[at as usize];
            if request == NONE {
                continue;
            }
            let partition = self.partition(hash);
            if !partition.waits(request, at) {
                continue;
            }
            let mut closed = false;
            partition.blockers(request, |blocker| {
                closed |= blocker.owner == goal;
                let from = &mut reached_from[blocker.owner as usize];
                if *from == NONE && blocker.owner != start {
                    *from = at;
                    reached.push(blocker.owner);
                }
            });
            if closed {
                return Some(at);
            }
        }
        None
    }
}
