//! Decisions that a partition received: how many of each coordinator, and the committed transactions that another
//! participant may not know of.

use std::collections::BTreeSet;

use crate::protocol::address::{Address, Session, TxnId};

/// Committed transactions whose outcome a coordinator may still ask for.
#[derive(Debug, Default)]
pub(crate) struct CommittedTxns(BTreeSet<TxnId>);

impl CommittedTxns {
    pub(crate) fn add(&mut self, txn: TxnId) {
        self.0.insert(txn);
    }

    /// All participants have received the decisions of this coordinator's transactions before this one; for a client,
    /// of those in the same session.
    pub(crate) fn settle(&mut self, txn: TxnId) {
        let is_client = matches!(txn.coordinator, Address::Client(_));
        let first = TxnId { sequence: if is_client { txn.session().first() } else { 0 }, ..txn };
        let settled: Vec<_> = self.0.range(first..txn).copied().collect();
        self.forget(&settled);
    }

    /// All participants have received the decisions of all transactions of this session.
    pub(crate) fn end(&mut self, session: Session) {
        let ended: Vec<_> = self.in_session(session).collect();
        self.forget(&ended);
    }

    fn forget(&mut self, settled: &[TxnId]) {
        settled.iter().for_each(|txn| {
            self.0.remove(txn);
        });
    }

    /// The transactions of a coordinator.
    pub(crate) fn of(&self, coordinator: Address) -> impl Iterator<Item = TxnId> {
        self.between(coordinator, 0, u64::MAX)
    }

    /// The transactions of a session.
    pub(crate) fn in_session(&self, session: Session) -> impl Iterator<Item = TxnId> {
        self.between(session.of, session.first(), session.last())
    }

    fn between(&self, coordinator: Address, first: u64, last: u64) -> impl Iterator<Item = TxnId> {
        let of = |sequence| TxnId { coordinator, sequence };
        self.0.range(of(first)..=of(last)).copied()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = TxnId> {
        self.0.iter().copied()
    }
}

/// The number of received decisions, by coordinator.
#[derive(Debug, Default)]
pub(crate) struct DecisionCounts(Vec<(Session, u64)>);

impl DecisionCounts {
    /// Counts a decision about this transaction.
    pub(crate) fn add(&mut self, txn: TxnId) {
        let session = counted_in(txn);
        match self.0.iter_mut().find(|(known, _)| known.of == session.of) {
            Some((known, received)) if *known == session => *received += 1,
            Some(other) => *other = (session, 1),
            None => self.0.push((session, 1)),
        }
    }

    /// The number of decisions of this transaction's coordinator.
    pub(crate) fn of(&self, txn: TxnId) -> u64 {
        let session = counted_in(txn);
        self.0.iter().find(|(known, _)| *known == session).map_or(0, |&(_, received)| received)
    }

    /// A coordinator's session, and the number of its decisions.
    pub(crate) fn from(&self, coordinator: Address) -> (u64, u64) {
        let known = self.0.iter().find(|(known, _)| known.of == coordinator);
        known.map_or((0, 0), |&(session, received)| (session.number, received))
    }

    /// Restarts the count of a coordinator.
    pub(crate) fn forget(&mut self, coordinator: Address) {
        self.0.retain(|(known, _)| known.of != coordinator);
    }
}

/// The count of a client restarts with each session; a coordinator continues the count of its predecessor.
fn counted_in(txn: TxnId) -> Session {
    if matches!(txn.coordinator, Address::Client(_)) { txn.session() } else { Session::new(txn.coordinator, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_session_number_ends_like_any_other() {
        let (client, mut committed) = (Address::Client(1), CommittedTxns::default());
        for number in [6, 7, u64::MAX] {
            let session = Session::new(client, number);
            for sequence in [session.first(), session.first() + 9] {
                committed.add(TxnId { coordinator: client, sequence });
            }
        }
        for (number, left) in [(u64::MAX, 4), (6, 2), (7, 0)] {
            committed.end(Session::new(client, number));
            assert_eq!(committed.all().count(), left);
        }
    }

    #[test]
    fn a_clients_count_restarts_with_each_session_and_a_coordinators_continues() {
        for (coordinator, later) in [(Address::Client(1), 1), (Address::Coordinator(1), 3)] {
            let (first, mut received) = (Session::new(coordinator, 7), DecisionCounts::default());
            let of = |session: Session| TxnId { coordinator, sequence: session.first() + 5 };
            received.add(of(first));
            received.add(of(first));
            assert_eq!((received.of(of(first)), received.from(coordinator).1), (2, 2));
            received.add(of(first.next()));
            assert_eq!((received.of(of(first.next())), received.from(coordinator).1), (later, later));
            received.forget(coordinator);
            assert_eq!(received.from(coordinator), (0, 0));
        }
    }
}
