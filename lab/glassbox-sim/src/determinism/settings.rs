//! What a simulated cluster is made of, and the constants with their origin.
//!
//! The paper gives shares, not times: locks are more than 30 % of a short transaction and 16 % of a long one, which
//! computes 15 µs for each of its 10 records. So `x / (x + y) > 0.30` and `x / (x + y + 150) = 0.16`: lock work `x`
//! of 40 µs and other work `y` of 60 µs. The published code's batch sizes (200 long transactions of a node in 10 ms)
//! confirm the sum. The network's delay and the cost of a message are assumptions.

use glassbox_cluster::{Executor, SchedulerKind};

use super::workload::WorkloadShape;

/// A microsecond of virtual time, whose unit is the nanosecond.
pub(super) const US: u64 = 1_000;
/// A millisecond.
pub(super) const MS: u64 = 1_000 * US;

/// Calls in a node's queue: the published code takes so many at a time.
const QUEUED_CALLS: usize = 100;

/// Service times and delays, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ServiceTimes {
    /// A lock and its release, in the hash table.
    pub lock_ns: u64,
    /// The same by VLL: the paper's factor of 2.3.
    pub lock_vll_ns: u64,
    /// The rest of a short transaction, for each record.
    pub record_ns: u64,
    /// A message, at its sender and at its receiver.
    pub message_ns: u64,
    /// A reading of the secondary index.
    pub lookup_ns: u64,
    /// A waits-for edge, at the machine that collects them.
    pub edge_ns: u64,
    /// The search for a local deadlock when a transaction begins to wait.
    pub cycle_ns: u64,
    /// A deadlock victim's time until it is submitted again.
    pub resubmission_ns: u64,
    /// The same of a transaction that is restarted without a deadlock: wait-die, no-wait.
    pub retry_ns: u64,
    /// A switch of threads, where a thread blocks.
    pub switch_ns: u64,
    /// The mean one-way delay of the network; 70 % of it are constant, the rest is exponential.
    pub delay_ns: u64,
    /// The standard deviation of the logarithm of service times.
    pub sigma: f64,
    /// Stalls of a node, per second.
    pub stalls_per_s: f64,
    /// The length of a stall.
    pub stall_ns: u64,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        Self {
            lock_ns: 4 * US,
            lock_vll_ns: 1_740,
            record_ns: 6 * US,
            message_ns: 10 * US,
            lookup_ns: 10 * US,
            edge_ns: 15 * US,
            cycle_ns: US,
            resubmission_ns: 5 * MS,
            retry_ns: MS,
            switch_ns: 8 * US,
            delay_ns: 250 * US,
            sigma: 0.0,
            stalls_per_s: 0.0,
            stall_ns: 2 * MS,
        }
    }
}

impl ServiceTimes {
    /// With a tail: lognormal service times and rare stalls of a node.
    pub fn with_tail(self) -> Self {
        Self { sigma: 0.25, stalls_per_s: 0.5, ..self }
    }
}

/// A simulated cluster, its load and the length of the run.
#[derive(Debug, Clone)]
pub struct EvaluationSettings {
    /// The system.
    pub system: SystemKind,
    /// Nodes, each with a partition.
    pub nodes: usize,
    /// Cores of a node for transactions; the deterministic system's lock thread is one of them.
    pub cores: usize,
    /// The division of a node's work among its threads.
    pub shape: NodeShape,
    /// The transactions.
    pub workload: WorkloadShape,
    /// How many of them there are.
    pub offered: OfferedLoad,
    /// Service times and delays.
    pub times: ServiceTimes,
    /// A node that becomes slow.
    pub slow: Option<SlowNode>,
    /// Local calls are refused at a node that lags by more than this, in microseconds; `None`: none is.
    pub max_lag_us: Option<u64>,
    /// Virtual time before the measurement.
    pub warm_up_ms: u64,
    /// Virtual time of the measurement.
    pub measured_ms: u64,
    /// The seed of all random draws.
    pub seed: u64,
    /// Whether the order of all rows is checked, not of the hot ones alone, and inputs are drained at the end.
    pub thorough: bool,
}

impl EvaluationSettings {
    /// The paper's eight nodes under as much load as they execute.
    pub fn new(system: SystemKind, workload: WorkloadShape, seed: u64) -> Self {
        Self {
            system,
            nodes: 8,
            cores: 5,
            shape: NodeShape::LockThread,
            workload,
            offered: OfferedLoad::Saturating,
            times: ServiceTimes::default(),
            slow: None,
            max_lag_us: None,
            warm_up_ms: 100,
            measured_ms: 200,
            seed,
            thorough: false,
        }
    }

    /// The same nodes in production's shape: one thread each, with production's limits and its restarts at once.
    pub fn in_production(system: SystemKind, workload: WorkloadShape, seed: u64) -> Self {
        let system = match system {
            SystemKind::Deterministic(kind) => {
                SystemKind::Deterministic(DeterministicSettings { max_in_flight: Executor::MAX_ACTIVE, ..kind })
            }
            SystemKind::Twin(kind) => {
                SystemKind::Twin(TwinSettings { max_active: usize::MAX, max_waiting: usize::MAX, ..kind })
            }
        };
        let times = ServiceTimes { resubmission_ns: 0, ..ServiceTimes::default() };
        Self { cores: 1, shape: NodeShape::OneThread, times, ..Self::new(system, workload, seed) }
    }

    /// Transactions a second of a node whose workers never wait, without commit protocol.
    pub fn cpu_bound(&self) -> f64 {
        let (times, workload) = (&self.times, &self.workload);
        let keys = workload.keys_per_txn();
        let share = if self.nodes > 1 { workload.distributed } else { 0.0 };
        let spread = f64::from(u8::try_from(workload.participants).unwrap_or(u8::MAX));
        let run = keys * times.record_ns as f64;
        let compute = workload.compute_ns as f64;
        let pushes = 2.0 * spread * (spread - 1.0) * times.message_ns as f64;
        let owns = matches!(&self.system, SystemKind::Deterministic(kind) if kind.own_part);
        let computed = if owns { compute } else { spread * compute };
        let work = run + (1.0 - share) * compute + share * (computed + pushes);
        let per_key = |of: u64| keys * of as f64;
        match &self.system {
            SystemKind::Deterministic(kind) => {
                let lock =
                    per_key(if kind.scheduler == SchedulerKind::Vll { times.lock_vll_ns } else { times.lock_ns });
                match self.shape {
                    NodeShape::LockThread => ((self.cores - 1) as f64 / work).min(1.0 / lock) * 1e9,
                    NodeShape::OneThread => 1e9 / (work + lock),
                }
            }
            SystemKind::Twin(_) => self.cores as f64 / (work + per_key(times.lock_ns)) * 1e9,
        }
    }
}

/// The division of a node's work among its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeShape {
    /// The paper's. Deterministic: a thread for locks, the others execute. Twin: all execute; the home's thread
    /// coordinates, and machine 0 has the waits-for graph.
    LockThread,
    /// Production's: one thread does all. Deterministic: it executes and admits what it can before it receives its
    /// next message. Twin: clients coordinate in two rounds and a decision, and the waits-for graph is on a machine of
    /// its own.
    OneThread,
}

/// One of the two systems.
#[derive(Debug, Clone)]
pub enum SystemKind {
    /// Executes an input log.
    Deterministic(DeterministicSettings),
    /// Two-phase locking.
    Twin(TwinSettings),
}

/// The deterministic system.
#[derive(Debug, Clone)]
pub struct DeterministicSettings {
    /// Decides which transactions may run.
    pub scheduler: SchedulerKind,
    /// The length of a sequencer's epoch.
    pub epoch_ns: u64,
    /// The maximum of a node's transactions that have requested locks.
    pub max_in_flight: usize,
    /// Whether the inputs of an epoch are ordered by index first and by node second.
    pub interleaves: bool,
    /// Whether each participant computes only for its own records, instead of for all.
    pub own_part: bool,
    /// Restarts of a dependent transaction after which it locks its tables whole, as production does; `None`: it is
    /// restarted until its keys are right, as in the published code.
    pub max_restarts: Option<u32>,
    /// The seeded bug of a test: the lock thread begins with the newest transaction.
    pub is_canary: bool,
}

impl DeterministicSettings {
    /// The paper's, with this scheduler.
    pub fn new(scheduler: SchedulerKind) -> Self {
        Self {
            scheduler,
            epoch_ns: 10 * MS,
            max_in_flight: 2_000,
            interleaves: false,
            own_part: false,
            max_restarts: None,
            is_canary: false,
        }
    }
}

/// What the twin does about a lock that another transaction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictRule {
    /// Waits; deadlocks are found in a waits-for graph, the distributed ones on machine 0.
    Detect,
    /// The same without distributed deadlocks: an oracle requests hot rows of all participants at the same time.
    DetectWithoutDeadlocks,
    /// Waits for younger transactions only, and is restarted otherwise.
    WaitDie,
    /// Never waits.
    NoWait,
    /// Waits; participants lock one after the other, so there are no deadlocks.
    Sorted,
}

/// A node's rule for new work while many of its transactions wait for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The part of a transaction that holds locks at other nodes is always admitted.
    PassesParts,
    /// None is admitted, as in the published code.
    AsPublished,
}

/// The process model of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessModel {
    /// A worker has up to 100 transactions, and goes on with another one when one waits.
    ActiveTxnMap,
    /// A thread for each transaction, which blocks; so many threads in a node's pool.
    BlockingThreads(usize),
}

/// The twin.
#[derive(Debug, Clone)]
pub struct TwinSettings {
    /// Deadlocks.
    pub rule: ConflictRule,
    /// Whether there is two-phase commit.
    pub two_phase_commit: bool,
    /// New work.
    pub admission: Admission,
    /// Threads.
    pub process: ProcessModel,
    /// Transactions of a worker, with an `ActiveTxnMap`.
    pub max_active: usize,
    /// Transactions of a node that wait for locks, from which on no new work is admitted.
    pub max_waiting: usize,
    /// Calls that queue at each node under a saturating load; other nodes' parts queue behind them.
    pub queued_calls: usize,
}

impl TwinSettings {
    /// The paper's, with this rule.
    pub fn new(rule: ConflictRule) -> Self {
        let (admission, process) = (Admission::PassesParts, ProcessModel::ActiveTxnMap);
        Self {
            rule,
            two_phase_commit: true,
            admission,
            process,
            max_active: 100,
            max_waiting: 40,
            queued_calls: QUEUED_CALLS,
        }
    }
}

/// The calls at each node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OfferedLoad {
    /// As many as the nodes execute: clients with flow control.
    Saturating,
    /// So many a second, whatever the nodes execute.
    PerSecond(f64),
    /// Clients at each node, each of which calls again when its call has ended. No call is refused.
    Clients {
        /// Clients of a node.
        count: usize,
        /// The mean of the exponentially distributed time from an answer to the next call; 0: none.
        pause_ns: u64,
    },
}

/// A node that becomes slow: the last one, because the first one has the waits-for graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowNode {
    /// From this time on.
    pub from_ms: u64,
    /// The share of its cores that is left.
    pub speed: f64,
}

/// What a core's time is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyPart {
    /// Procedures and remote reads.
    Useful,
    /// Locks and their releases.
    Locks,
    /// Deadlocks: edges, searches, victims.
    Deadlocks,
    /// Two-phase commit.
    Commit,
}

impl BusyPart {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Useful, Self::Locks, Self::Deadlocks, Self::Commit];
}
