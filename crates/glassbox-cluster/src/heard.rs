//! How many decisions a partition has heard from each coordinator: so a coordinator knows which ones.

use crate::address::{Address, Life, TxnId};

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
