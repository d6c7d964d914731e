//! The coordinator: divides a distributed transaction into fragments, round by round, and decides it by two-phase
//! commit.
//!
//! A partition's result of the last fragment is its vote (*Low Overhead Concurrency Control*, section 3.3). So a
//! transaction of one round takes one round trip, and one further message that delays no other. Invariants:
//!
//! - the fragments of one coordinator reach each partition in the order of the transactions' sequence numbers, which is
//!   the global order (of several coordinators, the [turn](crate::sequencer::turn) makes one);
//! - a transaction is decided when every participant has answered its latest round and everything that these answers
//!   depend on is decided;
//! - so transactions that a partition ran one upon the other are decided in that order.
//!
//! A partition that receives an abort runs the later transactions again and answers again. Each result says how many
//! decisions the partition had received, which tells a stale result from a valid one.

use std::collections::{BTreeMap, VecDeque};

use glassbox::research::shard::{Call, Failure, PartitionSet, RemoteRead, RemoteReadResult};

use crate::coordinator::deadlocks::Deadlocks;
use crate::coordinator::recovery::Recovery;
use crate::coordinator::unacked_decisions::UnackedDecisions;
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::message::{Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome, Submission};
use crate::protocol::outbox::Outbox;
use crate::sequencer::turn::TurnState;

/// Orders and decides distributed transactions.
#[derive(Debug)]
pub struct Coordinator {
    pub(crate) me: Address,
    /// The sequence number of its next transaction.
    pub(crate) next: u64,
    /// The primary of each partition.
    pub(crate) primaries: Vec<Address>,
    pub(crate) pending: BTreeMap<u64, PendingTxn>,
    /// For each partition, the decisions that it has not acknowledged.
    pub(crate) unacked: Vec<UnackedDecisions>,
    /// The recovery of its predecessor's transactions: submissions wait meanwhile.
    pub(crate) recovery: Option<Recovery>,
    /// Recoveries of clients' sessions that are over.
    pub(crate) heirs: BTreeMap<Session, Recovery>,
    /// Restarts of transactions.
    pub(crate) retries: u64,
    /// Whether it begins transactions: under locking and OCC only clients do.
    pub(crate) begins: bool,
    /// Submissions that ended otherwise than by a result.
    pub(crate) ended: Vec<Ended>,
    /// Aborted transactions that go to another coordinator once a participant has acknowledged the abort.
    pub(crate) leaving: Vec<PendingTxn>,
    /// The shared order, if there are several coordinators.
    pub(crate) ordering: Option<Box<Ordering>>,
    pub(crate) deadlocks: Deadlocks<PendingTxn>,
    /// Whether a participant receives its first fragment when the one before has answered: both may lock, and the locks
    /// of all transactions have one order.
    pub(crate) visits_in_order: bool,
}

/// A coordinator's part in the order of several coordinators.
#[derive(Debug)]
pub(crate) struct Ordering {
    pub(crate) turns: TurnState,
    /// Whether it has requested the turn.
    pub(crate) waits: bool,
    /// Transactions that were submitted and not dispatched.
    pub(crate) collected: VecDeque<PendingTxn>,
}

impl Coordinator {
    /// A coordinator of these partitions, at the beginning of a session.
    pub fn new(session: Session, primaries: Vec<Address>) -> Self {
        let unacked = primaries.iter().map(|_| UnackedDecisions::default()).collect();
        let (me, next) = (session.of, session.first());
        let (pending, heirs, ended, leaving) = (BTreeMap::new(), BTreeMap::new(), Vec::new(), Vec::new());
        let (recovery, retries, begins, ordering, deadlocks) = (None, 0, true, None, Deadlocks::default());
        Self {
            me,
            next,
            primaries,
            pending,
            unacked,
            recovery,
            heirs,
            retries,
            begins,
            ended,
            leaving,
            ordering,
            deadlocks,
            visits_in_order: false,
        }
    }

    /// The number of undecided transactions.
    pub fn pending(&self) -> usize {
        let collected = self.ordering.as_ref().map_or(0, |ordering| ordering.collected.len());
        self.pending.len() + collected + self.leaving.len() + self.deadlocks.paused()
    }

    /// The number of restarts.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Begins a transaction.
    pub fn submit(&mut self, client: Address, submission: Submission, now_us: u64, out: &mut Outbox) {
        if let (true, Some(recovery)) = (self.begins, &mut self.recovery) {
            return recovery.waiting.push((client, submission));
        }
        let Submission { id, call, participants, shared, before, .. } = submission;
        let all = PartitionSet::all(self.primaries.len());
        if participants.is_empty() || !participants.difference(all).is_empty() {
            let problem = format!("unknown partitions: {participants:?} of {all:?}");
            let outcome = Outcome::Failed(Box::new(Failure::Protocol { problem }));
            return out.send(client, Message::Answer { id, outcome });
        }
        let answers = vec![None; self.primaries.len()];
        let (round, given, begun_us, attempts, aborted_attempt) = (0, Vec::new(), now_us, 0, None);
        self.begin(
            PendingTxn {
                client,
                id,
                call,
                participants,
                shared,
                before,
                round,
                answers,
                given,
                begun_us,
                attempts,
                aborted_attempt,
            },
            out,
        );
    }

    fn begin(&mut self, pending: PendingTxn, out: &mut Outbox) {
        if !self.begins {
            return self.leave(pending, out);
        }
        if self.has_turn() { self.dispatch(pending, out) } else { self.collect(pending, out) }
    }

    /// Sends the first fragments of a transaction.
    pub(crate) fn dispatch(&mut self, pending: PendingTxn, out: &mut Outbox) {
        let sequence = self.next;
        self.next += 1;
        self.query_acks(out);
        let first =
            if self.visits_in_order { PartitionSet::of(pending.participants.lowest()) } else { pending.participants };
        self.send_first(sequence, &pending, first, out);
        self.pending.insert(sequence, pending);
    }

    /// Sends first fragments to some participants.
    fn send_first(&mut self, sequence: u64, pending: &PendingTxn, to: PartitionSet, out: &mut Outbox) {
        let shared = &pending.shared;
        let work = |partition| match shared.is_empty() {
            true => FragmentWork::Run(Vec::new()),
            false => FragmentWork::Find(wanted_of(shared, partition)),
        };
        self.send_round(sequence, (pending, to), work, out);
    }

    fn send_round(
        &mut self,
        sequence: u64,
        (pending, to): (&PendingTxn, PartitionSet),
        work: impl Fn(usize) -> FragmentWork,
        out: &mut Outbox,
    ) {
        let settled = self.settled(sequence);
        for partition in to.iter() {
            let place = match &mut self.ordering {
                Some(ordering) if pending.round == 0 => ordering.turns.place(partition),
                _ => 0,
            };
            let fragment = Fragment {
                txn: TxnId { coordinator: self.me, sequence },
                round: pending.round,
                call: pending.call.clone(),
                participants: pending.participants,
                work: work(partition),
                settled,
                place,
                before: pending.before,
            };
            out.send(self.primaries[partition], Message::Fragment(Box::new(fragment)));
        }
    }

    /// Receives a fragment's result; the submissions that it ends.
    pub fn on_result(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> Vec<Ended> {
        let (sequence, partition) = (result.txn.sequence, usize::from(result.partition));
        if result.txn.coordinator != self.me || partition >= self.primaries.len() {
            return Vec::new();
        }
        let unacked = &mut self.unacked[partition];
        unacked.ack(result.received);
        let stale = result.after.is_some() && unacked.will_run_again(sequence);
        self.release_aborted();
        let Some(pending) = self.pending.get_mut(&sequence) else { return Vec::new() };
        if stale || result.round != pending.round || !pending.participants.contains(partition) {
            return Vec::new();
        }
        let is_first = pending.round == 0 && result.end != FragmentEnd::Again;
        let is_visited = pending.answers[partition].replace(result).is_none() && is_first;
        if self.visits_in_order && is_visited {
            self.visit_next(sequence, out);
        }
        let mut ends = Vec::new();
        self.advance_from(sequence, now_us, &mut ends, out);
        self.go_on(out);
        ends.append(&mut self.ended);
        ends
    }

    /// Sends the first fragment to the next participant, the one before having answered.
    fn visit_next(&mut self, sequence: u64, out: &mut Outbox) {
        let Some(pending) = self.pending.remove(&sequence) else { return };
        if let Some(next) = pending.partitions().find(|partition| pending.answers[*partition].is_none()) {
            self.send_first(sequence, &pending, PartitionSet::of(next), out);
        }
        self.pending.insert(sequence, pending);
    }

    /// Advances a transaction, and those that waited for its decision.
    fn advance_from(&mut self, sequence: u64, now_us: u64, ends: &mut Vec<Ended>, out: &mut Outbox) {
        if !self.advance(sequence, now_us, ends, out) {
            return;
        }
        let waits = |pending: &PendingTxn| {
            let mut after = pending.answers.iter().flatten().filter_map(|answer| answer.after);
            after.any(|txn| txn.sequence == sequence && txn.coordinator == self.me)
        };
        let waiting: Vec<_> =
            self.pending.range(sequence + 1..).filter(|(_, pending)| waits(pending)).map(|(&next, _)| next).collect();
        for next in waiting {
            self.advance_from(next, now_us, ends, out);
        }
    }

    /// Advances a transaction if possible; whether it ended.
    fn advance(&mut self, sequence: u64, now_us: u64, ends: &mut Vec<Ended>, out: &mut Outbox) -> bool {
        let Some(pending) = self.pending.get(&sequence) else { return false };
        let answered = pending.partitions().all(|partition| pending.answers[partition].is_some());
        // A decision of another coordinator is reported by the partition.
        let undecided = |after: TxnId| after.coordinator != self.me || self.pending.contains_key(&after.sequence);
        let is_complete = answered && !pending.answers.iter().flatten().any(|it| it.after.is_some_and(undecided));
        // The locks of a deadlock's victim are free at one participant, and should be at the others.
        let is_victim = pending.answers.iter().flatten().any(|answer| answer.end == FragmentEnd::Again);
        if !(is_complete || is_victim && matches!(self.me, Address::Client(_))) {
            return false;
        }
        let mut verdict = Verdict::default();
        let answers = pending.answers.iter().flatten();
        answers.for_each(|answer| verdict.add(answer));
        if verdict.is_restarted() {
            self.restart(sequence, verdict.elsewhere, now_us, out);
            return true;
        }
        if let Some(outcome) = verdict.refusal {
            let PendingTxn { client, id, .. } = self.decide(sequence, false, out);
            ends.push(Ended { client, id, outcome });
            return true;
        }
        if !verdict.wanted.is_empty() || verdict.finding {
            self.next_round(sequence, verdict, out);
            return false;
        }
        let PendingTxn { client, id, answers, .. } = self.decide(sequence, true, out);
        let parts = answers.into_iter().flatten().filter_map(|answer| match answer.end {
            FragmentEnd::Done(output) => Some((answer.partition, output)),
            _ => None,
        });
        ends.push(Ended { client, id, outcome: Outcome::Done(parts.collect()) });
        true
    }

    /// Reads the remote rows that are needed, or runs with those that were read.
    fn next_round(&mut self, sequence: u64, verdict: Verdict, out: &mut Outbox) {
        let mut pending = self.pending.remove(&sequence).expect("it is being advanced");
        pending.round += 1;
        pending.answers.fill(None);
        pending.given.extend(verdict.found);
        if verdict.wanted.is_empty() {
            let given = |partition: usize| {
                let others = pending.given.iter().filter(|found| usize::from(found.partition) != partition);
                FragmentWork::Run(others.cloned().collect())
            };
            self.send_round(sequence, (&pending, pending.participants), given, out);
        } else {
            let wanted = |partition| FragmentWork::Find(wanted_of(&verdict.wanted, partition));
            self.send_round(sequence, (&pending, pending.participants), wanted, out);
        }
        self.pending.insert(sequence, pending);
    }

    /// Aborts a transaction at all participants and restarts it, with more participants if needed.
    pub(crate) fn restart(&mut self, sequence: u64, elsewhere: PartitionSet, now_us: u64, out: &mut Outbox) {
        let mut pending = self.decide(sequence, false, out);
        let first = pending.aborted_attempt.map_or(pending.participants, |(_, first)| first);
        pending.aborted_attempt = Some((sequence, first));
        pending.participants.extend(elsewhere.intersection(PartitionSet::all(self.primaries.len())));
        (pending.round, pending.begun_us, pending.attempts) = (0, now_us, pending.attempts + 1);
        pending.answers.fill(None);
        pending.given.clear();
        self.retries += 1;
        // A coordinator that orders transactions does not restart them because of each other.
        let begins = match self.me {
            Address::Client(number) if self.begins => {
                let (attempts, seed) = (pending.attempts, pending.call.seed ^ self.next ^ u64::from(number) << 32);
                self.deadlocks.pause(pending, attempts, seed, now_us)
            }
            _ => Some(pending),
        };
        if let Some(pending) = begins {
            self.begin(pending, out);
        }
    }

    /// Coordinator 0 has found a deadlock, with one of this coordinator's transactions.
    pub(crate) fn on_deadlock(&mut self, txn: TxnId, now_us: u64, out: &mut Outbox) {
        if txn.coordinator == self.me && self.pending.contains_key(&txn.sequence) {
            self.restart(txn.sequence, PartitionSet::EMPTY, now_us, out);
        }
    }

    /// Begins the transactions whose pause is over.
    pub(crate) fn end_pauses(&mut self, now_us: u64, out: &mut Outbox) {
        for (until_us, mut pending) in self.deadlocks.rested(now_us) {
            pending.begun_us = until_us;
            self.begin(pending, out);
        }
    }

    fn decide(&mut self, sequence: u64, commit: bool, out: &mut Outbox) -> PendingTxn {
        let pending = self.pending.remove(&sequence).expect("it is being decided");
        let txn = TxnId { coordinator: self.me, sequence };
        for partition in pending.partitions() {
            self.unacked[partition].add(sequence, commit);
            out.send(self.primaries[partition], Message::Decide { txn, commit });
            if !commit {
                // The partition runs the later transactions again and answers again.
                for (_, later) in self.pending.range_mut(sequence + 1..) {
                    later.answers[partition].take_if(|answer| answer.after.is_some());
                }
            }
        }
        pending
    }

    /// Restarts transactions that exceed their timeout: they may be in a deadlock that no partition can detect. The
    /// timeout doubles with each attempt, up to 64 times.
    pub fn restart_timed_out(&mut self, patience_us: u64, now_us: u64, out: &mut Outbox) {
        let is_late = |it: &PendingTxn| now_us.saturating_sub(it.begun_us) > patience_us << it.attempts.min(6);
        let late = self.pending.iter().filter(|(_, pending)| is_late(pending));
        for sequence in late.map(|(&sequence, _)| sequence).collect::<Vec<_>>() {
            self.restart(sequence, PartitionSet::EMPTY, now_us, out);
        }
        self.end_pauses(now_us, out);
    }

    /// All transactions before this number, which is at most `begun`, are decided and acknowledged by all participants.
    fn settled(&self, begun: u64) -> u64 {
        let unacked = self.unacked.iter().filter_map(UnackedDecisions::first_unacked).min().unwrap_or(begun);
        let pending = self.pending.first_key_value().map_or(begun, |(&sequence, _)| sequence);
        unacked.min(pending).min(begun)
    }

    /// Asks partitions that have not reported for long how many decisions they have received.
    fn query_acks(&mut self, out: &mut Outbox) {
        for (unacked, &primary) in self.unacked.iter().zip(&self.primaries) {
            let late = unacked.first_unacked().is_some_and(|first| self.next - first > LONG);
            if late && self.next.is_multiple_of(LONG) {
                out.send(primary, Message::QueryAcks);
            }
        }
    }
}

/// The number of transactions after which a partition is asked for its acknowledgements.
const LONG: u64 = 1024;

/// The outcome of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The client that submitted it.
    pub client: Address,
    /// The client's number for it.
    pub id: u64,
    /// The outcome.
    pub outcome: Outcome,
}

/// An undecided transaction.
#[derive(Debug)]
pub(crate) struct PendingTxn {
    pub(crate) client: Address,
    pub(crate) id: u64,
    pub(crate) call: Call,
    pub(crate) participants: PartitionSet,
    /// Remote rows that any run needs.
    pub(crate) shared: Vec<RemoteRead>,
    /// The client's session in which the client coordinated it before.
    pub(crate) before: Option<Session>,
    pub(crate) round: u32,
    /// The latest result of each participant in this round.
    pub(crate) answers: Vec<Option<FragmentResult>>,
    /// Remote rows that were read so far.
    pub(crate) given: Vec<RemoteReadResult>,
    /// When the present attempt began, for the timeout.
    pub(crate) begun_us: u64,
    /// The number of earlier attempts.
    pub(crate) attempts: u32,
    /// If there were any: the sequence number of the last one, and the participants of the first.
    pub(crate) aborted_attempt: Option<(u64, PartitionSet)>,
}

impl PendingTxn {
    /// The participants.
    pub(crate) fn partitions(&self) -> impl Iterator<Item = usize> + use<> {
        self.participants.iter()
    }

    /// Its outcome when another coordinator is responsible for it.
    pub(crate) fn elsewhere(self) -> Ended {
        Ended { client: self.client, id: self.id, outcome: Outcome::Elsewhere(self.participants) }
    }
}

/// The combined results of a round.
#[derive(Default)]
pub(crate) struct Verdict {
    pub(crate) refusal: Option<Outcome>,
    pub(crate) elsewhere: PartitionSet,
    again: bool,
    pub(crate) wanted: Vec<RemoteRead>,
    /// Whether the round read rows.
    pub(crate) finding: bool,
    pub(crate) found: Vec<RemoteReadResult>,
}

impl Verdict {
    pub(crate) fn add(&mut self, answer: &FragmentResult) {
        match &answer.end {
            FragmentEnd::Done(_) => {}
            FragmentEnd::Found(found) => {
                self.finding = true;
                self.found.extend(found.iter().cloned());
            }
            FragmentEnd::Wants(wanted) => self.wanted.extend(wanted.iter().cloned()),
            FragmentEnd::Elsewhere(partitions) => self.elsewhere.extend(*partitions),
            FragmentEnd::Aborted(abort) => self.refuse(Outcome::Aborted(abort.clone())),
            FragmentEnd::Again => self.again = true,
            FragmentEnd::Failed(why) => self.refuse(Outcome::Failed(why.clone())),
            FragmentEnd::Unclear => self.refusal = Some(Outcome::Unknown),
        }
    }

    fn refuse(&mut self, outcome: Outcome) {
        if self.refusal != Some(Outcome::Unknown) {
            self.refusal = Some(outcome);
        }
    }

    pub(crate) fn is_restarted(&self) -> bool {
        // A victim has released its locks: another participant may have aborted because of what came after.
        let is_victim = self.again && self.refusal != Some(Outcome::Unknown);
        is_victim || self.refusal.is_none() && !self.elsewhere.is_empty()
    }
}

/// The rows of these that a partition has to read.
pub(crate) fn wanted_of(wanted: &[RemoteRead], partition: usize) -> Vec<RemoteRead> {
    let mut mine: Vec<RemoteRead> = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.partitions.contains(partition)) {
        let known = mine.iter().any(|known| known.table == wanted.table && known.lookup == wanted.lookup);
        if !known {
            mine.push(RemoteRead { partitions: PartitionSet::of(partition), ..wanted.clone() });
        }
    }
    mine
}
