//! The same, simulated with the constants that were measured here.

use std::thread;

use glassbox_sim::cluster::{Link, Load, Settings, Workload, World};
use glassbox_workloads::tpcc::Scale;

use super::plan::{Plan, SCHEMES};
use super::{CLIENTS, THROUGHPUT, Threads, figure, sweeps};
use crate::calibrate::CostTables;
use crate::low_overhead::tpcc::Cell;
use crate::low_overhead::{TpccPlan, percent};
use crate::points::Points;

/// Virtual time before anything counts, and that counts: in a millisecond more happens than with the paper's costs.
const WARM_UP_US: u64 = 10_000;
const MEASURED_US: u64 = 60_000;
/// Of TPC-C.
const TPCC_ROUND_TRIP_US: u64 = 40;

/// Simulates what a plan measures, on as many processors as there are or on one, and adds to `points`. `link` says what
/// links between threads are like when a round trip is injected; on one thread a message takes what was injected.
pub fn predict(plan: &Plan, costs: CostTables, link: &dyn Fn(u64) -> Option<Link>, points: &mut Points) {
    for (threads, us) in sweeps(&plan.round_trips_us) {
        let Some(between_threads) = link(us) else { continue };
        let (costs, link, processors) = match threads {
            Threads::Many => (costs.micro, between_threads, all_processors()),
            Threads::One if us == 0 => (costs.on_one_thread, Link::of(0), 1),
            Threads::One => (costs.on_one_thread_late, Link::of(us * 500), 1),
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

/// Simulates TPC-C with what was measured here, and adds to `points`: its small rows, by which the costs were measured,
/// and messages that take as long as with a round trip of 40 µs.
pub fn predict_tpcc(
    plan: &TpccPlan,
    costs: CostTables,
    link: &dyn Fn(u64) -> Option<Link>,
    seed: u64,
    points: &mut Points,
) {
    let Some(link) = link(TPCC_ROUND_TRIP_US) else { return };
    let plan = TpccPlan { scale: Scale::small(1), ..plan.clone() };
    for Cell { figure, row, x, settings } in plan.cells() {
        let settings = Settings { costs: costs.tpcc, seed, processors: Some(all_processors()), ..settings };
        let value = per_second(settings, link, TPCC_ROUND_TRIP_US);
        points.put(figure, row, x as f64, THROUGHPUT, value, "1/s");
    }
}

/// This machine's.
fn all_processors() -> u32 {
    thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

/// Throughput with such links, where such a round trip is injected.
fn per_second<W: Workload>(settings: Settings<W>, link: Link, round_trip_us: u64) -> f64 {
    let patience_us = 3_000 + round_trip_us * 8;
    let mut world = World::new(Settings { link, patience_us, ..settings });
    world.keep_history(false);
    world.run_us(WARM_UP_US);
    world.run_us(MEASURED_US).per_second
}
