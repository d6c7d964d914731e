//! The assertions that are tests: small, with wide bounds, because other programs run beside them.

use std::time::Duration;

use glassbox_workloads::tpcc::Scale;

use super::measure::numbers;
use super::plan::{COMPUTATION, Cell, CharmPlan, HERE, SESSIONS};
use super::run::{Bench, RunLength, RunSettings};
use crate::points::Points;

const LOCKING: &str = "2PL";
const HYBRID: &str = "HTSTE";

/// Measures cells of the quick plan on a database of a twentieth of the size.
fn measure(cells: &[(&str, &str, f64)]) -> Points {
    let dir = tempfile::tempdir().unwrap();
    let loaded = dir.path().join("loaded");
    let scale = Scale { warehouses: 5, items: 5_000, customers: 150, orders: 150 };
    let bench = Bench { dir: &loaded, scale, seed: 1 };
    bench.load().unwrap();
    let pool_pages = bench.pages().unwrap() * 45 / 100;
    let plan = CharmPlan { is_quick: true, seconds: 1.0, rounds: 1, part: None, dir: dir.path().to_owned(), seed: 1 };
    let mut points = Points::default();
    for Cell { figure, row, x, run, .. } in plan.cells() {
        if cells.contains(&(figure, &row, x)) {
            let run = RunSettings { pool_pages, ..run };
            let ran = bench.run(&run, 2_000, RunLength::For(Duration::from_millis(800))).unwrap();
            for (metric, value, unit) in
                numbers(&Cell { figure, row: row.clone(), x, warehouses: 5, share: 0.0, run }, &ran)
            {
                points.put(figure, &row, x, &metric, value, unit);
            }
        }
    }
    assert_eq!(points.0.iter().filter(|point| point.metric == "throughput").count(), cells.len());
    points
}

fn ratio(points: &Points, figure: &str, rows: [&str; 2], x: f64, metric: &str) -> f64 {
    super::checks::ratio(points, figure, rows, x, metric).unwrap()
}

fn value(points: &Points, figure: &str, row: &str, x: f64, metric: &str) -> f64 {
    super::checks::value(points, figure, row, x, metric).unwrap()
}

/// Tables 1 and 3, Figures 2a and 3.
#[test]
fn two_stages_take_disk_time_out_of_lock_time() {
    let of = |x| [(SESSIONS, LOCKING, x), (SESSIONS, HYBRID, x)];
    let points = measure(&[of(1.0), of(2.0), of(4.0)].concat());
    assert!(value(&points, SESSIONS, LOCKING, 2.0, "others_reads") > 30.0, "{points:?}");
    assert!(value(&points, SESSIONS, HYBRID, 2.0, "others_reads") < 10.0, "{points:?}");
    assert!(ratio(&points, SESSIONS, [HYBRID, LOCKING], 1.0, "new_orders") < 1.1, "{points:?}");
    assert!(ratio(&points, SESSIONS, [HYBRID, LOCKING], 4.0, "new_orders") > 1.1, "{points:?}");
    assert!(ratio(&points, SESSIONS, [LOCKING, HYBRID], 2.0, "lock_wait") > 2.5, "{points:?}");
    assert!(ratio(&points, SESSIONS, [LOCKING, HYBRID], 4.0, "lock_wait") > 1.5, "{points:?}");
    let victims = |row| value(&points, SESSIONS, row, 2.0, "victims") + value(&points, SESSIONS, row, 4.0, "victims");
    assert!(victims(HYBRID) <= victims(LOCKING) + 0.2, "{points:?}");
}

/// Table 7.
#[test]
fn the_gain_falls_with_computation() {
    let of = |x| [(COMPUTATION, LOCKING, x), (COMPUTATION, "TSTE", x)];
    let points = measure(&[of(0.5), of(2.0), of(8.0)].concat());
    let gain = |x| ratio(&points, COMPUTATION, ["TSTE", LOCKING], x, "new_orders");
    assert!(gain(0.5) > 1.1 && gain(0.5) > gain(2.0) && gain(2.0) > gain(8.0) && gain(8.0) < 0.9, "{points:?}");
}

/// Figure 2a on a disk of today.
#[test]
fn a_disk_of_today_is_worth_more() {
    let (figure, _) = HERE[0];
    let points = measure(&[(figure, LOCKING, 4.0), (figure, HYBRID, 4.0)]);
    assert!(ratio(&points, figure, [HYBRID, LOCKING], 4.0, "throughput") > 1.8, "{points:?}");
}
