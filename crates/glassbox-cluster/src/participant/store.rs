//! A primary's data and replication stream, and the operations that all schemes share: run, answer, vote, end.

use std::collections::BTreeSet;

use glassbox::procedure::AbortReason;
use glassbox::research::shard::{Failure, Kept, PartitionSet, Ran, Shard, Task, Watch};
use smallvec::smallvec;

use crate::auto::{Counters, Sampler, Sampling};
use crate::participant::decisions::{CommittedTxns, DecisionCounts};
use crate::participant::replication::ReplicationStream;
use crate::participant::txn::{Announced, DistributedTxn, LocalTxn};
use crate::protocol::address::{Address, Session, TxnId};
use crate::protocol::configuration::SchemeKind;
use crate::protocol::entry::{Base, Entry, Part};
use crate::protocol::message::{Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome};
use crate::protocol::outbox::{Action, Outbox, Work};

/// The data of a partition's primary, and its replication stream.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shard: Shard,
    pub(crate) stream: ReplicationStream,
    /// The number of decisions received from each coordinator.
    pub(crate) decisions: DecisionCounts,
    pub(crate) committed: CommittedTxns,
    /// Sessions of clients that are over: a coordinator decides their transactions.
    pub(crate) over: BTreeSet<Session>,
    /// Whether an abort undoes the transactions that ran after it.
    cascades: bool,
    /// Whether a participant commits its part without a decision, when it has voted; only in simulated clusters.
    pub(crate) commits_at_once: bool,
    /// Why the partition has stopped.
    pub(crate) broken: Option<String>,
    /// Workload counters.
    pub(crate) seen: Counters,
    pub(crate) sampler: Sampler,
}

impl Store {
    pub(crate) fn new(shard: Shard, stream: ReplicationStream, kind: SchemeKind) -> Self {
        let (decisions, committed, over) = (DecisionCounts::default(), CommittedTxns::default(), BTreeSet::new());
        let (seen, sampler) = (Counters::default(), Sampler::default());
        let cascades = kind.cascades();
        let broken = None;
        Self { shard, stream, decisions, committed, over, cascades, commits_at_once: false, broken, seen, sampler }
    }

    pub(crate) fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    fn run(
        &mut self,
        call: &glassbox::research::shard::Call,
        task: Task<'_>,
        kept: Option<&mut Kept>,
        watch: Option<&mut dyn Watch>,
        sampled: bool,
    ) -> Ran {
        if let Some(reason) = &self.broken {
            return Ran::Failed(Box::new(Failure::Stopped { reason: reason.clone() }));
        }
        let ran = if sampled {
            let mut sampling = Sampling::beside(watch);
            let ran = self.shard.run(call, task, kept, Some(&mut sampling));
            let written = sampling.written;
            if matches!(ran, Ran::Done(_)) {
                self.sampler.note(&written);
            }
            ran
        } else {
            self.shard.run(call, task, kept, watch)
        };
        self.unless_broken(ran)
    }

    /// The result of a run. The partition stops if the run left a change half done.
    #[inline]
    pub(crate) fn unless_broken(&mut self, ran: Ran) -> Ran {
        if let Ran::Broken(broken) = ran {
            self.broken = Some(format!("partition {}: {broken}", self.shard.index()));
            return Ran::Failed(Box::new(Failure::BrokenPromise(*broken)));
        }
        ran
    }

    /// Begins a scheme, and replicates which one.
    pub(crate) fn begin_scheme(&mut self, kind: SchemeKind, out: &mut Outbox) {
        self.cascades = kind.cascades();
        self.stream.append(|| Entry::ChangeScheme(kind), out);
    }

    /// The state besides the rows, while no transaction is active.
    pub(crate) fn base(&self, scheme: SchemeKind) -> Base {
        let over = self.over.iter().copied().map(Entry::SessionOver);
        let remembered = over.chain(self.committed.all().map(Entry::Committed)).collect();
        Base { held: self.stream.last(), scheme, remembered }
    }

    /// Runs a single-partition call.
    pub(crate) fn run_single(
        &mut self,
        single: &LocalTxn,
        kept: Option<&mut Kept>,
        watch: Option<&mut dyn Watch>,
        out: &mut Outbox,
    ) -> Ran {
        let sampled = self.sampler.is_due();
        let (undo, watched) = (kept.is_some(), watch.is_some() || sampled);
        let task = Task { participants: PartitionSet::of(self.shard.index()), given: &[] };
        let ran = self.run(&single.call, task, kept, watch, sampled);
        out.did(if matches!(ran, Ran::Done(_)) { Work::Single { undo, watched } } else { Work::Stopped });
        ran
    }

    /// Replicates a run, if it succeeded.
    pub(crate) fn replicate(&mut self, single: &LocalTxn, ran: &Ran, speculative: bool, out: &mut Outbox) {
        if matches!(ran, Ran::Done(_)) {
            let part = || single.part(self.shard.index());
            let entry = || if speculative { Entry::Speculate(part()) } else { Entry::Run(part()) };
            self.stream.append(entry, out);
        }
    }

    /// Answers a call once all backups have acknowledged what it saw.
    pub(crate) fn answer(&mut self, single: &LocalTxn, ran: Ran, out: &mut Outbox) {
        let message = self.answer_of(single, ran);
        self.stream.send_when_acked(single.client, message, out);
    }

    fn answer_of(&mut self, single: &LocalTxn, ran: Ran) -> Message {
        self.seen.singles += 1;
        self.seen.singles_aborted += u64::from(matches!(ran, Ran::Aborted(_)));
        let outcome = match ran {
            Ran::Done(output) => Outcome::Done(smallvec![(self.shard.index() as u8, output)]),
            Ran::Aborted(abort) => Outcome::Aborted(abort),
            Ran::Elsewhere(partitions) => Outcome::Elsewhere(partitions),
            Ran::Failed(why) => Outcome::Failed(why),
            Ran::Wants(_) | Ran::Refused | Ran::Broken(_) => unreachable!("a call cannot end with {ran:?}"),
        };
        Message::Answer { id: single.id, outcome }
    }

    /// Runs a call without undo buffer and answers it: the hot path.
    pub(crate) fn run_and_answer(&mut self, single: &LocalTxn, out: &mut Outbox) {
        let ran = self.run_single(single, None, None, out);
        self.replicate(single, &ran, false, out);
        self.answer(single, ran, out);
    }

    /// Replicates a call that is run next.
    pub(crate) fn announce(&mut self, single: LocalTxn, out: &mut Outbox) -> Announced {
        self.stream.append(|| Entry::Announce(single.part(self.shard.index())), out);
        Announced { single, sequence: self.stream.last() }
    }

    /// Runs an announced call; whether it has committed, and the answer.
    pub(crate) fn run_announced(&mut self, single: &LocalTxn, out: &mut Outbox) -> (bool, Message) {
        let ran = self.run_single(single, None, None, out);
        (matches!(ran, Ran::Done(_)), self.answer_of(single, ran))
    }

    /// Runs a call that the former primary announced; whether it has committed. Its client does not expect an answer
    /// any more, but may have had one.
    pub(crate) fn run_held(&mut self, single: &LocalTxn, out: &mut Outbox) -> bool {
        let ran = self.run_single(single, None, None, out);
        if let Ran::Aborted(reason @ AbortReason::TableFull(_)) = &ran {
            let (partition, LocalTxn { client, id, .. }) = (self.shard.index(), single);
            out.actions.push(Action::Report(format!(
                "partition {partition}: call {id} of {client}, which the former primary may have answered, cannot be \
                 run here: {reason}; give all replicas of a partition as much memory"
            )));
        }
        matches!(ran, Ran::Done(_))
    }

    /// Notifies backups how announced calls have ended.
    pub(crate) fn end_announced(&mut self, count: u32, refused: Vec<u32>, out: &mut Outbox) {
        self.stream.append(|| Entry::Ended { count, refused }, out);
    }

    /// Runs the latest fragment of a transaction, after undoing its predecessor; `false`: the watch refused an access,
    /// and the fragment has to be run again.
    pub(crate) fn run_fragment(
        &mut self,
        multi: &mut DistributedTxn,
        watch: Option<&mut dyn Watch>,
        out: &mut Outbox,
    ) -> bool {
        let ran = self.perform(multi, watch, out);
        self.prepare(multi, out);
        ran
    }

    /// As [`Self::run_fragment`], without replication.
    pub(crate) fn perform(
        &mut self,
        multi: &mut DistributedTxn,
        mut watch: Option<&mut dyn Watch>,
        out: &mut Outbox,
    ) -> bool {
        self.undo_fragment(multi, out);
        let sampled = matches!(multi.fragment.work, FragmentWork::Run(_)) && self.sampler.is_due();
        let watched = watch.is_some() || sampled;
        let end = match &multi.fragment.work {
            FragmentWork::Find(wanted) => {
                let find = |wanted| match self.shard.find(wanted, watch.as_mut().map(|watch| &mut **watch as _)) {
                    Ok(Some(found)) => Ok(found),
                    Ok(None) => Err(None),
                    Err(problem) => Err(Some(FragmentEnd::Failed(Box::new(Failure::Protocol { problem })))),
                };
                match wanted.iter().map(find).collect() {
                    Ok(found) => Some(FragmentEnd::Found(found)),
                    Err(end) => end,
                }
            }
            FragmentWork::Run(given) => {
                let task = Task { participants: multi.fragment.participants, given };
                let mut kept = Kept::default();
                let ran = self.run(&multi.fragment.call, task, Some(&mut kept), watch, sampled);
                if matches!(ran, Ran::Done(_)) {
                    multi.kept = Some(kept);
                }
                match ran {
                    Ran::Done(output) => Some(FragmentEnd::Done(output)),
                    Ran::Wants(wanted) => Some(FragmentEnd::Wants(wanted)),
                    Ran::Aborted(abort) => Some(FragmentEnd::Aborted(abort)),
                    Ran::Elsewhere(partitions) => Some(FragmentEnd::Elsewhere(partitions)),
                    Ran::Failed(failure) => Some(FragmentEnd::Failed(failure)),
                    Ran::Refused => None,
                    Ran::Broken(_) => unreachable!("it was made a failure"),
                }
            }
        };
        let stopped = matches!(end, None | Some(FragmentEnd::Aborted(_)));
        out.did(if stopped { Work::Stopped } else { Work::Fragment { watched } });
        multi.end = end;
        multi.end.is_some()
    }

    /// Undoes the changes of a transaction here, if there are any.
    pub(crate) fn undo_fragment(&mut self, multi: &mut DistributedTxn, out: &mut Outbox) {
        if let Some(kept) = multi.kept.take() {
            self.undo(kept, out);
        }
        multi.end = None;
        if std::mem::take(&mut multi.prepared) {
            let (txn, cascade) = (multi.txn(), self.cascades);
            self.stream.append(|| Entry::Decide { txn, commit: false, cascade }, out);
        }
    }

    pub(crate) fn undo(&mut self, kept: Kept, out: &mut Outbox) {
        out.did(Work::Undo);
        self.shard.undo(kept);
    }

    pub(crate) fn commit(&mut self, kept: Kept) {
        self.shard.commit(kept);
    }

    /// Replicates a run in its place among the others. A successful run is replicated for its vote. Under a cascading
    /// scheme a failed run is too, because later runs are undone with it.
    pub(crate) fn prepare(&mut self, multi: &mut DistributedTxn, out: &mut Outbox) {
        let Fragment { txn, round, ref call, participants, ref work, settled, .. } = multi.fragment;
        let held = match multi.end {
            Some(FragmentEnd::Done(_)) => true,
            Some(FragmentEnd::Aborted(_) | FragmentEnd::Failed(_)) => self.cascades,
            _ => false,
        };
        if let (true, FragmentWork::Run(given)) = (held, work) {
            let part = || Part { call: call.clone(), participants, given: given.clone(), origin: None };
            self.stream.append(|| Entry::Prepare { txn, round, part: part(), settled }, out);
            multi.prepared = true;
        }
    }

    /// Sends the latest fragment's result to the coordinator; a vote waits for the backups' acknowledgement.
    pub(crate) fn report(&mut self, multi: &DistributedTxn, after: Option<TxnId>, out: &mut Outbox) {
        let Fragment { txn, round, .. } = multi.fragment;
        // A client that is still running must not count on a vote that the session's heir may not know of.
        if self.is_over(txn) {
            return;
        }
        let end = multi.end.clone().expect("a fragment that was run has a result");
        let partition = self.shard.index() as u8;
        let received = self.decisions.of(txn);
        let result = FragmentResult { txn, round, partition, end, after, received };
        self.stream.send_when_acked(txn.coordinator, Message::Result(Box::new(result)), out);
    }

    /// Withdraws the results of this transaction and of the same coordinator's later ones.
    pub(crate) fn withdraw(&mut self, txn: TxnId, out: &mut Outbox) {
        self.stream.send_when_acked(txn.coordinator, Message::Withdrawn(txn), out);
    }

    /// Carries out a decision. If it cascades, the later runs were undone before.
    pub(crate) fn end(&mut self, mut multi: DistributedTxn, commit: bool, out: &mut Outbox) {
        out.did(Work::Decide);
        self.count(&multi, commit);
        if !commit {
            return self.undo_fragment(&mut multi, out);
        }
        let txn = multi.txn();
        let Some(kept) = multi.kept.take() else {
            // A client that commits without a vote harms only its own transaction.
            if matches!(txn.coordinator, Address::Client(_)) {
                return self.undo_fragment(&mut multi, out);
            }
            // The coordinator broke the protocol. The other participants have committed changes that are missing here.
            self.broken = Some(format!("{txn:?} was committed without this partition's vote; restore it from another"));
            return;
        };
        self.commit(kept);
        self.committed.add(txn);
        self.stream.append(|| Entry::Decide { txn, commit, cascade: false }, out);
    }

    fn count(&mut self, multi: &DistributedTxn, commit: bool) {
        let aborted = !commit && matches!(multi.end, Some(FragmentEnd::Aborted(_)));
        self.seen.committed += u64::from(commit);
        self.seen.aborted += u64::from(aborted);
        if commit || aborted {
            self.seen.rounds += u64::from(multi.fragment.round) + 1;
            self.seen.participants += multi.fragment.participants.len() as u64;
        }
    }
}
