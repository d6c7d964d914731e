//! What a call takes that is waited for, between threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use glassbox_cluster::SchemeKind;
use glassbox_cluster::run::{Cluster, Shape};
use glassbox_sim::cluster::{ALL, Load, Micro};
use glassbox_workloads::micro::catalog;

use crate::real::{CLIENTS, shard};

/// The round trips that are injected, in microseconds.
pub const INJECTED_US: [u64; 4] = [0, 10, 40, 200];

/// The median of so many calls, each on all of so many partitions, in microseconds.
pub(super) fn measure(partitions: u8, injected_us: u64, calls: usize) -> anyhow::Result<f64> {
    let round_trip = Duration::from_micros(injected_us);
    let shape = Shape { scheme: SchemeKind::Blocking, partitions, replicas: 1, coordinators: 1, round_trip };
    let load = Load { several: ALL, ..Load::default() };
    let catalog = Arc::new(catalog());
    let cluster =
        Cluster::start(shape, Arc::clone(&catalog), |partition| shard(&catalog, partition, partitions, CLIENTS))?;
    let (mut client, mut micro) = (cluster.client().by_messages(), Micro::new(0, partitions, load, 1));
    let mut took = Vec::with_capacity(calls);
    for call in 0..calls + calls / 4 {
        let (input, began) = (micro.draw(), Instant::now());
        client.call(input)?;
        if call >= calls / 4 {
            took.push(began.elapsed());
        }
    }
    drop(client);
    cluster.stop().map_err(anyhow::Error::msg)?;
    took.sort_unstable();
    Ok(took[took.len() / 2].as_secs_f64() * 1e6)
}
