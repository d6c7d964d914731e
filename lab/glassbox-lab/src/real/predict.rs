//! Predictions: the same clusters, simulated with the constants of this machine.

use std::thread;

use glassbox_sim::cluster::{Link, Load, Settings, Workload, World};
use glassbox_workloads::tpcc::Scale;

use super::drive::{CLIENTS, Threading};
use super::plan::{ClusterPlan, SCHEMES, THROUGHPUT, figure, sweeps};
use crate::calibrate::CostTables;
use crate::low_overhead::plan::TpccPlan;
use crate::low_overhead::series::percent;
use crate::low_overhead::tpcc::{self, TpccPoint};
use crate::points::Points;

/// Virtual time of the warm-up and of the measurement; shorter than with the paper's costs, which are higher.
const WARM_UP_US: u64 = 10_000;
const MEASURED_US: u64 = 60_000;
/// The round trip of TPC-C.
const TPCC_ROUND_TRIP_US: u64 = 40;

/// Simulates the measurements of a plan, on all processors of this machine or on one, and adds the results to `points`.
/// `link` is the link between threads for an injected round trip; on one thread the delay of a message is the injected
/// one.
pub fn predict(plan: &ClusterPlan, costs: CostTables, link: &dyn Fn(u64) -> Option<Link>, points: &mut Points) {
    for (threads, us) in sweeps(&plan.round_trips_us) {
        let Some(between_threads) = link(us) else { continue };
        let (costs, link, processors) = match threads {
            Threading::Many => (costs.micro, between_threads, all_processors()),
            Threading::One if us == 0 => (costs.on_one_thread, Link::of(0), 1),
            Threading::One => (costs.on_one_thread_late, Link::of(us * 500), 1),
        };
        for (row, scheme) in SCHEMES {
            for &share in &plan.shares {
                let load = Load { several: percent(share), ..Load::default() };
                let settings = Settings::of_the_paper(scheme, load, plan.seed);
                let settings = Settings { clients: CLIENTS, costs, processors: Some(processors), ..settings };
                let value = per_second(settings, link, us);
                points.put(&figure(threads, us), row, share as f64, THROUGHPUT, value, "1/s");
            }
        }
    }
}

/// Simulates TPC-C with the costs of this machine, and adds the results to `points`: at the small scale with which the
/// costs were measured, and with the message delays of a round trip of 40 µs.
pub fn predict_tpcc(
    plan: &TpccPlan,
    costs: CostTables,
    link: &dyn Fn(u64) -> Option<Link>,
    seed: u64,
    points: &mut Points,
) {
    let Some(link) = link(TPCC_ROUND_TRIP_US) else { return };
    let plan = TpccPlan { scale: Scale::small(1), ..plan.clone() };
    for TpccPoint { figure, row, x, settings } in tpcc::points(&plan) {
        let settings = Settings { costs: costs.tpcc, seed, processors: Some(all_processors()), ..settings };
        let value = per_second(settings, link, TPCC_ROUND_TRIP_US);
        points.put(figure, row, x as f64, THROUGHPUT, value, "1/s");
    }
}

/// The number of this machine's processors.
fn all_processors() -> u32 {
    thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Throughput with such links and such an injected round trip.
fn per_second<W: Workload>(settings: Settings<W>, link: Link, round_trip_us: u64) -> f64 {
    let patience_us = 3_000 + round_trip_us * 8;
    let mut world = World::new(Settings { link, patience_us, ..settings });
    world.keep_history(false);
    world.run_us(WARM_UP_US);
    world.run_us(MEASURED_US).per_second
}
