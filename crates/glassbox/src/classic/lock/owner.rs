//! Who locks: one transaction at a time, and the place where its thread sleeps.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::held::HeldLocks;
use super::mode::Mode;
use super::name::LockName;
use super::sync::{Condvar, Mutex, latch, whole};
use crate::classic::ids::TxnId;
use crate::io::Clock;

/// A holder of locks: one transaction after the other, all of one thread at a time. Made by
/// [`LockManager`](super::LockManager), to be used with that one only, and to be kept: its memory is used again.
///
/// An owner that is dropped while it holds locks holds them for ever: its changes under them are unknown.
pub(crate) struct Owner {
    pub(super) number: u32,
    pub(super) held: HeldLocks,
    pub(super) waiter: Arc<Waiter>,
}

/// Who asks for a lock, and where in its list it will stand.
#[derive(Clone, Copy)]
pub(super) struct By {
    pub(super) owner: u32,
    pub(super) place: u32,
}

/// The part of an owner that others see.
#[derive(Default)]
pub(super) struct Waiter {
    signal: Mutex<Signal>,
    woken: Condvar,
    pub(super) txn: AtomicU64,
    pub(super) work: AtomicU64,
}

/// How the wait of an owner stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Signal {
    /// It does not wait.
    #[default]
    None,
    /// Its request is in a queue.
    Waiting,
    /// Its request was granted.
    Granted,
    /// Its request was taken from the queue, to end a deadlock.
    Deadlock,
    /// Its request was taken from the queue, because it had waited too long.
    TimedOut,
}

impl Owner {
    /// Its number: unique among the owners that there are.
    #[cfg(test)]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// It as the one who asks.
    #[inline(always)]
    pub(super) fn by(&self) -> By {
        By { owner: self.number, place: self.count() as u32 }
    }

    /// How many locks it holds, intents among them.
    #[inline(always)]
    pub(crate) fn count(&self) -> usize {
        self.held.entries().len()
    }

    /// The locks it holds, in no order.
    pub(crate) fn locks(&self) -> impl Iterator<Item = (LockName, Mode)> {
        self.held.entries().iter().map(|held| (held.key.name(), held.mode))
    }

    /// Appends the stored form of the names that are held in X, for the record of a prepared transaction. The intents
    /// above follow from them; what was only read need not be kept until the decision.
    pub(crate) fn encode_exclusive(&self, out: &mut Vec<u8>) {
        for (name, mode) in self.locks() {
            if mode == Mode::X {
                name.encode(out);
            }
        }
    }

    /// Says for whom it locks from now on, to be read in what is reported.
    #[inline]
    pub(crate) fn set_txn(&mut self, txn: TxnId) {
        self.waiter.txn.store(txn.0, Ordering::Relaxed);
    }

    /// Says how much would be lost if this transaction were ended by a deadlock, in any unit that all use.
    #[inline]
    pub(crate) fn set_work(&mut self, work: u64) {
        self.waiter.work.store(work, Ordering::Relaxed);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        if self.count() > 0 {
            // The number must not be given to another.
            mem::forget(self.waiter.clone());
        }
    }
}

impl Waiter {
    /// Its request goes to a queue.
    pub(super) fn begin(&self) {
        let before = mem::replace(&mut *latch(&self.signal), Signal::Waiting);
        assert_eq!(before, Signal::None, "an owner waits for one lock at a time");
    }

    /// Its wait is over.
    pub(super) fn end(&self, signal: Signal) {
        let before = mem::replace(&mut *latch(&self.signal), signal);
        assert_eq!(before, Signal::Waiting, "a wait ends once");
        self.woken.notify_one();
    }

    /// Whether it is in a queue.
    #[cfg(test)]
    pub(super) fn waits(&self) -> bool {
        *latch(&self.signal) == Signal::Waiting
    }

    /// Sleeps until the wait is over, and says how it ended; [`Signal::Waiting`] when it is not, at `deadline_ns`.
    pub(super) fn sleep(&self, deadline_ns: Option<u64>, clock: &dyn Clock) -> Signal {
        let mut signal = latch(&self.signal);
        while *signal == Signal::Waiting {
            let Some(deadline_ns) = deadline_ns else {
                signal = whole(self.woken.wait(signal));
                continue;
            };
            let left_ns = deadline_ns.saturating_sub(clock.monotonic_ns());
            if left_ns == 0 {
                return Signal::Waiting;
            }
            // The clock decides, which need not be that of the system.
            signal = whole(self.woken.wait_timeout(signal, std::time::Duration::from_nanos(left_ns))).0;
        }
        mem::take(&mut signal)
    }

    pub(super) fn txn(&self) -> TxnId {
        TxnId(self.txn.load(Ordering::Relaxed))
    }
}
