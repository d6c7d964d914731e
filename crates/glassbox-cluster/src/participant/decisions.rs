//! Decisions that a partition received: how many of each coordinator, and the committed transactions that another
//! participant may not know of.

use std::collections::BTreeSet;

use crate::protocol::address::{Address, Life, TxnId};

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

/// Decisions that were heard, by coordinator.
#[derive(Debug, Default)]
pub(crate) struct Heard(Vec<(Life, u64)>);

impl Heard {
    /// Counts a decision about this.
    pub(crate) fn add(&mut self, txn: TxnId) {
        let life = counted_in(txn);
        match self.0.iter_mut().find(|(known, _)| known.of == life.of) {
            Some((known, heard)) if *known == life => *heard += 1,
            Some(other) => *other = (life, 1),
            None => self.0.push((life, 1)),
        }
    }

    /// Those from whoever coordinates this.
    pub(crate) fn of(&self, txn: TxnId) -> u64 {
        let life = counted_in(txn);
        self.0.iter().find(|(known, _)| *known == life).map_or(0, |&(_, heard)| heard)
    }

    /// Those from somebody, and in which life of its.
    pub(crate) fn from(&self, coordinator: Address) -> (u64, u64) {
        let known = self.0.iter().find(|(known, _)| known.of == coordinator);
        known.map_or((0, 0), |&(life, heard)| (life.number, heard))
    }

    /// Somebody counts anew.
    pub(crate) fn forget(&mut self, coordinator: Address) {
        self.0.retain(|(known, _)| known.of != coordinator);
    }
}

/// A client counts anew in each life; a coordinator that begins goes on about the transactions of the one before.
fn counted_in(txn: TxnId) -> Life {
    if matches!(txn.coordinator, Address::Client(_)) { txn.life() } else { Life::new(txn.coordinator, 0) }
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

    #[test]
    fn a_client_counts_anew_in_each_life_and_a_coordinator_goes_on() {
        for (coordinator, later) in [(Address::Client(1), 1), (Address::Coordinator(1), 3)] {
            let (first, mut heard) = (Life::new(coordinator, 7), Heard::default());
            let of = |life: Life| TxnId { coordinator, sequence: life.first() + 5 };
            heard.add(of(first));
            heard.add(of(first));
            assert_eq!((heard.of(of(first)), heard.from(coordinator).1), (2, 2));
            heard.add(of(first.next()));
            assert_eq!((heard.of(of(first.next())), heard.from(coordinator).1), (later, later));
            heard.forget(coordinator);
            assert_eq!(heard.from(coordinator), (0, 0));
        }
    }
}
