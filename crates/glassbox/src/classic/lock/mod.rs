//! The lock manager: strict two-phase locking of records.
//!
//! Problem: concurrent transactions must have the result of some serial order. Strict two-phase locking ensures this:
//! each object is locked before it is read or written, and all locks are held to the end. One lock for everything would
//! suffice, but allows no concurrency; locks of records alone make reads of a whole store expensive. So locks are
//! hierarchical (Gray et al. 1976): volume, store, page, record. The holder of a lock holds intents on all levels above
//! it, and the holder of a lock of a whole store needs no locks in it.
//!
//! ```text
//! mode      the modes, their compatibility, their conversions
//! name      the objects that can be locked
//! table     a partition of the lock table: queues and grants
//! held      the list of locks of one owner
//! owner     an owner, and the signal on which its thread sleeps
//! manager   the interface for the engine
//! descend   acquiring a lock, and the intents above it
//! wait      waiting, and its end
//! deadlock  the waits-for graph, and the choice of the victim
//! blame     explanations of deadlocks and timeouts
//! history   counters and reports of waits
//! config    settings of the lock manager
//! brief     the latch of a partition
//! sync      the standard library's latches, or those of shuttle
//! locks     the trait, and no locks at all
//! ```
//!
//! *A lock is found in three steps.* The owner's own list, which no other thread sees, gives the mode of the store: the
//! intents above are nearly always held. Then one latch, of the partition to which the name hashes. Then the home of
//! the name, which has its queue unless another name's is there: so it is free, or names its holder, possibly the owner
//! itself. Nothing is allocated, and no other memory is accessed, unless the request must wait. There is no list of the
//! owner's records to search first: it cost every lock as much as it saved the few repeated requests.
//!
//! *Latches.* Three kinds, always in this order, and at most one of each: the detector's, a partition's, an owner's
//! signal. A thread that acquires or releases a lock without waiting takes a partition's, and the signal's of each
//! owner that it wakes. A thread that must wait acquires the detector's first; `deadlock` argues why this finds every
//! deadlock and nothing else.
//!
//! Rejected: a latch for each queue (one more cache line and one more atomic operation for each lock; the partitions
//! suffice); a periodic search for deadlocks in a thread of its own (deadlocked transactions would wait for it, and
//! tests for the clock); one list for granted and waiting requests (the first waiter would be found after all holders,
//! and every transaction holds the volume's lock).

mod blame;
mod brief;
mod config;
mod deadlock;
mod descend;
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

pub(crate) use config::{LockConfig, LockGranularity};
pub(crate) use history::{LockCounters, Wait, WaitEnd};
pub(crate) use locks::{Duration, Locks, NoLocks, Outcome};
pub(crate) use manager::LockManager;
pub(crate) use mode::LockMode;
pub(crate) use name::{LockName, decode_locks};
pub(crate) use owner::Owner;
pub(crate) use wait::{WaitUnderWay, caused_ns, waited_ns};
