//! The nondeterministic twin: two-phase locking, deadlock detection, two-phase commit.
//!
//! The same partitions, messages and service times as [`super::ordered`]; no sequencer and no lock thread, so all cores
//! are workers. A worker locks a transaction's rows one by one, the hot ones first. All participants of a distributed
//! transaction do so at the same time, push what they read, and run the procedure; then the home prepares and commits.
//! Participants release their locks at *commit*, the home at the last *committed*. *VLDB 2014*, section 3.1.2.
//!
//! A local deadlock is found when a transaction begins to wait. For the distributed ones machine 0 has the waits-for
//! graph: each wait sends it an edge, and each grant another message ([`deadlock`]). Machine 0 is a node of the
//! cluster, so the edges need the time of its workers.
//!
//! In production's shape clients coordinate ([`execute`]), and the graph is on a machine of its own.
//!
//! Admission ([`execute`]): a worker has up to 100 transactions, and a node on which 40 wait for locks begins no new
//! work. The published code applies the second rule to the parts of other nodes' transactions too: then the other
//! half of a transaction that holds locks elsewhere is never begun, a deadlock that no waits-for graph shows.

mod deadlock;
mod execute;
mod locks;

use std::collections::VecDeque;

use glassbox_cluster::{Throttle, WaitsFor};

use super::checks::{InputCount, RowOrderCheck};
use super::events::{EventQueue, FifoLinks};
use super::pace::{NodeLag, NodePace, busy_of, next_stall, paces};
use super::report::{RunReport, TxnClass};
use super::settings::{
    Admission, BusyPart, EvaluationSettings, MS, NodeShape, OfferedLoad, ProcessModel, TwinSettings, US,
};
use super::workload::{MAX_PARTS, TxnKeys};
use glassbox_testing::dice::Dice;
use locks::RowLocks;

/// A transaction's part: its slot, its place among the participants, and the try that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartId {
    slot: usize,
    part: usize,
    /// Unique for each try of each transaction, and ascending.
    attempt: u64,
}

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum PartPhase {
    /// It was not begun.
    #[default]
    New,
    /// It locks its rows.
    Locking,
    /// It waits for a lock.
    Waiting,
    /// It has all locks and has read; it waits for remote reads.
    HasRead,
    /// It has run, and waits for the decision.
    HasRun,
    /// It has released its locks.
    Ended,
}

/// A part of a transaction.
#[derive(Debug, Clone, Copy, Default)]
struct PartState {
    phase: PartPhase,
    /// Rows locked.
    locked: usize,
    received: usize,
    /// Whether the coordinator's *prepare* has arrived.
    is_asked: bool,
    /// Whether machine 0 has an edge of it.
    has_edge: bool,
    /// Whether it is one of its node's active ones.
    is_active: bool,
}

/// A transaction that has not ended everywhere.
#[derive(Debug, Clone, Default)]
struct OpenTxn {
    called_at: u64,
    attempt: u64,
    /// The attempt of its first try: its age.
    age: u64,
    keys: TxnKeys,
    parts: [PartState; MAX_PARTS],
    /// Parts that have not ended.
    remaining: usize,
    /// Parts without all locks.
    unlocked: usize,
    /// Votes or acknowledgements that the coordinator waits for.
    awaited: usize,
    is_aborted: bool,
}

impl OpenTxn {
    fn class(&self) -> TxnClass {
        match self.keys.parts.len() {
            _ if self.keys.is_dependent => TxnClass::Dependent,
            1 => TxnClass::Local,
            _ => TxnClass::Distributed,
        }
    }

    fn is_local(&self) -> bool {
        self.keys.parts.len() == 1
    }
}

/// Messages between nodes.
#[derive(Debug, Clone, Copy)]
enum TwinMessage {
    /// The home has begun a transaction.
    Begin(PartId),
    /// A remote read.
    Push(PartId),
    Prepare(PartId),
    Prepared(PartId),
    Commit(PartId),
    Committed(PartId),
    Abort(PartId),
    /// To machine 0: the part waits for this transaction, or for none.
    Wait {
        of: PartId,
        at: usize,
        behind: Option<u64>,
    },
}

/// Work that was not begun.
#[derive(Debug, Clone, Copy)]
enum NewWork {
    /// A client's call, whose transaction is not drawn yet.
    Call,
    /// A victim that is submitted again.
    Victim(PartId),
    /// A part of a transaction that another participant has begun.
    Part(PartId),
}

/// Work of a worker.
#[derive(Debug, Clone, Copy)]
enum TwinJob {
    /// A message that is not a new part.
    Receive(TwinMessage),
    /// Locks, from the first row that is not locked; then reads and, on one node, runs.
    Lock(PartId),
    /// Runs, with all remote reads.
    Run(PartId),
    /// Sends a new transaction to the participant that locks first.
    Forward(PartId),
}

/// Bits of an attempt that name the slot of its transaction.
const SLOT_BITS: u32 = 24;

/// What a job does at its end.
#[derive(Debug, Clone, Copy)]
enum JobEnd {
    Receive(TwinMessage),
    /// It waits behind another transaction.
    Waits(PartId),
    /// It is restarted instead of waiting.
    Dies(PartId),
    HasLocks(PartId),
    Run(PartId),
    /// It was of a try that has ended.
    Nothing,
}

/// What happens in virtual time.
#[derive(Debug)]
enum TwinEvent {
    JobEnd {
        node: usize,
        end: JobEnd,
    },
    Arrive {
        node: usize,
        message: TwinMessage,
    },
    /// A victim is submitted again.
    Resubmit {
        slot: usize,
    },
    /// A client's call arrives at a node whose workers are idle.
    Call {
        node: usize,
    },
    /// A client of a node calls again.
    CallAgain {
        home: usize,
    },
    /// The client that coordinates a transaction receives the end of a part's round.
    Report {
        of: PartId,
    },
    Observe,
    SlowDown,
    Stall {
        node: usize,
    },
}

/// A node.
struct TwinNode {
    pace: NodePace,
    locks: RowLocks,
    /// The node's own waits-for graph.
    graph: WaitsFor<u64, usize>,
    idle_workers: usize,
    messages: VecDeque<TwinMessage>,
    resumed: VecDeque<TwinJob>,
    /// New work, with its time of arrival.
    intake: VecDeque<(u64, NewWork)>,
    /// The node's own calls: taken so far; and whether an event for the next one is scheduled.
    taken: u64,
    awaits_call: bool,
    active: usize,
    waiting: usize,
    lag: NodeLag,
}

/// The simulated cluster.
pub(super) struct TwinCluster<'a> {
    settings: &'a EvaluationSettings,
    kind: TwinSettings,
    events: EventQueue<TwinEvent>,
    links: FifoLinks,
    dice: Dice,
    nodes: Vec<TwinNode>,
    txns: Vec<OpenTxn>,
    free: Vec<usize>,
    attempts: u64,
    /// Machine 0's graph: attempts, at nodes.
    graph: WaitsFor<u64, usize>,
    accepts: bool,
    count: InputCount,
    check: RowOrderCheck,
    report: RunReport,
    measured: (u64, u64),
}

/// The virtual time in which all transactions end after the last one was accepted.
const DRAIN_MS: u64 = 20_000;

impl<'a> TwinCluster<'a> {
    /// A cluster without transactions.
    ///
    /// # Panics
    /// When production has no such twin.
    pub fn new(settings: &'a EvaluationSettings, kind: TwinSettings) -> Self {
        if settings.shape == NodeShape::OneThread {
            Self::assert_possible(settings, &kind);
        }
        let node = |pace| TwinNode {
            pace,
            locks: RowLocks::default(),
            graph: WaitsFor::default(),
            idle_workers: settings.cores,
            messages: VecDeque::new(),
            resumed: VecDeque::new(),
            intake: VecDeque::new(),
            taken: 0,
            awaits_call: false,
            active: 0,
            waiting: 0,
            lag: NodeLag::default(),
        };
        let start = settings.warm_up_ms * MS;
        let mut check = RowOrderCheck::new(settings.nodes, settings.workload.hot, settings.thorough);
        if settings.thorough && kind.two_phase_commit {
            check.keep_order();
        }
        Self {
            settings,
            kind,
            events: EventQueue::new(),
            links: FifoLinks::new(settings.nodes, settings.times.delay_ns),
            dice: Dice(settings.seed),
            nodes: paces(settings).into_iter().map(node).collect(),
            txns: Vec::new(),
            free: Vec::new(),
            attempts: 0,
            graph: WaitsFor::default(),
            accepts: true,
            count: InputCount::default(),
            check,
            report: RunReport::new(settings.nodes),
            measured: (start, start + settings.measured_ms * MS),
        }
    }

    /// Runs warm-up and measurement, and checks the run.
    pub fn run(mut self) -> RunReport {
        self.schedule_first();
        self.run_until(self.measured.0);
        let before = self.busy();
        self.run_until(self.measured.1);
        self.report.spend(before, self.busy());
        if self.kind.admission == Admission::PassesParts {
            assert!(self.report.finished.iter().sum::<u64>() > 0, "no transaction finished: there is no progress");
        }
        self.count.assert_open(self.txns.len() - self.free.len());
        if self.settings.thorough {
            self.accepts = false;
            self.run_until(self.measured.1 + DRAIN_MS * MS);
            self.count.assert_open(0);
            self.check.assert_serializable();
        }
        let measured_ns = self.measured.1 - self.measured.0;
        let capacity_ns = measured_ns * (self.settings.nodes * self.settings.cores) as u64;
        self.report.close(measured_ns, capacity_ns, self.events.scheduled())
    }

    fn schedule_first(&mut self) {
        if self.settings.max_lag_us.is_some() {
            self.events.after(Throttle::INTERVAL_US * US, TwinEvent::Observe);
        }
        if let Some(slow) = self.settings.slow {
            self.events.after(slow.from_ms * MS, TwinEvent::SlowDown);
        }
        for node in 0..self.nodes.len() {
            if self.settings.times.stalls_per_s > 0.0 {
                self.schedule_stall(node);
            }
            match self.settings.offered {
                OfferedLoad::Saturating => {
                    (0..self.kind.queued_calls).for_each(|_| self.nodes[node].intake.push_back((0, NewWork::Call)));
                }
                OfferedLoad::Clients { count, .. } => (0..count).for_each(|_| self.call_again(node)),
                OfferedLoad::PerSecond(_) => {}
            }
            self.work_next(node);
        }
    }

    fn schedule_stall(&mut self, node: usize) {
        let wait = next_stall(&self.settings.times, &mut self.dice);
        self.events.after(wait, TwinEvent::Stall { node });
    }

    fn busy(&self) -> [u64; BusyPart::ALL.len()] {
        busy_of(self.nodes.iter().map(|node| &node.pace))
    }

    fn run_until(&mut self, end: u64) {
        while let Some(event) = self.events.next_before(end) {
            self.handle(event);
        }
    }

    fn handle(&mut self, event: TwinEvent) {
        match event {
            TwinEvent::JobEnd { node, end } => {
                self.nodes[node].idle_workers += 1;
                self.end_job(node, end);
                self.work_next(node);
            }
            TwinEvent::Arrive { message: TwinMessage::Wait { of, at, behind }, .. } if self.is_one_thread() => {
                self.begin_edge(of, at, behind);
            }
            TwinEvent::Arrive { node, message } => {
                match message {
                    TwinMessage::Begin(part) if !self.is_one_thread() => self.take_in(node, NewWork::Part(part)),
                    message => self.nodes[node].messages.push_back(message),
                }
                self.work_next(node);
            }
            TwinEvent::Resubmit { slot } => self.resubmit(slot),
            TwinEvent::Call { node } => {
                self.nodes[node].awaits_call = false;
                self.work_next(node);
            }
            TwinEvent::CallAgain { home } => self.call_again(home),
            TwinEvent::Report { of } => self.end_report(of),
            TwinEvent::Observe => self.observe(),
            TwinEvent::SlowDown => {
                if let (Some(slow), Some(last)) = (self.settings.slow, self.nodes.last_mut()) {
                    last.pace.slow_down(slow.speed);
                }
            }
            TwinEvent::Stall { node } => {
                let until = self.events.now() + self.settings.times.stall_ns;
                self.nodes[node].pace.stall_until(until);
                self.schedule_stall(node);
            }
        }
    }

    fn observe(&mut self) {
        let Some(max_lag_us) = self.settings.max_lag_us else { return };
        let now = self.events.now();
        for at in 0..self.nodes.len() {
            let txns = &self.txns;
            let waits = |slot: usize, attempt: u64| {
                let txn: &OpenTxn = &txns[slot];
                let part = txn.keys.parts.iter().position(|part| part.node == at);
                txn.attempt == attempt && part.is_some_and(|part| txn.parts[part].phase == PartPhase::New)
            };
            self.nodes[at].lag.observe(now, max_lag_us, waits);
        }
        let refused = self.nodes.iter().map(|node| node.lag.refused() as f32);
        self.report.refused.push(refused.collect());
        self.events.after(Throttle::INTERVAL_US * US, TwinEvent::Observe);
    }

    /// The transaction of a part, unless that try has ended.
    fn txn_of(&mut self, id: PartId) -> Option<&mut OpenTxn> {
        self.txns.get_mut(id.slot).filter(|txn| txn.attempt == id.attempt && !txn.is_aborted)
    }

    fn send(&mut self, (from, to): (usize, usize), message: TwinMessage) {
        let at = self.links.arrival((from, to), self.events.now(), &mut self.dice);
        self.events.at(at, TwinEvent::Arrive { node: to, message });
    }

    /// Whether clients coordinate, and a machine of its own has the waits-for graph.
    fn is_one_thread(&self) -> bool {
        self.settings.shape == NodeShape::OneThread
    }

    /// The cost of a thread that goes on, where threads block.
    fn switch_ns(&self) -> u64 {
        match self.kind.process {
            ProcessModel::ActiveTxnMap => 0,
            ProcessModel::BlockingThreads(_) => self.settings.times.switch_ns,
        }
    }
}
