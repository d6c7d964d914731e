//! The tables of costs: the measured times of each kind of work, and the costs that the simulator charges.

use glassbox_sim::cluster::{Costs, Link};
use serde::{Deserialize, Serialize};

use crate::points::Points;

/// In results, the table of costs.
pub const COSTS: &str = "costs";
/// In results, the costs of TPC-C.
pub const COSTS_OF_TPCC: &str = "costs, TPC-C";
/// In results, the costs of the microbenchmark with all machines on one thread.
pub const COSTS_ON_ONE_THREAD: &str = "costs, one thread";
/// In results, the same with delayed messages, whose arrival times are checked.
pub const COSTS_ON_ONE_THREAD_LATE: &str = "costs, one thread, held up";
/// In results, the round trips.
pub const ROUND_TRIP: &str = "round trip";

/// In results, synchronous calls between threads: on one partition, and on two through a coordinator.
pub(super) const CALLS: [&str; 2] = ["between threads", "between threads, on two partitions"];
pub(super) const ALL_COSTS: [&str; 4] = [COSTS, COSTS_OF_TPCC, COSTS_ON_ONE_THREAD, COSTS_ON_ONE_THREAD_LATE];

/// The times of one round, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CostSample {
    /// A transaction on one partition.
    pub single: f64,
    /// The same, with undo information.
    pub speculative: f64,
    /// A fragment of a transaction on two partitions.
    pub fragment: f64,
    /// The decision of that transaction.
    pub decision: f64,
    /// The additional cost of locks in a transaction on one partition.
    pub locks: f64,
    /// The additional cost of locks in a fragment and its decision.
    pub fragment_locks: f64,
    /// A run that aborts.
    pub stopped: f64,
    /// Undoing a run.
    pub undo: f64,
    /// Each of the eight messages that a coordinator handles for a transaction on two partitions.
    pub coordinator_message: f64,
    /// A client's part of a transaction on one partition.
    pub client: f64,
    /// A message through a queue.
    pub message: f64,
    /// The additional cost of a message of a transaction on two partitions.
    pub several_message: f64,
}

/// A name, a unit, and the value of a round.
type CostMetric = (&'static str, &'static str, fn(&CostSample) -> f64);

/// The table of costs. The cost of a message is divided equally between sender and receiver: a partition receives and
/// sends one for a transaction and for a fragment, and receives one for a decision. Messages of a transaction on
/// several partitions carry more.
pub(super) const METRICS: [CostMetric; 12] = [
    ("t_sp", "ns", |round| round.single + round.message),
    ("t_spS", "ns", |round| round.speculative + round.message),
    ("fragment", "ns", |round| round.fragment + round.message + round.several_message),
    ("decision", "ns", |round| round.decision + (round.message + round.several_message) / 2.0),
    ("l", "thousandths", |round| 1e3 * round.locks / (round.speculative + round.message)),
    ("l of a fragment", "thousandths", |round| {
        1e3 * round.fragment_locks / (round.fragment + round.message + round.several_message)
    }),
    ("stopped", "ns", |round| round.stopped + round.message),
    ("undo", "ns", |round| round.undo),
    ("coordinator's message", "ns", |round| round.coordinator_message + (round.message + round.several_message) / 2.0),
    ("client", "ns", |round| round.client + round.message),
    ("a message through a queue", "ns", |round| round.message),
    ("more for one of several", "ns", |round| round.several_message),
];

/// The tables of costs that are measured together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostTables {
    /// The costs of the microbenchmark.
    #[serde(flatten)]
    pub micro: Costs,
    /// The costs of TPC-C.
    pub tpcc: Costs,
    /// The costs of the microbenchmark with all machines on one thread, where messages cost less.
    pub on_one_thread: Costs,
    /// The same with delayed messages, each of which needs a reading of the clock.
    pub on_one_thread_late: Costs,
}

/// The measured tables of costs; `None` if the measurement is incomplete.
pub fn costs(points: &Points) -> Option<CostTables> {
    let [micro, tpcc, on_one_thread, on_one_thread_late] = ALL_COSTS.map(|it| table(points, it));
    Some(CostTables {
        micro: micro?,
        tpcc: tpcc?,
        on_one_thread: on_one_thread?,
        on_one_thread_late: on_one_thread_late?,
    })
}

fn table(points: &Points, figure: &str) -> Option<Costs> {
    let of = |metric: &str| points.value(figure, metric, metric);
    let ns = |metric: &str| of(metric).map(|ns| ns.round().max(0.0) as u64);
    Some(Costs {
        single_ns: ns("t_sp")?,
        single_undo_ns: ns("t_spS")?,
        fragment_ns: ns("fragment")?,
        shared_message_ns: 0,
        decide_ns: ns("decision")?,
        locking_thousandths: ns("l")?,
        fragment_locking_thousandths: ns("l of a fragment")?,
        stopped_ns: ns("stopped")?,
        undo_ns: ns("undo")?,
        coordinator_message_ns: ns("coordinator's message")?,
        client_ns: ns("client")?,
        // The same machine handles it.
        client_message_ns: ns("coordinator's message")?,
        participant_message_ns: 0,
        push_ns: 0,
    })
}

/// The links between threads with this injected round trip. The delay of a message is half the time of a call on one
/// partition, without its work; from a coordinator and to one, a quarter of the time of a call on two partitions, in
/// which four threads are awake and may wait for a core.
pub fn link(points: &Points, injected_us: u64) -> Option<Link> {
    let costs = costs(points)?.micro;
    let one_way = |kind: &str, work_ns: u64, ways: u64| {
        let reached = points.at(ROUND_TRIP, kind, injected_us as f64, "reached")?.value * 1e3;
        Some(((reached - work_ns as f64) / ways as f64).max(injected_us as f64 * 500.0) as u64)
    };
    let on_two_ns = costs.client_ns + 8 * costs.coordinator_message_ns + costs.fragment_ns;
    let base_ns = one_way(CALLS[0], costs.single_ns + costs.client_ns, 2)?;
    Some(Link { coordinator_ns: one_way(CALLS[1], on_two_ns, 4)?, ..Link::of(base_ns) })
}
