//! The coordinator: divides transactions of several partitions into fragments, round by round, and decides their ends by
//! two-phase commit.
//!
//! A partition's answer to the last fragment is its vote (*Low Overhead Concurrency Control*, section 3.3), so a
//! transaction whose partitions run once takes one round trip, and a message more that nobody waits for. Invariants:
//!
//! - all fragments of one coordinator reach each partition in the order of the transactions' numbers: the global order;
//! - a transaction is decided when every partition has answered its latest round, and everything that these answers
//!   depend on is decided;
//! - so those that a partition ran one upon the other are decided in that order.
//!
//! A partition that hears of an abort runs again what came after, and answers again. What it had answered before is
//! known by two numbers: how many aborts this coordinator has told the partition, and how many it had heard of.

use std::collections::BTreeMap;

use glassbox::shard::{Call, Found, Wanted};

use crate::address::{Address, TxnId};
use crate::message::{Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome, Submission};
use crate::outbox::Outbox;

/// The end of a submission, for whoever submitted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// Who.
    pub client: Address,
    /// The client's number for it.
    pub id: u64,
    /// What came of it.
    pub outcome: Outcome,
}

/// Orders and decides transactions of several partitions.
#[derive(Debug)]
pub struct Coordinator {
    me: Address,
    next: u64,
    /// Where each partition's primary is.
    primaries: Vec<Address>,
    pending: BTreeMap<u64, Pending>,
    /// Decisions to abort told to each partition.
    aborts_told: Vec<u64>,
    /// Victims of deadlocks that were tried again.
    retries: u64,
}

/// A transaction on its way.
#[derive(Debug)]
struct Pending {
    client: Address,
    id: u64,
    call: Call,
    participants: u64,
    /// Rows that have to be brought before any run.
    shared: Vec<Wanted>,
    round: u32,
    /// The latest answer of each partition to this round.
    answers: Vec<Option<FragmentResult>>,
    /// Rows that were found so far.
    given: Vec<Found>,
    /// When it was last begun, for those who wait no longer than so long.
    begun_us: u64,
    /// How often it was begun before.
    attempts: u32,
}

impl Pending {
    /// The partitions that take part.
    fn partitions(&self) -> impl Iterator<Item = usize> + use<> {
        let participants = self.participants;
        (0..64).filter(move |partition| participants >> partition & 1 == 1)
    }
}

impl Coordinator {
    /// A coordinator that has not begun, of so many partitions.
    pub fn new(me: Address, primaries: Vec<Address>) -> Self {
        let aborts_told = vec![0; primaries.len()];
        Self { me, next: 0, primaries, pending: BTreeMap::new(), aborts_told, retries: 0 }
    }

    /// Transactions that are not decided yet.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// How often a transaction was tried again because of a deadlock.
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Begins a transaction.
    pub fn submit(&mut self, client: Address, submission: Submission, now_us: u64, out: &mut Outbox) {
        let Submission { id, call, participants, shared } = submission;
        let all = u64::MAX >> (64 - self.primaries.len());
        if participants & !all != 0 || participants == 0 {
            let outcome = Outcome::Failed(format!("there are no such partitions: {participants:#b} of {all:#b}"));
            return out.send(client, Message::Answer { id, outcome });
        }
        let answers = vec![None; self.primaries.len()];
        let (round, given, begun_us, attempts) = (0, Vec::new(), now_us, 0);
        let pending =
            Pending { client, id, call, participants, shared, round, answers, given, begun_us, attempts };
        self.begin(pending, out);
    }

    fn begin(&mut self, pending: Pending, out: &mut Outbox) {
        let sequence = self.next;
        self.next += 1;
        let shared = &pending.shared;
        if shared.is_empty() {
            self.send_round(sequence, &pending, |_| FragmentWork::Run(Vec::new()), out);
        } else {
            self.send_round(sequence, &pending, |partition| FragmentWork::Find(wanted_of(shared, partition)), out);
        }
        self.pending.insert(sequence, pending);
    }

    fn send_round(
        &self,
        sequence: u64,
        pending: &Pending,
        work: impl Fn(usize) -> FragmentWork,
        out: &mut Outbox,
    ) {
        for partition in pending.partitions() {
            let fragment = Fragment {
                txn: TxnId { coordinator: self.me, sequence },
                round: pending.round,
                call: pending.call.clone(),
                participants: pending.participants,
                work: work(partition),
            };
            out.send(self.primaries[partition], Message::Fragment(fragment));
        }
    }

    /// A partition answers; the ends that follow from it.
    pub fn hears(&mut self, result: FragmentResult, now_us: u64, out: &mut Outbox) -> Vec<Ended> {
        let (sequence, partition) = (result.txn.sequence, usize::from(result.partition));
        if result.txn.coordinator != self.me || partition >= self.primaries.len() {
            return Vec::new();
        }
        let Some(pending) = self.pending.get_mut(&sequence) else { return Vec::new() };
        let stale = result.after.is_some() && result.aborts_heard != self.aborts_told[partition];
        if stale || result.round != pending.round || pending.participants >> partition & 1 == 0 {
            return Vec::new();
        }
        pending.answers[partition] = Some(result);
        let mut ends = Vec::new();
        self.advance_from(sequence, now_us, &mut ends, out);
        ends
    }

    /// Goes on with a transaction and with those that waited for its end.
    fn advance_from(&mut self, sequence: u64, now_us: u64, ends: &mut Vec<Ended>, out: &mut Outbox) {
        if !self.advance(sequence, now_us, ends, out) {
            return;
        }
        let waits = |pending: &Pending| {
            let mut after = pending.answers.iter().flatten().filter_map(|answer| answer.after);
            after.any(|txn| txn.sequence == sequence)
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
        let undecided = |after: TxnId| self.pending.contains_key(&after.sequence);
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
    fn try_again(&mut self, sequence: u64, elsewhere: u64, now_us: u64, out: &mut Outbox) {
        let mut pending = self.decide(sequence, false, out);
        pending.participants |= elsewhere & (u64::MAX >> (64 - self.primaries.len()));
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
            out.send(self.primaries[partition], Message::Decide { txn, commit });
            if !commit {
                self.aborts_told[partition] += 1;
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
            self.try_again(sequence, 0, now_us, out);
        }
    }
}

/// What the answers of a round come to.
#[derive(Default)]
struct Verdict {
    refusal: Option<Outcome>,
    elsewhere: u64,
    deadlock: bool,
    wanted: Vec<Wanted>,
    /// It was a round of finding.
    finding: bool,
    found: Vec<Found>,
}

impl Verdict {
    fn add(&mut self, answer: &FragmentResult) {
        match &answer.end {
            FragmentEnd::Done(_) => {}
            FragmentEnd::Found(found) => {
                self.finding = true;
                self.found.extend(found.iter().cloned());
            }
            FragmentEnd::Wants(wanted) => self.wanted.extend(wanted.iter().cloned()),
            FragmentEnd::Elsewhere(partitions) => self.elsewhere |= partitions,
            FragmentEnd::Aborted(abort) => self.refusal = Some(Outcome::Aborted(abort.clone())),
            FragmentEnd::Deadlock => self.deadlock = true,
            FragmentEnd::Failed(why) => self.refusal = Some(Outcome::Failed(why.clone())),
        }
    }

    fn tries_again(&self) -> bool {
        self.refusal.is_none() && (self.deadlock || self.elsewhere != 0)
    }
}

/// What of these a partition has to find.
fn wanted_of(wanted: &[Wanted], partition: usize) -> Vec<Wanted> {
    let mut mine: Vec<Wanted> = Vec::new();
    for wanted in wanted.iter().filter(|wanted| wanted.partitions >> partition & 1 == 1) {
        let known = mine.iter().any(|known| known.table == wanted.table && known.lookup == wanted.lookup);
        if !known {
            mine.push(Wanted { partitions: 1 << partition, ..wanted.clone() });
        }
    }
    mine
}
