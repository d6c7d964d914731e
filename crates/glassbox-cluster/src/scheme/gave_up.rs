//! Who is to stand back: a transaction that was given up because it waited too long is begun anew at once, and its
//! first message comes right behind its own end. Those who had waited for it are ready by then, but have not been run.
//! If it went first they would all meet again, and so on for ever.

use crate::participant::arrived::Multi;
use crate::protocol::address::{Address, TxnId};

/// Whose transactions were taken back since nobody was ready, by coordinator.
#[derive(Debug, Default)]
pub(super) struct GaveUp(Vec<Address>);

impl GaveUp {
    /// A transaction was taken back while others were ready.
    pub(super) fn note(&mut self, txn: TxnId) {
        if !self.0.contains(&txn.coordinator) {
            self.0.push(txn.coordinator);
        }
    }

    /// Whether a transaction is begun by one of them.
    pub(super) fn has_begun(&self, multi: &Multi) -> bool {
        self.0.contains(&multi.txn().coordinator)
    }

    /// Nobody is ready.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
