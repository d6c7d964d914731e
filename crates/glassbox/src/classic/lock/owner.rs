//! Owners of locks: one transaction at a time, and the signal on which its thread sleeps.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::blame::DiskShare;
use super::held::HeldLocks;
use super::mode::LockMode;
use super::name::LockName;
use super::sync::{AtomicBool, Condvar, Mutex, latch, whole, yield_now};
use crate::classic::ids::TxnId;
use crate::io::Clock;

/// An owner of locks: one transaction after the other, used by one thread at a time. Created by a
/// [`LockManager`](super::LockManager), for that one only; reuse it, because it keeps its memory.
///
/// An owner that is dropped while it holds locks never releases them, because its changes are unknown.
pub(crate) struct Owner {
    pub(super) number: u32,
    pub(super) held: HeldLocks,
    pub(super) waiter: Arc<LockWaiter>,
    /// Whether many locks of one store or page may become one of the whole.
    pub(super) escalates: bool,
}

/// The owner of a request, and the position that the lock will have in its list.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub(super) owner: u32,
    pub(super) place: u32,
}

/// How often a waiter looks whether its wait has ended before it lets other threads run, and before it sleeps: the
/// holder releases its locks before its log is forced, so most waits are shorter than the time to wake a thread.
#[cfg(not(all(shuttle, test)))]
const LOOKS: [u32; 2] = [100, 300];
#[cfg(all(shuttle, test))]
const LOOKS: [u32; 2] = [0, 0];

/// How long a waiter lets other threads run before it sleeps, in ns: where many run, each of them may take its time.
const LOOK_NS: u64 = 100_000;

/// The part of an owner that other threads access.
#[derive(Default)]
pub(super) struct LockWaiter {
    signal: Mutex<Signal>,
    woken: Condvar,
    /// The wait has ended; for those who look without the mutex.
    is_over: AtomicBool,
    /// Of the wait under way.
    pub(super) disk: Mutex<DiskShare>,
    pub(super) txn: AtomicU64,
    pub(super) work: AtomicU64,
}

#[derive(Default)]
struct Signal {
    state: WaitState,
    /// The waiter sleeps, so it is to be woken.
    sleeps: bool,
}

/// The state of an owner's wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WaitState {
    /// It does not wait.
    #[default]
    None,
    /// Its request is in a queue.
    Waiting,
    /// Its request was granted.
    Granted,
    /// Its request was removed from the queue as a deadlock victim's.
    Deadlock,
    /// Its request was removed from the queue at the lock timeout.
    TimedOut,
}

impl Owner {
    /// Its number: unique among existing owners.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The owner part of a request.
    #[inline(always)]
    pub(super) fn by(&self) -> By {
        By { owner: self.number, place: self.count() as u32 }
    }

    /// The number of held locks, including intents.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.held.entries().len()
    }

    /// The locks it holds, in no order.
    pub(crate) fn locks(&self) -> impl Iterator<Item = (LockName, LockMode)> {
        self.held.entries().iter().map(|held| (held.key.name(), held.mode))
    }

    /// Appends the stored form of its locks, for the record of a prepared transaction: the mode (1 byte) and the name
    /// of each. Intents are left out, as they follow from the locks below; U becomes S, as what is prepared writes
    /// nothing more.
    pub(crate) fn encode_locks(&self, out: &mut Vec<u8>) {
        for (name, mode) in self.locks() {
            let mode = match mode {
                LockMode::IS | LockMode::IX => continue,
                LockMode::U => LockMode::S,
                LockMode::S | LockMode::SIX | LockMode::X => mode,
            };
            out.push(mode as u8);
            name.encode(out);
        }
    }

    /// Sets its transaction, for reports.
    #[inline]
    pub(crate) fn set_txn(&mut self, txn: TxnId) {
        self.waiter.txn.store(txn.0, Ordering::Relaxed);
    }

    /// Sets its cost as a deadlock victim, in a unit that all owners use.
    #[inline]
    pub(crate) fn set_work(&mut self, work: u64) {
        self.waiter.work.store(work, Ordering::Relaxed);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.count() > 0 {
            // The number must not be reused.
            mem::forget(self.waiter.clone());
        }
    }
}

impl LockWaiter {
    /// Marks it as waiting in a queue.
    pub(super) fn begin(&self) {
        self.is_over.store(false, Ordering::Relaxed);
        let before = mem::replace(&mut latch(&self.signal).state, WaitState::Waiting);
        assert_eq!(before, WaitState::None, "an owner waits for one lock at a time");
    }

    /// Ends its wait.
    pub(super) fn end(&self, how: WaitState) {
        let mut signal = latch(&self.signal);
        let before = mem::replace(&mut signal.state, how);
        assert_eq!(before, WaitState::Waiting, "a wait ends once");
        self.is_over.store(true, Ordering::Relaxed);
        if signal.sleeps {
            self.woken.notify_one();
        }
    }

    /// Whether it is in a queue.
    #[cfg(test)]
    pub(super) fn waits(&self) -> bool {
        latch(&self.signal).state == WaitState::Waiting
    }

    /// Looks for a while whether the wait has ended, but not past `deadline_ns`.
    fn look(&self, deadline_ns: Option<u64>, clock: &dyn Clock) {
        for _ in 0..LOOKS[0] {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
        let until_ns = clock.monotonic_ns().saturating_add(LOOK_NS).min(deadline_ns.unwrap_or(u64::MAX));
        for _ in LOOKS[0]..LOOKS[1] {
            if self.is_over.load(Ordering::Relaxed) || clock.monotonic_ns() >= until_ns {
                return;
            }
            yield_now();
        }
    }

    /// Returns when the wait has ended, and how it has; [`WaitState::Waiting`] if it has not at `deadline_ns`.
    pub(super) fn sleep(&self, deadline_ns: Option<u64>, clock: &dyn Clock) -> WaitState {
        self.look(deadline_ns, clock);
        let mut signal = latch(&self.signal);
        while signal.state == WaitState::Waiting {
            signal.sleeps = true;
            let Some(deadline_ns) = deadline_ns else {
                signal = whole(self.woken.wait(signal));
                continue;
            };
            let left_ns = deadline_ns.saturating_sub(clock.monotonic_ns());
            if left_ns == 0 {
                break;
            }
            // The configured clock decides, which need not be the system's.
            signal = whole(self.woken.wait_timeout(signal, std::time::Duration::from_nanos(left_ns))).0;
        }
        signal.sleeps = false;
        match signal.state {
            WaitState::Waiting => WaitState::Waiting,
            _ => mem::take(&mut signal.state),
        }
    }

    pub(super) fn txn(&self) -> TxnId {
        TxnId(self.txn.load(Ordering::Relaxed))
    }
}
