//! A primary's data and its stream, and what every scheme does with them: run, answer, vote, end.

use std::collections::BTreeSet;

use glassbox::shard::{Kept, PartitionSet, Ran, Shard, Task, Watch};
use smallvec::smallvec;

use crate::auto::{Sampler, Sampling, Seen};
use crate::participant::arrived::{Multi, Single};
use crate::participant::decisions::{Committed, Heard};
use crate::participant::stream::Stream;
use crate::protocol::address::{Address, Life, TxnId};
use crate::protocol::entry::{Base, Entry, Part};
use crate::protocol::message::{Fragment, FragmentEnd, FragmentResult, FragmentWork, Message, Outcome};
use crate::protocol::outbox::{Outbox, Work};
use crate::protocol::scheme_kind::SchemeKind;

/// The data of a partition's primary, and its stream to the backups.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) shard: Shard,
    pub(crate) stream: Stream,
    /// Decisions heard from each coordinator.
    pub(crate) heard: Heard,
    pub(crate) committed: Committed,
    /// Lives of clients that are over: what they left is a coordinator's to decide.
    pub(crate) over: BTreeSet<Life>,
    /// Whether what comes after a transaction is taken back with it.
    cascades: bool,
    /// Why nothing is run any more.
    pub(crate) broken: Option<String>,
    /// What was counted.
    pub(crate) seen: Seen,
    pub(crate) sampler: Sampler,
}

impl Store {
    pub(crate) fn new(shard: Shard, stream: Stream, kind: SchemeKind) -> Self {
        let (heard, committed, over) = (Heard::default(), Committed::default(), BTreeSet::new());
        let (seen, sampler) = (Seen::default(), Sampler::default());
        Self { shard, stream, heard, committed, over, cascades: kind.cascades(), broken: None, seen, sampler }
    }

    pub(crate) fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    fn run(
        &mut self,
        call: &glassbox::shard::Call,
        task: Task<'_>,
        kept: Option<&mut Kept>,
        watch: Option<&mut dyn Watch>,
        sampled: bool,
    ) -> Ran {
        if let Some(broken) = &self.broken {
            return Ran::Failed(broken.clone());
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

    /// What a run came to; nothing is run any more, if it has left half of what it did.
    #[inline]
    pub(crate) fn unless_broken(&mut self, ran: Ran) -> Ran {
        if let Ran::Broken(why) = ran {
            let why = format!("partition {} has stopped: {why}", self.shard.index());
            self.broken = Some(why.clone());
            return Ran::Failed(why);
        }
        ran
    }

    /// Whether what comes after a transaction is taken back with it, from now on; the backups hear which scheme it is.
    pub(crate) fn begin_scheme(&mut self, kind: SchemeKind, out: &mut Outbox) {
        self.cascades = kind.cascades();
        self.stream.append(|| Entry::Under(kind), out);
    }

    /// What goes with the rows as they are, while nothing is under way.
    pub(crate) fn base(&self, scheme: SchemeKind) -> Base {
        let over = self.over.iter().copied().map(Entry::Over);
        let remembered = over.chain(self.committed.all().map(Entry::Committed)).collect();
        Base { held: self.stream.last(), scheme, remembered }
    }

    /// Runs a call on this partition alone.
    pub(crate) fn run_single(
        &mut self,
        single: &Single,
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

    /// Tells the backups to repeat a run, if it left anything.
    pub(crate) fn replicate(&mut self, single: &Single, ran: &Ran, speculative: bool, out: &mut Outbox) {
        if matches!(ran, Ran::Done(_)) {
            let participants = PartitionSet::of(self.shard.index());
            let origin = Some((single.client, single.id));
            let part = || Part { call: single.call.clone(), participants, given: Vec::new(), origin };
            let entry = || if speculative { Entry::Speculate(part()) } else { Entry::Run(part()) };
            self.stream.append(entry, out);
        }
    }

    /// Tells a client the end of its call, once the backups hold what it saw.
    pub(crate) fn answer(&mut self, single: &Single, ran: Ran, out: &mut Outbox) {
        self.seen.singles += 1;
        self.seen.singles_aborted += u64::from(matches!(ran, Ran::Aborted(_)));
        let outcome = match ran {
            Ran::Done(output) => Outcome::Done(smallvec![(self.shard.index() as u8, output)]),
            Ran::Aborted(abort) => Outcome::Aborted(abort),
            Ran::Elsewhere(partitions) => Outcome::Elsewhere(partitions),
            Ran::Failed(why) => Outcome::Failed(why),
            Ran::Wants(_) | Ran::Refused | Ran::Broken(_) => unreachable!("{ran:?} is no end of a call"),
        };
        self.stream.send_when_held(single.client, Message::Answer { id: single.id, outcome }, out);
    }

    /// Runs a call without keeping anything, and answers it: the path on which nothing has to be kept.
    pub(crate) fn run_and_answer(&mut self, single: &Single, out: &mut Outbox) {
        let ran = self.run_single(single, None, None, out);
        self.replicate(single, &ran, false, out);
        self.answer(single, ran, out);
    }

    /// Does the latest fragment of a transaction, after taking back what the one before did; `false`: the watch
    /// refused, and it is to be repeated.
    pub(crate) fn run_fragment(&mut self, multi: &mut Multi, watch: Option<&mut dyn Watch>, out: &mut Outbox) -> bool {
        let ran = self.perform(multi, watch, out);
        self.prepare(multi, out);
        ran
    }

    /// The same, without the backups' hearing of it.
    pub(crate) fn perform(&mut self, multi: &mut Multi, mut watch: Option<&mut dyn Watch>, out: &mut Outbox) -> bool {
        self.undo_fragment(multi, out);
        let sampled = matches!(multi.fragment.work, FragmentWork::Run(_)) && self.sampler.is_due();
        let watched = watch.is_some() || sampled;
        let end = match &multi.fragment.work {
            FragmentWork::Find(wanted) => {
                let find = |wanted| match self.shard.find(wanted, watch.as_mut().map(|watch| &mut **watch as _)) {
                    Ok(Some(found)) => Ok(found),
                    Ok(None) => Err(None),
                    Err(why) => Err(Some(FragmentEnd::Failed(why))),
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
                    Ran::Failed(why) | Ran::Broken(why) => Some(FragmentEnd::Failed(why)),
                    Ran::Refused => None,
                }
            }
        };
        let stopped = matches!(end, None | Some(FragmentEnd::Aborted(_)));
        out.did(if stopped { Work::Stopped } else { Work::Fragment { watched } });
        multi.end = end;
        multi.end.is_some()
    }

    /// Takes back what a transaction did here, if it did anything.
    pub(crate) fn undo_fragment(&mut self, multi: &mut Multi, out: &mut Outbox) {
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

    /// Has the backups hold a run in its place among the others: one that is done, for its vote; where others are run
    /// upon it, one that will not commit too, since they are taken back with it.
    pub(crate) fn prepare(&mut self, multi: &mut Multi, out: &mut Outbox) {
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

    /// Tells the coordinator what came of the latest fragment. If that is a vote for the transaction, the backups hold
    /// it first.
    pub(crate) fn report(&mut self, multi: &Multi, after: Option<TxnId>, out: &mut Outbox) {
        let Fragment { txn, round, .. } = multi.fragment;
        // A client that lives on must not count on a vote of which whoever decides now may not have heard.
        if self.is_over(txn) {
            return;
        }
        let end = multi.end.clone().expect("a fragment that was done has an end");
        let partition = self.shard.index() as u8;
        let heard = self.heard.of(txn);
        let result = FragmentResult { txn, round, partition, end, after, heard };
        self.stream.send_when_held(txn.coordinator, Message::Result(Box::new(result)), out);
    }

    /// Tells a coordinator that results do not count any more, of this transaction and of its others after it.
    pub(crate) fn withdraw(&mut self, txn: TxnId, out: &mut Outbox) {
        self.stream.send_when_held(txn.coordinator, Message::Withdrawn(txn), out);
    }

    /// Carries out the end of a transaction here; what came after it, if it goes too, was taken back already.
    pub(crate) fn end(&mut self, mut multi: Multi, commit: bool, out: &mut Outbox) {
        out.did(Work::Decide);
        self.count(&multi, commit);
        if !commit {
            return self.undo_fragment(&mut multi, out);
        }
        let txn = multi.txn();
        let Some(kept) = multi.kept.take() else {
            // A client that does that harms its own transaction only.
            if matches!(txn.coordinator, Address::Client(_)) {
                return self.undo_fragment(&mut multi, out);
            }
            // Whoever decided this broke the protocol, and what the others have of it cannot be had here.
            self.broken = Some(format!("{txn:?} was committed without this partition's vote; restore it from another"));
            return;
        };
        self.commit(kept);
        self.committed.add(txn);
        self.stream.append(|| Entry::Decide { txn, commit, cascade: false }, out);
    }

    fn count(&mut self, multi: &Multi, commit: bool) {
        let aborted = !commit && matches!(multi.end, Some(FragmentEnd::Aborted(_)));
        self.seen.committed += u64::from(commit);
        self.seen.aborted += u64::from(aborted);
        if commit || aborted {
            self.seen.rounds += u64::from(multi.fragment.round) + 1;
            self.seen.participants += multi.fragment.participants.len() as u64;
        }
    }
}
