//! Several coordinators: one order of all their transactions, in batches.
//!
//! A coordinator dispatches while it has the [turn](crate::sequencer::turn): all transactions submitted since it had
//! the turn last, each with its place at each partition. It requests the turn again when that batch is decided.
//! Speculation makes batches worth while: a result that depends on the same coordinator's transactions needs no further
//! message; one that depends on another coordinator's needs one more when that is decided (*Low Overhead Concurrency
//! Control*, section 4.2.2).

use crate::coordinator::commit::{Coordinator, Ordering, PendingTxn};
use crate::protocol::address::{Address, TxnId};
use crate::protocol::message::Turn;
use crate::protocol::outbox::Outbox;
use crate::sequencer::turn::TurnState;

impl Coordinator {
    /// Begins or restarts the order of this number of coordinators; collected transactions stay.
    pub(crate) fn begin_order(&mut self, coordinators: usize) {
        let (Address::Coordinator(me), true) = (self.me, coordinators > 1) else { return };
        let turns = TurnState::begin(me, coordinators, self.primaries.len());
        let collected = self.ordering.take().map(|before| before.collected).unwrap_or_default();
        self.ordering = Some(Box::new(Ordering { turns, waits: false, collected }));
    }

    /// Whether a transaction may be dispatched now.
    pub(crate) fn has_turn(&self) -> bool {
        self.ordering.as_ref().is_none_or(|ordering| ordering.turns.is_mine())
    }

    /// Keeps a transaction until this coordinator has the turn.
    pub(crate) fn collect(&mut self, pending: PendingTxn, out: &mut Outbox) {
        let Some(ordering) = &mut self.ordering else { return };
        ordering.collected.push_back(pending);
        self.go_on(out);
    }

    /// Dispatches the collected transactions, or requests the turn for them if the previous batch is decided.
    pub(crate) fn go_on(&mut self, out: &mut Outbox) {
        let Some(ordering) = &mut self.ordering else { return };
        if ordering.turns.is_mine() {
            for pending in std::mem::take(&mut ordering.collected) {
                self.dispatch(pending, out);
            }
        } else if !ordering.waits && !ordering.collected.is_empty() && self.pending.is_empty() {
            ordering.waits = true;
            ordering.turns.ask(out);
        }
    }

    /// Another coordinator requests the turn.
    pub(crate) fn asked_for_turn(&mut self, from: Address, number: u64, out: &mut Outbox) {
        if let (Some(ordering), Address::Coordinator(from)) = (&mut self.ordering, from) {
            ordering.turns.asked(from, number, out);
        }
    }

    /// This coordinator receives the turn.
    pub(crate) fn take_turn(&mut self, turn: Turn, out: &mut Outbox) {
        let Some(ordering) = &mut self.ordering else { return };
        if !ordering.turns.take(turn) {
            return;
        }
        ordering.waits = false;
        self.go_on(out);
        if let Some(ordering) = &mut self.ordering {
            ordering.turns.pass_on(out);
        }
    }

    /// A partition withdraws its results of a transaction and of later ones, because it runs them again. Results that
    /// do not depend on other transactions stay: they are not sent again.
    pub(crate) fn withdrawn(&mut self, from: Address, txn: TxnId) {
        let partition = self.primaries.iter().position(|primary| *primary == from);
        if let (Some(partition), true) = (partition, txn.coordinator == self.me) {
            let later = self.pending.range_mut(txn.sequence..);
            later.for_each(|(_, pending)| drop(pending.answers[partition].take_if(|answer| answer.after.is_some())));
        }
    }
}
