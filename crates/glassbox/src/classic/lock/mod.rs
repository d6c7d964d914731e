//! The lock manager: who may read and write which records, until their transactions end.
//!
//! Problem: transactions that run at the same time must give what they would give one after the other. Strict two-phase
//! locking ensures it: whatever is read or written is locked first, and all locks are kept to the end. One lock for
//! everything would do, and let no two transactions run at once; one lock for each record alone makes those expensive
//! who read a whole store. So locks are hierarchical (Gray et al. 1976): volume, store, page, record; who locks one of
//! these says so on all above it by an intent, and who locks a whole store need not lock anything in it.
//!
//! ```text
//! mode      the modes, which go together, what two of them make
//! name      what can be locked
//! table     a partition of the lock table: queues, and who is granted when
//! held      the list of locks of one owner
//! owner     an owner, and the place where its thread sleeps
//! manager   the whole, as the engine sees it
//! descend   taking a lock, and what is needed above it
//! escalate  one lock for many, and locks given back before the end
//! wait      waiting, and its end
//! deadlock  who waits for whom in a circle, and who must give up
//! history   what is reported
//! brief     the latch of a partition
//! locks     the trait, and no locks at all
//! ```
//!
//! *A lock is found in three steps.* The owner's own list, which no other thread sees, tells how the store is locked:
//! the intents above are there nearly always. Then one latch, of the partition in which the name hashes. Then the home
//! of the name, where its queue is if no other name's is there: so it is free, or names its holder, the owner itself
//! perhaps. Nothing is allocated, nothing else is touched, unless the request must wait.
//! A list of the owner's records to be searched first was left out: it cost every lock what it saved the few that are
//! asked for twice.
//!
//! *Latches.* Three kinds, always in this order, and at most one of each: the detector's, a partition's, an owner's
//! signal. A thread that acquires or releases a lock without waiting takes a partition's, and the signal's of each
//! owner that it wakes. A thread that must wait takes the detector's first; why that finds every deadlock, and none
//! that is not, is argued in `deadlock`.
//!
//! Rejected: a latch for each queue (one more cache line and one more atomic operation for each lock; the
//! partitions suffice); looking for deadlocks from time to time in a thread of its own (transactions that could go on
//! would wait for it, and tests for the clock); one list for the granted and the waiting (finding the first who waits
//! would pass all holders of the lock, and every transaction holds the volume's).

mod brief;
mod config;
mod deadlock;
mod descend;
mod escalate;
mod held;
mod history;
mod locks;
mod manager;
mod mode;
mod name;
mod owner;
mod sync;
mod table;
#[cfg(test)]
mod tests;
mod wait;

pub(crate) use config::{Granularity, LockConfig};
pub(crate) use history::{LockCounters, Wait, WaitEnd};
pub(crate) use locks::{Duration, Locks, NoLocks, Outcome};
pub(crate) use manager::LockManager;
pub(crate) use mode::Mode;
pub(crate) use name::LockName;
#[cfg(test)]
pub(crate) use owner::Owner;
