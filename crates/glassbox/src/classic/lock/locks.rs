//! Locks as the engine sees them: a lock manager, or none.

use std::cell::Cell;
use std::marker::PhantomData;

use super::mode::Mode;
use super::name::LockName;
use crate::classic::ids::TxnId;

/// How a request ended.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The lock is held, or something above that includes it.
    Granted,
    /// Others are in the way, and the request was not to wait. Nothing is waited for; intents above may be held.
    WouldBlock,
    /// This transaction was chosen to end a deadlock: it must be rolled back and release its locks.
    Deadlock,
    /// It waited too long: it must be rolled back and release its locks.
    Timeout,
}

/// For how long a lock is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duration {
    /// Until the transaction ends.
    Commit,
    /// For the moment in which it is granted only ("instant duration" in ARIES/IM): it says that no other lock is in
    /// the way.
    Momentary,
}

/// Who may read and write what.
pub(crate) trait Locks {
    /// A holder of locks: one transaction after the other.
    type Owner;
    /// Whether there is anything to ask: without, everything is granted.
    const ASKS: bool = true;

    /// A new owner. Keep it for many transactions.
    fn owner(&self) -> Self::Owner;

    /// Locks `name` in `mode`, after the intents on all that is above it, which stay until the end whatever the
    /// duration. A lock that is held already, or is covered by a held one, costs next to nothing.
    fn lock(&self, owner: &mut Self::Owner, name: LockName, mode: Mode, wait: bool, duration: Duration) -> Outcome;

    /// Releases one lock before the end: that of a read that need not be repeatable. Does nothing when it is not held
    /// in IS, S or U, or when locks below it are held.
    #[cfg_attr(not(test), expect(dead_code, reason = "a prepared transaction need not keep read locks"))]
    fn release(&self, owner: &mut Self::Owner, name: LockName);

    /// Releases all: the transaction has ended.
    fn release_all(&self, owner: &mut Self::Owner);

    /// Whether the owner may do what `mode` on `name` allows.
    #[cfg(test)]
    fn holds(&self, owner: &Self::Owner, name: LockName, mode: Mode) -> bool;

    /// Appends the names held in X, for the record of a prepared transaction; see
    /// [`decode_exclusive`](super::name::decode_exclusive).
    #[allow(dead_code, reason = "no transaction is prepared yet")]
    fn encode_exclusive(&self, owner: &Self::Owner, out: &mut Vec<u8>);

    /// Says for whom the owner locks from now on, to be read in what is reported.
    fn set_txn(&self, owner: &mut Self::Owner, txn: TxnId);

    /// Says how much would be lost if this transaction were ended by a deadlock: the one with the least is. In any unit
    /// that all use, such as log records.
    fn set_work(&self, owner: &mut Self::Owner, work: u64);
}

/// No locks: everything is granted. Right when transactions run one after the other; so it is not [`Sync`], and what
/// contains it cannot be shared between threads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoLocks(PhantomData<Cell<()>>);

impl Locks for NoLocks {
    type Owner = ();
    const ASKS: bool = false;

    #[inline(always)]
    fn owner(&self) {}

    #[inline(always)]
    fn lock(&self, (): &mut (), _: LockName, _: Mode, _: bool, _: Duration) -> Outcome {
        Outcome::Granted
    }

    #[inline(always)]
    fn release(&self, (): &mut (), _: LockName) {}

    #[inline(always)]
    fn release_all(&self, (): &mut ()) {}

    #[cfg(test)]
    fn holds(&self, (): &(), _: LockName, _: Mode) -> bool {
        true
    }

    #[inline(always)]
    fn encode_exclusive(&self, (): &(), _: &mut Vec<u8>) {}

    #[inline(always)]
    fn set_txn(&self, (): &mut (), _: TxnId) {}

    #[inline(always)]
    fn set_work(&self, (): &mut (), _: u64) {}
}
