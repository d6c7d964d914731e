//! Back-off of restarted transactions. A coordinator restarts a transaction that exceeded its timeout at once, so the
//! restarted first fragment arrives right after the abort. Transactions that waited for the aborted one are ready by
//! then and have not run. If the restarted one ran first, they would all conflict again, for ever.

use crate::participant::txn::DistributedTxn;
use crate::protocol::address::{Address, TxnId};

/// Coordinators whose transactions were aborted while others were ready.
#[derive(Debug, Default)]
pub(super) struct RestartBackoff(Vec<Address>);

impl RestartBackoff {
    /// A transaction was aborted while others were ready.
    pub(super) fn note(&mut self, txn: TxnId) {
        if !self.0.contains(&txn.coordinator) {
            self.0.push(txn.coordinator);
        }
    }

    /// Whether one of these coordinators began this transaction.
    pub(super) fn has_begun(&self, multi: &DistributedTxn) -> bool {
        self.0.contains(&multi.txn().coordinator)
    }

    /// No transaction is ready.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Call, PartitionSet};

    use super::*;
    use crate::protocol::message::{Fragment, FragmentWork};

    fn txn(client: u32, sequence: u64) -> DistributedTxn {
        let txn = TxnId { coordinator: Address::Client(client), sequence };
        let call = Call { procedure: 0, arguments: Vec::new().into(), now: Timestamp::default(), seed: 0 };
        let (work, before) = (FragmentWork::Run(Vec::new()), None);
        DistributedTxn::new(Fragment {
            txn,
            round: 0,
            call,
            participants: PartitionSet::all(2),
            work,
            settled: 0,
            place: 0,
            before,
        })
    }

    #[test]
    fn a_coordinator_backs_off_until_no_transaction_is_ready() {
        let mut backoff = RestartBackoff::default();
        backoff.note(txn(1, 7).txn());
        assert!(backoff.has_begun(&txn(1, 8)) && !backoff.has_begun(&txn(2, 8)));
        backoff.forget();
        assert!(!backoff.has_begun(&txn(1, 9)));
    }
}
