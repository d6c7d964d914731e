//! Transactions that wait for their coordinator, in no session.

use super::forms::Device;
use super::record::Body;
use super::table::{Slot, State};
use super::transaction::{Active, TransactionLog};
use crate::classic::ids::TxnId;
use crate::error::Error;
use crate::log::Lsn;

/// A transaction apart from any session: prepared, or found by recovery. It keeps its slot of the transaction table.
pub(crate) struct Suspended {
    active: Active,
    slot: Slot,
}

impl Suspended {
    /// A transaction that recovery has found; its records are behind `before`.
    pub(crate) fn new(active: Active, slot: Slot, before: Lsn) -> Self {
        slot.continue_with(active.transaction, before);
        slot.set_state(State::Prepared);
        Self { active, slot }
    }
}

#[cfg_attr(not(test), expect(dead_code, reason = "no coordinator prepares transactions yet"))]
impl<D: Device> TransactionLog<D> {
    /// Promises to do what a coordinator will say, also after a crash once the log is durable up to what is returned.
    /// `global` is the coordinator's name for the transaction, `locks` what it holds, for the recovery of the
    /// transaction.
    ///
    /// # Errors
    /// When the log refuses, or the two are too long for a record; nothing is promised then.
    pub(crate) fn prepare(&mut self, global: &[u8], locks: &[u8]) -> Result<Lsn, Error> {
        assert!(self.nested == 0, "a promise within a nested action");
        self.ensure_begun();
        let lsn = self.append(Body::Prepared { global, locks })?;
        self.slot.set_state(State::Prepared);
        Ok(lsn)
    }

    /// Takes the transaction out of the session, which is then free for another one.
    ///
    /// # Errors
    /// When the transaction table has no slot to spare.
    pub(crate) fn suspend(&mut self) -> Result<Suspended, Error> {
        assert!(self.nested == 0 && self.taking_back.is_none(), "suspended in the middle of an action");
        let free = self.slot.table().slot()?;
        let slot = std::mem::replace(&mut self.slot, free);
        Ok(Suspended { active: std::mem::take(&mut self.active), slot })
    }

    /// Brings a transaction into this session, which must have none.
    pub(crate) fn resume(&mut self, suspended: Suspended) {
        assert!(self.active.transaction == TxnId::NONE, "a session has one transaction at a time");
        self.active = suspended.active;
        self.slot = suspended.slot;
    }
}
