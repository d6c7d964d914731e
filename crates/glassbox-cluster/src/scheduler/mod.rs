//! Schedulers of deterministic execution: which transactions of a partition may run, one file for each.
//!
//! Problem: all replicas of a partition execute the same transactions, and must end with the same rows without asking
//! each other. Naive: one transaction at a time, in the order of the input log; then a transaction that waits for a
//! remote row holds up all others ([`serial`]). So transactions that do not conflict may overtake each other, and only
//! the order of conflicting ones is kept: each requests all of its locks before the next transaction requests any
//! ([`ordered_locks`], [`vll`]). *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems*,
//! VLDB 2014, section 2; Thomson et al., *Calvin*, SIGMOD 2012, section 3.2. Invariants of each scheduler:
//!
//! - of two transactions that conflict, the later one in the log is not ready before the earlier one has ended;
//! - the first unfinished transaction of the log is always ready, so there is no deadlock and no victim.
//!
//! A scheduler knows keys and places, no rows and no messages.

mod ordered_locks;
mod serial;
#[cfg(test)]
mod tests;
mod vll;

use std::fmt::Debug;

use glassbox::research::shard::DeclaredKeys;

use crate::protocol::configuration::SchedulerKind;

/// A transaction's place in the input log, as a partition counts the transactions in which it participates.
pub type LogPlace = u64;

/// Decides which transactions may run.
pub trait Scheduler: Debug + Send {
    /// Requests all locks of the next transaction of the log.
    fn request(&mut self, place: LogPlace, keys: &DeclaredKeys);

    /// A transaction that may run now; each is given once.
    fn next_ready(&mut self) -> Option<LogPlace>;

    /// Releases the locks of a transaction that has ended.
    fn release(&mut self, place: LogPlace);

    /// Whether no transaction has locks.
    fn is_idle(&self) -> bool;
}

/// Makes the scheduler of an executor.
pub type MakeScheduler = fn(SchedulerKind) -> Box<dyn Scheduler>;

/// A scheduler without transactions.
pub fn new_scheduler(kind: SchedulerKind) -> Box<dyn Scheduler> {
    match kind {
        SchedulerKind::Serial => Box::new(serial::Serial::default()),
        SchedulerKind::OrderedLocks => Box::new(ordered_locks::OrderedLocks::default()),
        SchedulerKind::Vll => Box::new(vll::Vll::default()),
    }
}
