//! Batches: packets that leave for a party at once are one message, of which sender and receiver have the costs once.
//!
//! So a run shows what a coordinator's [tick](glassbox_cluster::OrderSettings::tick_us) brings. A partition answers a
//! batch when it has handled all of it, as a process does that sends its output after it has read its input.

use glassbox_cluster::{Address, Packet, Work};

use super::costs::Costs;

/// A node's place in the batch that it handles.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Whether the packet that it handles is not the first one.
    follows: bool,
    /// The sender, if it is not the last one.
    more: Option<Address>,
    /// The answers to those before.
    answers: Vec<(Address, Packet)>,
    /// The duration of what it did at a tick; its next step takes that much longer.
    pub(super) owed_ns: u64,
}

impl Batch {
    /// Goes on to a packet: its sender, and whether others follow it.
    pub(super) fn next(&mut self, packet: Option<(Address, bool)>) {
        self.follows = packet.is_some_and(|(from, _)| self.continues(from));
        self.more = packet.and_then(|(from, more)| more.then_some(from));
    }

    /// Whether a packet of this sender continues the batch.
    pub(super) fn continues(&self, from: Address) -> bool {
        self.more == Some(from)
    }

    /// Ends the step of a packet, which has these packets for others: those that leave now, each party's together, and
    /// whether others of the same batch follow.
    pub(super) fn end_step(&mut self, mut leaving: Vec<(Address, Packet)>) -> Vec<(Address, Packet, bool)> {
        if self.more.is_some() {
            self.answers.extend(leaving.extract_if(.., |(to, _)| matches!(to, Address::Coordinator(_))));
        } else {
            leaving.splice(..0, std::mem::take(&mut self.answers));
        }
        leaving.sort_by_key(|(to, _)| *to);
        let last = |at: usize| leaving.get(at + 1).is_none_or(|(next, _)| *next != leaving[at].0);
        let more: Vec<_> = (0..leaving.len()).map(|at| !last(at)).collect();
        leaving.into_iter().zip(more).map(|((to, packet), more)| (to, packet, more)).collect()
    }

    /// The part of the cost of work that an earlier packet of the batch has paid.
    pub(super) fn shared_ns(&self, work: Work, costs: &Costs) -> u64 {
        if self.follows && matches!(work, Work::Fragment { .. }) { costs.shared_message_ns } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use glassbox_cluster::Message;

    use super::*;

    #[test]
    fn a_batch_is_answered_at_its_end() {
        let (one, two) = (Address::Coordinator(0), Address::Client(1));
        let packet = |sequence| Packet { epoch: 1, message: Message::Ack { sequence } };
        let mut batch = Batch::default();
        let work = Work::Fragment { watched: false };
        let costs = Costs::of_the_paper().with_batches();
        batch.next(Some((one, true)));
        assert_eq!(batch.shared_ns(work, &costs), 0);
        assert_eq!(batch.end_step(vec![(one, packet(1)), (two, packet(2))]), [(two, packet(2), false)]);
        batch.next(Some((one, false)));
        assert_eq!((batch.shared_ns(work, &costs), batch.shared_ns(Work::Decide, &costs)), (17_000, 0));
        assert_eq!(batch.end_step(vec![(one, packet(3))]), [(one, packet(1), true), (one, packet(3), false)]);
        batch.next(Some((one, true)));
        batch.next(Some((two, false)));
        assert_eq!(batch.shared_ns(work, &costs), 0);
    }
}
