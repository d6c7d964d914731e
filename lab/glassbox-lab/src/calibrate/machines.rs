//! What each kind of work takes: machines by themselves, the queues between them, and round trips.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox::research::shard::{Output, PartitionSet};
use glassbox_cluster::run::{Cluster, Shape};
use glassbox_cluster::{
    Action, Address, Configuration, Coordinator, Fragment, FragmentEnd, FragmentResult, FragmentWork, InputKeys,
    Message, Outbox, Packet, Partition, Router, SchemeKind, Session, Submission, TxnId,
};
use glassbox_sim::cluster::{ALL, Load, Micro};
use glassbox_workloads::micro::{ReadWrite, Seen, catalog};

use super::calls::{CalibratedBenchmark, CallGenerator, CallKind};
use super::costs::CostSample;
use crate::real::drive::{CLIENTS, Threading, Trial, run, shard};

const CLIENT: Address = Address::Client(0);
const COORDINATOR: Address = Address::Coordinator(0);
/// A round trip that is shorter than the work of forty clients on one thread.
const SHORT: Duration = Duration::from_micros(2);
/// Pieces of work of one kind that are timed together.
const BATCH: usize = 32;

/// A partition without a thread, and its times.
struct PartitionBench {
    partition: Partition,
    out: Outbox,
    next: u64,
}

impl PartitionBench {
    fn new(workload: CalibratedBenchmark, scheme: SchemeKind) -> anyhow::Result<Self> {
        let partition = Partition::new(workload.shard()?, scheme, &[]);
        Ok(Self { partition, out: Outbox::default(), next: 0 })
    }

    /// The time that it takes to handle messages, with all actions that follow.
    fn handle(&mut self, messages: Vec<(Address, Message)>) -> Duration {
        let began = Instant::now();
        for (from, message) in messages {
            self.partition.handle(from, message, &mut self.out);
        }
        while self.partition.proceed(&mut self.out) {}
        let took = began.elapsed();
        // The recipients of its messages are not part of the measurement.
        self.out.actions.clear();
        took
    }

    fn singles(&mut self, draw: &mut CallGenerator) -> Duration {
        self.handle((0..BATCH).map(|_| (CLIENT, draw.message())).collect())
    }

    fn fragment(&mut self, draw: &mut CallGenerator) -> Message {
        let txn = TxnId { coordinator: COORDINATOR, sequence: self.next };
        self.next += 1;
        let work = FragmentWork::Run(Vec::new());
        let (call, settled) = (draw.call(), txn.sequence);
        Message::Fragment(Box::new(Fragment {
            txn,
            round: 0,
            call,
            participants: PartitionSet::all(2),
            work,
            settled,
            place: 0,
            before: None,
        }))
    }

    fn decide(&mut self, commit: bool) -> Duration {
        let txn = TxnId { coordinator: COORDINATOR, sequence: self.next - 1 };
        self.handle(vec![(COORDINATOR, Message::Decide { txn, commit })])
    }
}

/// The times of batches of one kind. The machine may be interrupted during one, so the result is the median.
struct BatchTimes(Vec<Duration>);

impl BatchTimes {
    fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    /// The median time of a piece of work.
    fn each_ns(mut self) -> f64 {
        self.0.sort_unstable();
        self.0[self.0.len() / 2].as_nanos() as f64 / BATCH as f64
    }
}

/// Measures everything once, with so many batches of each kind: of the microbenchmark; of TPC-C, whose messages cost
/// the same as the microbenchmark's; and of the microbenchmark with all machines on one thread, without and with
/// delayed messages.
pub(super) fn measure(batches: usize) -> anyhow::Result<[CostSample; 4]> {
    let (client, coordinator_message) = (client(batches)?, coordinator(batches)?);
    let run = |threads, round_trip, partitions| through_queues(threads, round_trip, partitions, batches);
    let (slower, both) = (run(Threading::Many, Duration::ZERO, 1)?, run(Threading::One, Duration::ZERO, 1)?);
    let (late, several) = (run(Threading::One, SHORT, 1)?, run(Threading::One, Duration::ZERO, 2)?);
    let micro = CostSample { client, coordinator_message, ..partition(CalibratedBenchmark::Micro, batches)? };
    // On one thread a message costs the client and the partition one half each.
    let [on_one, on_one_late] = [both, late].map(|it| ((it - client - micro.single) / 2.0).max(0.0));
    let parts = client + 2.0 * (micro.fragment + micro.decision) + 8.0 * coordinator_message;
    // In a transaction on two partitions, the partitions have six halves of a message, the coordinator eight, the
    // client two.
    let several_message = ((several - parts - 8.0 * on_one) / 7.0).max(0.0);
    let message = (slower - client.max(micro.single)).max(0.0);
    let micro = CostSample { several_message, ..micro };
    let of_tpcc = partition(CalibratedBenchmark::Tpcc, batches)?;
    let tpcc = CostSample { client, coordinator_message, several_message, message, ..of_tpcc };
    let with = |message| CostSample { message, ..micro };
    Ok([with(message), tpcc, with(on_one), with(on_one_late)])
}

/// The costs of a partition's work, without messages, coordinator and client.
fn partition(workload: CalibratedBenchmark, batches: usize) -> anyhow::Result<CostSample> {
    let [mut one, mut both, mut aborting] =
        [CallKind::One, CallKind::Both, CallKind::Aborting].map(|it| workload.draw(it));
    let bench = |scheme| PartitionBench::new(workload, scheme);
    let (mut blocking, mut forced) = (bench(SchemeKind::Blocking)?, bench(SchemeKind::ForcedLocking)?);
    let mut speculating = bench(SchemeKind::Speculation)?;
    let [mut single, mut locked, mut locked_fragment, mut stopped, mut fragment, mut decision] =
        [const { BatchTimes(Vec::new()) }; 6];
    let [mut speculative, mut undoing] = [const { BatchTimes(Vec::new()) }; 2];
    // Locks are acquired among those of other transactions.
    for mut other in workload.others() {
        let next = forced.fragment(&mut other);
        forced.handle(vec![(COORDINATOR, next)]);
    }
    for _ in 0..batches {
        single.add(blocking.singles(&mut one));
        locked.add(forced.singles(&mut one));
        stopped.add(blocking.singles(&mut aborting));
        let mut running = Duration::ZERO;
        for _ in 0..BATCH {
            let next = forced.fragment(&mut both);
            running += forced.handle(vec![(COORDINATOR, next)]) + forced.decide(true);
        }
        locked_fragment.add(running);
        let [mut running, mut deciding] = [Duration::ZERO; 2];
        for _ in 0..BATCH {
            let next = blocking.fragment(&mut both);
            running += blocking.handle(vec![(COORDINATOR, next)]);
            deciding += blocking.decide(true);
        }
        fragment.add(running);
        decision.add(deciding);
        for commit in [true, false] {
            let next = speculating.fragment(&mut both);
            speculating.handle(vec![(COORDINATOR, next)]);
            let ran = speculating.singles(&mut one);
            let ended = speculating.decide(commit);
            if commit {
                speculative.add(ran + ended);
            } else {
                undoing.add(ended);
            }
        }
    }
    let clock = clock_ns();
    let (single, decision) = (single.each_ns(), (decision.each_ns() - clock).max(0.0));
    let speculative = speculative.each_ns() - decision / BATCH as f64;
    let fragment = (fragment.each_ns() - clock).max(0.0);
    // A fragment's locks are released with its decision.
    let locked_fragment = locked_fragment.each_ns() - 2.0 * clock - decision;
    Ok(CostSample {
        single,
        speculative,
        fragment,
        decision,
        locks: (locked.each_ns() - speculative).max(0.0),
        fragment_locks: (locked_fragment - fragment).max(0.0),
        stopped: stopped.each_ns(),
        // All are undone, and then run without undo information.
        undo: (undoing.each_ns() - single - decision / BATCH as f64).max(0.0),
        coordinator_message: 0.0,
        client: 0.0,
        message: 0.0,
        several_message: 0.0,
    })
}

/// The cost of reading the clock twice.
fn clock_ns() -> f64 {
    let began = Instant::now();
    let looked: Duration = (0..1_000).map(|_| black_box(Instant::now()).elapsed()).sum();
    black_box(looked);
    began.elapsed().as_nanos() as f64 / 2_000.0
}

/// A client's part of a transaction on one partition: to draw it, to call, and to receive the answer.
fn client(batches: usize) -> anyhow::Result<f64> {
    let (mut micro, mut out) = (Micro::new(5, 2, Load::default(), 1), Outbox::default());
    let mut router = Router::new(CLIENT, Arc::new(catalog()), Configuration::first(2, 1, SchemeKind::Blocking), 0);
    let mut all = BatchTimes(Vec::new());
    let partition = Address::Replica { partition: 0, replica: 0 };
    for _ in 0..batches {
        let mut calls = VecDeque::new();
        let began = Instant::now();
        for _ in 0..BATCH {
            calls.push_back(router.call(micro.draw(), 1, 1, &mut out)?);
        }
        let mut took = began.elapsed();
        out.actions.clear();
        let answer = |id| Message::Answer {
            id,
            outcome: glassbox_cluster::Outcome::Done([(0, Output::of(Seen::new()))].into_iter().collect()),
        };
        let answers: Vec<_> = calls.into_iter().map(|id| Packet { epoch: 1, message: answer(id) }).collect();
        let began = Instant::now();
        for packet in answers {
            for id in router.handle(partition, packet, 1, &mut out) {
                let answered = router.take(id).expect("it has ended");
                _ = black_box(answered.output::<ReadWrite>()?);
            }
        }
        took += began.elapsed();
        all.add(took);
    }
    Ok(all.each_ns())
}

/// The cost of each of the eight messages that a coordinator handles for a transaction on two partitions.
fn coordinator(batches: usize) -> anyhow::Result<f64> {
    let primaries: Vec<_> = (0..2).map(|partition| Address::Replica { partition, replica: 0 }).collect();
    let mut coordinator = Coordinator::new(Session { of: COORDINATOR, number: 0 }, primaries);
    let (mut draw, mut out) = (CalibratedBenchmark::Micro.draw(CallKind::Both), Outbox::default());
    let (mut all, mut acknowledged) = (BatchTimes(Vec::new()), 0);
    for _ in 0..batches {
        let submissions: Vec<_> = (0..BATCH as u64)
            .map(|id| Submission {
                id,
                call: draw.call(),
                participants: PartitionSet::all(2),
                shared: Vec::new(),
                before: None,
                attempt: 0,
                version: 0,
                keys: InputKeys::Declared,
            })
            .collect();
        let began = Instant::now();
        submissions.into_iter().for_each(|submission| coordinator.submit(CLIENT, submission, 1, &mut out));
        let mut took = began.elapsed();
        let result = |(partition, txn): (u8, TxnId)| {
            let end = FragmentEnd::Done(Output::of(Seen::new()));
            FragmentResult { txn, round: 0, partition, end, after: None, received: acknowledged }
        };
        let sent = out.actions.drain(..).filter_map(|action| match action {
            Action::Send(Address::Replica { partition, .. }, Message::Fragment(it)) => Some((partition, it.txn)),
            _ => None,
        });
        let results: Vec<_> = sent.map(result).collect();
        let began = Instant::now();
        for result in results {
            for end in coordinator.on_result(result, 1, &mut out) {
                out.send(end.client, Message::Answer { id: end.id, outcome: end.outcome });
            }
        }
        took += began.elapsed();
        all.add(took);
        out.actions.clear();
        acknowledged += BATCH as u64;
    }
    Ok(all.each_ns() / 8.0)
}

/// The time of a transaction on all partitions, if all machines are always busy. On one partition, as threads: the
/// slower of client and partition, with its cost of the queues between two cores; on one thread: all of them, with the
/// queues.
fn through_queues(threads: Threading, round_trip: Duration, partitions: u8, batches: usize) -> anyhow::Result<f64> {
    let shape = Shape::new(SchemeKind::Blocking, partitions).with_round_trip(round_trip);
    let time = Duration::from_micros(500) * batches as u32;
    let (load, warm_up) = (Load { several: ALL, ..Load::default() }, time / 4);
    Ok(1e9 / run(&Trial { shape, threads, auto: false, load, clients: CLIENTS, warm_up, time, seed: 1 })?.per_second)
}

/// The injected round trips, in microseconds.
pub const INJECTED_US: [u64; 4] = [0, 10, 40, 200];

/// The median time of a call on all of so many partitions, in microseconds.
pub(super) fn round_trip(partitions: u8, injected_us: u64, calls: usize) -> anyhow::Result<f64> {
    let round_trip = Duration::from_micros(injected_us);
    let shape = Shape::new(SchemeKind::Blocking, partitions).with_round_trip(round_trip);
    let load = Load { several: ALL, ..Load::default() };
    let catalog = Arc::new(catalog());
    let cluster =
        Cluster::start(shape, Arc::clone(&catalog), |partition| shard(&catalog, partition, partitions, CLIENTS))?;
    let (mut client, mut micro) = (cluster.client().by_messages(), Micro::new(0, partitions, load, 1));
    let mut took = Vec::with_capacity(calls);
    for call in 0..calls + calls / 4 {
        let (input, began) = (micro.draw(), Instant::now());
        client.call(input)?;
        if call >= calls / 4 {
            took.push(began.elapsed());
        }
    }
    drop(client);
    cluster.stop().map_err(anyhow::Error::msg)?;
    took.sort_unstable();
    Ok(took[took.len() / 2].as_secs_f64() * 1e6)
}
