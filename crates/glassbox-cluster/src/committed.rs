//! Which transactions are committed, as far as another partition may not have heard of it.

use std::collections::BTreeSet;

use crate::address::{Address, Life, TxnId};

/// Committed transactions that somebody may ask for.
#[derive(Debug, Default)]
pub(crate) struct Committed(BTreeSet<TxnId>);

impl Committed {
    pub(crate) fn add(&mut self, txn: TxnId) {
        self.0.insert(txn);
    }

    /// All partitions have heard how the transactions of this one's coordinator before it ended; of a client, those of
    /// the same life.
    pub(crate) fn settle(&mut self, txn: TxnId) {
        let is_client = matches!(txn.coordinator, Address::Client(_));
        let first = TxnId { sequence: if is_client { txn.life().first() } else { 0 }, ..txn };
        self.forget(first..txn);
    }

    /// All partitions have heard how all transactions of this life ended.
    pub(crate) fn end(&mut self, life: Life) {
        self.forget(first_of(life)..first_of(life.next()));
    }

    fn forget(&mut self, settled: std::ops::Range<TxnId>) {
        let forget: Vec<_> = self.0.range(settled).copied().collect();
        forget.iter().for_each(|txn| {
            self.0.remove(txn);
        });
    }

    /// Those of a coordinator.
    pub(crate) fn of(&self, coordinator: Address) -> impl Iterator<Item = TxnId> {
        let of = |sequence| TxnId { coordinator, sequence };
        self.0.range(of(0)..=of(u64::MAX)).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = TxnId> {
        self.0.iter().copied()
    }
}

fn first_of(life: Life) -> TxnId {
    TxnId { coordinator: life.of, sequence: life.first() }
}
