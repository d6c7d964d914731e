//! The coordinator: divides transactions of several partitions into fragments, round by round, and decides their ends
//! by two-phase commit.
//!
//! A partition's answer to the last fragment is its vote (*Low Overhead Concurrency Control*, section 3.3), so a
//! transaction whose partitions run once takes one round trip, and a message more that nobody waits for. Invariants:
//!
//! - all fragments of one coordinator reach each partition in the order of the transactions' numbers: the global order
//!   (of several, the [turn](crate::sequencer::turn) makes one);
//! - a transaction is decided when every partition has answered its latest round, and everything that these answers
//!   depend on is decided;
//! - so those that a partition ran one upon the other are decided in that order.
//!
//! A partition that hears of an abort runs again what came after, and answers again. What it had answered before is
//! known by how many decisions it says it had heard then.

use std::collections::{BTreeMap, VecDeque};

use glassbox::shard::PartitionSet;

use crate::coordinator::pending::{Ended, Pending};
use crate::coordinator::recovery::Recovery;
use crate::coordinator::unacked_decisions::Told;
use crate::coordinator::verdict::{Verdict, wanted_of};
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::message::{Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome, Submission};
use crate::protocol::outbox::Outbox;
use crate::sequencer::turn::Turns;

/// Orders and decides transactions of several partitions.
#[derive(Debug)]
pub struct Coordinator {
    pub(crate) me: Address,
    /// The number of its next transaction.
    pub(crate) next: u64,
    /// Where each partition's primary is.
    pub(crate) primaries: Vec<Address>,
    pub(crate) pending: BTreeMap<u64, Pending>,
    /// What each partition was told.
    pub(crate) told: Vec<Told>,
    /// While it finds out what the one before left: submissions wait.
    pub(crate) recovery: Option<Recovery>,
    /// The same, of clients whose lives are over.
    pub(crate) heirs: BTreeMap<Life, Recovery>,
    /// Victims of deadlocks that were tried again.
    pub(crate) retries: u64,
    /// Whether it begins transactions: under locking and occ only clients do, their own.
    pub(crate) begins: bool,
    /// What ended otherwise than by an answer.
    pub(crate) ended: Vec<Ended>,
    /// What was taken back, and goes elsewhere when a partition has heard that.
    pub(crate) leaving: Vec<Pending>,
    /// Where there are several coordinators.
    pub(crate) ordering: Option<Box<Ordering>>,
}

/// A coordinator's part in an order that it makes together with others.
#[derive(Debug)]
pub(crate) struct Ordering {
    pub(crate) turns: Turns,
    /// It has asked for the turn.
    pub(crate) waits: bool,
    /// What was submitted and not dispatched.
    pub(crate) collected: VecDeque<Pending>,
}

impl Coordinator {
    /// A coordinator that has not begun, of these partitions.
    pub fn new(life: Life, primaries: Vec<Address>) -> Self {
        let told = primaries.iter().map(|_| Told::default()).collect();
        let (me, next) = (life.of, life.first());
        let (pending, heirs, ended, leaving) = (BTreeMap::new(), BTreeMap::new(), Vec::new(), Vec::new());
        let (recovery, retries, begins, ordering) = (None, 0, true, None);
        Self { me, next, primaries, pending, told, recovery, heirs, retries, begins, ended, leaving, ordering }
    }

    /// Transactions that are not decided yet.
    pub fn pending(&self) -> usize {
        let collected = self.ordering.as_ref().map_or(0, |ordering| ordering.collected.len());
        self.pending.len() + collected + self.leaving.len()
    }

    /// How often a transaction was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Begins a transaction.
    pub fn submit(&mut self, client: Address, submission: Submission, now_us: u64, out: &mut Outbox) {
        if let (true, Some(recovery)) = (self.begins, &mut self.recovery) {
            return recovery.waiting.push((client, submission));
        }
        let Submission { id, call, participants, shared, before } = submission;
        let all = PartitionSet::all(self.primaries.len());
        if participants.is_empty() || !participants.difference(all).is_empty() {
            let outcome = Outcome::Failed(format!("there are no such partitions: {participants:?} of {all:?}"));
            return out.send(client, Message::Answer { id, outcome });
        }
        let answers = vec![None; self.primaries.len()];
        let (round, given, begun_us, attempts, taken_back) = (0, Vec::new(), now_us, 0, None);
        self.begin(
            Pending {
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
                taken_back,
            },
            out,
        );
    }

    fn begin(&mut self, pending: Pending, out: &mut Outbox) {
        if !self.begins {
            return self.leave(pending, out);
        }
        if self.may_dispatch() { self.dispatch(pending, out) } else { self.collect(pending, out) }
    }

    /// Sends a transaction to its partitions.
    pub(crate) fn dispatch(&mut self, pending: Pending, out: &mut Outbox) {
        let sequence = self.next;
        self.next += 1;
        self.ask_heard(out);
        let shared = &pending.shared;
        if shared.is_empty() {
            self.send_round(sequence, &pending, |_| FragmentWork::Run(Vec::new()), out);
        } else {
            self.send_round(sequence, &pending, |partition| FragmentWork::Find(wanted_of(shared, partition)), out);
        }
        self.pending.insert(sequence, pending);
    }

    fn send_round(&mut self, sequence: u64, pending: &Pending, work: impl Fn(usize) -> FragmentWork, out: &mut Outbox) {
        let settled = self.settled(sequence);
        for partition in pending.partitions() {
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

    /// A partition answers; the ends that follow from it.
    pub fn hears(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> Vec<Ended> {
        let (sequence, partition) = (result.txn.sequence, usize::from(result.partition));
        if result.txn.coordinator != self.me || partition >= self.primaries.len() {
            return Vec::new();
        }
        let told = &mut self.told[partition];
        told.heard(result.heard);
        let stale = result.after.is_some() && told.will_run_again(sequence);
        self.let_go();
        let Some(pending) = self.pending.get_mut(&sequence) else { return Vec::new() };
        if stale || result.round != pending.round || !pending.participants.contains(partition) {
            return Vec::new();
        }
        pending.answers[partition] = Some(result);
        let mut ends = Vec::new();
        self.advance_from(sequence, now_us, &mut ends, out);
        self.go_on(out);
        ends.append(&mut self.ended);
        ends
    }

    /// Goes on with a transaction and with those that waited for its end.
    fn advance_from(&mut self, sequence: u64, now_us: u64, ends: &mut Vec<Ended>, out: &mut Outbox) {
        if !self.advance(sequence, now_us, ends, out) {
            return;
        }
        let waits = |pending: &Pending| {
            let mut after = pending.answers.iter().flatten().filter_map(|answer| answer.after);
            after.any(|txn| txn.sequence == sequence && txn.coordinator == self.me)
        };
        let waiting: Vec<_> =
            self.pending.range(sequence + 1..).filter(|(_, pending)| waits(pending)).map(|(&next, _)| next).collect();
        for next in waiting {
            self.advance_from(next, now_us, ends, out);
        }
    }

    /// Goes on with a transaction, if it can; whether it ended.
    fn advance(&mut self, sequence: u64, now_us: u64, ends: &mut Vec<Ended>, out: &mut Outbox) -> bool {
        let Some(pending) = self.pending.get(&sequence) else { return false };
        let answered = pending.partitions().all(|partition| pending.answers[partition].is_some());
        // How another one's transaction ended is the partition's to say.
        let undecided = |after: TxnId| after.coordinator != self.me || self.pending.contains_key(&after.sequence);
        if !answered || pending.answers.iter().flatten().any(|answer| answer.after.is_some_and(undecided)) {
            return false;
        }
        let mut verdict = Verdict::default();
        let answers = pending.answers.iter().flatten();
        answers.for_each(|answer| verdict.add(answer));
        if verdict.tries_again() {
            self.try_again(sequence, verdict.elsewhere, now_us, out);
            return true;
        }
        if let Some(outcome) = verdict.refusal {
            let Pending { client, id, .. } = self.decide(sequence, false, out);
            ends.push(Ended { client, id, outcome });
            return true;
        }
        if !verdict.wanted.is_empty() || verdict.finding {
            self.next_round(sequence, verdict, out);
            return false;
        }
        let Pending { client, id, answers, .. } = self.decide(sequence, true, out);
        let parts = answers.into_iter().flatten().filter_map(|answer| match answer.end {
            FragmentEnd::Done(output) => Some((answer.partition, output)),
            _ => None,
        });
        ends.push(Ended { client, id, outcome: Outcome::Done(parts.collect()) });
        true
    }

    /// Brings what is wanted, or runs with what was found.
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
            self.send_round(sequence, &pending, given, out);
        } else {
            let wanted = |partition| FragmentWork::Find(wanted_of(&verdict.wanted, partition));
            self.send_round(sequence, &pending, wanted, out);
        }
        self.pending.insert(sequence, pending);
    }

    /// Takes a transaction back everywhere and begins it anew, on more partitions if need be.
    pub(crate) fn try_again(&mut self, sequence: u64, elsewhere: PartitionSet, now_us: u64, out: &mut Outbox) {
        let mut pending = self.decide(sequence, false, out);
        let first = pending.taken_back.map_or(pending.participants, |(_, first)| first);
        pending.taken_back = Some((sequence, first));
        pending.participants.extend(elsewhere.intersection(PartitionSet::all(self.primaries.len())));
        (pending.round, pending.begun_us, pending.attempts) = (0, now_us, pending.attempts + 1);
        pending.answers.fill(None);
        pending.given.clear();
        self.retries += 1;
        self.begin(pending, out);
    }

    fn decide(&mut self, sequence: u64, commit: bool, out: &mut Outbox) -> Pending {
        let pending = self.pending.remove(&sequence).expect("it is being decided");
        let txn = TxnId { coordinator: self.me, sequence };
        for partition in pending.partitions() {
            self.told[partition].tell(sequence, commit);
            out.send(self.primaries[partition], Message::Decide { txn, commit });
            if !commit {
                // It runs again what came after, and answers again.
                for (_, later) in self.pending.range_mut(sequence + 1..) {
                    later.answers[partition].take_if(|answer| answer.after.is_some());
                }
            }
        }
        pending
    }

    /// Takes back and begins anew what takes longer than so long: it may be in a deadlock that no partition can see.
    /// Each attempt is given twice as long as the one before, up to 64 times.
    pub fn give_up_waiting(&mut self, patience_us: u64, now_us: u64, out: &mut Outbox) {
        let is_late = |it: &Pending| now_us.saturating_sub(it.begun_us) > patience_us << it.attempts.min(6);
        let late = self.pending.iter().filter(|(_, pending)| is_late(pending));
        for sequence in late.map(|(&sequence, _)| sequence).collect::<Vec<_>>() {
            self.try_again(sequence, PartitionSet::EMPTY, now_us, out);
        }
    }

    /// All transactions before this number have ended, and all their partitions have heard it; of those before `begun`.
    fn settled(&self, begun: u64) -> u64 {
        let unheard = self.told.iter().filter_map(Told::first_unheard).min().unwrap_or(begun);
        let pending = self.pending.first_key_value().map_or(begun, |(&sequence, _)| sequence);
        unheard.min(pending).min(begun)
    }

    /// Asks those who have not said for long what they have heard.
    fn ask_heard(&mut self, out: &mut Outbox) {
        for (told, &primary) in self.told.iter().zip(&self.primaries) {
            let late = told.first_unheard().is_some_and(|first| self.next - first > LONG);
            if late && self.next.is_multiple_of(LONG) {
                out.send(primary, Message::AskHeard);
            }
        }
    }
}

/// Transactions after which a partition is asked what it has heard.
const LONG: u64 = 1024;
