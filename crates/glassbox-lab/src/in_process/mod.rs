//! What a transaction on one partition costs that goes through the state machines, beside one that takes the token.
//!
//! Embedded, a caller takes the token of the partition and runs its procedure itself. Where partitions talk by messages
//! the call is routed, goes through a queue to the machine, is run there, and its answer comes back through a queue. In
//! one process all of that is overhead: how much? Goals: at most 1.3 times the instructions, and at most 1.1 when 16
//! calls are handed over together.
//!
//! Both run the same procedures with the same arguments on one partition with the same rows, without log, replicas or
//! round trip. The machines are those of [`glassbox_cluster::run`] with their own queues, on the thread of the client
//! ([`Inline`](glassbox_cluster::run::Inline)), so that everything is counted, on both sides of the queues, and each
//! time the same. What is not in it: waking a thread that sleeps.

mod child;
mod parts;
mod subject;
mod systems;
pub mod tables;

pub use child::{count, run_child};
pub use systems::{System, Workload};

/// In results, the experiment.
pub const EXPERIMENT: &str = "low-overhead-in-process";
