//! Decisions sent to a participant and not yet acknowledged.

use std::collections::VecDeque;

/// Decisions sent to a participant and not yet acknowledged.
#[derive(Debug, Default)]
pub(crate) struct UnackedDecisions {
    /// In the order of sending: sequence number, and whether it commits.
    unacked: VecDeque<(u64, bool)>,
    /// The number of decisions that the present primary has acknowledged.
    acked: u64,
}

impl UnackedDecisions {
    pub(crate) fn add(&mut self, sequence: u64, commit: bool) {
        self.unacked.push_back((sequence, commit));
    }

    /// The participant has received this number of decisions.
    pub(crate) fn ack(&mut self, received: u64) {
        while self.acked < received && self.unacked.pop_front().is_some() {
            self.acked += 1;
        }
    }

    /// Whether the abort of an earlier transaction is unacknowledged: the participant will run this one again.
    pub(crate) fn will_run_again(&self, sequence: u64) -> bool {
        self.unacked.iter().any(|&(aborted, commit)| !commit && aborted < sequence)
    }

    /// The lowest transaction whose decision is unacknowledged.
    pub(crate) fn first_unacked(&self) -> Option<u64> {
        self.unacked.iter().map(|&(sequence, _)| sequence).min()
    }

    /// Whether the decision of a transaction that was sent is acknowledged.
    pub(crate) fn is_acked(&self, sequence: u64) -> bool {
        self.unacked.iter().all(|&(unacked, _)| unacked != sequence)
    }

    /// The unacknowledged decisions, for another primary, which counts from 0.
    pub(crate) fn resend(&mut self) -> impl Iterator<Item = (u64, bool)> + use<> {
        self.acked = 0;
        self.unacked.clone().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_acknowledged_in_order_and_resent_to_another_primary() {
        let mut unacked = UnackedDecisions::default();
        [(3, true), (1, false), (5, true)].into_iter().for_each(|(sequence, commit)| unacked.add(sequence, commit));
        assert!(unacked.will_run_again(2) && !unacked.will_run_again(1));
        unacked.ack(1);
        assert!(unacked.is_acked(3) && !unacked.is_acked(1) && unacked.first_unacked() == Some(1));
        assert!(unacked.resend().eq([(1, false), (5, true)]));
        unacked.ack(1);
        assert!(unacked.is_acked(1) && !unacked.will_run_again(2) && unacked.first_unacked() == Some(5));
    }
}
