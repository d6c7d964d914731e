//! The report of lock waits: counts, and the last waits as data.

use std::collections::VecDeque;
use std::fmt;

use super::blame::DiskShare;
use super::mode::LockMode;
use super::name::LockName;
use super::table::Blocker;
use crate::classic::ids::TxnId;

/// Maximum number of blockers in a [`Wait`].
pub(crate) const BLOCKERS_KEPT: usize = 4;

/// Counters of a lock manager since its creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockCounters {
    /// Requests that had to wait.
    pub(crate) waits: u64,
    /// Of these, requests of deadlock victims.
    pub(crate) deadlocks: u64,
    /// Of these, requests that reached the lock timeout.
    pub(crate) timeouts: u64,
    /// Total time of all waits, nanoseconds.
    pub(crate) waited_ns: u64,
    /// Of this, time in which a transaction in the way read the disk, nanoseconds.
    pub(crate) disk_ns: u64,
    /// Lock escalations.
    pub(crate) escalations: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// The lock was granted.
    Granted,
    /// The owner was chosen as the victim of a deadlock.
    Deadlock,
    /// The lock timeout passed.
    Timeout,
}

/// An owner that blocked the request when the wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTheWay {
    /// Its held and requested modes.
    pub(crate) blocker: Blocker,
    /// Its transaction, if it had said so.
    pub(crate) txn: TxnId,
}

/// An ended wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The number of the owner that waited.
    pub(crate) owner: u32,
    /// Its transaction, if it had said so.
    pub(crate) txn: TxnId,
    /// The requested name.
    pub(crate) name: LockName,
    /// The mode already held, if any.
    pub(crate) held: Option<LockMode>,
    /// The requested mode.
    pub(crate) wanted: LockMode,
    /// The first blockers when the wait began.
    pub(crate) blockers: [Option<InTheWay>; BLOCKERS_KEPT],
    /// The number of further blockers.
    pub(crate) more_blockers: u32,
    /// The duration of the wait, nanoseconds.
    pub(crate) waited_ns: u64,
    /// The part of it that is due to reads of others.
    pub(crate) disk: DiskShare,
    /// How the wait ended.
    pub(crate) end: WaitEnd,
}

/// The counters and the last waits.
pub(super) struct History {
    pub(super) counters: LockCounters,
    waits: VecDeque<Wait>,
    kept: usize,
}

impl History {
    pub(super) fn new(kept: usize) -> Self {
        Self { counters: LockCounters::default(), waits: VecDeque::with_capacity(kept), kept }
    }

    /// Adds an ended wait.
    pub(super) fn add(&mut self, wait: Wait) {
        self.counters.waits += 1;
        self.counters.waited_ns += wait.waited_ns;
        self.counters.disk_ns += wait.disk.ns;
        match wait.end {
            WaitEnd::Granted => {}
            WaitEnd::Deadlock => self.counters.deadlocks += 1,
            WaitEnd::Timeout => self.counters.timeouts += 1,
        }
        if self.kept > 0 {
            if self.waits.len() == self.kept {
                self.waits.pop_front();
            }
            self.waits.push_back(wait);
        }
    }

    /// The waits still kept, oldest first.
    pub(super) fn waits(&self) -> Vec<Wait> {
        self.waits.iter().copied().collect()
    }
}

/// An owner, by its transaction if that is known.
struct Who(u32, TxnId);

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            TxnId::NONE => write!(f, "owner {}", self.0),
            txn => write!(f, "transaction {txn}"),
        }
    }
}

impl fmt::Display for InTheWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = Who(self.blocker.owner, self.txn);
        match (self.blocker.held, self.blocker.wanted) {
            (Some(held), Some(wanted)) => write!(f, "{who} (holds {held:?}, waits for {wanted:?})"),
            (Some(held), None) => write!(f, "{who} (holds {held:?})"),
            (None, Some(wanted)) => write!(f, "{who} (ahead, waits for {wanted:?})"),
            (None, None) => write!(f, "{who}"),
        }
    }
}

/// One line: `transaction 7 waited 1.250 ms for X on record 3.1 of store 2, after transaction 5 (holds S): granted`.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (who, ms) = (Who(self.owner, self.txn), self.waited_ns as f64 / 1e6);
        write!(f, "{who} waited {ms:.3} ms for {:?} on {}", self.wanted, self.name)?;
        if let Some(held) = self.held {
            write!(f, ", holding {held:?}")?;
        }
        for (at, blocker) in self.blockers.iter().flatten().enumerate() {
            write!(f, "{}{blocker}", if at == 0 { ", after " } else { ", " })?;
        }
        if self.more_blockers > 0 {
            write!(f, " and {} more", self.more_blockers)?;
        }
        f.write_str(match self.end {
            WaitEnd::Granted => ": granted",
            WaitEnd::Deadlock => ": given up, to end a deadlock",
            WaitEnd::Timeout => ": given up, it took too long",
        })
    }
}
