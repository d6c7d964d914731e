//! The input log, executed again: on the initial rows and on a checkpoint, by four partitions and by one, every input
//! makes the same changes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use glassbox::procedure::Procedure;
use glassbox::research::shard::{PartitionSet, Shard};
use glassbox_cluster::{
    Action, Address, Configuration, Input, InputBatch, InputId, InputKeys, Member, Message, Outbox, Packet, Router,
    SchedulerKind, SchemeKind,
};
use glassbox_workloads::tpcc::{self, Call, Home, Inputs, Kind, Mix, Remote, Scale};

const SEQUENCER: Address = Address::Coordinator(0);
const CLIENT: Address = Address::Client(0);
const CALLS: usize = 400;

fn primary(partition: u8) -> Address {
    Address::Replica { partition, replica: 0 }
}

fn shard(partition: u8, partitions: u8) -> Shard {
    Shard::new(&tpcc::distributed_catalog(), partition.into(), partitions.into(), 1 << 28).unwrap()
}

fn loaded(partition: u8, partitions: u8) -> Shard {
    let mut shard = shard(partition, partitions);
    tpcc::fill(&scale(), 0, &mut shard).unwrap();
    shard
}

fn scale() -> Scale {
    Scale { warehouses: 8, items: 100, customers: 30, orders: 30 }
}

/// A cluster in which messages arrive in the order of sending.
struct Replicas {
    members: BTreeMap<Address, Member>,
    queue: VecDeque<(Address, Address, Packet)>,
    /// For the router.
    answers: VecDeque<(Address, Packet)>,
    /// What the sequencer sent.
    log: BTreeMap<InputId, Input>,
    /// The digest of each input that has committed, over all partitions.
    digests: BTreeMap<InputId, u64>,
}

impl Replicas {
    fn new(scheduler: SchedulerKind, shards: Vec<Shard>) -> (Self, Configuration) {
        let partitions = shards.len() as u8;
        let configuration = Configuration::first(partitions, 1, SchemeKind::Deterministic(scheduler));
        let mut replicas = Self {
            members: BTreeMap::new(),
            queue: VecDeque::new(),
            answers: VecDeque::new(),
            log: BTreeMap::new(),
            digests: BTreeMap::new(),
        };
        for (partition, shard) in (0..).zip(shards) {
            let make = Arc::new(move || unreachable!("partition {partition} is not restarted"));
            let member = Member::replica(primary(partition), configuration.clone(), shard, make);
            replicas.members.insert(primary(partition), member);
        }
        let sequencer = Member::coordinator(SEQUENCER, configuration.clone(), &mut Outbox::default());
        replicas.members.insert(SEQUENCER, sequencer);
        for address in replicas.members.keys().copied().collect::<Vec<_>>() {
            // A partition reports digests for the log of its sequencer only if it can be restarted.
            let mut out = Outbox::default();
            replicas.members.get_mut(&address).unwrap().begin_journal(&mut out);
            replicas.carry_out(address, out);
        }
        replicas.run();
        (replicas, configuration)
    }

    fn carry_out(&mut self, from: Address, out: Outbox) {
        for action in out.actions {
            let Action::Send(to, message) = action else { continue };
            match &message {
                Message::Inputs(batch) => {
                    let id = |input: &Input| InputId { epoch: batch.epoch, index: input.index };
                    self.log.extend(batch.inputs.iter().map(|input| (id(input), input.clone())));
                }
                Message::Executed(epoch, digests) => {
                    for &(index, digest) in digests {
                        let all = self.digests.entry(InputId { epoch: *epoch, index }).or_default();
                        *all = all.wrapping_add(digest);
                    }
                }
                // A journal that forces at once.
                Message::Replicate { sequence, .. } if to == from => {
                    let ack = Packet { epoch: 1, message: Message::Ack { sequence: *sequence } };
                    self.queue.push_back((from, to, ack));
                    continue;
                }
                _ => {}
            }
            self.queue.push_back((from, to, Packet { epoch: 1, message }));
        }
    }

    /// Until no message is left.
    fn run(&mut self) {
        while let Some((from, to, packet)) = self.queue.pop_front() {
            let Some(member) = self.members.get_mut(&to) else {
                self.answers.push_back((from, packet));
                continue;
            };
            let mut out = Outbox::default();
            member.handle(from, packet, 1, &mut out);
            self.carry_out(to, out);
        }
        let broken = self.members.values().find_map(Member::unfinished);
        assert_eq!(broken, None);
    }

    /// Executes inputs of a log that another cluster has written; each epoch, at all its participants, in one batch.
    fn replay(&mut self, log: &BTreeMap<InputId, Input>) {
        let partitions = self.members.len() as u8 - 1;
        let mut before = vec![0; usize::from(partitions)];
        let mut epochs: BTreeMap<u64, Vec<Input>> = BTreeMap::new();
        log.iter().for_each(|(id, input)| epochs.entry(id.epoch).or_default().push(input.clone()));
        for (epoch, inputs) in epochs {
            for partition in 0..partitions {
                let has = |input: &&Input| input.participants.contains(partition.into());
                let inputs: Vec<_> = inputs.iter().filter(has).cloned().collect();
                if inputs.is_empty() {
                    continue;
                }
                let before = std::mem::replace(&mut before[usize::from(partition)], epoch);
                let (sealed_in, has_more, digests) = (0, false, Vec::new());
                let batch = InputBatch { before, epoch, sealed_in, has_more, inputs, digests };
                let packet = Packet { epoch: 1, message: Message::Inputs(Box::new(batch)) };
                self.queue.push_back((SEQUENCER, primary(partition), packet));
            }
        }
        self.run();
    }

    /// The rows of each partition, as a checkpoint has them.
    fn copies(&mut self) -> Vec<Shard> {
        let partitions = self.members.len() as u8 - 1;
        let copy = |partition: u8| {
            let mut copy = shard(partition, partitions);
            let of = self.members.get_mut(&primary(partition)).unwrap().shard().unwrap();
            of.copy(1 << 16, |table, rows| copy.load_stored(table, &rows).unwrap());
            copy
        };
        (0..partitions).map(copy).collect()
    }

    fn rows(&mut self) -> Vec<u64> {
        self.members.values_mut().filter_map(|it| it.shard().map(|shard| shard.digest())).collect()
    }
}

struct Send<'a> {
    router: &'a mut Router,
    out: &'a mut Outbox,
}

impl Call for Send<'_> {
    type Answer = u64;

    fn call<P: Procedure + Copy>(&mut self, _: Kind, procedure: &P) -> u64 {
        self.router.call(*procedure, 1, 0, self.out).unwrap()
    }
}

/// TPC-C's full mix on four partitions; some calls are on the way at the same time.
fn written(scheduler: SchedulerKind) -> Replicas {
    let (mut replicas, configuration) = Replicas::new(scheduler, (0..4).map(|at| loaded(at, 4)).collect());
    let mut router = Router::new(CLIENT, Arc::new(tpcc::distributed_catalog()), configuration, 0);
    let (home, remote) = (Home::Any, Remote { order_lines: 5.0, payments: 30.0 });
    let settings = tpcc::Settings { scale: scale(), mix: Mix::Full, remote, home, load_seed: 0, seed: 5 };
    let mut inputs = Inputs::new(&settings, 0);
    let mut ended = 0;
    for call in 1..=CALLS {
        let mut out = Outbox::default();
        inputs.next().give(&mut Send { router: &mut router, out: &mut out });
        replicas.carry_out(CLIENT, out);
        if call % 5 != 0 {
            continue;
        }
        loop {
            replicas.run();
            if replicas.answers.is_empty() {
                break;
            }
            for (from, packet) in std::mem::take(&mut replicas.answers) {
                let mut out = Outbox::default();
                ended += router.handle(from, packet, 1, &mut out).len();
                replicas.carry_out(CLIENT, out);
            }
        }
    }
    assert_eq!((ended, router.waiting()), (CALLS, 0));
    replicas
}

#[test]
fn the_log_makes_the_same_changes_on_one_and_on_four_partitions_and_from_a_checkpoint() {
    for scheduler in SchedulerKind::ALL {
        let mut original = written(scheduler);
        let (log, digests) = (original.log.clone(), original.digests.clone());
        assert!(log.len() >= CALLS && digests.len() > CALLS / 2, "{} inputs, {}", log.len(), digests.len());
        assert!(log.values().any(|input| !input.participants.is_single()));
        assert!(log.values().any(|input| matches!(input.keys, InputKeys::Found(_))));
        assert!(log.values().all(|input| input.keys != InputKeys::All), "a call locks whole partitions");

        let (mut again, _) = Replicas::new(scheduler, (0..4).map(|at| loaded(at, 4)).collect());
        again.replay(&log);
        assert_eq!(again.digests, digests, "{scheduler:?}, four partitions");
        assert_eq!(again.rows(), original.rows(), "{scheduler:?}, four partitions");

        // One partition has all keys that were found for four; it locks itself whole.
        let of_one = |(id, input): (&InputId, &Input)| {
            let keys = if input.keys == InputKeys::Declared { InputKeys::Declared } else { InputKeys::All };
            (*id, Input { participants: PartitionSet::of(0), keys, ..input.clone() })
        };
        let (mut alone, _) = Replicas::new(scheduler, vec![loaded(0, 1)]);
        alone.replay(&log.iter().map(of_one).collect());
        assert_eq!(alone.digests, digests, "{scheduler:?}, one partition");

        let half = *log.keys().nth(log.len() / 2).unwrap();
        let half = InputId { index: 0, ..half };
        let (first, second) = (log.range(..half), log.range(half..));
        let own = |part: std::collections::btree_map::Range<'_, InputId, Input>| {
            part.map(|(id, input)| (*id, input.clone())).collect::<BTreeMap<_, _>>()
        };
        let (mut before, _) = Replicas::new(scheduler, (0..4).map(|at| loaded(at, 4)).collect());
        before.replay(&own(first));
        let (mut after, _) = Replicas::new(scheduler, before.copies());
        after.replay(&own(second));
        let parts: BTreeMap<_, _> = before.digests.into_iter().chain(after.digests.clone()).collect();
        assert_eq!(parts, digests, "{scheduler:?}, from a checkpoint");
        assert_eq!(after.rows(), original.rows(), "{scheduler:?}, from a checkpoint");
    }
}

/// The comparison can fail: another argument, and another order of two inputs that conflict.
#[test]
fn another_log_makes_other_changes() {
    let original = written(SchedulerKind::OrderedLocks);
    let mut log = original.log.clone();
    let mut inputs = log.values_mut();
    let (one, other) = (inputs.next().unwrap(), inputs.next_back().unwrap());
    std::mem::swap(&mut one.call, &mut other.call);
    std::mem::swap(&mut one.participants, &mut other.participants);
    std::mem::swap(&mut one.keys, &mut other.keys);
    std::mem::swap(&mut one.version, &mut other.version);
    let (mut again, _) = Replicas::new(SchedulerKind::OrderedLocks, (0..4).map(|at| loaded(at, 4)).collect());
    again.replay(&log);
    assert_ne!(again.digests, original.digests);
}
