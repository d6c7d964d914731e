//! The workload of a simulated cluster: the one part that a world does not know by itself.

use std::fmt::Debug;

use glassbox::research::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, Outbox, Router};

use super::settings::Settings;

/// Rows, procedures, and clients.
pub trait Workload: Copy + Debug {
    /// A client.
    type Caller: Caller;
    /// Address space for each table of a partition.
    const TABLE_BYTES: usize;

    /// The tables and procedures.
    fn catalog() -> Catalog;

    /// Loads the initial rows into a partition, which keeps its own.
    fn fill(settings: &Settings<Self>, shard: &mut Shard);

    /// The client with this number.
    fn caller(settings: &Settings<Self>, number: u32) -> Self::Caller;
}

/// The calls of a client.
pub trait Caller {
    /// A call, kept for the check.
    type Call: Clone + Debug;
    /// The checked part of an answer.
    type Output: Clone + Debug;

    /// The next call.
    fn draw(&mut self) -> Self::Call;

    /// The time from an answer to the next call.
    fn pause_ns(&mut self) -> u64 {
        0
    }

    /// Sends it; its number at the router.
    fn send(call: &Self::Call, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64;

    /// Its output.
    ///
    /// # Errors
    /// The procedure's abort, or a failure.
    fn output(call: &Self::Call, answered: Answered) -> Result<Self::Output, Error>;
}

/// A call of a workload.
pub type CallOf<W> = <<W as Workload>::Caller as Caller>::Call;
/// The checked part of its answer.
pub type OutputOf<W> = <<W as Workload>::Caller as Caller>::Output;
