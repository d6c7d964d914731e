//! What a partition does while a transaction of several partitions is under way: one file for each scheme.

mod blocking;
mod gave_up;
mod lock_table;
mod locking;
mod occ;
mod speculation;

use crate::participant::arrived::{Arrived, Multi};
use crate::participant::store::Store;
use crate::protocol::address::TxnId;
use crate::protocol::outbox::Outbox;
use crate::protocol::scheme_kind::SchemeKind;

/// A scheme at work.
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
            SchemeKind::Speculation => Self::Speculation(speculation::Speculation::new(true)),
            SchemeKind::LocalSpeculation => Self::Speculation(speculation::Speculation::new(false)),
            SchemeKind::Locking => Self::Locking(locking::Locking::new(false)),
            SchemeKind::ForcedLocking => Self::Locking(locking::Locking::new(true)),
            SchemeKind::Occ => Self::Occ(occ::Occ::default()),
        }
    }

    /// A fragment arrives: of a transaction on this partition alone, its only one.
    pub(crate) fn arrives(&mut self, store: &mut Store, arrived: Arrived, out: &mut Outbox) {
        match self {
            Self::Blocking(scheme) => scheme.arrives(store, arrived, out),
            Self::Speculation(scheme) => scheme.arrives(store, arrived, out),
            Self::Locking(scheme) => scheme.arrives(store, arrived, out),
            Self::Occ(scheme) => scheme.arrives(store, arrived, out),
        }
    }

    /// A decision arrives.
    pub(crate) fn decided(&mut self, store: &mut Store, txn: TxnId, commit: bool, out: &mut Outbox) {
        match self {
            Self::Blocking(scheme) => scheme.decided(store, txn, commit, out),
            Self::Speculation(scheme) => scheme.decided(store, txn, commit, out),
            Self::Locking(scheme) => scheme.decided(store, txn, commit, out),
            Self::Occ(scheme) => scheme.decided(store, txn, commit, out),
        }
    }

    /// Runs one thing that waited and can be run now; whether there was one.
    pub(crate) fn proceed(&mut self, store: &mut Store, out: &mut Outbox) -> bool {
        match self {
            Self::Blocking(scheme) => scheme.proceed(store, out),
            Self::Speculation(scheme) => scheme.proceed(store, out),
            Self::Locking(scheme) => scheme.proceed(store, out),
            Self::Occ(scheme) => scheme.proceed(store, out),
        }
    }

    /// The transactions of several partitions that are not decided, in the order in which they came.
    pub(crate) fn multis(&self) -> Vec<&Multi> {
        match self {
            Self::Blocking(scheme) => scheme.multis().collect(),
            Self::Speculation(scheme) => scheme.multis().collect(),
            Self::Locking(scheme) => scheme.multis().collect(),
            Self::Occ(scheme) => scheme.multis().collect(),
        }
    }

    /// Whether a transaction on this partition alone that came now would run to its end at once, and nothing would be
    /// kept or noted of it.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        self.is_idle() && !matches!(self, Self::Locking(scheme) if scheme.is_forced())
    }

    /// Whether nothing is under way or waiting.
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
