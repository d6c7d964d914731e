//! Batches of a coordinator: what it sends to partitions leaves once in an interval.
//!
//! Each message costs its sender and its receiver, whatever it says. *Low Overhead Concurrency Control* (section 4.2.2)
//! has several coordinators dispatch in batches, which "requires delaying transactions". Here it is an
//! [option](crate::OrderSettings::tick_us) also for one: the longer the interval, the more messages share their costs,
//! and the later each one is.
//!
//! To all other parties it looks like a slower connection: the order of these messages between two parties stays. A new
//! configuration may overtake what is held, which keeps the epoch in which it was ready.

use crate::protocol::address::Address;
use crate::protocol::message::Message;
use crate::protocol::outbox::{Action, Outbox};

/// Messages that wait for the end of the interval.
#[derive(Debug, Default)]
pub(crate) struct Tick {
    /// In the order of sending.
    held: Vec<(Address, Message)>,
    /// When it leaves, in microseconds.
    due_us: Option<u64>,
}

/// Whether a coordinator sends this to the partitions of its transactions.
fn is_held(message: &Message) -> bool {
    matches!(
        message,
        Message::Fragment(_)
            | Message::Decide { .. }
            | Message::QueryAcks
            | Message::Recover(_)
            | Message::SessionForgotten(_)
    )
}

impl Tick {
    /// Takes what is for partitions, from this action on. The first message begins an interval.
    pub(crate) fn hold(&mut self, tick_us: u32, first: usize, now_us: u64, out: &mut Outbox) {
        let is_held = |action: &mut Action| matches!(action, Action::Send(_, message) if is_held(message));
        for action in out.actions.extract_if(first.min(out.actions.len()).., is_held) {
            if let Action::Send(to, message) = action {
                self.held.push((to, message));
            }
        }
        if !self.held.is_empty() {
            self.due_us.get_or_insert(now_us + u64::from(tick_us));
        }
    }

    /// When something is to be sent.
    pub(crate) fn next_us(&self) -> Option<u64> {
        self.due_us
    }

    /// Sends what has waited long enough.
    pub(crate) fn release(&mut self, now_us: u64, out: &mut Outbox) {
        if self.due_us.is_some_and(|due_us| now_us >= due_us) {
            self.due_us = None;
            self.held.drain(..).for_each(|(to, message)| out.send(to, message));
        }
    }

    /// Sends everything at once, because the epoch in which it was ready ends.
    pub(crate) fn end_epoch(&mut self, epoch: u64, out: &mut Outbox) {
        self.due_us = None;
        out.actions.extend(self.held.drain(..).map(|(to, message)| Action::SendEarlier(epoch, to, message)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::address::TxnId;

    const COORDINATOR: Address = Address::Coordinator(0);

    fn decide(sequence: u64) -> Message {
        Message::Decide { txn: TxnId { coordinator: COORDINATOR, sequence }, commit: true }
    }

    #[test]
    fn messages_leave_together_in_their_order() {
        let replica = |partition| Address::Replica { partition, replica: 0 };
        let (mut tick, mut out) = (Tick::default(), Outbox::default());
        out.send(replica(0), decide(0));
        // The first message was sent before.
        for sequence in 1..3 {
            (0..2).for_each(|partition| out.send(replica(partition), decide(sequence)));
            out.send(COORDINATOR, Message::AskTurn { number: sequence });
        }
        tick.hold(100, 1, 1_000, &mut out);
        assert_eq!((out.actions.len(), tick.next_us()), (3, Some(1_100)));
        let mut later = Outbox::default();
        later.send(replica(1), decide(3));
        tick.hold(100, 0, 1_050, &mut later);
        assert_eq!(tick.next_us(), Some(1_100));
        tick.release(1_099, &mut later);
        assert!(later.actions.is_empty());
        tick.release(1_100, &mut later);
        let sent = [(0, 1), (1, 1), (0, 2), (1, 2), (1, 3)];
        let sent = sent.map(|(partition, sequence)| Action::Send(replica(partition), decide(sequence)));
        assert_eq!((&later.actions[..], tick.next_us()), (&sent[..], None));
        tick.hold(100, 4, 1_100, &mut later);
        tick.end_epoch(7, &mut later);
        assert_eq!(later.actions[4..], [Action::SendEarlier(7, replica(1), decide(3))]);
        assert_eq!(tick.next_us(), None);
    }
}
