//! The same, simulated with the constants that were measured here.

use std::thread;

use glassbox_sim::cluster::{Link, Load, Settings, Workload, World};
use glassbox_workloads::tpcc::Scale;

use super::plan::{Plan, SCHEMES};
use super::{CLIENTS, THROUGHPUT, figure};
use crate::calibrate::CostTables;
use crate::low_overhead::tpcc::Cell;
use crate::low_overhead::{TpccPlan, percent};
use crate::points::Points;

/// Virtual time before anything counts, and that counts: in a millisecond more happens than with the paper's costs.
const WARM_UP_US: u64 = 10_000;
const MEASURED_US: u64 = 60_000;
/// Of TPC-C.
const TPCC_ROUND_TRIP_US: u64 = 40;

/// Simulates what a plan measures, on as many processors as there are, and adds to `points`. `one_way_ns` says how long
/// a message takes when a round trip is injected.
pub fn predict(plan: &Plan, costs: CostTables, one_way_ns: &dyn Fn(u64) -> Option<u64>, points: &mut Points) {
    for &us in &plan.round_trips_us {
        let Some(base_ns) = one_way_ns(us) else { continue };
        for (row, scheme) in SCHEMES {
            for &share in &plan.shares {
                let load = Load { several: percent(share), ..Load::default() };
                let settings = Settings::of_the_paper(scheme, load, plan.seed);
                let settings = Settings { clients: CLIENTS, costs: costs.micro, ..settings };
                points.put(&figure(us), row, share as f64, THROUGHPUT, per_second(settings, base_ns, us), "1/s");
            }
        }
    }
}

/// Simulates TPC-C with what was measured here, and adds to `points`: its small rows, by which the costs were measured,
/// and messages that take as long as with a round trip of 40 µs.
pub fn predict_tpcc(
    plan: &TpccPlan,
    costs: CostTables,
    one_way_ns: &dyn Fn(u64) -> Option<u64>,
    seed: u64,
    points: &mut Points,
) {
    let Some(base_ns) = one_way_ns(TPCC_ROUND_TRIP_US) else { return };
    let plan = TpccPlan { scale: Scale::small(1), ..plan.clone() };
    for Cell { figure, row, x, settings } in plan.cells() {
        let settings = Settings { costs: costs.tpcc, seed, ..settings };
        let value = per_second(settings, base_ns, TPCC_ROUND_TRIP_US);
        points.put(figure, row, x as f64, THROUGHPUT, value, "1/s");
    }
}

/// Throughput on this machine's processors, with messages that take so long where such a round trip is injected.
fn per_second<W: Workload>(settings: Settings<W>, base_ns: u64, round_trip_us: u64) -> f64 {
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let mut world = World::new(Settings {
        link: Link::of(base_ns),
        patience_us: 3_000 + round_trip_us * 8,
        processors: Some(processors),
        ..settings
    });
    world.keep_history(false);
    world.run_us(WARM_UP_US);
    world.run_us(MEASURED_US).per_second
}
