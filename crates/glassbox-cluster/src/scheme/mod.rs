//! Concurrency control of a partition while distributed transactions are undecided: one file for each scheme.

mod blocking;
pub(crate) mod depth_limit;
mod lock_table;
mod locking;
mod occ;
mod restart_backoff;
mod speculation;
mod two_phase;
pub(crate) mod waits_for;

use depth_limit::DepthLimit;

use crate::participant::store::Store;
use crate::participant::txn::{DistributedTxn, Txn};
use crate::protocol::address::TxnId;
use crate::protocol::configuration::SchemeKind;
use crate::protocol::outbox::Outbox;

/// A scheme's state.
#[derive(Debug)]
pub(crate) enum Scheme {
    Blocking(blocking::Blocking),
    Speculation(speculation::Speculation),
    Locking(locking::Locking),
    Occ(occ::Occ),
}

impl Scheme {
    pub(crate) fn new(kind: SchemeKind) -> Self {
        match kind {
            SchemeKind::Blocking => Self::Blocking(blocking::Blocking::default()),
            SchemeKind::Speculation => Self::Speculation(speculation::Speculation::new(true, None)),
            SchemeKind::LimitedSpeculation => {
                Self::Speculation(speculation::Speculation::new(true, Some(DepthLimit::default())))
            }
            SchemeKind::LocalSpeculation => Self::Speculation(speculation::Speculation::new(false, None)),
            SchemeKind::Locking => Self::Locking(locking::Locking::new(false, None)),
            SchemeKind::ForcedLocking => Self::Locking(locking::Locking::new(true, None)),
            SchemeKind::TwoPhase(rule) => Self::Locking(locking::Locking::new(true, Some(rule))),
            SchemeKind::Occ => Self::Occ(occ::Occ::default()),
            SchemeKind::Deterministic(_) => unreachable!("an executor runs it, and no partition changes to it"),
        }
    }

    /// Receives a transaction, or a further fragment of a distributed one.
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Txn, out: &mut Outbox) {
        match self {
            Self::Blocking(scheme) => scheme.arrives(store, arrived, out),
            Self::Speculation(scheme) => scheme.arrives(store, arrived, out),
            Self::Locking(scheme) => scheme.arrives(store, arrived, out),
            Self::Occ(scheme) => scheme.arrives(store, arrived, out),
        }
    }

    /// Receives a decision.
    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        match self {
            Self::Blocking(scheme) => scheme.decided(store, txn, commit, out),
            Self::Speculation(scheme) => scheme.decided(store, txn, commit, out),
            Self::Locking(scheme) => scheme.decided(store, txn, commit, out),
            Self::Occ(scheme) => scheme.decided(store, txn, commit, out),
        }
    }

    /// Runs one waiting transaction that can proceed; whether there was one.
    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        match self {
            Self::Blocking(scheme) => scheme.proceed(store, out),
            Self::Speculation(scheme) => scheme.proceed(store, out),
            Self::Locking(scheme) => scheme.proceed(store, out),
            Self::Occ(scheme) => scheme.proceed(store, out),
        }
    }

    /// The undecided distributed transactions, in order of arrival.
    pub(crate) fn multis(&self) -> Vec<&DistributedTxn> {
        match self {
            Self::Blocking(scheme) => scheme.multis().collect(),
            Self::Speculation(scheme) => scheme.multis().collect(),
            Self::Locking(scheme) => scheme.multis().collect(),
            Self::Occ(scheme) => scheme.multis().collect(),
        }
    }

    /// Whether a single-partition transaction that arrived now would run to its end at once, without undo buffer and
    /// locks.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.is_idle() && !matches!(self, Self::Locking(scheme) if scheme.is_forced())
    }

    /// Whether no transaction is active or waiting.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        match self {
            Self::Blocking(scheme) => scheme.is_idle(),
            Self::Speculation(scheme) => scheme.is_idle(),
            Self::Locking(scheme) => scheme.is_idle(),
            Self::Occ(scheme) => scheme.is_idle(),
        }
    }
}
