//! Deterministic execution against two-phase locking, in virtual time: nodes with several servers.
//!
//! *An Evaluation of the Advantages and Disadvantages of Deterministic Database Systems* (Ren, Thomson, Abadi, VLDB
//! 2014) compares two prototypes on eight machines with five cores for transactions each. The clusters of
//! [`crate::cluster`] have one server for each partition, as Glassbox's nodes have, so they cannot show what a lock
//! thread costs beside four workers. Here a node is a queueing model: servers, jobs with stated service times, and
//! messages with stated delays. The decisions are not modelled: production's schedulers say which transaction of the
//! input log is ready ([`glassbox_cluster::Scheduler`]), and production's waits-for graph finds the deadlocks
//! ([`glassbox_cluster::WaitsFor`]).
//!
//! - `ordered`: the deterministic node: sequencer epochs, a lock thread, workers, pushed remote reads, no commit
//!   protocol;
//! - `twin`: its nondeterministic twin: locks one by one, deadlock detection, two-phase commit, admission;
//! - `local_clocks`: orders by the clocks of several sequencers, in the paper's unsafe form too;
//! - `workload`: the microbenchmark and a model of TPC-C;
//! - `settings`: everything that can be chosen, with the constants and their origin.
//!
//! Production has one thread for each partition. In that shape ([`NodeShape::OneThread`]) the model can be compared
//! with production's executors and partitions in the clusters of [`crate::cluster`], at the same costs; the laboratory
//! does.
//!
//! Invariants, asserted in every run: conflicting transactions execute in the order of the log; every input ends once;
//! there is progress. A run depends on its settings and its seed alone.
//!
//! Rejected: transactions as coroutines on the simulated threads. A job with an end and a cost is less code, and the
//! queues between jobs are what the paper's figures show.

mod checks;
mod events;
mod local_clocks;
mod ordered;
mod pace;
mod report;
mod settings;
#[cfg(test)]
mod tests;
mod twin;
mod workload;

pub(crate) use events::exponential;
pub use local_clocks::{ClockOrder, ClockReport, ClockRule};
pub use report::{Latencies, RunReport, TxnClass};
pub use settings::{
    Admission, BusyPart, ConflictRule, DeterministicSettings, EvaluationSettings, NodeShape, OfferedLoad, ProcessModel,
    ServiceTimes, SlowNode, SystemKind, TwinSettings,
};
pub use workload::WorkloadShape;

/// Simulates a cluster for a warm-up and a measured time, and checks the run.
///
/// # Panics
/// When the run breaks an invariant.
pub fn evaluate(settings: &EvaluationSettings) -> RunReport {
    match &settings.system {
        SystemKind::Deterministic(kind) => ordered::Cluster::new(settings, kind.clone()).run(),
        SystemKind::Twin(kind) => twin::TwinCluster::new(settings, kind.clone()).run(),
    }
}
