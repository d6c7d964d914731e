//! The deterministic cluster: sequencers, a lock thread for each node, workers, pushed remote reads.
//!
//! Every node orders the calls of its clients in epochs; the global order is (epoch, node, index), and each
//! participant gets the whole input. A node starts an epoch when the batches of all nodes are there. One thread of a
//! node requests all locks of an input before any of the next one, so there are no deadlocks, and it releases them.
//! Workers execute ready inputs: a participant reads its rows, pushes them to the others, and runs the whole
//! procedure when all rows are there. There is no commit protocol: these procedures never abort. *VLDB 2014*,
//! sections 2 and 3.1.1; *Calvin*, SIGMOD 2012.
//!
//! Dependent transactions ([`sequence`]): a reconnaissance reads the index, and the input is ordered with the keys that
//! it found; if the index has changed when the input has its locks, all participants drop it, and its home begins with
//! a new reconnaissance. After some restarts it may lock its tables whole, and is right whatever the index says then.
//! The index is changed by a core of its own, as in the paper.

mod node;
mod sequence;

use glassbox_cluster::{LogPlace, Throttle};

use super::checks::{InputCount, RowOrderCheck};
use super::events::{EventQueue, FifoLinks};
use super::pace::{busy_of, next_stall};
use super::report::{RunReport, TxnClass};
use super::settings::{BusyPart, DeterministicSettings, EvaluationSettings, MS, OfferedLoad, US};
use super::workload::{MAX_PARTS, TxnKeys};
use glassbox_testing::dice::Dice;
use node::{LockWork, OrderedNode, WorkerJob};

/// Bits of a log place that name the slot of its transaction; the others are its order.
const SLOT_BITS: u32 = 24;

/// A participant's part of an input.
#[derive(Debug, Clone, Copy, Default)]
struct PartRun {
    /// Remote reads received.
    received: usize,
    has_started: bool,
    has_read: bool,
}

/// An input that has not ended everywhere.
#[derive(Debug, Clone, Default)]
struct OpenInput {
    called_at: u64,
    keys: TxnKeys,
    parts: [PartRun; MAX_PARTS],
    /// Participants that have not ended.
    remaining: usize,
    order: u64,
    found_at: u64,
    /// Whether the index has changed since the reconnaissance.
    is_outdated: bool,
    restarts: u32,
    /// Whether it locks its tables whole.
    locks_tables: bool,
}

impl OpenInput {
    fn class(&self) -> TxnClass {
        match self.keys.parts.len() {
            _ if self.keys.is_dependent => TxnClass::Dependent,
            1 => TxnClass::Local,
            _ => TxnClass::Distributed,
        }
    }

    fn home(&self) -> usize {
        self.keys.parts[0].node
    }

    /// The participant whose index entry names the keys.
    fn index_part(&self) -> usize {
        usize::from(self.keys.parts.len() > 1)
    }

    fn place(&self, slot: usize) -> LogPlace {
        self.order << SLOT_BITS | slot as u64
    }
}

/// What happens in virtual time.
#[derive(Debug)]
enum OrderedEvent {
    /// All sequencers end an epoch.
    Epoch,
    /// A client calls a dependent transaction.
    Call {
        slot: usize,
    },
    /// A client of a node calls again.
    CallAgain {
        home: usize,
    },
    /// The batches of an epoch have arrived at a node: parts of inputs, in order.
    Batch {
        node: usize,
        parts: Vec<(usize, usize)>,
    },
    LockEnd {
        node: usize,
        work: LockWork,
    },
    WorkerEnd {
        node: usize,
        job: WorkerJob,
    },
    /// A message for a worker.
    Arrive {
        node: usize,
        job: WorkerJob,
    },
    Observe,
    SlowDown,
    Stall {
        node: usize,
    },
}

/// The simulated cluster.
pub(super) struct Cluster<'a> {
    settings: &'a EvaluationSettings,
    kind: DeterministicSettings,
    events: EventQueue<OrderedEvent>,
    links: FifoLinks,
    dice: Dice,
    nodes: Vec<OrderedNode>,
    inputs: Vec<OpenInput>,
    free: Vec<usize>,
    /// Inputs ordered so far.
    ordered: u64,
    /// When the last batch arrived at each node.
    batches_at: Vec<u64>,
    /// Clients that wait for an answer, at each node.
    window: usize,
    /// The most calls of a node that an epoch orders.
    batch: usize,
    accepts: bool,
    count: InputCount,
    check: RowOrderCheck,
    report: RunReport,
    measured: (u64, u64),
}

/// Clients of a node: enough to keep it busy for this long.
const WINDOW_NS: f64 = 50.0 * MS as f64;
/// The same of dependent transactions, whose sets are outdated sooner the longer they wait.
const DEPENDENT_WINDOW_NS: f64 = 25.0 * MS as f64;
/// Calls of an epoch: as many as a node executes in this time, a little more than an epoch.
const BATCH_NS: f64 = 11.0 * MS as f64;
/// The virtual time in which all inputs end after the last one was accepted.
const DRAIN_MS: u64 = 20_000;

impl<'a> Cluster<'a> {
    /// A cluster before its first epoch.
    pub fn new(settings: &'a EvaluationSettings, kind: DeterministicSettings) -> Self {
        let nodes = settings.nodes;
        let start = settings.warm_up_ms * MS;
        let window_ns = if settings.workload.dependent > 0.0 { DEPENDENT_WINDOW_NS } else { WINDOW_NS };
        Self {
            settings,
            events: EventQueue::new(),
            links: FifoLinks::new(nodes, settings.times.delay_ns),
            dice: Dice(settings.seed),
            nodes: OrderedNode::all(settings, &kind),
            kind,
            inputs: Vec::new(),
            free: Vec::new(),
            ordered: 0,
            batches_at: vec![0; nodes],
            batch: (settings.cpu_bound() * BATCH_NS / 1e9) as usize + 2,
            window: (settings.cpu_bound() * window_ns / 1e9) as usize + 8,
            accepts: true,
            count: InputCount::default(),
            check: RowOrderCheck::new(nodes, settings.workload.hot, settings.thorough),
            report: RunReport::new(nodes),
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
        assert!(self.report.finished.iter().sum::<u64>() > 0, "no transaction finished: there is no progress");
        self.count.assert_open(self.inputs.len() - self.free.len());
        if self.settings.thorough {
            self.accepts = false;
            self.run_until(self.measured.1 + DRAIN_MS * MS);
            self.count.assert_open(0);
        }
        let measured_ns = self.measured.1 - self.measured.0;
        let capacity_ns = measured_ns * (self.settings.nodes * self.settings.cores) as u64;
        self.report.close(measured_ns, capacity_ns, self.events.scheduled())
    }

    fn schedule_first(&mut self) {
        if let OfferedLoad::Clients { count, .. } = self.settings.offered {
            (0..self.settings.nodes).for_each(|home| (0..count).for_each(|_| self.call(home)));
        }
        self.events.after(self.kind.epoch_ns, OrderedEvent::Epoch);
        if self.settings.max_lag_us.is_some() {
            self.events.after(Throttle::INTERVAL_US * US, OrderedEvent::Observe);
        }
        if let Some(slow) = self.settings.slow {
            self.events.after(slow.from_ms * MS, OrderedEvent::SlowDown);
        }
        if self.settings.times.stalls_per_s > 0.0 {
            (0..self.settings.nodes).for_each(|node| self.schedule_stall(node));
        }
    }

    fn schedule_stall(&mut self, node: usize) {
        let wait = next_stall(&self.settings.times, &mut self.dice);
        self.events.after(wait, OrderedEvent::Stall { node });
    }

    fn busy(&self) -> [u64; BusyPart::ALL.len()] {
        busy_of(self.nodes.iter().map(|node| &node.pace))
    }

    fn run_until(&mut self, end: u64) {
        while let Some(event) = self.events.next_before(end) {
            self.handle(event);
        }
    }

    fn handle(&mut self, event: OrderedEvent) {
        match event {
            OrderedEvent::Epoch => self.end_epoch(),
            OrderedEvent::Call { slot } => self.look_up(slot),
            OrderedEvent::CallAgain { home } => self.call(home),
            OrderedEvent::Batch { node, parts } => {
                let now = self.events.now();
                for (slot, part) in parts {
                    let input = &self.inputs[slot];
                    if input.keys.parts.len() > 1 {
                        self.nodes[node].lag.add(now, slot, input.order);
                    }
                    self.nodes[node].backlog.push_back((slot, part));
                }
                self.go_on(node);
            }
            OrderedEvent::LockEnd { node, work } => self.end_lock(node, work),
            OrderedEvent::WorkerEnd { node, job } => self.end_job(node, job),
            OrderedEvent::Arrive { node, job } => {
                self.nodes[node].messages.push_back(job);
                self.go_on(node);
            }
            OrderedEvent::Observe => self.observe(),
            OrderedEvent::SlowDown => {
                if let (Some(slow), Some(last)) = (self.settings.slow, self.nodes.last_mut()) {
                    last.pace.slow_down(slow.speed);
                }
            }
            OrderedEvent::Stall { node } => {
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
            let inputs = &self.inputs;
            let waits = |slot: usize, order: u64| {
                let input: &OpenInput = &inputs[slot];
                let part = input.keys.parts.iter().position(|part| part.node == at);
                input.order == order && part.is_some_and(|part| !input.parts[part].has_started)
            };
            self.nodes[at].lag.observe(now, max_lag_us, waits);
        }
        let refused = self.nodes.iter().map(|node| node.lag.refused() as f32).collect();
        self.report.refused.push(refused);
        self.events.after(Throttle::INTERVAL_US * US, OrderedEvent::Observe);
    }
}
