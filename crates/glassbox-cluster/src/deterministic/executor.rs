//! A partition's executor: receives the inputs of the log, and runs them when its scheduler allows.
//!
//! Calvin's lock thread and workers (VLDB 2014, section 2) in one thread: a run that lacks a remote row stops, and is
//! run again when the row has arrived; meanwhile other transactions run. Invariants:
//!
//! - transactions request their locks in the order of the log;
//! - a participant sends rows of a transaction while it has the transaction's locks and before it changes them, so the
//!   rows are as all earlier transactions left them;
//! - changes of a transaction that may abort keep their locks and undo buffer until every participant has voted.
//!
//! A journal has no entries, only bases: the rows as they are after an epoch. After a restart the executor asks the
//! sequencer for the inputs after it, and other partitions for what they had sent about these inputs. So a base also
//! has what this partition sent and another one may ask for.

use std::collections::{BTreeMap, VecDeque};

use glassbox::research::shard::{DeclaredKeys, Shard};

use super::bases::Bases;
use super::executing::ExecutingTxn;
use super::halting::Halt;
use super::merge::Merge;
use super::peers::{LATE_US, Oldest, Peers};
use super::reconnaissance::{KeysRequest, KeysRequests};
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchedulerKind, SchemeKind};
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{
    Digests, Exchange, ExchangeContent, Input, InputBatch, InputId, InputKeys, OrderSettings,
};
use crate::protocol::message::{Message, Outcome, StopReason};
use crate::protocol::outbox::{Action, Outbox};
use crate::scheduler::{LogPlace, Scheduler, new_scheduler};

/// The executor of a partition.
#[derive(Debug)]
pub struct Executor {
    pub(super) shard: Shard,
    pub(super) scheduler: Box<dyn Scheduler>,
    pub(super) kind: SchedulerKind,
    /// The configuration since which it has its role: inputs that were sealed before are not answered.
    since: u64,
    pub(super) peers: Peers,
    /// The oldest active transaction when it was looked for last.
    pub(super) oldest: Option<Oldest>,
    /// How long it waits for others, what it keeps for them, and how fast it sends rows.
    pub(super) order: OrderSettings,
    /// Each sequencer.
    sequencers: Vec<Address>,
    /// Their epochs.
    merge: Merge,
    /// Which of them were asked for what it lacks, and have not said that this is all: a bit for each.
    asked: u64,
    keys_requests: KeysRequests,
    /// Transactions that have requested their locks and have not ended.
    pub(super) active: BTreeMap<LogPlace, ExecutingTxn>,
    pub(super) places: BTreeMap<InputId, LogPlace>,
    next: LogPlace,
    /// All inputs up to this epoch have been received and put into the backlog.
    pub(super) epoch: u64,
    /// Inputs that have not requested their locks; whether each is answered.
    backlog: VecDeque<(InputId, Input, bool)>,
    /// Epochs of which inputs have not ended.
    pub(super) epochs: BTreeMap<u64, RunningEpoch>,
    /// The last input that has requested its locks.
    admitted: InputId,
    /// Messages about inputs that have not arrived.
    early: BTreeMap<InputId, Vec<Exchange>>,
    /// Why the partition has stopped.
    pub(super) broken: Option<String>,
    /// Whether the partition is about to stop.
    pub(super) halt: Option<Box<Halt>>,
    pub(super) bases: Bases,
}

/// An epoch that is being executed.
#[derive(Debug)]
pub(super) struct RunningEpoch {
    /// Inputs that have not ended.
    pub(super) left: usize,
    /// Of these, the ones that are on this partition alone.
    pub(super) left_own: usize,
    /// Of the inputs that have committed.
    pub(super) digests: Digests,
    /// The digests of an earlier execution; nothing if there are none.
    pub(super) expected: Digests,
}

/// Epochs of which a sequencer that fails may not have logged the digests: it logs them with the next epoch.
const MAX_REPORTED: usize = 256;

impl Executor {
    /// The maximum number of transactions that have requested their locks: a scheduler may look at all of them.
    pub const MAX_ACTIVE: usize = 128;

    /// An executor with the initial rows.
    pub(crate) fn new(me: Address, shard: Shard, kind: SchedulerKind, configuration: &Configuration) -> Self {
        let since = configuration.since_of(me).unwrap_or_default();
        Self {
            shard,
            scheduler: new_scheduler(kind),
            kind,
            since,
            peers: Peers::new(me, configuration),
            oldest: None,
            order: OrderSettings { late_us: LATE_US, ..OrderSettings::new() },
            sequencers: configuration.sequencers().into_iter().map(|(sequencer, _)| sequencer).collect(),
            merge: Merge::new(configuration.sequencers().len(), 0),
            asked: 0,
            keys_requests: KeysRequests::default(),
            active: BTreeMap::new(),
            places: BTreeMap::new(),
            next: 0,
            epoch: 0,
            backlog: VecDeque::new(),
            epochs: BTreeMap::new(),
            admitted: InputId { epoch: 0, index: 0 },
            early: BTreeMap::new(),
            broken: None,
            halt: None,
            bases: Bases::default(),
        }
    }

    /// An executor that continues from a base, made after this epoch, with what it had sent.
    pub(crate) fn recovered(
        me: Address,
        shard: Shard,
        kind: SchedulerKind,
        configuration: &Configuration,
        (epoch, sent): (u64, Vec<Entry>),
        out: &mut Outbox,
    ) -> Self {
        let mut executor = Self::new(me, shard, kind, configuration);
        (executor.epoch, executor.bases.has_journal) = (epoch, true);
        executor.merge = Merge::new(executor.sequencers.len(), epoch);
        executor.admitted = InputId { epoch, index: u32::MAX };
        sent.into_iter().for_each(|entry| executor.peers.remember(entry));
        executor.begin_place(me, configuration, out);
        executor
    }

    /// It has a place from now on: asks for what it has not received, and sends what others may not have received.
    pub(crate) fn begin_place(&mut self, me: Address, configuration: &Configuration, out: &mut Outbox) {
        self.since = configuration.since_of(me).unwrap_or_default();
        let executed = self.executed();
        for peer in (0..self.peers.partitions()).filter(|it| *it != self.index()).filter_map(|it| self.peers.own(it)) {
            out.send(peer, Message::ResumeAfter(executed));
        }
        (0..self.sequencers.len()).for_each(|number| self.ask_sequencer(number, out));
        for to in self.peers.kept_for() {
            // Messages to them may be lost with it: they ask for what they lack.
            self.peers.of(to).for_each(|peer| out.send(peer, Message::SentUpTo(0)));
        }
    }

    /// Asks a sequencer for what it has not received.
    fn ask_sequencer(&mut self, number: usize, out: &mut Outbox) {
        self.asked |= 1 << number;
        out.send(self.sequencers[number], Message::ResumeAfter(self.merge.received(number)));
    }

    /// Begins a journal with a base of the present rows.
    pub(crate) fn begin_journal(&mut self, out: &mut Outbox) {
        (self.bases.has_journal, self.bases.in_memory) = (true, false);
        self.renew_base(out);
    }

    /// Begins another base once no transaction is active.
    pub(crate) fn renew_base(&mut self, out: &mut Outbox) {
        self.bases.is_due = true;
        self.go_on(out);
    }

    /// Whether another base may begin, after so many inputs or as many bytes of exchanges as others should keep.
    pub(crate) fn is_base_due(&self, inputs: u32) -> bool {
        self.bases.may_begin(inputs)
    }

    /// The base that was begun could not be written: another one is due.
    pub(crate) fn base_failed(&mut self) {
        if self.bases.making.take().is_some() {
            self.bases.inputs = u32::MAX;
        }
        self.end_halt();
    }

    /// Stops if the base that has ended was that of a halt. A replica that had stopped before keeps its reason.
    fn end_halt(&mut self) {
        if let Some(why) = self.halt.as_ref().and_then(|halt| halt.end_base()) {
            self.broken.get_or_insert(why);
        }
    }

    /// The base is durable.
    pub(crate) fn based(&mut self, out: &mut Outbox) {
        let Some(epoch) = self.bases.making.take() else { return };
        self.bases.based = epoch;
        for partition in (0..self.peers.partitions()).filter(|it| *it != self.index()) {
            self.peers.all_of(partition).for_each(|it| out.send(it, Message::Checkpointed(epoch)));
        }
        // They begin again if they are still needed.
        for partition in (0..self.peers.partitions()).filter(|it| self.peers.own(*it).is_some()).collect::<Vec<_>>() {
            self.peers.end_links(partition).into_iter().for_each(|it| out.send(it, Message::Unlink));
        }
        for sequencer in &self.sequencers {
            out.send(*sequencer, Message::Checkpointed(epoch));
        }
        if self.halt.is_some() {
            self.end_halt();
            self.bases.is_due = self.broken.is_none();
        }
        // A replica may wait for the rows.
        self.go_on(out);
    }

    /// Ends what it has, writes a checkpoint, and stops.
    fn halt(&mut self, why: &StopReason) {
        let why = self.reason(why);
        if !self.bases.has_journal || self.bases.in_memory {
            self.broken = Some(why);
        } else if self.halt.is_none() {
            self.halt = Some(Box::new(Halt::new(why)));
            self.bases.end_copies(&mut self.shard);
            // A checkpoint that is being written has older rows.
            self.bases.is_due = self.bases.making.is_none();
        }
    }

    /// Another configuration; this partition is still its own.
    pub(crate) fn configure(&mut self, configuration: &Configuration, before: &Configuration, out: &mut Outbox) {
        self.peers.configure(configuration);
        let pairs = configuration.sequencers().into_iter().zip(before.sequencers());
        for (number, (now, _)) in pairs.enumerate().filter(|(_, (now, was))| now != was) {
            self.sequencers[number] = now.0;
            // Inputs, and reports, may have been lost with the former one.
            self.ask_sequencer(number, out);
            for (epoch, digests) in &self.bases.reported {
                out.send(now.0, Message::Executed(*epoch, digests.clone()));
            }
            if self.bases.based > 0 {
                out.send(now.0, Message::Checkpointed(self.bases.based));
            }
        }
    }

    /// Why it is stopped, for the operator.
    pub(crate) fn reason(&self, why: &StopReason) -> String {
        why.text(self.shard.index(), |call| self.shard.procedure_name(call).unwrap_or("?"))
    }

    /// Sets how long it waits for others, what it keeps for them, and how fast it sends rows.
    pub(crate) fn set_order(&mut self, order: OrderSettings) {
        let late_us = if order.late_us == 0 { LATE_US } else { order.late_us };
        self.order = OrderSettings { late_us, ..order };
        self.peers.set_most_bytes(order.kept_bytes());
    }

    /// The rows.
    pub fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    /// Whether no transaction is active, and it lacks no input as far as it was told.
    pub fn is_idle(&self) -> bool {
        !self.lacks_inputs() && self.is_at_epoch_s_end() && self.scheduler.is_idle() && self.merge.is_empty()
    }

    /// Whether it lacks inputs, as far as it was told.
    pub(crate) fn lacks_inputs(&self) -> bool {
        self.asked != 0
    }

    /// Whether all received inputs have ended.
    fn is_at_epoch_s_end(&self) -> bool {
        self.active.is_empty() && self.backlog.is_empty()
    }

    /// Why the partition has stopped, if it has.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    pub(super) fn index(&self) -> u8 {
        self.shard.index() as u8
    }

    /// Receives a message. Messages that no executor handles are ignored.
    pub(crate) fn handle(&mut self, from: Address, message: Message, out: &mut Outbox) {
        // A stopped partition decides nothing: after a restart it executes the same inputs again.
        if self.broken.is_some() {
            return;
        }
        match message {
            Message::Inputs(batch) => self.receive(from, *batch, out),
            // A restarted sequencer asks from where on.
            Message::ResumeAfter(_) if let Some(number) = self.number_of(from) => self.ask_sequencer(number, out),
            Message::ResumeAfter(epoch) => self.send_again(from, epoch, out),
            Message::Checkpointed(epoch) => self.peers.note_checkpoint(from, epoch),
            Message::SentUpTo(epoch) => self.peers.note_sent(from, epoch),
            Message::Unlink => self.peers.unlink(from),
            Message::Join { since } if from.partition() == Some(self.index()) && self.halt.is_none() => {
                self.bases.add_joining(from, since);
            }
            Message::Arrived { since, pieces } => self.bases.arrived(from, since, pieces),
            Message::Stop { why, .. } if from.partition().is_some() => {
                let executed = self.executed();
                if matches!(*why, StopReason::Forgotten { after } if after < executed) {
                    out.send(from, Message::ResumeAfter(executed));
                }
            }
            Message::Stop { why, .. } if matches!(*why, StopReason::Undecided { .. }) => self.halt(&why),
            Message::Stop { why, .. } => self.broken = Some(self.reason(&why)),
            Message::WriteCheckpoint => {
                self.bases.asked_by = Some(from);
                self.write_checkpoint(out);
            }
            Message::Exchange(exchange) => self.exchanged(*exchange, out),
            Message::Reconnoitre(request) => self.keys_requests.push(KeysRequest { client: from, request }),
            _ => {}
        }
        self.go_on(out);
        self.ask_for_more(out);
        self.answer_keys_requests(out);
    }

    /// Writes the checkpoint that a sequencer has asked for. While inputs are missing it would soon be asked for the
    /// next one.
    fn write_checkpoint(&mut self, out: &mut Outbox) {
        if self.lacks_inputs() {
            return;
        }
        let Some(sequencer) = self.bases.asked_by.take() else { return };
        if self.is_base_due(0) {
            self.bases.is_due = true;
        } else if !self.bases.has_journal {
            // Without a journal it never executes anything again.
            out.send(sequencer, Message::Checkpointed(self.merge.complete()));
        } else if !self.bases.is_due && self.bases.making.is_none() {
            // It has executed nothing since its last base; the one it was started with has no epoch here.
            match self.bases.based {
                0 => self.bases.is_due = true,
                based => out.send(sequencer, Message::Checkpointed(based)),
            }
        }
    }

    /// Answers the requests for keys that need not wait.
    fn answer_keys_requests(&mut self, out: &mut Outbox) {
        let is_behind = self.lacks_inputs();
        while self.broken.is_none()
            && self.halt.is_none()
            && let Some(request) = self.keys_requests.next(is_behind)
        {
            let partition = self.index();
            match request.reconnoitre(&mut self.shard, out) {
                Ok(found) => out.send(request.client, Message::Reconnoitred(Box::new(found))),
                Err(broken) => self.broken = Some(format!("partition {partition}: {broken}")),
            }
        }
    }

    /// Begins all transactions that can begin, and the base or copy that is due if none is active.
    pub(super) fn go_on(&mut self, out: &mut Outbox) {
        loop {
            while self.broken.is_none()
                && let Some(place) = self.scheduler.next_ready()
            {
                self.begin(place, out);
            }
            if self.broken.is_some() {
                return;
            }
            if self.active.len() < Self::MAX_ACTIVE
                && let Some((id, input, is_answered)) = self.backlog.pop_front()
            {
                self.admit(id, input, is_answered, out);
                continue;
            }
            if !self.bases.needs_pause() || !self.is_at_epoch_s_end() {
                return;
            }
            if self.bases.is_due {
                self.begin_base(out);
            } else {
                let base = self.base();
                self.bases.begin_copy(&mut self.shard, base);
            }
            self.take_due(out);
        }
    }

    fn begin_base(&mut self, out: &mut Outbox) {
        (self.bases.is_due, self.bases.inputs, self.bases.received_bytes) = (false, 0, 0);
        self.bases.making = Some(self.epoch);
        if self.bases.in_memory {
            return self.based(out);
        }
        self.halt.iter_mut().for_each(|halt| halt.begin_base());
        self.shard.fix();
        out.actions.push(Action::Base(Box::new(self.base())));
    }

    /// The state besides the rows, between two epochs.
    fn base(&self) -> Base {
        Base { held: self.epoch, scheme: SchemeKind::Deterministic(self.kind), remembered: self.peers.entries() }
    }

    /// The number of a sequencer; `None`: it is none.
    fn number_of(&self, sequencer: Address) -> Option<usize> {
        self.sequencers.iter().position(|known| *known == sequencer)
    }

    /// The sequencer that made an epoch.
    fn source(&self, epoch: u64) -> Address {
        self.sequencers[self.merge.source(epoch)]
    }

    /// Notes that an input has ended, and reports the digests of an epoch that has.
    pub(super) fn note_ended(&mut self, epoch: u64, is_own: bool, out: &mut Outbox) {
        let source = self.source(epoch);
        let running = self.epochs.get_mut(&epoch).expect("it has unfinished inputs");
        running.left -= 1;
        running.left_own -= usize::from(is_own);
        if is_own && running.left_own == 0 && running.left > 0 {
            out.send(source, Message::ExecutedOwn(epoch));
        }
        if running.left == 0 {
            let RunningEpoch { mut digests, expected, .. } = self.epochs.remove(&epoch).expect("it was there just now");
            digests.sort_unstable();
            if !expected.is_empty() && digests != expected && self.broken.is_none() {
                self.broken = Some(format!(
                    "replay of partition {} differs: other inputs of epoch {epoch} have committed than when it was \
                     executed first",
                    self.shard.index()
                ));
            }
            if self.broken.is_none() {
                // Without a journal nothing is executed again.
                let digests = if self.bases.has_journal { digests } else { Digests::new() };
                if self.peers.has_others() {
                    self.bases.reported.insert(epoch, digests.clone());
                    if self.bases.reported.len() > MAX_REPORTED {
                        self.bases.reported.pop_first();
                    }
                }
                out.send(source, Message::Executed(epoch, digests));
            }
        }
    }

    /// Sends a message about an input to another participant, and keeps it while that one may need it again.
    pub(super) fn send(&mut self, to: u8, exchange: Exchange, out: &mut Outbox) {
        if self.bases.has_journal && !self.peers.keep(to, &exchange) {
            return;
        }
        for peer in self.peers.of(to) {
            out.send(peer, Message::Exchange(Box::new(exchange.clone())));
        }
    }

    fn receive(&mut self, sequencer: Address, batch: InputBatch, out: &mut Outbox) {
        let Some(number) = self.number_of(sequencer) else { return };
        let is_last = batch.inputs.is_empty();
        match self.merge.receive(number, batch) {
            Ok(()) => {
                self.asked &= !(u64::from(is_last) << number);
                self.take_due(out);
                self.write_checkpoint(out);
            }
            // Inputs before it were lost with their sender.
            Err(_) => self.ask_sequencer(number, out),
        }
    }

    /// Takes the epochs that are due, unless a base waits for the end of those before.
    fn take_due(&mut self, out: &mut Outbox) {
        if self.bases.needs_pause() || self.halt.is_some() {
            return;
        }
        while let Some(batch) = self.merge.next_due() {
            self.take(batch, out);
        }
        self.epoch = self.merge.complete();
    }

    fn take(&mut self, batch: InputBatch, out: &mut Outbox) {
        self.bases.inputs = self.bases.inputs.saturating_add(batch.inputs.len() as u32);
        let InputBatch { epoch, sealed_in, inputs, digests: expected, has_more, .. } = batch;
        let left_own = inputs.iter().filter(|input| input.participants.is_single()).count();
        let running = RunningEpoch { left: inputs.len(), left_own, digests: Digests::new(), expected };
        self.epochs.insert(epoch, running);
        let id = |input: &Input| InputId { epoch, index: input.index };
        let is_answered = sealed_in >= self.since;
        self.backlog.extend(inputs.into_iter().map(|input| (id(&input), input, is_answered)));
        if has_more {
            out.send(self.source(epoch), Message::ResumeAfter(epoch));
        }
    }

    /// Requests the locks of the next transaction.
    fn admit(&mut self, id: InputId, input: Input, is_answered: bool, out: &mut Outbox) {
        let place = self.next;
        (self.next, self.admitted) = (place + 1, id);
        let (keys, problem) = match self.keys_of(&input) {
            Ok(keys) => (keys, None),
            // Every participant finds the same.
            Err(problem) => (DeclaredKeys::none(), Some(problem)),
        };
        self.scheduler.request(place, &keys);
        let mut txn = ExecutingTxn::new(id, input, keys, &self.shard);
        (txn.problem, txn.is_answered) = (problem, is_answered);
        self.active.insert(place, txn);
        self.places.insert(id, place);
        for exchange in self.early.remove(&id).unwrap_or_default() {
            self.exchanged(exchange, out);
        }
    }

    fn keys_of(&self, input: &Input) -> Result<DeclaredKeys, String> {
        let declared = self.shard.declared(&input.call)?;
        let known = self.shard.version(&input.call)?;
        if known != input.version {
            let name = self.shard.procedure_name(&input.call)?;
            return Err(format!(
                "procedure `{name}` has version {known}, and its call has version {}; run the same program everywhere",
                input.version
            ));
        }
        Ok(match &input.keys {
            InputKeys::Declared if declared.is_complete() => declared,
            InputKeys::Found(found) => {
                let own = found.iter().find(|(partition, _)| *partition == self.index());
                own.map_or_else(|| self.shard.all_keys(), |(_, keys)| keys.clone())
            }
            InputKeys::Declared | InputKeys::All => self.shard.all_keys(),
        })
    }

    fn exchanged(&mut self, exchange: Exchange, out: &mut Outbox) {
        let Some(&place) = self.places.get(&exchange.input) else {
            if exchange.input > self.admitted {
                let early = self.early.entry(exchange.input).or_default();
                if !early.contains(&exchange) {
                    self.bases.received_bytes += exchange.bytes();
                    early.push(exchange);
                }
            }
            return;
        };
        let (from, txn) = (exchange.from, self.active.get_mut(&place).expect("an active transaction has a place"));
        if !txn.input.participants.contains(from.into()) {
            return;
        }
        match exchange.content {
            ExchangeContent::Rows(mut rows) => {
                rows.retain(|row| row.partition == from);
                txn.receive_rows(rows);
                if txn.can_run_on() {
                    self.run(place, out);
                }
            }
            ExchangeContent::Wants(reads) => {
                txn.wanted.push((from, reads));
                if txn.has_begun {
                    self.send_wanted(place, out);
                }
            }
            ExchangeContent::Vote => {
                txn.votes.insert(from.into());
                self.commit_if_decided(place, out);
            }
            ExchangeContent::Refusal(outcome) => self.refused(place, *outcome, out),
        }
    }

    /// Answers the client with this partition's part of the outcome.
    pub(super) fn answer(&self, txn: &ExecutingTxn, outcome: Outcome, out: &mut Outbox) {
        if txn.is_answered && self.halt.is_none() {
            let &Input { client, call_id, attempt, .. } = &txn.input;
            out.send(client, Message::PartialAnswer { id: call_id, attempt, outcome });
        }
    }
}
