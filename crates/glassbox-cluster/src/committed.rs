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
        let settled: Vec<_> = self.0.range(first..txn).copied().collect();
        self.forget(&settled);
    }

    /// All partitions have heard how all transactions of this life ended.
    pub(crate) fn end(&mut self, life: Life) {
        let ended: Vec<_> = self.in_life(life).collect();
        self.forget(&ended);
    }

    fn forget(&mut self, settled: &[TxnId]) {
        settled.iter().for_each(|txn| {
            self.0.remove(txn);
        });
    }

    /// Those of a coordinator.
    pub(crate) fn of(&self, coordinator: Address) -> impl Iterator<Item = TxnId> {
        self.between(coordinator, 0, u64::MAX)
    }

    /// Those of a life.
    pub(crate) fn in_life(&self, life: Life) -> impl Iterator<Item = TxnId> {
        self.between(life.of, life.first(), life.last())
    }

    fn between(&self, coordinator: Address, first: u64, last: u64) -> impl Iterator<Item = TxnId> {
        let of = |sequence| TxnId { coordinator, sequence };
        self.0.range(of(first)..=of(last)).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = TxnId> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_life_that_there_can_be_ends_like_any_other() {
        let (client, mut committed) = (Address::Client(1), Committed::default());
        for number in [6, 7, u64::MAX] {
            let life = Life::new(client, number);
            for sequence in [life.first(), life.first() + 9] {
                committed.add(TxnId { coordinator: client, sequence });
            }
        }
        for (number, left) in [(u64::MAX, 4), (6, 2), (7, 0)] {
            committed.end(Life::new(client, number));
            assert_eq!(committed.all().count(), left);
        }
    }
}
