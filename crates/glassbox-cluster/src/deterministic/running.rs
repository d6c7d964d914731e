//! A transaction from the grant of its locks to its end: rows for other participants, runs, votes.

use glassbox::research::shard::{DeclaredWatch, Failure, Kept, PartitionSet, Ran, RemoteRead, Task};
use smallvec::smallvec;

use super::executing::ExecutingTxn;
use super::executor::Executor;
use crate::protocol::input::{Exchange, ExchangeContent, InputId};
use crate::protocol::message::Outcome;
use crate::protocol::outbox::{Outbox, Work};
use crate::scheduler::{LogPlace, MakeScheduler};

/// The outcome of a run that would have touched a key outside of its set.
fn undeclared(partition: usize, watch: DeclaredWatch<'_>) -> Outcome {
    Outcome::Undeclared(partition as u8, Box::new(watch.undeclared.expect("the watch has refused a key")))
}

impl Executor {
    /// Begins a transaction that has its locks.
    pub(super) fn begin(&mut self, place: LogPlace, out: &mut Outbox) {
        let me = self.shard.index();
        let txn = self.active.get_mut(&place).expect("a ready transaction is active");
        txn.has_begun = true;
        if let Some(problem) = txn.problem.clone().map(Failure::protocol) {
            return self.end(place, Outcome::Failed(problem), out);
        }
        if !txn.input.participants.is_single() {
            let shared = self.shard.route(&txn.input.call).map(|route| route.shared).unwrap_or_default();
            let owners = shared.iter().fold(PartitionSet::EMPTY, |all, read| all.union(read.partitions));
            let missing = owners.difference(txn.input.participants);
            if !missing.is_empty() {
                return self.end(place, Outcome::Elsewhere(missing), out);
            }
            let (own, others): (Vec<_>, Vec<_>) = shared.into_iter().partition(|read| read.partitions.contains(me));
            txn.expect(others);
            if !own.is_empty() {
                let others = txn.input.participants.difference(PartitionSet::of(me));
                txn.wanted.extend(others.iter().map(|other| (other as u8, own.clone())));
            }
            self.send_wanted(place, out);
        }
        let Some(txn) = self.active.get_mut(&place) else { return };
        // Only now: the participant that refused has read these rows, and does so again if it is restarted.
        if let Some(outcome) = txn.refusal.take() {
            self.end(place, outcome, out);
        } else if txn.can_run_on() {
            self.run(place, out);
        }
    }

    /// Sets another scheduler while no transaction has locks.
    pub(crate) fn set_scheduler(&mut self, make: MakeScheduler) {
        if self.scheduler.is_idle() {
            self.scheduler = make(self.kind);
        }
    }

    /// Sends rows that other participants want, as they are before this transaction.
    pub(super) fn send_wanted(&mut self, place: LogPlace, out: &mut Outbox) {
        let txn = self.active.get_mut(&place).expect("it is active");
        let wanted = std::mem::take(&mut txn.wanted);
        if wanted.is_empty() {
            return;
        }
        // A run that waits for votes has changed rows.
        let done = txn.done.take();
        let has_votes = txn.has_votes;
        let (input, output) = (
            txn.id,
            done.map(|(kept, output)| {
                self.shard.undo(kept);
                output
            }),
        );
        let keys = txn.keys.clone();
        for (to, reads) in wanted {
            let mut watch = keys.watch();
            let find = |read| self.shard.find(read, Some(&mut watch)).transpose();
            match reads.iter().map(find).collect::<Option<Result<Vec<_>, _>>>() {
                Some(Ok(rows)) => self.send_exchange(to, input, ExchangeContent::Rows(rows), out),
                Some(Err(problem)) => return self.end(place, Outcome::Failed(Failure::protocol(problem)), out),
                // It is not locked.
                None if has_votes => return self.end(place, undeclared(self.shard.index(), watch), out),
                None => return self.break_promise(place, "shares a row that it does not declare"),
            }
        }
        if output.is_some() {
            self.run(place, out);
        }
    }

    fn send_exchange(&mut self, to: u8, input: InputId, content: ExchangeContent, out: &mut Outbox) {
        self.send(to, Exchange { input, from: self.index(), content }, out);
    }

    fn send_to_others(&mut self, place: LogPlace, content: &ExchangeContent, out: &mut Outbox) {
        let ExecutingTxn { id, ref input, .. } = self.active[&place];
        for other in input.participants.difference(PartitionSet::of(self.shard.index())).iter() {
            self.send_exchange(other as u8, id, content.clone(), out);
        }
    }

    /// Sends the others a vote or refusal. Each may end with it, so one that has rows which this run has read, and did
    /// not have to ask for, is asked for them before: it keeps them for the next run, after a restart of this process.
    fn vote(&mut self, place: LogPlace, vote: &ExchangeContent, out: &mut Outbox) {
        let unasked = self.active.get_mut(&place).expect("it is active").take_unasked();
        if !unasked.is_empty() {
            self.ask(place, unasked, out);
        }
        self.send_to_others(place, vote, out);
    }

    /// Runs a transaction that has its locks and, as far as is known, all remote rows.
    pub(super) fn run(&mut self, place: LogPlace, out: &mut Outbox) {
        let txn = self.active.get_mut(&place).expect("it is active");
        let (is_single, has_votes) = (txn.input.participants.is_single(), txn.has_votes);
        let task = Task { participants: txn.input.participants, given: &txn.given };
        let (mut kept, mut watch) = (Kept::default(), txn.keys.watch());
        let ran = self.shard.run(&txn.input.call, task, Some(&mut kept), Some(&mut watch));
        out.did(match (&ran, is_single) {
            (Ran::Done(_), true) => Work::Single { undo: true, watched: true },
            (Ran::Done(_), false) => Work::Fragment { watched: true },
            _ => Work::Stopped,
        });
        if !is_single && !has_votes && !matches!(ran, Ran::Done(_) | Ran::Wants(_)) {
            return self.break_promise(place, &format!("ended with {ran:?}"));
        }
        match ran {
            Ran::Done(output) => {
                txn.done = Some((kept, output));
                if has_votes {
                    self.vote(place, &ExchangeContent::Vote, out);
                }
                self.commit_if_decided(place, out);
            }
            Ran::Wants(reads) => {
                let new = txn.miss(reads);
                if !has_votes && !new.is_empty() {
                    return self.break_promise(place, "reads a row of another partition that it does not share");
                }
                self.ask(place, new, out);
            }
            Ran::Aborted(reason) => self.end(place, Outcome::Aborted(reason), out),
            Ran::Elsewhere(partitions) => self.end(place, Outcome::Elsewhere(partitions), out),
            Ran::Refused => {
                let outcome = undeclared(self.shard.index(), watch);
                self.end(place, outcome, out);
            }
            Ran::Failed(failure) => self.end(place, Outcome::Failed(failure), out),
            Ran::Broken(broken) => self.broken = Some(format!("partition {}: {broken}", self.index())),
        }
    }

    /// Asks other participants for rows.
    fn ask(&mut self, place: LogPlace, reads: Vec<RemoteRead>, out: &mut Outbox) {
        let ExecutingTxn { id, ref input, .. } = self.active[&place];
        for other in input.participants.difference(PartitionSet::of(self.shard.index())).iter() {
            let of_it = reads.iter().filter(|read| read.partitions.contains(other));
            let of_it: Vec<_> =
                of_it.map(|read| RemoteRead { partitions: PartitionSet::of(other), ..read.clone() }).collect();
            if !of_it.is_empty() {
                self.send_exchange(other as u8, id, ExchangeContent::Wants(of_it), out);
            }
        }
    }

    /// A transaction of several partitions whose participants do not vote could not be run: the others may have
    /// committed it.
    #[cold]
    fn break_promise(&mut self, place: LogPlace, what: &str) {
        let txn = &self.active[&place];
        let name = self.shard.procedure_name(&txn.input.call).unwrap_or("?");
        self.broken = Some(format!(
            "partition {}: procedure `{name}` declares all keys and never to abort, but its call in epoch {} {what}; \
             the other participants may have committed it",
            self.shard.index(),
            txn.id.epoch
        ));
    }

    /// Notes the digest of a transaction's changes; whether it is that of an earlier execution, if there was one.
    fn is_as_before(&mut self, InputId { epoch, index }: InputId, kept: &Kept) -> bool {
        let digest = self.shard.digest_of(kept);
        let running = self.epochs.get_mut(&epoch).expect("it has unfinished inputs");
        running.digests.push((index, digest));
        match running.expected.binary_search_by_key(&index, |(index, _)| *index) {
            Ok(at) => running.expected[at].1 == digest,
            // It has aborted before, or there was no earlier execution.
            Err(_) => running.expected.is_empty(),
        }
    }

    /// A transaction that was executed before has changed other rows now.
    #[cold]
    fn stop_replay(&mut self, place: LogPlace) {
        let txn = &self.active[&place];
        let (name, version) = (self.shard.procedure_name(&txn.input.call).unwrap_or("?"), txn.input.version);
        let InputId { epoch, index } = txn.id;
        self.broken = Some(format!(
            "replay of partition {} differs: procedure `{name}`, version {version}, changed other rows in epoch \
             {epoch}, input {index}, than when it was executed first; it depends on more than its arguments and the \
             rows, or its code has changed: run the former program, or with --log raft accept the present result: \
             `settle {} REPLICA`",
            self.shard.index(),
            self.shard.index()
        ));
    }

    /// Commits a transaction that has run, if all participants can.
    pub(super) fn commit_if_decided(&mut self, place: LogPlace, out: &mut Outbox) {
        let me = self.shard.index();
        let txn = self.active.get_mut(&place).expect("it is active");
        let is_decided = !txn.has_votes || txn.input.participants.difference(txn.votes.with(me)).is_empty();
        let Some((kept, output)) = txn.done.take_if(|_| is_decided) else { return };
        let id = txn.id;
        if self.bases.has_journal && !self.is_as_before(id, &kept) {
            self.active.get_mut(&place).expect("it is active").done = Some((kept, output));
            return self.stop_replay(place);
        }
        self.shard.commit(kept);
        out.did(Work::Decide);
        self.answer(&self.active[&place], Outcome::Done(smallvec![(me as u8, output)]), out);
        self.remove(place, out);
    }

    /// Another participant has refused a transaction. This one answers the client too: the others may have been
    /// restarted since the client asked, or be disconnected from it.
    pub(super) fn refused(&mut self, place: LogPlace, outcome: Outcome, out: &mut Outbox) {
        let txn = self.active.get_mut(&place).expect("it is active");
        if !txn.has_begun {
            txn.refusal = Some(outcome);
        } else if let Some((kept, _)) = txn.done.take() {
            out.did(Work::Undo);
            self.shard.undo(kept);
            self.answer(&self.active[&place], outcome, out);
            self.remove(place, out);
        } else {
            self.end(place, outcome, out);
        }
    }

    /// Ends a transaction that has not voted, without a change. It refuses the transaction, also if another participant
    /// did: that refusal may be kept by replicas of another set alone, and be lost with them, before one of its own set
    /// is restarted.
    pub(super) fn end(&mut self, place: LogPlace, outcome: Outcome, out: &mut Outbox) {
        if self.active[&place].has_votes {
            self.vote(place, &ExchangeContent::Refusal(Box::new(outcome.clone())), out);
        }
        self.answer(&self.active[&place], outcome, out);
        self.remove(place, out);
    }

    fn remove(&mut self, place: LogPlace, out: &mut Outbox) {
        let txn = self.active.remove(&place).expect("it is active");
        self.places.remove(&txn.id);
        self.scheduler.release(place);
        self.note_ended(txn.id.epoch, txn.input.participants.is_single(), out);
    }
}
