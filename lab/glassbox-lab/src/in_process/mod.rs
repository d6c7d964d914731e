//! The cost of a transaction on one partition through the state machines, compared with one that takes the token.
//!
//! In the embedded database, a caller takes the token of the partition and runs its procedure itself. In a cluster, the
//! partition's state machine runs the call. Within one process the client runs an idle machine itself (`machines`), and
//! otherwise sends the call through a queue and receives the answer through another (`messages`). Everything beyond the
//! token path is overhead. Goals: at most 1.3 times the instructions of the token path, and at most 1.1 if 16 calls are
//! submitted together. Messages have no goal.
//!
//! All paths run the same procedures with the same arguments on one partition with the same rows, without log, replicas
//! or round trip, and pass the output by reference. The machines are those of [`glassbox_cluster::run`] with their own
//! queues, on the thread of the client ([`Inline`](glassbox_cluster::run::Inline)), so that both sides of the queues
//! are counted and counts repeat. Not included: waking a sleeping thread, and the lock of a machine that has its own
//! thread.

mod instructions;
mod locks;
mod subject;
mod systems;
pub mod tables;

pub use instructions::{EXPERIMENT, count, run_child};
pub use locks::{LockedShare, count_locks, locks_table, run_locked_child};
pub use systems::{Benchmark, CallPath};
