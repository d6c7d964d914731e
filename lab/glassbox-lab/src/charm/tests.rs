//! The assertions that are tests: small, with wide bounds, because other programs run beside them.

use std::path::PathBuf;
use std::time::Duration;

use glassbox_workloads::tpcc::{Kind, Scale};

use super::checks;
use super::grid::{GRID, GridPlan, NO_FRAMES, OF_BEST, class_of, measure_grid};
use super::grid_verdicts::{self, CellVerdict};
use super::instructions::{INSTRUCTIONS, MIXES};
use super::measure::{METRICS, numbers, pinned};
use super::plan::{COMPUTATION, Cell, CharmPlan, HERE, SESSIONS};
use super::policy::Policy;
use super::run::{Bench, RunLength, RunSettings, WarmUp};
use crate::claim::{Claim, Outcome};
use crate::measurement::Silent;
use crate::points::Points;

const LOCKING: &str = "2PL";
const HYBRID: &str = "HTSTE";

/// Measures cells of the quick plan on a database of a twentieth of the size.
fn measure(cells: &[(&str, &str, f64)]) -> Points {
    let dir = tempfile::tempdir().unwrap();
    let loaded = dir.path().join("loaded");
    let scale = Scale { warehouses: 5, items: 5_000, customers: 150, orders: 150 };
    let bench = Bench { dir: &loaded, scale, seed: 1, inputs: 0 };
    bench.load().unwrap();
    let pool_pages = bench.pages().unwrap() * 3 / 10;
    let plan = CharmPlan { is_quick: true, seconds: 1.0, rounds: 1, part: None, dir: dir.path().to_owned(), seed: 1 };
    let mut points = Points::default();
    let warm_up = WarmUp { transactions: 2_000, ..plan.warm_up() };
    for cell in plan.cells().into_iter().filter(|cell| cells.contains(&(cell.figure, &cell.row, cell.x))) {
        let run = RunSettings { pool_pages, ..cell.run };
        let ran = bench.run(&run, warm_up, RunLength::For(Duration::from_millis(700))).unwrap();
        for (metric, value, unit) in numbers(&Cell { run, ..cell.clone() }, &ran) {
            points.put(cell.figure, &cell.row, cell.x, &metric, value, unit);
        }
    }
    assert_eq!(points.0.iter().filter(|point| point.metric == "throughput").count(), cells.len());
    points
}

/// Tables 1, 3 and 7, Figures 2a and 3. One test, because there is one modelled processor.
#[test]
fn two_stages_take_disk_time_out_of_lock_time() {
    let _alone = crate::PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let of_sessions = |x| [(SESSIONS, LOCKING, x), (SESSIONS, HYBRID, x)];
    let of_computation = |x| [(COMPUTATION, LOCKING, x), (COMPUTATION, "TSTE", x)];
    let cells = [
        of_sessions(1.0),
        of_sessions(2.0),
        of_sessions(4.0),
        of_computation(0.5),
        of_computation(2.0),
        of_computation(8.0),
    ];
    let points = measure(&cells.concat());
    let value = |figure, row, x, metric| checks::value(&points, figure, row, x, metric).unwrap();
    let ratio = |figure, rows, x, metric| checks::ratio(&points, figure, rows, x, metric).unwrap();
    let others = [LOCKING, HYBRID].map(|row| value(SESSIONS, row, 2.0, "others_reads"));
    assert!(others[0] > 30.0 && others[1] < 25.0, "of lock wait due to others' reads: {others:?} %");
    let gains = [1.0, 2.0, 4.0].map(|x| ratio(SESSIONS, [HYBRID, LOCKING], x, "new_orders"));
    assert!(gains[0] < 1.1 && gains[2] > 1.1, "gains by sessions: {gains:?}");
    let waits = [2.0, 4.0].map(|x| ratio(SESSIONS, [LOCKING, HYBRID], x, "lock_wait"));
    assert!(waits[0] > 2.5 && waits[1] > 1.5, "so many times less lock wait: {waits:?}");
    let victims =
        [LOCKING, HYBRID].map(|row| [2.0, 4.0].map(|x| value(SESSIONS, row, x, "victims")).iter().sum::<f64>());
    assert!(victims[1] <= victims[0] + 1.0, "deadlock victims: {victims:?} %");
    let gains = [0.5, 2.0, 8.0].map(|x| ratio(COMPUTATION, ["TSTE", LOCKING], x, "new_orders"));
    assert!(gains[0] > 1.1 && gains[0] > gains[1] && gains[1] > gains[2], "gains by computation: {gains:?}");
}

/// Figure 2a on a disk of today, with the real processor. How much it gains is asserted with `GLASSBOX_LONG=1`, on an
/// idle machine: it is a ratio of times, which the tests beside it change.
#[test]
fn a_disk_of_today_is_worth_more() {
    let _alone = crate::PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (here, _) = HERE[0];
    let points = measure(&[(here, LOCKING, 4.0), (here, HYBRID, 4.0)]);
    let read = [LOCKING, HYBRID].map(|row| checks::value(&points, here, row, 4.0, "reads").unwrap());
    assert!(read.iter().all(|reads| *reads > 0.0), "nothing was read: {read:?}");
    let today = checks::ratio(&points, here, [HYBRID, LOCKING], 4.0, "throughput").unwrap();
    assert!(today > 1.8 || std::env::var_os("GLASSBOX_LONG").is_none(), "the gain on a disk of today: {today}");
}

/// Small, and without an assertion of a time: the numbers are there, and hybrid execution has found classes.
#[test]
fn the_policies_of_a_cell_are_compared() {
    let _alone = crate::PROCESSORS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let dir = tempfile::tempdir().unwrap();
    let only = ["4 sessions", "pool 30 %", "page locks"].map(str::to_owned).to_vec();
    let plan = GridPlan { is_quick: true, seconds: 0.2, rounds: 2, only, dir: dir.path().to_owned(), seed: 1 };
    let mut points = Points::default();
    assert!(measure_grid(&plan, &Silent, &mut points).unwrap());
    let cell = "page locks, 4 sessions, pool 30 %, 1 ms";
    let value = |metric: &str| points.value(GRID, cell, metric).unwrap_or_else(|| panic!("no {metric}"));
    assert!(Policy::ALL.iter().all(|policy| value(policy.name()) > 0.0));
    let [median, low, high] = OF_BEST.map(value);
    assert!(0.0 < low && low <= median && median <= high && median <= 1.0 + 1e-9, "{low}, {median}, {high}");
    assert!(Kind::ALL.iter().all(|kind| (1.0..=3.0).contains(&value(&class_of(*kind)))));
    let verdicts = grid_verdicts::cells(&points);
    assert!(verdicts.len() == 1 && verdicts[0].1 != CellVerdict::NoFrames, "{verdicts:?}");
    assert!(points.get(GRID, cell, NO_FRAMES).is_none());
    assert!(grid_verdicts::table(&points).is_some_and(|table| table.rows.len() == 1));
}

/// A full run, with the same number everywhere.
#[test]
fn every_claim_has_a_verdict_and_no_fault() {
    let plan = CharmPlan { is_quick: false, seconds: 1.0, rounds: 1, part: None, dir: PathBuf::new(), seed: 1 };
    let mut points = Points::default();
    for Cell { figure, row, x, .. } in plan.cells() {
        for metric in METRICS.into_iter().map(str::to_owned).chain(Kind::ALL.map(pinned)) {
            points.put(figure, &row, x, &metric, 1.0, "");
        }
    }
    for policy in Policy::ALL {
        MIXES.iter().for_each(|(mix, _)| points.put(INSTRUCTIONS, policy.name(), 0.0, mix, 1.0, ""));
    }
    let claims = checks::claims(&points);
    assert_eq!(claims.iter().flat_map(Claim::faults).collect::<Vec<_>>(), Vec::<String>::new());
    let count = |outcome: Outcome| claims.iter().filter(|claim| claim.outcome() == outcome).count();
    assert_eq!(Outcome::ALL.map(count).iter().sum::<usize>(), 40, "a claim lacks its number");
    assert_eq!(count(Outcome::Met) + count(Outcome::Missed), 10);
    assert!(count(Outcome::Unexplained) > 0 && count(Outcome::NotReproduced) > 0, "nothing is gained in these points");
}
