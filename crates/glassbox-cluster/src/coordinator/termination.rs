//! What a coordinator does when a role changes hands: a partition has another primary, this coordinator replaces a
//! failed one, a client's session is over, or under another scheme other parties coordinate.

use glassbox::research::shard::PartitionSet;

use crate::coordinator::commit::{Coordinator, Ended, PendingTxn};
use crate::coordinator::recovery::Recovery;
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::message::{FragmentEnd, Message, Outcome, Recovered, Submission};
use crate::protocol::outbox::Outbox;

impl Coordinator {
    /// Sets whether it begins transactions. An inactive coordinator finishes the transactions that it has begun;
    /// submissions and restarts go back to their clients.
    pub(crate) fn set_active(&mut self, begins: bool, out: &mut Outbox) {
        self.begins = begins;
        if !begins {
            self.end_pauses(u64::MAX, out);
        }
        if let (false, Some(recovery)) = (begins, &mut self.recovery) {
            for (client, Submission { id, participants, .. }) in std::mem::take(&mut recovery.waiting) {
                self.ended.push(Ended { client, id, outcome: Outcome::Elsewhere(participants) });
            }
        }
        if let (false, Some(ordering)) = (begins, &mut self.ordering) {
            let collected: Vec<_> = ordering.collected.drain(..).collect();
            collected.into_iter().for_each(|pending| self.leave(pending, out));
        }
    }

    /// Returns a transaction to its client. If it was begun here, the return waits until one participant has
    /// acknowledged the abort: all may have voted for it, and a successor of this coordinator could otherwise commit
    /// it.
    pub(crate) fn leave(&mut self, pending: PendingTxn, out: &mut Outbox) {
        // A client that coordinates states its aborted attempts with its next submission.
        if let (Some((_, partitions)), Address::Coordinator(_)) = (pending.aborted_attempt, self.me) {
            partitions.iter().for_each(|partition| out.send(self.primaries[partition], Message::QueryAcks));
            self.leaving.push(pending);
            return self.release_aborted();
        }
        self.ended.push(pending.elsewhere());
    }

    /// Returns the aborted transactions whose abort a participant has acknowledged.
    pub(crate) fn release_aborted(&mut self) {
        let Self { leaving, unacked, ended, .. } = self;
        let may_go = |pending: &mut PendingTxn| {
            let (sequence, partitions) = pending.aborted_attempt.expect("it was begun here");
            partitions.iter().any(|partition| unacked[partition].is_acked(sequence))
        };
        ended.extend(leaving.extract_if(.., may_go).map(PendingTxn::elsewhere));
    }

    /// Submissions that ended otherwise than by a result.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// A partition reports how many decisions it has received.
    pub(crate) fn acked(&mut self, from: Address, received: u64) {
        if let Some(partition) = self.primaries.iter().position(|primary| *primary == from) {
            self.unacked[partition].ack(received);
            self.release_aborted();
        }
    }

    /// Adopts new primaries. They are sent the decisions that their predecessors may not have received. Transactions
    /// without a vote of a replaced primary are restarted, because its reads are no longer protected; `restarts_all`
    /// restarts every transaction.
    pub(crate) fn configure(
        &mut self,
        next: &Configuration,
        changed: PartitionSet,
        restarts_all: bool,
        now_us: u64,
        out: &mut Outbox,
    ) {
        self.deadlocks.forget(next.scheme_since, changed);
        let primaries = &next.primaries()[..];
        for (partition, &primary) in primaries.iter().enumerate().take(self.primaries.len()) {
            self.primaries[partition] = primary;
            if changed.contains(partition) {
                for (sequence, commit) in self.unacked[partition].resend() {
                    let txn = TxnId { coordinator: self.me, sequence };
                    out.send(primary, Message::Decide { txn, commit });
                }
                if !self.leaving.is_empty() {
                    out.send(primary, Message::QueryAcks);
                }
            }
        }
        self.heirs.values_mut().for_each(|recovery| recovery.ask_again(changed, primaries, out));
        if let Some(recovery) = &mut self.recovery {
            return recovery.ask_again(changed, primaries, out);
        }
        let has_voted = |pending: &PendingTxn, partition: usize| {
            let answer = pending.answers[partition].as_ref();
            answer.is_some_and(|answer| matches!(answer.end, FragmentEnd::Done(_)))
        };
        for sequence in self.pending.keys().copied().collect::<Vec<_>>() {
            // Looked up again for each: a vote upon a restarted transaction is void.
            let pending = &self.pending[&sequence];
            let mut gone = pending.partitions().filter(|&partition| changed.contains(partition));
            if restarts_all || gone.any(|partition| !has_voted(pending, partition)) {
                self.restart(sequence, PartitionSet::EMPTY, now_us, out);
            }
        }
        self.go_on(out);
    }

    /// Asks all partitions for the undecided transactions of this coordinator's predecessor.
    pub(crate) fn recover(&mut self, out: &mut Outbox) {
        self.recovery = Some(Recovery::begin(None, &self.primaries, out));
    }

    /// Receives a partition's report; once all have reported, the undecided transactions are decided.
    pub(crate) fn recovered(&mut self, from: Address, found: &Recovered, now_us: u64, out: &mut Outbox) {
        let Some(partition) = self.primaries.iter().position(|primary| *primary == from) else { return };
        if let Some(session) = found.session {
            return self.recovered_of(session, partition, found, out);
        }
        let Some(recovery) = &mut self.recovery else { return };
        recovery.add_report(partition, found.clone());
        let Some(decisions) = recovery.decisions() else { return };
        for (sequence, commit, partitions) in decisions {
            let txn = TxnId { coordinator: self.me, sequence };
            for partition in partitions {
                self.unacked[partition].add(sequence, commit);
                out.send(self.primaries[partition], Message::Decide { txn, commit });
            }
        }
        let waiting = self.recovery.take().map(|recovery| recovery.waiting).unwrap_or_default();
        for (client, submission) in waiting {
            self.submit(client, submission, now_us, out);
        }
    }

    /// Takes over the undecided transactions of a client's session.
    pub(crate) fn inherit(&mut self, session: Session, out: &mut Outbox) {
        if matches!(session.of, Address::Client(_)) && !self.heirs.contains_key(&session) {
            self.heirs.insert(session, Recovery::begin(Some(session), &self.primaries, out));
        }
    }

    /// Receives a partition's report about a client's session. A transaction is decided when all of its participants
    /// have reported. Once none is undecided, no partition needs its outcomes any more.
    pub(crate) fn recovered_of(&mut self, session: Session, partition: usize, found: &Recovered, out: &mut Outbox) {
        let Some(recovery) = self.heirs.get_mut(&session) else { return };
        recovery.add_report(partition, found.clone());
        for (sequence, commit, partitions) in recovery.ripe() {
            let txn = TxnId { coordinator: session.of, sequence };
            for partition in partitions {
                out.send(self.primaries[partition], Message::Decide { txn, commit });
            }
        }
        if recovery.is_complete() && recovery.has_decided() {
            // Sent after the decisions: a backup that is promoted before it receives one has undecided transactions
            // again.
            *recovery = Recovery::begin(Some(session), &self.primaries, out);
        } else if recovery.is_complete() {
            self.heirs.remove(&session);
            self.primaries.iter().for_each(|&primary| out.send(primary, Message::SessionForgotten(session)));
        }
    }

    /// The session in which it begins transactions now.
    pub(crate) fn session(&self) -> Session {
        TxnId { coordinator: self.me, sequence: self.next }.session()
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::research::shard::{Arguments, Call, Output};
    use glassbox_workloads::micro::{ReadWrite, Seen};

    use super::*;
    use crate::protocol::configuration::SchemeKind;
    use crate::protocol::input::InputKeys;
    use crate::protocol::message::FragmentResult;
    use crate::protocol::outbox::Action;

    const ME: Address = Address::Coordinator(0);

    fn primary(partition: u8, replica: u8) -> Address {
        Address::Replica { partition, replica }
    }

    /// A coordinator with this number of transactions on two partitions.
    fn coordinator(transactions: u64) -> Coordinator {
        let mut it = Coordinator::new(Session::new(ME, 0), vec![primary(0, 0), primary(1, 0)]);
        let keys = std::iter::empty().collect();
        let arguments = Arguments::of(ReadWrite { keys, stamp: 1, aborts_at: None, two_rounds: false });
        for id in 0..transactions {
            let call = Call { procedure: 0, arguments: arguments.clone(), now: Timestamp::default(), seed: 0 };
            let submission = Submission {
                id,
                call,
                participants: PartitionSet::all(2),
                shared: Vec::new(),
                before: None,
                attempt: 0,
                version: 1,
                keys: InputKeys::Declared,
            };
            it.submit(Address::Client(1), submission, 0, &mut Outbox::default());
        }
        it
    }

    fn answers(it: &mut Coordinator, partition: u8, sequence: u64, after: Option<u64>, end: FragmentEnd) -> usize {
        let txn = |sequence| TxnId { coordinator: ME, sequence };
        let (txn, after) = (txn(sequence), after.map(txn));
        let result = FragmentResult { txn, round: 0, partition, end, after, received: 0 };
        it.on_result(result, 0, &mut Outbox::default()).len()
    }

    fn done() -> FragmentEnd {
        FragmentEnd::Done(Output::of(Seen::new()))
    }

    #[test]
    fn a_vote_upon_a_transaction_that_a_failover_restarts_is_void() {
        let mut it = coordinator(2);
        assert_eq!(answers(&mut it, 1, 1, Some(0), done()), 0);
        let next = Configuration::first(2, 2, SchemeKind::Speculation).promote(primary(1, 1)).expect("it is a backup");
        it.configure(&next, PartitionSet::of(1), false, 0, &mut Outbox::default());
        assert_eq!(it.retries(), 2, "the second would get no further vote");
    }

    /// All participants may have voted for it: a successor would commit it if no participant had received the abort.
    #[test]
    fn an_aborted_transaction_moves_on_once_a_participant_has_acknowledged_the_abort() {
        let (mut it, mut out) = (coordinator(1), Outbox::default());
        it.set_active(false, &mut out);
        it.restart(0, PartitionSet::EMPTY, 0, &mut out);
        assert!(it.take_ended().is_empty() && it.pending() == 1, "no participant has acknowledged it");
        let asked = out.actions.iter().filter(|it| matches!(it, Action::Send(_, Message::QueryAcks)));
        assert_eq!(asked.count(), 2);
        // Another primary counts from 0 and has received nothing.
        let next = Configuration::first(2, 2, SchemeKind::Speculation).promote(primary(1, 1)).expect("it is a backup");
        it.configure(&next, PartitionSet::of(1), true, 0, &mut Outbox::default());
        it.acked(primary(1, 1), 0);
        assert!(it.take_ended().is_empty());
        it.acked(primary(1, 1), 1);
        let outcomes: Vec<_> = it.take_ended().into_iter().map(|ended| ended.outcome).collect();
        assert_eq!((&outcomes[..], it.pending()), (&[Outcome::Elsewhere(PartitionSet::all(2))][..], 0));
    }

    #[test]
    fn a_refusal_is_not_withdrawn_with_speculative_results() {
        let mut it = coordinator(3);
        assert_eq!(answers(&mut it, 0, 1, Some(0), done()), 0);
        assert_eq!(answers(&mut it, 0, 2, None, FragmentEnd::Again), 0);
        it.withdrawn(primary(0, 0), TxnId { coordinator: ME, sequence: 1 });
        assert!(it.pending[&1].answers[0].is_none(), "it is run again");
        assert_eq!(answers(&mut it, 1, 2, None, done()), 0);
        assert_eq!(it.retries(), 1, "the refusal counts");
    }
}
