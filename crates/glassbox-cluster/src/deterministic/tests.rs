//! The sequencer's log: epochs that count on, partitions that ask for it again, and its length.

use glassbox::record::Timestamp;
use glassbox::research::shard::{Call, DeclaredKeys, KeyRequest, PartitionSet, Shard, Stamp, Touch, WatchedKey};
use glassbox_workloads::micro::{ReadWrite, catalog};

use super::epoch_log::EpochLog;
use super::executor::Executor;
use super::hot_backup::HotBackup;
use super::sequencer::Sequencer;
use crate::protocol::address::Address;
use crate::protocol::configuration::{Configuration, SchedulerKind, SchemeKind};
use crate::protocol::entry::{Base, Entry};
use crate::protocol::input::{Exchange, ExchangeContent, Input, InputBatch, InputId, InputKeys, OrderSettings};
use crate::protocol::message::{FragmentWork, Message, Outcome, ReconnaissanceRequest, StopReason, Submission};
use crate::protocol::outbox::{Action, Outbox};

const SCHEME: SchemeKind = SchemeKind::Deterministic(SchedulerKind::Serial);
const ME: Address = Address::Coordinator(0);
const CLIENT: Address = Address::Client(1);

fn partition(partition: u8) -> Address {
    Address::Replica { partition, replica: 0 }
}

fn configuration() -> Configuration {
    Configuration::first(2, 1, SCHEME)
}

/// A sequencer with its journal: the entries of the stream, and the messages to partitions.
struct Logged {
    sequencer: Sequencer,
    entries: Vec<(u64, Entry)>,
    sent: Vec<(Address, InputBatch)>,
    /// Replicas that were told that they lack nothing more.
    complete: Vec<Address>,
    asked: Vec<Address>,
    stopped: Vec<Address>,
    base: Option<Base>,
}

impl Logged {
    fn new(sequencer: Sequencer) -> Self {
        Self {
            sequencer,
            entries: Vec::new(),
            sent: Vec::new(),
            complete: Vec::new(),
            asked: Vec::new(),
            stopped: Vec::new(),
            base: None,
        }
    }

    fn begun() -> Self {
        Self::begun_in(&configuration())
    }

    fn begun_in(configuration: &Configuration) -> Self {
        let mut logged = Self::new(Sequencer::new(ME, configuration));
        let mut out = Outbox::default();
        logged.sequencer.begin_journal(ME, &mut out);
        logged.carry_out(out);
        logged
    }

    fn handle(&mut self, from: Address, message: Message) {
        let mut out = Outbox::default();
        self.sequencer.handle(from, message, 7, &mut out);
        self.carry_out(out);
    }

    /// Everything is forced at once.
    fn carry_out(&mut self, out: Outbox) {
        for action in out.actions {
            match action {
                Action::Send(to, Message::Replicate { sequence, entry }) if to == ME => {
                    self.entries.push((sequence, *entry));
                    self.handle(ME, Message::Ack { sequence });
                }
                Action::Send(to, Message::Inputs(batch)) if batch.inputs.is_empty() => self.complete.push(to),
                Action::Send(to, Message::Inputs(batch)) => self.sent.push((to, *batch)),
                Action::Send(to, Message::WriteCheckpoint) => self.asked.push(to),
                Action::Send(to, Message::Stop { .. }) => self.stopped.push(to),
                Action::Base(base) => {
                    self.entries.clear();
                    self.base = Some(*base);
                }
                Action::Send(..) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn submit(&mut self, participants: PartitionSet, keys: InputKeys) {
        self.submit_with(participants, keys, vec![1]);
    }

    fn submit_with(&mut self, participants: PartitionSet, keys: InputKeys, arguments: Vec<u8>) {
        let call = Call { procedure: 0, arguments: arguments.into(), now: Timestamp::default(), seed: 0 };
        let (shared, before) = (Vec::new(), None);
        let submission = Submission { id: 1, call, participants, shared, before, attempt: 1, version: 1, keys };
        self.handle(CLIENT, Message::Submit(Box::new(submission)));
    }

    fn submit_to(&mut self, partition: usize) {
        self.submit(PartitionSet::of(partition), InputKeys::Declared);
    }

    /// A successor that reads the journal.
    fn restarted(self) -> Self {
        let base = self.base.expect("it has a journal");
        let mut log = HotBackup::new(ME, base.held).with_journal(ME);
        base.remembered.into_iter().for_each(|entry| log.remember(entry).unwrap());
        self.entries.into_iter().for_each(|(sequence, entry)| log.append(sequence, entry).unwrap());
        let mut out = Outbox::default();
        let next = configuration().resume(&[ME], &[], &[]);
        Self::new(Sequencer::succeeding(ME, &next, log, &mut out))
    }

    fn epochs(&self, of: u8) -> Vec<(u64, u64)> {
        self.sent.iter().filter(|(to, _)| *to == partition(of)).map(|(_, it)| (it.before, it.epoch)).collect()
    }
}

#[test]
fn epochs_count_on_after_a_restart_whatever_the_base_still_has() {
    let mut logged = Logged::begun();
    [0, 1, 0, 0].into_iter().for_each(|partition| logged.submit_to(partition));
    assert_eq!((logged.epochs(0), logged.epochs(1)), (vec![(0, 1), (1, 3), (3, 4)], vec![(0, 2)]));
    // The log is kept for partition 1 only; then a base is written.
    logged.handle(partition(0), Message::Checkpointed(4));
    let mut out = Outbox::default();
    logged.sequencer.renew_base(&mut out);
    logged.carry_out(out);
    let mut logged = logged.restarted();
    logged.submit_to(0);
    assert!(logged.sent.is_empty(), "it has not said what it has");
    logged.handle(partition(0), Message::ResumeAfter(4));
    logged.handle(partition(1), Message::ResumeAfter(0));
    assert_eq!((logged.epochs(0), logged.epochs(1)), (vec![(4, 5)], vec![(0, 2)]));
    assert_eq!(logged.complete, [partition(0), partition(1)], "each is told that this is all");
    assert_eq!(logged.sent[0].1.sealed_in, 2, "this sequencer has sealed it");
    assert_eq!(logged.sent[1].1.sealed_in, 0, "a predecessor has");
}

/// Its rows are older than those of others.
#[test]
fn a_recovered_partition_is_idle_once_it_was_told_that_it_lacks_nothing() {
    let shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
    let (kind, base, mut out) = (SchedulerKind::Vll, (4, Vec::new()), Outbox::default());
    let mut executor = Executor::recovered(partition(0), shard, kind, &configuration(), base, &mut out);
    assert!(!executor.is_idle());
    executor.handle(ME, Message::Inputs(InputBatch::empty(4, 4)), &mut out);
    assert!(executor.is_idle());
}

#[test]
fn a_stopped_replica_stays_stopped_when_its_checkpoint_ends() {
    for is_written in [false, true] {
        let shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
        let mut out = Outbox::default();
        let base = (4, Vec::new());
        let vll = SchedulerKind::Vll;
        let mut executor = Executor::recovered(partition(0), shard, vll, &configuration(), base, &mut out);
        executor.handle(ME, Message::Inputs(InputBatch::empty(4, 4)), &mut out);
        executor.begin_journal(&mut out);
        let why = StopReason::Behind { after: 4 };
        executor.handle(ME, Message::Stop { why: Box::new(why), joins: false }, &mut out);
        let stopped = executor.broken().expect("it has stopped").to_owned();
        if is_written {
            executor.based(&mut out)
        } else {
            executor.base_failed()
        }
        assert_eq!(executor.broken(), Some(&stopped[..]));
    }
}

/// The other one's refusal may be kept by replicas of another set alone, and be lost with them; and the client may wait
/// for this one: the other one does not answer inputs from before its restart.
#[test]
fn a_participant_that_ends_by_the_refusal_of_another_one_passes_it_on_and_answers_the_client() {
    let shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
    let stamp = Stamp { procedure: 0, now: Timestamp::default(), seed: 0 };
    let keys = [(0, 1), (1, 1)].into_iter().collect();
    // Rows of the other partition are missing, so it has not voted.
    let call = Call::new(ReadWrite { keys, stamp: 1, aborts_at: None, two_rounds: true }, stamp);
    let participants = PartitionSet::all(2);
    let keys = InputKeys::Declared;
    let version = shard.version(&call).unwrap();
    let input = Input { index: 0, client: CLIENT, call_id: 1, attempt: 1, call, version, participants, keys };
    let mut out = Outbox::default();
    let base = (4, Vec::new());
    let kind = SchedulerKind::Vll;
    let mut executor = Executor::recovered(partition(0), shard, kind, &configuration(), base, &mut out);
    executor.handle(ME, Message::Inputs(InputBatch::of(&[input], 0, (4, 5, 1)).unwrap()), &mut out);
    let outcome = Outcome::Elsewhere(PartitionSet::of(3));
    let refusal = |from| {
        let content = ExchangeContent::Refusal(Box::new(outcome.clone()));
        Message::Exchange(Box::new(Exchange { input: InputId { epoch: 5, index: 0 }, from, content }))
    };
    out.actions.clear();
    executor.handle(partition(1), refusal(1), &mut out);
    let sent = |to: Address, message: &Message| {
        let is_it = |action: &&Action| matches!(action, Action::Send(at, it) if (*at, it) == (to, message));
        out.actions.iter().filter(is_it).count()
    };
    assert_eq!(sent(partition(1), &refusal(0)), 1, "{:?}", out.actions);
    let answer = Message::PartialAnswer { id: 1, attempt: 1, outcome: outcome.clone() };
    assert_eq!(sent(CLIENT, &answer), 1, "{:?}", out.actions);
}

/// Clients take the first answer of a partition's replicas.
#[test]
fn a_replica_that_lacks_inputs_is_asked_for_keys_in_vain_until_it_has_them() {
    let shard = Shard::new(&catalog(), 0, 2, 1 << 20).unwrap();
    let (kind, base, mut out) = (SchedulerKind::Vll, (4, Vec::new()), Outbox::default());
    let mut executor = Executor::recovered(partition(0), shard, kind, &configuration(), base, &mut out);
    let answered = |out: &mut Outbox| -> Vec<u64> {
        let answer = |action| match action {
            Action::Send(CLIENT, Message::Reconnoitred(result)) if result.partition == 0 => Some(result.id),
            _ => None,
        };
        out.actions.drain(..).filter_map(answer).collect()
    };
    let ask = |id| {
        let call = Call { procedure: 0, arguments: vec![1].into(), now: Timestamp::default(), seed: 0 };
        let work = FragmentWork::Run(Vec::new());
        let request = ReconnaissanceRequest { id, round: 1, call, participants: PartitionSet::of(0), work };
        Message::Reconnoitre(Box::new(request))
    };
    executor.handle(CLIENT, ask(0), &mut out);
    executor.handle(CLIENT, ask(1), &mut out);
    assert!(answered(&mut out).is_empty());
    executor.handle(ME, Message::Inputs(InputBatch::empty(4, 4)), &mut out);
    assert_eq!(answered(&mut out), [0, 1]);
    executor.handle(CLIENT, ask(2), &mut out);
    assert_eq!(answered(&mut out), [2]);
    // It never has many that wait: the oldest is answered from the rows as they are.
    executor.handle(ME, Message::ResumeAfter(0), &mut out);
    (0..1_025).for_each(|id| executor.handle(CLIENT, ask(id), &mut out));
    assert_eq!(answered(&mut out), [0]);
}

#[test]
fn a_long_log_is_sent_again_piece_by_piece() {
    let mut logged = Logged::begun();
    (0..10_000).for_each(|_| logged.submit_to(0));
    logged.sent.clear();
    let mut after = 0;
    let mut pieces = 0;
    loop {
        logged.handle(partition(0), Message::ResumeAfter(after));
        pieces += 1;
        let (_, last) = logged.sent.last().unwrap();
        after = last.epoch;
        // New epochs wait until it has the former ones.
        logged.submit_to(0);
        if !logged.sent.last().unwrap().1.has_more {
            break;
        }
    }
    let epochs = logged.epochs(0);
    assert!(epochs.iter().zip(1..).all(|(epoch, next)| *epoch == (next - 1, next)), "without a gap");
    assert_eq!((pieces, epochs.len()), (3, 10_003));
}

/// More would not fit into what a connection may have unread, and the channel would be lost.
#[test]
fn a_piece_of_a_long_log_has_few_megabytes() {
    let mut logged = Logged::begun();
    for _ in 0..100 {
        logged.submit_with(PartitionSet::of(0), InputKeys::Declared, vec![0; 100 << 10]);
    }
    logged.sent.clear();
    logged.handle(partition(0), Message::ResumeAfter(0));
    assert_eq!(logged.sent.len(), 41, "4 MiB, and what is begun");
    let marked: Vec<_> = logged.sent.iter().filter(|(_, batch)| batch.has_more).map(|(_, batch)| batch.epoch).collect();
    assert_eq!(marked, [41]);
}

/// Random inputs and checkpoints of two partitions with two replicas each.
#[test]
fn the_log_has_what_a_replica_needs_and_little_more() {
    let (mut log, mut dice) = (EpochLog::new(2), 7_u64);
    let mut below = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    let mut checkpoints = [[0_u64; 2]; 2];
    let all = [PartitionSet::of(0), PartitionSet::of(1), PartitionSet::all(2)];
    let mut epochs = Vec::new();
    for epoch in 1..3_000 {
        let participants = all[below(3) as usize];
        let call = Call { procedure: 0, arguments: vec![1].into(), now: Timestamp::default(), seed: 0 };
        let (keys, client) = (InputKeys::Declared, CLIENT);
        let input = Input { index: 0, client, call_id: epoch, attempt: 1, call, version: 1, participants, keys };
        log.apply(Entry::Inputs(epoch, vec![input])).unwrap();
        epochs.push((epoch, participants));
        let (partition, replica) = (below(2) as usize, below(2) as usize);
        // The last replica is away for a long time, and then the other ones of its partition are.
        let is_away = if epoch < 1_500 { (partition, replica) == (1, 1) } else { partition == 0 };
        if !is_away {
            let checkpoint = &mut checkpoints[partition][replica];
            *checkpoint += below(epoch - *checkpoint + 1);
            let address = Address::Replica { partition: partition as u8, replica: replica as u8 };
            log.note_checkpoint(address, *checkpoint);
        }
        let is_needed = |(epoch, participants): &(u64, PartitionSet)| {
            participants.iter().any(|at| checkpoints[at].iter().any(|it| it < epoch))
        };
        epochs.retain(is_needed);
        assert!(epochs.iter().all(|(epoch, _)| log.sealed(*epoch).is_some_and(|it| it.inputs().len() == 1)));
        // And the last one, and empty places.
        assert!(log.inputs <= epochs.len() + 1 && log.epochs.len() <= 2 * epochs.len() + 2, "epoch {epoch}");
    }
    assert_eq!(log.base_bytes() as usize, log.epochs.iter().map(|it| it.bytes()).sum::<usize>());
}

/// While another replica of the partition works, it is sent little at once.
#[test]
fn a_replica_that_is_cut_off_slows_no_other_one_down() {
    let at_once = |is_cut: bool| {
        let mut logged = Logged::begun_in(&Configuration::first(2, 2, SCHEME));
        (0..10_000).for_each(|_| logged.submit_to(0));
        if is_cut {
            logged.sequencer.note_cut(partition(0));
        }
        logged.sent.clear();
        logged.handle(Address::Replica { partition: 0, replica: 1 }, Message::ResumeAfter(0));
        logged.sent.len()
    };
    assert_eq!([false, true].map(at_once), [64, 4_096]);
}

/// The replica was stopped at each tick, and the next tick was due at once, for ever.
#[test]
fn a_replica_that_waits_for_more_of_the_log_is_stopped_once() {
    let mut logged = Logged::begun_in(&Configuration::first(2, 2, SCHEME));
    logged.sequencer.set_order(OrderSettings { catch_up_mb_s: 1, ..OrderSettings::new() });
    (0..200).for_each(|_| logged.submit_to(0));
    logged.sent.clear();
    let waiting = Address::Replica { partition: 0, replica: 1 };
    logged.handle(waiting, Message::ResumeAfter(0));
    let (_, last) = logged.sent.pop().unwrap();
    assert!(last.has_more);
    logged.handle(waiting, Message::ResumeAfter(last.epoch));
    let input = last.inputs[0].clone();
    let mut out = Outbox::default();
    logged.sequencer.halt(0, &StopReason::Undecided { epoch: 1, input }, &mut out);
    logged.carry_out(std::mem::take(&mut out));
    logged.stopped.clear();
    let due_us = logged.sequencer.next_tick_us().expect("it waits for more");
    logged.sequencer.tick(due_us, &mut out);
    logged.carry_out(out);
    assert_eq!(logged.stopped, [waiting]);
    assert_eq!(logged.sequencer.next_tick_us(), None);
}

#[test]
fn digests_and_too_many_keys() {
    let mut logged = Logged::begun();
    logged.submit_to(0);
    logged.handle(partition(0), Message::Executed(1, vec![(0, 77)]));
    let key = |number| KeyRequest {
        space: 0,
        low: WatchedKey::Short(number),
        high: WatchedKey::Short(number),
        touch: Touch::Write,
    };
    let many = DeclaredKeys::found((0..20_000).map(key).collect());
    logged.submit(PartitionSet::of(0), InputKeys::Found(vec![(0, many)]));
    let mut logged = logged.restarted();
    logged.handle(partition(0), Message::ResumeAfter(0));
    let batches: Vec<_> = logged.sent.iter().map(|(_, batch)| batch).collect();
    assert_eq!(batches[0].digests, [(0, 77)], "they are logged with the next epoch");
    let all = KeyRequest { space: 0, low: WatchedKey::Short(0), high: WatchedKey::End, touch: Touch::Write };
    let keys = InputKeys::Found(vec![(0, DeclaredKeys::found(vec![all]))]);
    assert_eq!((batches[1].digests.len(), &batches[1].inputs[0].keys), (0, &keys), "their table is locked whole");
}

#[test]
fn a_partition_for_which_a_long_log_is_kept_is_asked_for_a_checkpoint() {
    let mut logged = Logged::begun();
    logged.submit_to(1);
    for _ in 0..(1 << 19) + 10 {
        logged.submit_to(0);
        logged.entries.clear();
        logged.sent.clear();
    }
    assert_eq!(logged.asked, [partition(1)]);
    // It has none that is later than the one that is known: it is not asked again and again.
    for _ in 0..3 {
        logged.handle(partition(1), Message::Checkpointed(0));
        logged.submit_to(0);
    }
    assert_eq!(logged.asked, [partition(1); 2]);
}

#[test]
fn a_partition_that_is_ahead_of_the_log_stops_the_sequencer() {
    let mut logged = Logged::begun();
    logged.submit_to(0);
    logged.handle(partition(0), Message::ResumeAfter(1));
    assert_eq!(logged.sequencer.broken(), None);
    logged.handle(partition(0), Message::ResumeAfter(2));
    let why = logged.sequencer.broken().unwrap().to_owned();
    assert!(why.contains("epoch 2") && why.contains("ends at epoch 1"), "{why}");
    let sent = logged.sent.len();
    logged.submit_to(1);
    assert_eq!(logged.sent.len(), sent);
}

/// The epochs that sequencer 1 of 2 seals at these times of its clock.
fn sealed(sequencer: &mut Sequencer, times_us: &[u64]) -> Vec<u64> {
    let mut epochs = Vec::new();
    for &now_us in times_us {
        let mut out = Outbox::default();
        sequencer.tick(now_us, &mut out);
        for action in out.actions {
            if let Action::Send(to, Message::Replicate { entry, .. }) = action
                && to == Address::Coordinator(1)
                && let Entry::Inputs(epoch, inputs) = *entry
            {
                assert!(inputs.is_empty());
                epochs.push(epoch);
            }
        }
    }
    epochs
}

#[test]
fn a_restarted_sequencer_whose_clock_is_behind_waits_until_it_has_passed_its_promise() {
    let (me, configuration) = (Address::Coordinator(1), configuration().with_clocks(2));
    let mut fast = Sequencer::new(me, &configuration);
    fast.begin_journal(me, &mut Outbox::default());
    assert_eq!(sealed(&mut fast, &[3, 9_999, 10_001, 50_000]), [20_001, 100_001]);
    // Its machine was an hour ahead of the others.
    let mut log = HotBackup::new(me, 0).with_journal(me);
    log.append(1, Entry::Inputs(2 * 3_600_050_000 + 1, Vec::new())).unwrap();
    let mut slow = Sequencer::succeeding(me, &configuration, log, &mut Outbox::default());
    let times = [60_000, 70_000, 3_600_040_000, 3_600_050_001, 3_600_060_001, 3_600_070_003];
    assert_eq!(sealed(&mut slow, &times), [7_200_120_001, 7_200_140_001]);
}
