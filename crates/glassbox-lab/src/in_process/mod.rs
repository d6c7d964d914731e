//! What a transaction on one partition costs that goes through the state machines, beside one that takes the token.
//!
//! Embedded, a caller takes the token of the partition and runs its procedure itself. A client of partitions that talk
//! by messages has its call run by the partition's machine. Within one process it takes that machine itself where it
//! has nothing to do (`machines`), and otherwise sends the call through a queue and hears its answer through another
//! (`messages`). All of that is overhead: how much? Goals: at most 1.3 times the instructions of the token path, and at
//! most 1.1 when 16 calls are submitted together. What goes through queues has none.
//!
//! All run the same procedures with the same arguments on one partition with the same rows, without log, replicas or
//! round trip, and look at the output where it is. The machines are those of [`glassbox_cluster::run`] with their own
//! queues, on the thread of the client ([`Inline`](glassbox_cluster::run::Inline)), so that everything is counted, on
//! both sides of the queues, and each time the same. What is not in it: waking a thread that sleeps, and the lock
//! around a machine that has a thread of its own.

mod child;
mod parts;
mod subject;
mod systems;
pub mod tables;

pub use child::{count, run_child};
pub use systems::{System, Workload};

/// In results, the experiment.
pub const EXPERIMENT: &str = "low-overhead-in-process";
