//! The microbenchmark on this machine: partitions, coordinator and clients as threads of one process, with injected
//! round trips; and what the simulator predicts of it.
//!
//! All clients, usually 40, are one thread (`Clients`), each of which calls again when it is answered: forty threads on
//! a few cores would measure the system's scheduler. So on two partitions there are four threads, and a machine with
//! two cores has them share: a prediction is of as many processors as there are. The same is measured with everybody on
//! one thread, where nobody has to be given a core first.
//!
//! Under `Auto` somebody watches and changes the scheme while it runs. Schemes are interleaved, and ratios are of
//! neighbours.

mod auto;
mod drive;
mod plan;
mod predict;
pub mod tables;

pub use auto::{AutoPlan, measure as measure_auto, table as auto_table};
pub use drive::{Run, Threads, Trial, run};
pub use plan::{Plan, SCHEMES, measure};
pub use predict::{predict, predict_tpcc};

use glassbox::shard::Shard;
use glassbox::{Catalog, Error};
use glassbox_sim::cluster::Micro;

/// In results, the experiment: on this machine.
pub const EXPERIMENT: &str = "low-overhead-real";
/// In results, the experiment: simulated with what was measured here.
pub const PREDICTED: &str = "low-overhead-calibrated";
/// Each calls again when it is answered. As in the paper.
pub const CLIENTS: u32 = 40;
/// Transactions a second.
pub(crate) const THROUGHPUT: &str = "throughput";

/// What is told of a round trip.
pub fn figure(threads: Threads, round_trip_us: u64) -> String {
    match threads {
        Threads::Many => format!("{round_trip_us} µs"),
        Threads::One => format!("{round_trip_us} µs, one thread"),
    }
}

/// On which threads, and with which round trip, all shares are measured.
pub fn sweeps(round_trips_us: &[u64]) -> impl Iterator<Item = (Threads, u64)> {
    let on = |threads| round_trips_us.iter().map(move |&us| (threads, us));
    [Threads::Many, Threads::One].into_iter().flat_map(on)
}

/// A partition with the microbenchmark's rows.
pub(crate) fn shard(catalog: &Catalog, partition: u8, partitions: u8, clients: u32) -> Result<Shard, Error> {
    let mut shard = Shard::new(catalog, usize::from(partition), usize::from(partitions), 1 << 20)?;
    Micro::fill(&mut shard, clients, partitions);
    Ok(shard)
}
