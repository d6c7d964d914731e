//! Several coordinators: one order of all their transactions, in batches.
//!
//! A coordinator dispatches when it is its [turn](crate::sequencer::turn): everything that was submitted since it had it last,
//! each with its place at each partition. It asks for the turn again when all of that is decided. Speculation makes
//! batches worth while: upon what its own coordinator decides, a partition's result needs no more messages; upon what
//! another one decides it needs one more, to say that it has become certain (*Low Overhead Concurrency Control*,
//! section 4.2.2).

use crate::coordinator::commit::{Coordinator, Ordering};
use crate::coordinator::pending::Pending;
use crate::protocol::address::{Address, TxnId};
use crate::protocol::message::Turn;
use crate::protocol::outbox::Outbox;
use crate::sequencer::turn::Turns;

impl Coordinator {
    /// The order of so many coordinators begins, or begins anew; what is collected stays.
    pub(crate) fn begin_order(&mut self, coordinators: usize) {
        let (Address::Coordinator(me), true) = (self.me, coordinators > 1) else { return };
        let turns = Turns::begin(me, coordinators, self.primaries.len());
        let collected = self.ordering.take().map(|before| before.collected).unwrap_or_default();
        self.ordering = Some(Box::new(Ordering { turns, waits: false, collected }));
    }

    /// Whether a transaction may be dispatched now.
    pub(crate) fn may_dispatch(&self) -> bool {
        self.ordering.as_ref().is_none_or(|ordering| ordering.turns.is_mine())
    }

    /// Keeps a transaction until it is this coordinator's turn.
    pub(crate) fn collect(&mut self, pending: Pending, out: &mut Outbox) {
        let Some(ordering) = &mut self.ordering else { return };
        ordering.collected.push_back(pending);
        self.go_on(out);
    }

    /// Dispatches what was collected, or asks for the turn to do so if the batch before is decided.
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

    /// Another coordinator asks for the turn.
    pub(crate) fn asked_for_turn(&mut self, from: Address, number: u64, out: &mut Outbox) {
        if let (Some(ordering), Address::Coordinator(from)) = (&mut self.ordering, from) {
            ordering.turns.asked(from, number, out);
        }
    }

    /// It is this coordinator's turn.
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

    /// A partition takes back its results of a transaction and of those after it: it runs them again. What does not
    /// depend on others was no run that can be taken back, and is not said again.
    pub(crate) fn withdrawn(&mut self, from: Address, txn: TxnId) {
        let partition = self.primaries.iter().position(|primary| *primary == from);
        if let (Some(partition), true) = (partition, txn.coordinator == self.me) {
            let later = self.pending.range_mut(txn.sequence..);
            later.for_each(|(_, pending)| drop(pending.answers[partition].take_if(|answer| answer.after.is_some())));
        }
    }
}
