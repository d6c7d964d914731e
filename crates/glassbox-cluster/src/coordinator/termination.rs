//! What a coordinator does when somebody takes over a role: a partition has another primary, or it is itself another
//! coordinator than the one that began; or when by another scheme others coordinate from now on.

use glassbox::shard::PartitionSet;

use crate::coordinator::commit::Coordinator;
use crate::coordinator::pending::{Ended, Pending};
use crate::coordinator::recovery::Recovery;
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::configuration::Configuration;
use crate::protocol::message::{FragmentEnd, Message, Outcome, Recovered, Submission};
use crate::protocol::outbox::Outbox;

impl Coordinator {
    /// Whether it begins transactions from now on. If not, it ends those that it has begun; what is submitted, and what
    /// would have to begin anew, is to be sent elsewhere.
    pub(crate) fn let_begin(&mut self, begins: bool, out: &mut Outbox) {
        self.begins = begins;
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

    /// Sends a transaction elsewhere. If it was begun here, that waits until one of its partitions has heard that it
    /// was taken back: they may all have voted for it, and who came in this one's place could commit it meanwhile.
    pub(crate) fn leave(&mut self, pending: Pending, out: &mut Outbox) {
        // What a client took back it says with what it submits.
        if let (Some((_, partitions)), Address::Coordinator(_)) = (pending.taken_back, self.me) {
            partitions.iter().for_each(|partition| out.send(self.primaries[partition], Message::AskHeard));
            self.leaving.push(pending);
            return self.let_go();
        }
        self.ended.push(pending.elsewhere());
    }

    /// Lets those go elsewhere for whom somebody has heard it.
    pub(crate) fn let_go(&mut self) {
        let Self { leaving, told, ended, .. } = self;
        let may_go = |pending: &mut Pending| {
            let (sequence, partitions) = pending.taken_back.expect("it was begun here");
            partitions.iter().any(|partition| told[partition].has_heard(sequence))
        };
        ended.extend(leaving.extract_if(.., may_go).map(Pending::elsewhere));
    }

    /// What ended otherwise than by an answer.
    pub(crate) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// A partition says which decisions it has heard.
    pub(crate) fn heard(&mut self, from: Address, heard: u64) {
        if let Some(partition) = self.primaries.iter().position(|primary| *primary == from) {
            self.told[partition].heard(heard);
            self.let_go();
        }
    }

    /// Other primaries: they are told again what the ones before may not have heard; and what these had begun and not
    /// voted for begins anew, since what it had read there is not protected any more; or all does.
    pub(crate) fn configure(
        &mut self,
        next: &Configuration,
        changed: PartitionSet,
        all_anew: bool,
        now_us: u64,
        out: &mut Outbox,
    ) {
        let primaries = &next.primaries()[..];
        for (partition, &primary) in primaries.iter().enumerate().take(self.primaries.len()) {
            self.primaries[partition] = primary;
            if changed.contains(partition) {
                for (sequence, commit) in self.told[partition].again() {
                    let txn = TxnId { coordinator: self.me, sequence };
                    out.send(primary, Message::Decide { txn, commit });
                }
                if !self.leaving.is_empty() {
                    out.send(primary, Message::AskHeard);
                }
            }
        }
        self.heirs.values_mut().for_each(|recovery| recovery.ask_again(changed, primaries, out));
        if let Some(recovery) = &mut self.recovery {
            return recovery.ask_again(changed, primaries, out);
        }
        let has_voted = |pending: &Pending, partition: usize| {
            let answer = pending.answers[partition].as_ref();
            answer.is_some_and(|answer| matches!(answer.end, FragmentEnd::Done(_)))
        };
        for sequence in self.pending.keys().copied().collect::<Vec<_>>() {
            // Asked one by one: a vote upon one that begins anew counts no more.
            let pending = &self.pending[&sequence];
            let mut gone = pending.partitions().filter(|&partition| changed.contains(partition));
            if all_anew || gone.any(|partition| !has_voted(pending, partition)) {
                self.try_again(sequence, PartitionSet::EMPTY, now_us, out);
            }
        }
        self.go_on(out);
    }

    /// Asks all partitions what the coordinator before left undecided.
    pub(crate) fn recover(&mut self, out: &mut Outbox) {
        self.recovery = Some(Recovery::begin(None, &self.primaries, out));
    }

    /// A partition says what it knows; when all have, what is undecided is decided.
    pub(crate) fn recovered(&mut self, from: Address, found: &Recovered, now_us: u64, out: &mut Outbox) {
        let Some(partition) = self.primaries.iter().position(|primary| *primary == from) else { return };
        if let Some(life) = found.life {
            return self.recovered_of(life, partition, found, out);
        }
        let Some(recovery) = &mut self.recovery else { return };
        recovery.hear(partition, found.clone());
        let Some(decisions) = recovery.decisions() else { return };
        for (sequence, commit, partitions) in decisions {
            let txn = TxnId { coordinator: self.me, sequence };
            for partition in partitions {
                self.told[partition].tell(sequence, commit);
                out.send(self.primaries[partition], Message::Decide { txn, commit });
            }
        }
        let waiting = self.recovery.take().map(|recovery| recovery.waiting).unwrap_or_default();
        for (client, submission) in waiting {
            self.submit(client, submission, now_us, out);
        }
    }

    /// Decides from now on what a client left.
    pub(crate) fn inherit(&mut self, life: Life, out: &mut Outbox) {
        if matches!(life.of, Address::Client(_)) && !self.heirs.contains_key(&life) {
            self.heirs.insert(life, Recovery::begin(Some(life), &self.primaries, out));
        }
    }

    /// A partition says what it has of a client. Each transaction is decided when all of its partitions have; when
    /// nothing is undecided any more, nobody has to remember what was committed.
    pub(crate) fn recovered_of(&mut self, life: Life, partition: usize, found: &Recovered, out: &mut Outbox) {
        let Some(recovery) = self.heirs.get_mut(&life) else { return };
        recovery.hear(partition, found.clone());
        for (sequence, commit, partitions) in recovery.ripe() {
            let txn = TxnId { coordinator: life.of, sequence };
            for partition in partitions {
                out.send(self.primaries[partition], Message::Decide { txn, commit });
            }
        }
        if recovery.is_complete() && recovery.has_decided() {
            // Behind the decisions: whoever becomes primary before it hears one has something undecided again.
            *recovery = Recovery::begin(Some(life), &self.primaries, out);
        } else if recovery.is_complete() {
            self.heirs.remove(&life);
            self.primaries.iter().for_each(|&primary| out.send(primary, Message::Ended(life)));
        }
    }

    /// In which life it begins transactions now.
    pub(crate) fn life(&self) -> Life {
        TxnId { coordinator: self.me, sequence: self.next }.life()
    }
}

#[cfg(test)]
mod tests {
    use glassbox::record::Timestamp;
    use glassbox::shard::{Arguments, Call, Output};
    use glassbox_workloads::micro::{ReadWrite, Seen};

    use super::*;
    use crate::protocol::message::FragmentResult;
    use crate::protocol::outbox::Action;
    use crate::protocol::scheme_kind::SchemeKind;

    const ME: Address = Address::Coordinator(0);

    fn primary(partition: u8, replica: u8) -> Address {
        Address::Replica { partition, replica }
    }

    /// A coordinator with so many transactions on both of two partitions.
    fn coordinator(transactions: u64) -> Coordinator {
        let mut it = Coordinator::new(Life::new(ME, 0), vec![primary(0, 0), primary(1, 0)]);
        let keys = std::iter::empty().collect();
        let arguments = Arguments::of(ReadWrite { keys, stamp: 1, aborts_at: None, two_rounds: false });
        for id in 0..transactions {
            let call = Call { procedure: 0, arguments: arguments.clone(), now: Timestamp::default(), seed: 0 };
            let submission =
                Submission { id, call, participants: PartitionSet::all(2), shared: Vec::new(), before: None };
            it.submit(Address::Client(1), submission, 0, &mut Outbox::default());
        }
        it
    }

    fn answers(it: &mut Coordinator, partition: u8, sequence: u64, after: Option<u64>, end: FragmentEnd) -> usize {
        let txn = |sequence| TxnId { coordinator: ME, sequence };
        let (txn, after) = (txn(sequence), after.map(txn));
        let result = FragmentResult { txn, round: 0, partition, end, after, heard: 0 };
        it.hears(result, 0, &mut Outbox::default()).len()
    }

    fn done() -> FragmentEnd {
        FragmentEnd::Done(Output::of(Seen::new()))
    }

    #[test]
    fn a_vote_upon_one_that_begins_anew_with_its_partition_is_lost_with_it() {
        let mut it = coordinator(2);
        assert_eq!(answers(&mut it, 1, 1, Some(0), done()), 0);
        let next = Configuration::first(2, 2, SchemeKind::Speculation).promote(primary(1, 1)).expect("it is a backup");
        it.configure(&next, PartitionSet::of(1), false, 0, &mut Outbox::default());
        assert_eq!(it.retries(), 2, "nobody would vote for the second again");
    }

    /// Both may have voted for it: whoever takes this one's place would commit it, when nobody has heard otherwise.
    #[test]
    fn what_was_taken_back_goes_elsewhere_when_somebody_has_heard_it() {
        let (mut it, mut out) = (coordinator(1), Outbox::default());
        it.let_begin(false, &mut out);
        it.try_again(0, PartitionSet::EMPTY, 0, &mut out);
        assert!(it.take_ended().is_empty() && it.pending() == 1, "nobody has heard it");
        let asked = out.actions.iter().filter(|it| matches!(it, Action::Send(_, Message::AskHeard)));
        assert_eq!(asked.count(), 2);
        // Another primary counts anew, and has heard nothing.
        let next = Configuration::first(2, 2, SchemeKind::Speculation).promote(primary(1, 1)).expect("it is a backup");
        it.configure(&next, PartitionSet::of(1), true, 0, &mut Outbox::default());
        it.heard(primary(1, 1), 0);
        assert!(it.take_ended().is_empty());
        it.heard(primary(1, 1), 1);
        let outcomes: Vec<_> = it.take_ended().into_iter().map(|ended| ended.outcome).collect();
        assert_eq!((&outcomes[..], it.pending()), (&[Outcome::Elsewhere(PartitionSet::all(2))][..], 0));
    }

    #[test]
    fn a_refusal_is_not_withdrawn_with_results() {
        let mut it = coordinator(3);
        assert_eq!(answers(&mut it, 0, 1, Some(0), done()), 0);
        assert_eq!(answers(&mut it, 0, 2, None, FragmentEnd::Again), 0);
        it.withdrawn(primary(0, 0), TxnId { coordinator: ME, sequence: 1 });
        assert!(it.pending[&1].answers[0].is_none(), "it is run again");
        assert_eq!(answers(&mut it, 1, 2, None, done()), 0);
        assert_eq!(it.retries(), 1, "the refusal counts");
    }
}
