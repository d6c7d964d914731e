//! The report of lock waits: counts, and the last waits as data.

use std::collections::VecDeque;
use std::fmt;

use super::mode::Mode;
use super::name::LockName;
use super::table::Blocker;
use crate::classic::ids::TxnId;

/// How many of those in the way a [`Wait`] names.
pub(crate) const BLOCKERS_KEPT: usize = 4;

/// What a lock manager counted since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockCounters {
    /// Requests that had to wait.
    pub(crate) waits: u64,
    /// Of these, ended because of a deadlock.
    pub(crate) deadlocks: u64,
    /// Of these, ended because they had lasted too long.
    pub(crate) timeouts: u64,
    /// The time for which all waits together lasted, nanoseconds.
    pub(crate) waited_ns: u64,
    /// Locks of many children that were replaced by one of their parent.
    pub(crate) escalations: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitEnd {
    /// By the lock.
    Granted,
    /// By being chosen as the victim of a deadlock.
    Deadlock,
    /// By its time limit.
    Timeout,
}

/// One who was in the way when a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InTheWay {
    /// What it held or waited for.
    pub(crate) blocker: Blocker,
    /// Its transaction, if it had said so.
    pub(crate) txn: TxnId,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// The number of the owner that waited.
    pub(crate) owner: u32,
    /// Its transaction, if it had said so.
    pub(crate) txn: TxnId,
    /// What it wanted to lock.
    pub(crate) name: LockName,
    /// What it held of it already.
    pub(crate) held: Option<Mode>,
    /// What it wanted.
    pub(crate) wanted: Mode,
    /// The first of those in the way when the wait began.
    pub(crate) blockers: [Option<InTheWay>; BLOCKERS_KEPT],
    /// How many more there were.
    pub(crate) more_blockers: u32,
    /// How long it waited, nanoseconds.
    pub(crate) waited_ns: u64,
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

    /// A wait has ended.
    pub(super) fn add(&mut self, wait: Wait) {
        self.counters.waits += 1;
        self.counters.waited_ns += wait.waited_ns;
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

    /// The waits that are remembered, oldest first.
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
