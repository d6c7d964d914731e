//! Locks as the engine sees them: a lock manager, or none.

use std::cell::Cell;
use std::marker::PhantomData;

use super::mode::LockMode;
use super::name::LockName;
use crate::classic::ids::TxnId;
use crate::classic::page::miss::DiskRead;

/// How a request ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The lock is held, or something above that includes it.
    Granted,
    /// The request conflicts with other locks, and must not wait. It is not queued; intents above may be held.
    WouldBlock,
    /// This transaction was chosen to end a deadlock: it must be rolled back and release its locks.
    Deadlock,
    /// It waited too long: it must be rolled back and release its locks.
    Timeout,
}

/// Duration of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duration {
    /// Until the transaction ends.
    Commit,
    /// For the instant of the grant only ("instant duration" in ARIES/IM): it checks that no other lock conflicts.
    Momentary,
}

/// A lock manager, or its absence.
pub(crate) trait Locks {
    /// A holder of locks: one transaction after the other.
    type Owner;
    /// Whether there are locks; if not, everything is granted.
    const ASKS: bool = true;

    /// A new owner. Keep it for many transactions.
    fn owner(&self) -> Self::Owner;

    /// Locks `name` in `mode`, after the intents on all names above it, which are held to the end for any duration. A
    /// lock that is already held or covered costs little.
    fn lock(&self, owner: &mut Self::Owner, name: LockName, mode: LockMode, wait: bool, duration: Duration) -> Outcome;

    /// Notes `reads`, which the owner made while it held its locks, with those who wait for it, before it releases
    /// them.
    fn attribute(&self, owner: &Self::Owner, reads: &[DiskRead]) {
        let _ = (owner, reads);
    }

    /// Releases one lock before the end: that of a read that need not be repeatable. Has no effect if it is not held in
    /// IS, S or U, or if locks below it are held.
    #[cfg_attr(not(test), expect(dead_code, reason = "procedures read repeatably"))]
    fn release(&self, owner: &mut Self::Owner, name: LockName);

    /// Releases all locks at the end of the transaction.
    fn release_all(&self, owner: &mut Self::Owner);

    /// Whether the owner holds a lock that allows what `mode` on `name` does.
    #[cfg(test)]
    fn holds(&self, owner: &Self::Owner, name: LockName, mode: LockMode) -> bool;

    /// The number of the owner, for reports.
    fn number(&self, owner: &Self::Owner) -> u32 {
        let _ = owner;
        0
    }

    /// Sets the transaction of the owner, for reports.
    fn set_txn(&self, owner: &mut Self::Owner, txn: TxnId);

    /// Sets the transaction's cost as a deadlock victim, in a unit that all transactions use, such as log records: the
    /// transaction with the lowest cost is chosen.
    fn set_work(&self, owner: &mut Self::Owner, work: u64);
}

/// No locks: everything is granted. Correct if transactions run one after the other. So it is not [`Sync`], and a value
/// that contains it cannot be shared between threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoLocks(PhantomData<Cell<()>>);

impl Locks for NoLocks {
    type Owner = ();
    const ASKS: bool = false;

    #[inline(always)]
    fn owner(&self) {}

    #[inline(always)]
    fn lock(&self, (): &mut (), _: LockName, _: LockMode, _: bool, _: Duration) -> Outcome {
        Outcome::Granted
    }

    #[inline(always)]
    fn release(&self, (): &mut (), _: LockName) {}

    #[inline(always)]
    fn release_all(&self, (): &mut ()) {}

    #[cfg(test)]
    fn holds(&self, (): &(), _: LockName, _: LockMode) -> bool {
        true
    }

    #[inline(always)]
    fn set_txn(&self, (): &mut (), _: TxnId) {}

    #[inline(always)]
    fn set_work(&self, (): &mut (), _: u64) {}
}
