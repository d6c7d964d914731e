//! What the clients of a simulated cluster do: the one thing that a world does not know by itself.

use std::fmt::Debug;

use glassbox::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_cluster::{Answered, Outbox, Router};

use super::settings::Settings;

/// Rows, procedures, and who calls them.
pub trait Workload: Copy + Debug {
    /// One client's part.
    type Caller: Caller;
    /// Address space for each table of a partition.
    const TABLE_BYTES: usize;

    /// The tables and procedures.
    fn catalog() -> Catalog;

    /// Puts the first rows into a partition, which keeps those that are its own.
    fn fill(settings: &Settings<Self>, shard: &mut Shard);

    /// The client of this number.
    fn caller(settings: &Settings<Self>, number: u32) -> Self::Caller;
}

/// What a client calls, one after the other.
pub trait Caller {
    /// A call, to be kept beside its end.
    type Call: Clone + Debug;
    /// What is kept of an answer.
    type Output: Clone + Debug;

    /// The next call.
    fn draw(&mut self) -> Self::Call;

    /// Sends it; its number at the router.
    fn send(call: &Self::Call, router: &mut Router, now_us: u64, out: &mut Outbox) -> u64;

    /// What came of it.
    ///
    /// # Errors
    /// The procedure's abort, or what went wrong.
    fn output(call: &Self::Call, answered: Answered) -> Result<Self::Output, Error>;
}

/// A call of a workload.
pub type CallOf<W> = <<W as Workload>::Caller as Caller>::Call;
/// What is kept of its answer.
pub type OutputOf<W> = <<W as Workload>::Caller as Caller>::Output;
