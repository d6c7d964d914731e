//! The sequencer: makes one order of all transactions, and a log of it.
//!
//! Epochs seal themselves: as soon as an epoch is durable, the next one takes all inputs that have arrived. So under a
//! light load an input waits for one force, and under a heavy one epochs grow. The paper's epochs, of 10 ms each, are a
//! [setting](OrderSettings). If there are several sequencers, each seals one in every interval of its clock, whether it
//! has inputs or not: the number of an epoch is a promise that no earlier one will follow ([`super::merge`]).
//!
//! The log is the stream of a journal and of hot backups. It is kept until the disks of all partitions have the rows as
//! of its epochs: a partition that fails begins with those rows, and asks for the inputs after them.

use std::collections::BTreeMap;

use glassbox::record::Timestamp;
use glassbox::research::shard::{Failure, PartitionSet};

use super::epoch_log::{EpochLog, SealedEpoch};
use super::follower::{Again, Follower, has_others, is_of};
use super::hot_backup::HotBackup;
use super::input_log::{InputLog, LocalLog};
use super::throttle::Throttle;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchemeKind};
use crate::protocol::entry::Entry;
use crate::protocol::input::{Digests, Input, InputBatch, MAX_ARGUMENT_BYTES, OrderSettings};
use crate::protocol::message::{Message, Outcome, StopReason, Submission};
use crate::protocol::outbox::{Action, Outbox};

/// A replica that makes no checkpoint until the log has this many times the inputs after which it was asked for one is
/// left out.
const MAX_LATE: u64 = 8;
/// How long replica sets that differ go on until the others have executed the epoch too, in microseconds.
pub(super) const MAX_DISPUTE_US: u64 = 5_000_000;
/// Keys of a call that are in the log; a call with more locks their tables and indexes whole.
const MAX_KEYS: usize = 16_384;
/// Bytes of inputs after which a replica that lacks them has to ask for the rest: one that asks late, after it made a
/// checkpoint, would otherwise be sent more than a connection may have unread.
const AGAIN_BYTES: usize = 4 << 20;
/// The growth of the log, as a share of a piece, before the next piece is sent to a replica that catches up: so the
/// replica executes a third more than its set. On busy hosts, calls pay for what it executes more.
const GROWN_BETWEEN: f64 = 0.75;
/// The maximum number of inputs of an epoch.
const MAX_INPUTS: usize = 4_096;
/// Bytes of arguments and keys after which an epoch takes no further input: it is one record of the journal, and one
/// frame.
const INPUT_BYTES: usize = 1 << 20;

/// Orders inputs.
#[derive(Debug)]
pub struct Sequencer {
    /// The present configuration.
    configuration: u64,
    scheme: SchemeKind,
    followers: Vec<Follower>,
    /// Of each partition.
    throttles: Vec<Throttle>,
    /// Inputs of the next epoch.
    open: Vec<Input>,
    /// Sealed epochs that a partition may ask for again.
    pub(crate) epochs: EpochLog,
    /// Whether it has been kept from the beginning: a member of the cluster can be restarted, or replaced.
    keeps: bool,
    /// Replicas that were asked for a checkpoint and have not made one; the number of inputs, and the last epoch, when
    /// they were.
    asked: BTreeMap<Address, (u64, u64)>,
    /// Inputs that it has sealed, and their bytes.
    sealed: u64,
    sealed_bytes: u64,
    /// Epochs of partitions whose replica sets differ, while others have not executed them; and since when, in
    /// microseconds.
    pub(super) disputed: BTreeMap<(u64, u8), u64>,
    /// Partitions whose epochs are compared again, each with the last epoch that was.
    pub(super) uncompared: BTreeMap<u8, u64>,
    /// Partitions whose replica sets differ without a majority, for the group that agrees to note it.
    pub(crate) undecided: Vec<(u8, StopReason)>,
    /// Undecided partitions that the group has noted: their replicas have no place.
    pub(crate) halted: BTreeMap<u8, StopReason>,
    /// Replicas that are to be left out of the configuration: they take the rows of another set.
    pub(crate) unfit: Vec<Address>,
    /// Why it has stopped.
    broken: Option<String>,
    /// Entries that go with the next epoch: they need no force of their own.
    notes: Vec<Entry>,
    pub(super) log: LocalLog,
    /// The assigned time of the last input, in microseconds: it never goes back.
    now_us: u64,
    order: OrderSettings,
    /// Its number and the number of sequencers, if several order by their clocks.
    clock: Option<(u64, u64)>,
    /// When the open epoch is sealed, if epochs take a fixed time.
    seal_at_us: Option<u64>,
}

impl Sequencer {
    /// A sequencer of these partitions, with an empty log, which its hot backups have too.
    pub(crate) fn new(me: Address, configuration: &Configuration) -> Self {
        let backups = configuration.hot_backups();
        let clock = match (&configuration.sequencer, me) {
            (None, Address::Coordinator(number)) => Some((number.into(), configuration.coordinators.len() as u64)),
            _ => None,
        };
        let mut sequencer = Self {
            configuration: configuration.epoch,
            scheme: configuration.scheme,
            followers: Follower::all(configuration, Some(0)),
            throttles: vec![Throttle::default(); configuration.partitions.len()],
            open: Vec::new(),
            epochs: EpochLog::new(configuration.sets()),
            keeps: !backups.is_empty(),
            asked: BTreeMap::new(),
            sealed: 0,
            sealed_bytes: 0,
            disputed: BTreeMap::new(),
            uncompared: BTreeMap::new(),
            undecided: Vec::new(),
            halted: BTreeMap::new(),
            unfit: Vec::new(),
            broken: None,
            notes: Vec::new(),
            log: LocalLog::new(&backups, 0),
            now_us: 0,
            order: OrderSettings::default(),
            clock,
            seal_at_us: clock.map(|_| 0),
        };
        sequencer.set_order(OrderSettings::default());
        sequencer
    }

    /// Sets how it orders inputs.
    pub(crate) fn set_order(&mut self, order: OrderSettings) {
        self.order = order;
        if self.clock.is_some() && order.epoch_us == 0 {
            self.order.epoch_us = OrderSettings::EPOCH_US;
        }
    }

    /// A sequencer that continues the log of a hot backup, or of its own journal. Hot backups join it later.
    pub(crate) fn succeeding(me: Address, configuration: &Configuration, backup: HotBackup, out: &mut Outbox) -> Self {
        let HotBackup { log, held, journal, .. } = backup;
        let mut sequencer = Self::new(me, configuration);
        sequencer.followers.iter_mut().for_each(|follower| follower.sent = None);
        (sequencer.keeps, sequencer.now_us) = (true, log.now_us);
        (sequencer.epochs, sequencer.log) = (log, LocalLog::new(journal.as_slice(), held));
        for follower in &sequencer.followers {
            out.send(follower.replica, Message::ResumeAfter(sequencer.epochs.last));
        }
        sequencer
    }

    /// Why it has stopped, if it has.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// Inputs that are not durable yet.
    pub fn pending(&self) -> usize {
        self.open.len()
    }

    /// Begins a journal, which makes epochs durable.
    pub(crate) fn begin_journal(&mut self, me: Address, out: &mut Outbox) {
        self.keeps = true;
        self.log.add(me);
        self.renew_base(out);
    }

    /// Begins another base of the journal: the part of the log that is still needed.
    pub(crate) fn renew_base(&mut self, out: &mut Outbox) {
        out.actions.push(Action::Base(Box::new(self.epochs.base(self.log.proposed(), self.scheme))));
    }

    /// Sends the log to a member, which is a hot backup from now on.
    fn add_backup(&mut self, member: Address, since: u64, out: &mut Outbox) {
        self.log.forget(member, out);
        let mut base = Box::new(self.epochs.base(self.log.proposed(), self.scheme));
        let remembered = std::mem::take(&mut base.remembered);
        let pieces = remembered.len() as u64;
        for entry in remembered {
            out.send(member, Message::Remember { since, entries: vec![entry] });
        }
        out.send(member, Message::State { since, pieces, base });
        self.log.add(member);
    }

    /// Another configuration of the same sequencer. `journal`: its own address, if it has one.
    pub(crate) fn configure(
        &mut self,
        configuration: &Configuration,
        journal: Option<Address>,
        now_us: u64,
        out: &mut Outbox,
    ) {
        self.configuration = configuration.epoch;
        for follower in Follower::all(configuration, None) {
            match self.followers.iter_mut().find(|it| it.replica == follower.replica) {
                Some(known) if known.since == follower.since => {}
                known => {
                    self.asked.remove(&follower.replica);
                    self.notes.retain(|note| !is_of(note, follower.replica));
                    self.epochs.note_returned(follower.replica);
                    match known {
                        Some(known) => *known = follower,
                        None => self.followers.push(follower),
                    }
                }
            }
        }
        for replica in self.followers.extract_if(.., |it| configuration.since_of(it.replica).is_none()) {
            self.epochs.note_dropped(replica.replica);
        }
        self.unfit.retain(|it| configuration.since_of(*it).is_some());
        self.compare_disputed(now_us, out);
        let backups = configuration.hot_backups();
        self.log.keep(&backups.into_iter().chain(journal).collect::<Vec<_>>(), out);
        self.go_on(now_us, out);
    }

    /// A replica has its place with the rows of another set: its reports were about others.
    pub(crate) fn note_joining(&mut self, replica: Address) {
        self.epochs.forget_digests(replica, 0);
        self.notes.retain(|note| !is_of(note, replica));
    }

    /// Receives a message.
    pub(crate) fn handle(&mut self, from: Address, message: Message, now_us: u64, out: &mut Outbox) {
        if self.broken.is_some() {
            return;
        }
        match message {
            Message::Submit(submission) => self.submit(from, *submission, now_us, out),
            Message::Ack { sequence } => {
                self.log.on_ack(from, sequence, out);
                self.go_on(now_us, out);
            }
            Message::Join { since } => {
                self.add_backup(from, since, out);
                self.go_on(now_us, out);
            }
            Message::ResumeAfter(epoch) => self.resume(from, epoch, now_us, out),
            Message::Checkpointed(epoch) => self.truncate(from, epoch, now_us, out),
            Message::Executed(epoch, digests) => self.note_executed(from, epoch, digests, now_us, out),
            Message::ExecutedOwn(epoch) => self.note_executed_own(from, epoch),
            _ => {}
        }
    }

    /// Appends a transaction to the log.
    fn submit(&mut self, client: Address, submission: Submission, now_us: u64, out: &mut Outbox) {
        let Submission { id, attempt, mut call, version, participants, keys, .. } = submission;
        let all = PartitionSet::all(self.throttles.len());
        if participants.is_empty() || !participants.difference(all).is_empty() {
            let problem = format!("unknown partitions: {participants:?} of {all:?}");
            let outcome = Outcome::Failed(Failure::protocol(problem));
            return out.send(client, Message::Answer { id, outcome });
        }
        let bytes = call.arguments.bytes().len();
        if bytes > MAX_ARGUMENT_BYTES {
            let failure = Failure::ArgumentsTooLarge { bytes: bytes as u64, limit: MAX_ARGUMENT_BYTES as u64 };
            let outcome = Outcome::Failed(Box::new(failure));
            return out.send(client, Message::Answer { id, outcome });
        }
        if let Some(partition) = self.refuses(participants, now_us) {
            return out.send(client, Throttle::refusal(partition, id));
        }
        self.now_us = self.now_us.max(now_us);
        call.now = Timestamp::from_micros(self.now_us as i64);
        let keys = keys.at_most(MAX_KEYS);
        // Its index follows when the epoch is sealed.
        self.open.push(Input { index: 0, client, call_id: id, attempt, call, version, participants, keys });
        match u64::from(self.order.epoch_us) {
            0 => self.seal_if_free(now_us, out),
            epoch_us => _ = self.seal_at_us.get_or_insert((now_us / epoch_us + 1) * epoch_us),
        }
    }

    /// The partition that is late, if a call on these partitions is refused because of it.
    fn refuses(&mut self, participants: PartitionSet, now_us: u64) -> Option<u8> {
        let max_lag_us = u64::from(self.order.max_lag_us);
        if max_lag_us == 0 || !participants.is_single() {
            return None;
        }
        let partition = participants.lowest();
        // The replica that is the least late answers.
        let lags = self.followers.iter().filter(|it| it.partition == partition).map(|it| it.lag_us(now_us));
        let throttle = &mut self.throttles[partition];
        throttle.observe(lags.min().unwrap_or_default(), max_lag_us, now_us);
        (!throttle.admits()).then_some(partition as u8)
    }

    /// When it has to be called again, in microseconds.
    pub(crate) fn next_tick_us(&self) -> Option<u64> {
        let disputed = self.disputed.values().min().map(|since_us| since_us + MAX_DISPUTE_US);
        let again = self.followers.iter().filter_map(|it| it.again.after.map(|_| it.again.at_us)).min();
        // The rest of a comparison waits for nothing.
        let comparison = self.uncompared.first_key_value().map(|_| 0);
        self.seal_at_us.into_iter().chain(disputed).chain(again).chain(comparison).min()
    }

    /// The time has come to seal the open epoch, to end a dispute, or to go on with a comparison.
    pub(crate) fn tick(&mut self, now_us: u64, out: &mut Outbox) {
        if self.disputed.values().min().is_some_and(|since_us| now_us >= since_us + MAX_DISPUTE_US) {
            self.compare_disputed(now_us, out);
        }
        self.compare_more(now_us, out);
        self.send_again(now_us, out);
        if self.seal_at_us.is_none_or(|at_us| at_us > now_us) {
            return;
        }
        let Some((number, count)) = self.clock else {
            self.seal_at_us = None;
            while !self.open.is_empty() {
                self.seal(self.epochs.last + 1, now_us, out);
            }
            return;
        };
        // Intervals are numbered by the time of their end, so sequencers with other intervals fit.
        let (epoch_us, ended_us) = (u64::from(self.order.epoch_us), now_us - now_us % u64::from(self.order.epoch_us));
        self.seal_at_us = Some(ended_us + epoch_us);
        // The clock of a predecessor was ahead: up to there, its promise holds.
        if ended_us > self.epochs.last / count {
            self.seal(ended_us * count + number, now_us, out);
        }
    }

    /// More of the log may be decided.
    fn go_on(&mut self, now_us: u64, out: &mut Outbox) {
        self.note_sent(now_us);
        if self.order.epoch_us == 0 {
            self.seal_if_free(now_us, out);
        }
    }

    /// Notes when epochs were sent that have become durable.
    fn note_sent(&mut self, now_us: u64) {
        let decided = self.log.decided();
        for follower in &mut self.followers {
            let unsent = follower.unexecuted.iter_mut().rev().take_while(|(.., sent)| sent.is_none());
            let durable = unsent.filter(|(_, position, _)| *position <= decided);
            durable.for_each(|(.., sent)| *sent = Some(now_us));
        }
    }

    /// Seals the open epoch if it has inputs and the log has the one before.
    fn seal_if_free(&mut self, now_us: u64, out: &mut Outbox) {
        if !self.open.is_empty() && self.log.decided() == self.log.proposed() {
            self.seal(self.epochs.last + 1, now_us, out);
        }
    }

    /// Seals the open epoch, and sends it when it is durable.
    fn seal(&mut self, epoch: u64, now_us: u64, out: &mut Outbox) {
        let inputs = self.take_open();
        self.sealed += inputs.len() as u64;
        self.log.propose(|| Entry::Inputs(epoch, inputs.clone()), out);
        for note in std::mem::take(&mut self.notes) {
            self.log.propose(|| note, out);
        }
        for follower in &mut self.followers {
            let (Some(before), partition) = (follower.sent, follower.partition) else { continue };
            let batch = InputBatch::of(&inputs, partition, (before, epoch, self.configuration));
            if let Some(batch) = batch.or_else(|| self.clock.map(|_| InputBatch::empty(before, epoch))) {
                follower.sent = Some(epoch);
                self.log.send_when_decided(follower.replica, Message::Inputs(batch), out);
                let has_own = inputs.iter().any(|input| input.participants == PartitionSet::of(partition));
                if has_own && self.order.max_lag_us > 0 {
                    follower.unexecuted.push_back((epoch, self.log.proposed(), None));
                }
            }
        }
        self.note_sent(now_us);
        if self.keeps {
            let sealed = SealedEpoch::new(epoch, self.configuration, &inputs);
            self.sealed_bytes += sealed.bytes() as u64;
            self.epochs.push(sealed);
            self.shorten(out);
            self.send_again(now_us, out);
        } else {
            self.epochs.last = epoch;
        }
    }

    /// The inputs of the next epoch.
    fn take_open(&mut self) -> Vec<Input> {
        let mut bytes = 0;
        let fits = |input: &&Input| {
            let is_first = bytes == 0;
            bytes += input.bytes();
            is_first || bytes <= INPUT_BYTES
        };
        let count = self.open.iter().take(MAX_INPUTS).take_while(fits).count();
        let mut inputs: Vec<_> = self.open.drain(..count).collect();
        (0..).zip(&mut inputs).for_each(|(index, input)| input.index = index);
        inputs
    }

    /// A partition with few inputs writes checkpoints seldom, and the log is kept for it: asks its replicas for one.
    /// A replica that makes none for long is left out, if there is another.
    fn shorten(&mut self, out: &mut Outbox) {
        let max_logged = u64::from(if self.order.logged == 0 { OrderSettings::LOGGED } else { self.order.logged });
        if (self.epochs.inputs as u64) < max_logged {
            return;
        }
        let Some(first) = self.epochs.epochs.front() else { return };
        let needs = |it: &&Follower| {
            first.participants.contains(it.partition) && self.epochs.checkpoint(it.replica) < first.epoch
        };
        for follower in self.followers.iter().filter(needs) {
            let &mut (sealed, last) = self.asked.entry(follower.replica).or_insert_with(|| {
                out.send(follower.replica, Message::WriteCheckpoint);
                (self.sealed, self.epochs.last_of(follower.partition))
            });
            // One that executes the log and makes no checkpoints has rows that others may need.
            let is_late = self.sealed - sealed >= MAX_LATE * max_logged && follower.executed < last;
            if is_late && has_others(&self.followers, follower.replica) {
                self.unfit.push(follower.replica);
            }
        }
        self.unfit.sort_unstable();
        self.unfit.dedup();
    }

    fn follower(&self, replica: Address) -> Option<usize> {
        self.followers.iter().position(|follower| follower.replica == replica)
    }

    /// Sends more to those that may have more now.
    fn send_again(&mut self, now_us: u64, out: &mut Outbox) {
        for at in 0..self.followers.len() {
            let Follower { replica, again, .. } = self.followers[at];
            if let Some(after) = again.after.filter(|_| self.may_have_more(again, now_us)) {
                self.followers[at].again.after = None;
                self.resume(replica, after, now_us, out);
            }
        }
    }

    /// The connection of a replica broke.
    pub(crate) fn note_cut(&mut self, replica: Address) {
        if let Some(at) = self.follower(replica) {
            self.followers[at].is_cut = true;
        }
    }

    fn may_have_more(&self, again: Again, now_us: u64) -> bool {
        now_us >= again.at_us || self.sealed_bytes >= again.at_bytes
    }

    /// A replica asks for the inputs after an epoch.
    fn resume(&mut self, from: Address, after: u64, now_us: u64, out: &mut Outbox) {
        let Some(at) = self.follower(from) else { return };
        let partition = self.followers[at].partition;
        if let Some(why) = self.halted.get(&(partition as u8)).cloned() {
            return self.stop(from, why, out);
        }
        // Of several sequencers, each has one epoch of so many.
        let next = after.saturating_add(self.clock.map_or(0, |(_, count)| count - 1));
        if next < self.epochs.purged(partition as u8) {
            return self.stop(from, StopReason::Behind { after }, out);
        }
        if after > self.epochs.last && has_others(&self.followers, from) {
            return self.stop(from, StopReason::Ahead { after, last: self.epochs.last }, out);
        }
        if after > self.epochs.last {
            self.broken = Some(format!(
                "{from} has executed epoch {after} of the input log, and this log ends at epoch {}: its directory is \
                 an older copy; start with the newest one",
                self.epochs.last
            ));
            return;
        }
        if !self.may_have_more(self.followers[at].again, now_us) {
            self.followers[at].again.after = Some(after);
            return;
        }
        self.followers[at].is_cut = false;
        let works = |it: &Follower| it.partition == partition && it.replica != from && it.sent.is_some() && !it.is_cut;
        let is_alone = !self.followers.iter().any(works);
        // Each request may wait for an epoch: then more inputs are sent than have come.
        let come = self.followers[at].again.sealed.map_or(0, |sealed| self.sealed - sealed);
        let at_once = self.order.again_at_once(is_alone).max((come as f64 / GROWN_BETWEEN) as usize);
        self.followers[at].again = Again::default();
        let (mut before, mut left, mut bytes) = (after, at_once, 0);
        for sealed in self.epochs.after(after) {
            let Some(mut batch) = sealed.batch(from, partition, before) else { continue };
            before = sealed.epoch;
            left = left.saturating_sub(batch.inputs.len());
            bytes += sealed.bytes();
            let is_full = left == 0 || bytes >= AGAIN_BYTES;
            batch.has_more = is_full;
            if has_others(&self.followers, from) {
                // It is compared with the others, not with what it was before.
                batch.digests.clear();
            }
            self.log.send_when_decided(from, Message::Inputs(batch), out);
            if is_full {
                // It asks for the rest.
                self.followers[at].sent = None;
                // It waits if others of its partition have work to do.
                if !is_alone {
                    let at_us = now_us + self.order.pause_after_inputs_us(bytes);
                    let grown = (GROWN_BETWEEN * bytes as f64) as u64;
                    let (at_bytes, sealed) = (self.sealed_bytes + grown, Some(self.sealed));
                    self.followers[at].again = Again { at_us, at_bytes, sealed, after: None };
                }
                return;
            }
        }
        // It lacks nothing more, and learns that it does not.
        let upto = if self.clock.is_some() { self.epochs.last } else { before };
        self.log.send_when_decided(from, Message::Inputs(InputBatch::empty(before, upto)), out);
        before = upto;
        let is_new = self.followers[at].sent.replace(before).is_none();
        if is_new && has_others(&self.followers, from) {
            // It reports again what it executes again; the rest a predecessor may not have compared.
            self.epochs.forget_digests(from, after);
            self.compare_all(partition as u8, now_us, out);
        }
    }

    /// A partition has executed the inputs of an epoch that are on it alone.
    fn note_executed_own(&mut self, from: Address, epoch: u64) {
        if let Some(at) = self.follower(from) {
            let unexecuted = &mut self.followers[at].unexecuted;
            if let Ok(at) = unexecuted.binary_search_by_key(&epoch, |(epoch, ..)| *epoch) {
                unexecuted.remove(at);
            }
        }
    }

    /// A replica has executed an epoch.
    fn note_executed(&mut self, from: Address, epoch: u64, digests: Digests, now_us: u64, out: &mut Outbox) {
        self.note_executed_own(from, epoch);
        // Of one replica set, an epoch that changed nothing is compared with nothing.
        let has_others = has_others(&self.followers, from);
        let is_compared = !digests.is_empty() || has_others;
        let Some(at) = self.follower(from) else { return };
        self.followers[at].executed = epoch.max(self.followers[at].executed);
        if !is_compared {
            return;
        }
        if self.epochs.note_digests(epoch, from, digests.clone()) {
            self.notes.push(Entry::Digests(epoch, (from, self.followers[at].since), digests));
        }
        if has_others {
            // Known digests too: a replica that was stopped may have been started again.
            self.compare(epoch, self.followers[at].partition as u8, now_us, out);
        }
    }

    /// A replica needs no inputs up to an epoch any more.
    fn truncate(&mut self, from: Address, epoch: u64, now_us: u64, out: &mut Outbox) {
        let Some(at) = self.follower(from) else { return };
        if self.followers[at].noted_checkpoint.replace(epoch) == Some(epoch) {
            // The answer of one that was asked, and has none that is later: it would be asked and answer for ever.
            return;
        }
        self.followers[at].unexecuted.retain(|(other, ..)| *other > epoch);
        self.compare_upto(self.followers[at].partition as u8, epoch, now_us, out);
        self.epochs.note_checkpoint(from, epoch);
        self.asked.remove(&from);
        self.shorten(out);
        let note = Entry::Checkpointed((from, self.followers[at].since), epoch);
        if has_others(&self.followers, from) {
            // A replica that has joined owes nothing from then on.
            self.log.propose(|| note, out);
        } else {
            self.notes.push(note);
        }
    }

    /// Whether a replica has said what it has, and goes on from there.
    pub(crate) fn has_resumed(&self, replica: Address) -> bool {
        self.follower(replica).is_some_and(|at| self.followers[at].sent.is_some())
    }

    /// The replicas of a partition.
    pub(super) fn replicas_of(&self, partition: u8) -> Vec<Address> {
        let of_it = self.followers.iter().filter(|it| it.partition == usize::from(partition));
        of_it.map(|it| it.replica).collect()
    }

    /// Stops a replica. If there are others of its partition, it is left out until it has taken the rows of one.
    pub(super) fn stop(&mut self, replica: Address, why: StopReason, out: &mut Outbox) {
        // Another one has rows that can be taken.
        let others = self.replicas_of(replica.partition().unwrap_or_default()).into_iter();
        let is_source = |other: Address| other != replica && self.has_resumed(other) && !self.unfit.contains(&other);
        let may_join = matches!(why, StopReason::Behind { .. } | StopReason::Differs { .. });
        let joins = may_join && others.into_iter().any(is_source);
        if joins && !self.unfit.contains(&replica) {
            self.unfit.push(replica);
        }
        if let (Some(at), false) = (self.follower(replica), joins) {
            self.followers[at].sent = None;
        }
        self.log.send_when_decided(replica, Message::Stop { why: Box::new(why), joins }, out);
    }
}
