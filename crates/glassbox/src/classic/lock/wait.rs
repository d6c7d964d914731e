//! Waiting for a lock: from the queue to the grant, the timeout or the deadlock.

use super::deadlock::Detector;
use super::descend::Place;
use super::held::Held;
use super::history::{BLOCKERS_KEPT, InTheWay, Wait, WaitEnd};
use super::locks::{Duration, Outcome};
use super::manager::LockManager;
use super::mode::Mode;
use super::name::Key;
use super::owner::{Owner, Signal};
use super::sync::latch;
use super::table::Partition;

/// The request that waits.
struct Wanted {
    key: Key,
    hash: u64,
    mode: Mode,
    /// Position and entry in the owner's list, if the lock is held in a weaker mode.
    held: Option<(usize, Held)>,
}

impl LockManager {
    /// Locks a name that could not be locked without a wait.
    ///
    /// # Errors
    /// [`Outcome::Deadlock`] or [`Outcome::Timeout`]. A mode that was held before is still held.
    #[cold]
    pub(super) fn wait(&self, owner: &mut Owner, key: Key, mode: Mode, duration: Duration) -> Result<(), Outcome> {
        let Place { hash, at, .. } = self.place(owner, key);
        let held = at.map(|at| (at, owner.held.entries()[at]));
        let mode = held.map_or(mode, |(_, held)| held.mode.supremum(mode));
        let wanted = Wanted { key, hash, mode, held };
        let mut detector = latch(&self.detector);
        let mut partition = self.partition(hash);
        // It may be available now.
        let granted = match held {
            None => partition.request(key, hash, owner.by(), mode),
            Some((_, Held { request, .. })) => partition.convert(request, mode).then_some(request),
        };
        if let Some(request) = granted {
            drop((partition, detector));
            self.keep(owner, &wanted, request, duration);
            return Ok(());
        }
        let request = match held {
            None => partition.enqueue(key, hash, owner.by(), mode, &owner.waiter),
            Some((_, Held { request, .. })) => {
                partition.enqueue_conversion(request, mode, &owner.waiter);
                request
            }
        };
        let mut wait = describe(owner, &wanted, request, &partition, &detector);
        drop(partition);
        detector.waits_at(owner.number, hash, request);
        self.break_cycles(&mut detector, owner.number);
        drop(detector);

        let began_ns = self.clock.monotonic_ns();
        wait.end = self.sleep(owner, hash, request, began_ns);
        wait.waited_ns = self.clock.monotonic_ns().saturating_sub(began_ns);
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
        let mut signal = owner.waiter.sleep(deadline_ns, &*self.clock);
        let timed_out = signal == Signal::Waiting;
        if timed_out {
            // During a search for deadlocks only grants end waits.
            let _detector = latch(&self.detector);
            let mut partition = self.partition(hash);
            if partition.waits(request, owner.number) {
                partition.cancel(request, Signal::TimedOut);
            }
            drop(partition);
            signal = owner.waiter.sleep(None, &*self.clock);
        }
        match signal {
            Signal::Granted => WaitEnd::Granted,
            Signal::Deadlock => WaitEnd::Deadlock,
            Signal::TimedOut => WaitEnd::Timeout,
            Signal::None | Signal::Waiting => panic!("a wait is over when it has ended"),
        }
    }

    /// Keeps or releases a granted request, by its duration.
    fn keep(&self, owner: &mut Owner, wanted: &Wanted, request: u32, duration: Duration) {
        match (duration, wanted.held) {
            (Duration::Commit, None) => self.note(owner, wanted.key, wanted.hash, request, wanted.mode),
            (Duration::Commit, Some((at, _))) => owner.held.entry(at).mode = wanted.mode,
            (Duration::Momentary, None) => self.partition(wanted.hash).release(request),
            (Duration::Momentary, Some((_, before))) => self.partition(wanted.hash).downgrade(request, before.mode),
        }
    }
}

/// The report of a wait that begins.
fn describe(owner: &Owner, wanted: &Wanted, request: u32, partition: &Partition, detector: &Detector) -> Wait {
    let mut wait = Wait {
        owner: owner.number,
        txn: owner.waiter.txn(),
        name: wanted.key.name(),
        held: wanted.held.map(|(_, held)| held.mode),
        wanted: wanted.mode,
        blockers: [None; BLOCKERS_KEPT],
        more_blockers: 0,
        waited_ns: 0,
        end: WaitEnd::Granted,
    };
    partition.blockers(request, |blocker| match wait.blockers.iter_mut().find(|kept| kept.is_none()) {
        Some(free) => *free = Some(InTheWay { blocker, txn: detector.txn(blocker.owner) }),
        None => wait.more_blockers += 1,
    });
    wait
}
